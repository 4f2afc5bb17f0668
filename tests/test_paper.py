"""One test per claim of the paper. Each names norm, reference, h, y and precision.

The graph is real: digits, k = 10, the largest component where a claim needs a connected graph. 𝒲 is float32, the
reference is dense float64 algebra on the same 𝒲.
"""

import numpy as np
import pytest
import scipy.sparse as sp

import oracle
from graphs import make
from longwave import Exact, Lanczos, LowPass, RandomWalk, Simultaneous, Spectral
from longwave.items.pooling import pooling_matrix
from longwave.rows.vectors import normalize
from longwave.search.extension import embed, kernel
from longwave.solvers import System
from longwave.spectrum import sparsify
from longwave.spectrum.components import decompose_blocks
from longwave.spectrum.operations import Local
from longwave.spectrum.simultaneous import range_basis
from settings import paper_index

H = LowPass(0.99)
PRINTED = Spectral(complement=False)


@pytest.fixture(scope="module")
def graph(digits_split):
    return make(digits_split[0][:500], k=10)


@pytest.fixture(scope="module")
def connected(graph):
    """𝒲 of the largest component, CSR, and the same as dense float64."""
    giant = np.flatnonzero(graph.labels == 0)
    matrix = sp.csr_array(graph.normalized[giant][:, giant])
    return matrix, matrix.toarray().astype(np.float64)


@pytest.fixture(scope="module")
def whole(graph):
    return System(graph.normalized, decompose_blocks(graph, Exact()))


@pytest.fixture(scope="module")
def y(graph):
    """Ten sparse observations of ten vertices each, uniform on [0, 1]."""
    rng = np.random.default_rng(0)
    dense = np.zeros((10, graph.n_vertices))
    for row in dense:
        row[rng.choice(graph.n_vertices, 10, replace=False)] = rng.random(10)
    return sp.csr_array(dense, dtype=np.float32)


def dense(graph_or_matrix):
    matrix = getattr(graph_or_matrix, "normalized", graph_or_matrix)
    return matrix.toarray().astype(np.float64)


def test_2_1_spectral_radius_is_one_and_the_top_eigenvector_is_the_root_of_degree(graph, connected):
    """§2.1: ϱ(𝒲) = 1, with eigenvector D^{1/2}1 in a connected graph. Max-norm, 1e-5."""
    _, matrix = connected
    values, vectors = np.linalg.eigh(matrix)
    assert np.abs(values).max() == pytest.approx(1, abs=1e-6)
    root = np.sqrt(graph.degrees[graph.labels == 0])
    top = vectors[:, -1] * np.sign(vectors[0, -1])
    np.testing.assert_allclose(top, root / np.linalg.norm(root), atol=1e-5)


def test_2_2_exact_is_the_solution_of_the_linear_system(graph, whole, y):
    """Eqs. (1), (2): FSR.exact = (1 − α)(I − α𝒲)^{-1} y. Relative 2-norm, α = 0.99, sparse y, 1e-5."""
    expected = oracle.linear_system(dense(graph), y.toarray(), 0.99)
    got = PRINTED(whole, y, H).scores
    assert np.linalg.norm(got - expected) < 1e-5 * np.linalg.norm(expected)


def test_2_2_alpha_0_gives_y(whole, y):
    """§5.2: x* = y for α = 0. Max-norm, 1e-6."""
    np.testing.assert_allclose(PRINTED(whole, y, LowPass(0.0)).scores, y.toarray(), atol=1e-6)


def test_5_2_the_walk_converges_to_the_same_x(graph, whole, y):
    """Eq. (8) tends to h_α(𝒲)y; its relative 2-norm error falls at least like α^t (α = 0.9), and each step is a Jacobi
    sweep of eq. (1)."""
    expected = oracle.linear_system(dense(graph), y.toarray(), 0.9)
    errors = [np.linalg.norm(RandomWalk(t)(whole, y, LowPass(0.9)).scores - expected) for t in (1, 10, 50, 200)]
    size = np.linalg.norm(y.toarray())
    assert all(e <= 0.9**t * size + 1e-5 * size for e, t in zip(errors, (1, 10, 50, 200), strict=True))
    system = (np.eye(graph.n_vertices) - 0.9 * dense(graph)) / 0.1
    jacobi = np.zeros_like(expected)
    for _ in range(10):  # x ← x + diag(A)^{-1}(y − A x)
        jacobi = jacobi + (y.toarray() - jacobi @ system.T) / system.diagonal()
    np.testing.assert_allclose(RandomWalk(10)(whole, y, LowPass(0.9)).scores, jacobi, atol=1e-6)


def test_5_2_alpha_to_1_tends_to_the_dominant_eigenvector(connected):
    """§5.2: on a connected graph x*/‖x*‖ → u₁ as α → 1, for any y ≥ 0. 2-norm, `Spectral` against dense float64."""
    matrix, exact = connected
    system = System(matrix, Exact()(matrix))
    one = sp.csr_array(([1.0], ([0], [3])), shape=(1, matrix.shape[0]), dtype=np.float32)
    top = np.linalg.eigh(exact)[1][:, -1]
    distances = []
    for alpha in (0.9, 0.99, 0.999, 0.999999):
        x = PRINTED(system, one, LowPass(alpha)).scores[0].astype(np.float64)
        x /= np.linalg.norm(x)
        distances.append(min(np.linalg.norm(x - top), np.linalg.norm(x + top)))
    assert distances == sorted(distances, reverse=True)
    assert distances[-1] < 1e-2


def test_4_3_the_range_error_falls_with_q_towards_the_next_eigenvalue(connected):
    """§4.3: ‖A − QQᵀA‖₂ decreases with q towards the (r̂+1)-th largest |λ|, of which it cannot be below."""
    matrix, exact = connected
    floor = np.sort(np.abs(np.linalg.eigvalsh(exact)))[::-1][60]
    errors = []
    for q in (1, 2, 4, 16, 64):
        start = np.random.default_rng(0).standard_normal((matrix.shape[0], 60), dtype=np.float32)
        basis, _ = range_basis(Local(matrix), start, q)
        errors.append(np.linalg.norm(exact - basis @ (basis.T @ exact), 2))
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] >= floor - 1e-5
    assert errors[-1] < 1.05 * floor


def test_4_3_the_error_of_h_is_the_first_eigenvalue_left_out_and_never_grows_with_rank(connected):
    """§4.3: ‖h(A) − U h(Λ) Uᵀ‖₂ = |h(λ_{r+1})| for nested exact eigenpairs, h = h_0.99; non-increasing in r."""
    matrix, exact = connected
    values, vectors = np.linalg.eigh(exact)
    truth = vectors * H(values) @ vectors.T
    errors = []
    for rank in (1, 10, 50, 100, 200):
        spectrum = Exact(rank)(matrix)
        u = spectrum.eigenvectors.toarray().astype(np.float64)
        errors.append(np.linalg.norm(truth - u * H(spectrum.eigenvalues) @ u.T, 2))
        assert errors[-1] == pytest.approx(spectrum.truncation_bound(H), rel=1e-3)
    assert errors == sorted(errors, reverse=True)


def test_5_4_kernel_is_positive_semidefinite(connected):
    """§5.4: κ̂ of unseen vectors is positive semi-definite; smallest eigenvalue ≥ −1e-5 of the largest, float32."""
    matrix, _ = connected
    psi = sp.random_array((40, matrix.shape[0]), density=0.02, format="csr", dtype=np.float32, rng=0)
    for spectrum in (Exact()(matrix), Lanczos(30)(matrix)):
        values = np.linalg.eigvalsh(kernel(spectrum, psi, psi, H).astype(np.float64))
        assert values[0] >= -1e-5 * values[-1]


def test_5_4_kernel_and_search_agree(whole, y):
    """§5.4: with complement off, κ̂(y, e_i) = x_i on every vertex; max-norm 1e-5 of the largest."""
    unit = sp.eye_array(y.shape[1], format="csr", dtype=np.float32)
    x = PRINTED(whole, y, H).scores
    np.testing.assert_allclose(kernel(whole.spectrum, y, unit, H), x, atol=1e-5 * np.abs(x).max())
    in_basis = whole.spectrum.kinds == 0  # isolated vertices have no place in the embedding itself
    embedded = embed(whole.spectrum, y, H) @ embed(whole.spectrum, unit, H).T
    np.testing.assert_allclose(embedded[:, in_basis], x[:, in_basis], atol=1e-5 * np.abs(x).max())


def test_7_blocks_equal_the_whole_at_full_rank(graph, whole, y):
    """§7: each component by itself, then merged, is the same matrix function. Relative 2-norm, 1e-5."""
    one = System(graph.normalized, Exact()(graph.normalized))
    a, b = PRINTED(whole, y, H).scores, PRINTED(one, y, H).scores
    assert np.linalg.norm(a - b) < 1e-5 * np.linalg.norm(a)


def test_7_row_norms_are_one_at_full_rank_and_small_for_the_uncommon(graph, whole):
    """§7: FSR.exact yields η = 1 (1e-5, float32), any lower rank η ≤ 1."""
    np.testing.assert_allclose(whole.spectrum.row_norms, 1, atol=1e-5)
    low = decompose_blocks(graph, Lanczos(40))
    assert (low.row_norms <= 1 + 1e-5).all()
    assert low.row_norms.min() < 0.5


def test_3_1_keeping_all_entries_changes_nothing(graph, y):
    """Stage 3 with τ = n r is the identity."""
    spectrum = Lanczos(40)(graph.normalized)
    same = sparsify(spectrum, graph.normalized, nonzeros=spectrum.eigenvectors.nonzeros)
    a, b = (PRINTED(System(graph.normalized, s), y, H).scores for s in (spectrum, same))
    np.testing.assert_array_equal(a, b)


def test_3_2_pooling_offline_is_pooling_afterwards(digits_split, graph, y):
    """§3.2: (ΣU) h(Λ) Uᵀ y = Σ (U h(Λ) Uᵀ y), generalised max-pooling, rank 40; max-norm 1e-5 of the largest."""
    v = normalize(digits_split[0][:500])
    sigma = pooling_matrix(v, np.arange(500) // 5, pooling="gmp")
    spectrum = decompose_blocks(graph, Lanczos(40))
    for solver in (PRINTED, Spectral()):
        offline = solver(System(graph.normalized, spectrum, sigma, spectrum.eigenvectors.pool(sigma)), y, H).scores
        afterwards = solver(System(graph.normalized, spectrum), y, H).scores @ sigma.T
        np.testing.assert_allclose(offline, afterwards, atol=1e-5 * np.abs(afterwards).max())


def test_8_extension_with_everything_in_the_graph_equals_search(digits_split):
    """§8.2: the extension of an index by nothing changes nothing, and ψ = e_i scores a vertex as search does: an
    added copy of a vertex, observed by one neighbour, gets that vertex's score. Max-norm 1e-6."""
    vectors, _, queries, _ = digits_split
    index = paper_index(vectors[:300], k=10, spectrum=Exact())
    extended = index.extend(vectors[:300], neighbors=1)
    assert len(extended) == 600
    for solver in (Spectral(), PRINTED):
        before = index.search(queries[:5], 300, solver=solver)
        after = extended.search(queries[:5], 600, solver=solver)
        for row in range(5):
            scores = dict(zip(after.ids[row].tolist(), after.scores[row].tolist(), strict=True))
            expected = dict(zip(before.ids[row].tolist(), before.scores[row].tolist(), strict=True))
            assert max(abs(scores[i] - expected[i]) for i in range(300)) < 1e-6
            assert max(abs(scores[i + 300] - expected[i]) for i in range(300)) < 1e-6


def test_3_1_stages_1_and_2_recover_a_low_rank_matrix(connected):
    """§3.1: U Λ Uᵀ ≈ A; for a matrix of rank 20, r = 20 and q = 2 rounds give it back. Spectral norm, 1e-5."""
    _, exact = connected
    values, vectors = np.linalg.eigh(exact)
    low = sp.csr_array(vectors[:, -20:] * values[-20:] @ vectors[:, -20:].T, dtype=np.float32)
    spectrum = Simultaneous(20, oversampling=10, rounds=3)(low)
    u = spectrum.eigenvectors.toarray()
    assert np.linalg.norm(low.toarray() - u * spectrum.eigenvalues.astype(np.float32) @ u.T, 2) < 1e-5
