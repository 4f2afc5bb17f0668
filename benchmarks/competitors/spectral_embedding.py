"""scikit-learn's spectral_embedding of the same graph: eigenvectors of its normalised Laplacian, by ARPACK."""

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import eigsh
from sklearn.manifold import spectral_embedding


def decompose(matrix, rank):
    # It takes W. The first eigenvector of 𝒲 is the root of the degrees, so W = root · 𝒲 · root.
    matrix = matrix.astype(np.float64)
    start = np.random.default_rng(0).random(matrix.shape[0])
    root = np.abs(eigsh(matrix, k=1, which="LA", v0=start)[1][:, 0]) + 1e-12
    adjacency = sp.csr_array(sp.diags_array(root) @ matrix @ sp.diags_array(root))
    adjacency.indices, adjacency.indptr = adjacency.indices.astype(np.int32), adjacency.indptr.astype(np.int32)
    embedding = spectral_embedding(
        adjacency, n_components=rank, drop_first=False, eigen_solver="arpack", random_state=0
    )
    vectors, _ = np.linalg.qr(embedding * root[:, None])  # it divides by the root
    values = np.einsum("ij,ij->j", vectors, matrix @ vectors)
    return values, vectors
