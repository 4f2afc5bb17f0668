"""The paper, transcribed with dense float64 matrices and nothing else. Every variant is compared with this."""

import numpy as np


def unit(v):
    v = np.asarray(v, dtype=np.float64)
    norm = np.linalg.norm(v, axis=1, keepdims=True)
    return np.divide(v, norm, out=np.zeros_like(v), where=norm > 0)


def nearest(similarity, k, exclude_self=False):
    """Ids of the k largest entries of each row, ties by lower id."""
    s = similarity.copy()
    if exclude_self:
        np.fill_diagonal(s, -np.inf)
    return np.argsort(-s, axis=1, kind="stable")[:, : min(k, s.shape[1] - exclude_self)]


def conditional(v, z, k, gamma, exclude_self=False):
    """s(v_i | z_j), one row per z: [v·z]₊^γ where v_i is a k-NN of z, else 0 (§2.3)."""
    dots = z @ v.T
    out = np.zeros_like(dots)
    for row, ids in enumerate(nearest(dots, k, exclude_self)):
        out[row, ids] = np.maximum(dots[row, ids], 0) ** gamma
    return out


def adjacency(v, k, gamma):
    """w_ij = min(s(v_i | v_j), s(v_j | v_i)) (§2.3)."""
    s = conditional(v, v, k, gamma, exclude_self=True)
    return np.minimum(s, s.T)


def normalized(w):
    """D^{-1/2} W D^{-1/2}, 0/0 = 0 (§2.1)."""
    degree = w.sum(axis=1)
    root = np.divide(1, np.sqrt(degree), out=np.zeros_like(degree), where=degree > 0)
    return root[:, None] * w * root[None, :]


def observation(v, regions, query_of, k, gamma):
    """y_i = Σ_j s(v_i | q_j) (§2.3)."""
    s = conditional(v, regions, k, gamma)
    return np.stack([s[query_of == q].sum(axis=0) for q in range(query_of.max() + 1)])


def filtered(matrix, y, h):
    """x* = h(𝒲) y, eq. (3), by the full eigendecomposition; one row per query."""
    values, vectors = np.linalg.eigh(matrix)
    return y @ vectors * h(values) @ vectors.T


def linear_system(matrix, y, alpha):
    """The solution of 𝓛_α x = y, eq. (1)."""
    return np.linalg.solve((np.eye(len(matrix)) - alpha * matrix) / (1 - alpha), y.T).T
