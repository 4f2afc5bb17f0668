"""Bases are compared by what they compute, never vector by vector: pairs inside a cluster of eigenvalues may rotate."""

import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from longwave import Chebyshev, Exact, Lanczos, LowPass, Simultaneous
from longwave.errors import ConvergenceError, ConvergenceWarning, InputError
from longwave.graph.lists import nearest_others
from longwave.graph.weights import Power
from longwave.rows.vectors import normalize
from longwave.spectrum import blocks, chebyshev, sparsify
from longwave.spectrum.density import density_of_states
from longwave.spectrum.method import Run
from longwave.spectrum.operations import Local


def planted(values, seed=0):
    """A dense matrix with known eigenvalues under a random rotation."""
    n = len(values)
    q, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(n, n)))
    dense = q * values @ q.T
    return sp.csr_array((dense + dense.T) / 2, dtype=np.float32)


@pytest.fixture(scope="module")
def knn_matrix(digits_split):
    """𝒲 of the largest component of all digits, k = 20."""
    from longwave.graph import mutual as graph

    v = normalize(np.vstack([digits_split[0], digits_split[2]]))
    whole = graph.build(nearest_others(v, k=20), kernel=Power(3.0))
    giant = np.flatnonzero(whole.labels == 0)
    return sp.csr_array(whole.normalized[giant][:, giant])


def filtered(spectrum, y, h):
    u = spectrum.eigenvectors.toarray().astype(np.float64)
    return y @ u * h(spectrum.eigenvalues) @ u.T


BOTH_ENDS = np.concatenate([np.linspace(1, 0.3, 60), np.linspace(-1, -0.9, 40), np.linspace(-0.2, 0.2, 300)])
METHODS = [
    Exact(40),
    Lanczos(40),
    Chebyshev(40, tolerance=1e-4),
    Simultaneous(40, oversampling=40, rounds=60),
]


@pytest.fixture
def no_dense_shortcut(monkeypatch):
    """Let Chebyshev iterate on a small matrix too."""
    monkeypatch.setattr(chebyshev, "_DENSE_VERTICES", 0)


@pytest.mark.usefixtures("no_dense_shortcut")
@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
def test_every_method_gives_the_same_answer(method, knn_matrix):
    """‖x − x*‖₂ / ‖x*‖₂, x* the exact rank-40 answer, h = h_0.99, y random Gaussian, float32."""
    spectrum = method(knn_matrix, Run(seed=1))
    y = np.random.default_rng(0).normal(size=(20, knn_matrix.shape[0]))
    exact = filtered(Exact(40)(knn_matrix), y, LowPass(0.99))
    error = np.linalg.norm(filtered(spectrum, y, LowPass(0.99)) - exact) / np.linalg.norm(exact)
    assert error < 2e-2
    values = np.linalg.eigvalsh(knn_matrix.toarray().astype(np.float64))[::-1]
    np.testing.assert_allclose(spectrum.eigenvalues, values[:40], atol=2e-3)
    assert spectrum.next_eigenvalue == pytest.approx(values[40], abs=1e-2)
    u = spectrum.eigenvectors.toarray().astype(np.float64)
    assert np.abs(u.T @ u - np.eye(40)).max() < 1e-5
    residuals = np.linalg.norm(knn_matrix @ u - u * spectrum.eigenvalues, axis=0)
    np.testing.assert_allclose(spectrum.residuals, residuals, atol=1e-5)
    np.testing.assert_allclose(spectrum.row_norms, np.linalg.norm(u, axis=1), atol=1e-5)


def groups(count, size, joined, seed=0):
    """𝒲 of many small dense groups, joined by a few edges of weight `joined`: as many eigenvalues near 1 as groups."""
    rng = np.random.default_rng(seed)
    n = count * size
    inside = sp.block_diag([sp.coo_array(np.triu(rng.random((size, size)) + 0.5, 1)) for _ in range(count)])
    ends = np.sort(rng.integers(0, n, (3 * count, 2)), axis=1)
    ends = ends[ends[:, 0] < ends[:, 1]]
    between = sp.coo_array((np.full(len(ends), joined), ends.T), shape=(n, n))
    whole = sp.csr_array(inside + inside.T + between + between.T)
    scale = sp.diags_array(1 / np.sqrt(whole.sum(axis=1)))
    return sp.csr_array(scale @ whole @ scale, dtype=np.float32)


def added_by_inexact_pairs(spectrum, matrix):
    """√(e² − e_r²), relative: e the error of x = U g(Λ) Uᵀ y + h(0) y for a random y, e_r that of exact pairs."""
    values, vectors = np.linalg.eigh(matrix.toarray().astype(np.float64))
    h, zero = LowPass(0.99), LowPass(0.99)(np.zeros(1))
    gains = h(values) - zero
    u = spectrum.eigenvectors.toarray().astype(np.float64)
    found = u * (h(spectrum.eigenvalues) - zero) @ u.T
    square = np.linalg.norm(vectors * gains @ vectors.T - found) ** 2
    best = np.sum(np.sort(gains**2)[: len(values) - spectrum.rank])
    return np.sqrt(max(0.0, square - best) / np.sum(h(values) ** 2))


def run(method, matrix):
    """The spectrum, the estimated error, and the number of rounds, as the progress tells them."""
    told = []
    spectrum = method(matrix, Run(progress=lambda stage, *_: told.append(stage)))
    rounds, error = told[-1].removeprefix("basis: ").split(" rounds, error ")
    return spectrum, float(error), int(rounds)


@pytest.mark.usefixtures("no_dense_shortcut")
def test_the_tolerance_is_kept(knn_matrix):
    """The stated accuracy of `Chebyshev`: what inexact pairs add to the relative error of h_0.99(A)y."""
    errors = []
    for tolerance in (1e-1, 1e-2, 1e-3):
        errors.append(added_by_inexact_pairs(Chebyshev(60, tolerance=tolerance)(knn_matrix), knn_matrix))
        assert errors[-1] <= tolerance
    assert errors[-1] <= errors[0]


@pytest.mark.usefixtures("no_dense_shortcut")
@pytest.mark.parametrize(
    ("make", "method"),
    [
        (None, Chebyshev(60)),
        (None, Chebyshev(60, oversampling=5)),
        (lambda: groups(80, 12, 1e-2), Chebyshev(40, oversampling=10)),
        (lambda: groups(80, 12, 1e-3), Chebyshev(40, oversampling=10)),
    ],
    ids=["digits", "digits, little oversampling", "a cluster", "a narrow cluster"],
)
def test_the_estimate_is_above_the_error_and_not_far_above(make, method, knn_matrix):
    """Also where the rank cuts a cluster of eigenvalues: the gap to the cut says nothing there."""
    matrix = knn_matrix if make is None else make()
    spectrum, estimate, rounds = run(method, matrix)
    true = added_by_inexact_pairs(spectrum, matrix)
    assert true <= estimate <= 6 * true
    assert rounds <= 3


@pytest.mark.usefixtures("no_dense_shortcut")
def test_a_cut_cluster_warns_only_where_a_search_would_show_it(monkeypatch):
    """The error misses the tolerance by far, but whichever of the cluster are kept, a search is as good."""
    matrix, method = groups(80, 12, 1e-2), Chebyshev(40, oversampling=10)
    _, error, _ = run(method, matrix)  # a warning would fail the test
    assert error > 10 * method.tolerance
    monkeypatch.setattr(chebyshev, "_VISIBLE", 1e-5)
    with pytest.warns(ConvergenceWarning, match=r"more rounds do not help.* use a larger rank, or more oversampling"):
        method(matrix)


@pytest.mark.usefixtures("no_dense_shortcut")
def test_too_few_rounds_warn(knn_matrix):
    with pytest.warns(ConvergenceWarning, match=r"stopped at max_rounds = 1: allow more rounds"):
        Chebyshev(60, tolerance=1e-7, max_rounds=1)(knn_matrix)


@pytest.mark.usefixtures("no_dense_shortcut")
@pytest.mark.parametrize("method", [Lanczos(30), Chebyshev(30), Exact(30)], ids=lambda m: type(m).__name__)
def test_largest_algebraic_never_largest_magnitude(method):
    """The negative end has the larger magnitude and must not enter."""
    np.testing.assert_allclose(method(planted(BOTH_ENDS)).eigenvalues, BOTH_ENDS[:30], atol=1e-3)


def test_the_printed_iteration_chases_magnitude():
    """Why it is not the default: with r̂ = 60 columns, the 40 negative eigenvalues near −1 take 40 of them."""
    assert (Simultaneous(30, 30, 40)(planted(BOTH_ENDS)).eigenvalues < 0).sum() >= 5


def test_signs_and_seeds_make_runs_equal(knn_matrix):
    one, two = (Simultaneous(20, 10, 5)(knn_matrix, Run(seed=3)) for _ in range(2))
    np.testing.assert_array_equal(one.eigenvectors.toarray(), two.eigenvectors.toarray())
    u = one.eigenvectors.toarray()
    assert (u[np.abs(u).argmax(axis=0), np.arange(20)] > 0).all()


@pytest.mark.parametrize("method", [Exact(), Exact(99), Lanczos(99), Chebyshev(99), Simultaneous(99)], ids=repr)
def test_a_rank_above_n_is_all_of_it(method):
    matrix = planted(np.linspace(-0.5, 1, 30))
    spectrum = method(matrix)
    assert spectrum.rank == 30
    assert spectrum.next_eigenvalue is None
    u = spectrum.eigenvectors.toarray()
    np.testing.assert_allclose(u * spectrum.eigenvalues.astype(np.float32) @ u.T, matrix.toarray(), atol=1e-5)


def test_exact_refuses_what_cannot_fit():
    with pytest.raises(InputError, match=r"Exact needs .* GiB .* use Chebyshev"):
        Exact()(sp.csr_array((50_000, 50_000), dtype=np.float32))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Chebyshev(0),
        lambda: Lanczos(-1),
        lambda: Chebyshev(10, oversampling=0),
        lambda: Chebyshev(10, tolerance=0),
        lambda: Chebyshev(10, max_rounds=0),
        lambda: Simultaneous(10, rounds=0),
        lambda: Simultaneous(10, oversampling=-1),
    ],
)
def test_bad_parameters(make):
    with pytest.raises(InputError, match="must be"):
        make()


def test_multiply_equals_scipy():
    matrix = sp.random_array((300, 200), density=0.05, format="csr", dtype=np.float32, rng=0)
    for dtype in (np.float32, np.float64):
        block = np.random.default_rng(0).normal(size=(200, 7)).astype(dtype)
        out = blocks.multiply(matrix, block)
        assert out.dtype == dtype
        np.testing.assert_allclose(out, matrix @ block, atol=1e-5)


def test_orthonormalize_survives_a_rank_deficient_block():
    """After a strong filter the columns are nearly parallel; plain Cholesky-QR breaks down there."""
    rng = np.random.default_rng(0)
    block = (rng.normal(size=(3000, 1)) + 1e-6 * rng.normal(size=(3000, 40))).astype(np.float32)
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.cholesky(blocks.gram(block).astype(np.float32))
    products = blocks.orthonormalize(block)
    assert np.abs(block.T @ block - np.eye(40)).max() < 0.1
    np.testing.assert_allclose(products, block.T @ block, atol=1e-6)
    blocks.rayleigh_ritz(sp.eye_array(3000, dtype=np.float32, format="csr"), block, products)
    assert np.abs(block.T @ block - np.eye(40)).max() < 1e-5  # it divides by what was left


def test_orthonormalize_keeps_the_span():
    block = np.random.default_rng(0).normal(size=(500, 20)).astype(np.float32)
    q, _ = np.linalg.qr(block.astype(np.float64))
    blocks.orthonormalize(block)
    assert np.abs(block.T @ block - np.eye(20)).max() < 1e-5
    np.testing.assert_allclose(q @ (q.T @ block), block, atol=1e-5)


def test_orthonormalize_refuses_nan():
    block = np.ones((10, 3), dtype=np.float32)
    block[0, 0] = np.nan
    with pytest.raises(ConvergenceError):
        blocks.orthonormalize(block)


def test_chebyshev_filter_equals_the_polynomial():
    """p(λ) = T_m((λ − c)/e) / T_m((1 − c)/e), also at a degree where the plain recurrence overflows float32."""
    values = np.linspace(-0.9, 1, 150)
    matrix = planted(values)
    for degree in (1, 2, 7, 60):
        block = np.eye(150, dtype=np.float32)
        blocks.chebyshev_filter(matrix, block, lower=-0.95, cut=0.2, degree=degree)
        t = np.polynomial.chebyshev.Chebyshev.basis(degree)
        center, half = (0.2 - 0.95) / 2, (0.2 + 0.95) / 2
        q = np.linalg.eigh(matrix.toarray().astype(np.float64))
        expected = q[1] * (t((q[0] - center) / half) / t((1 - center) / half)) @ q[1].T
        np.testing.assert_allclose(block, expected, atol=2e-5)


def test_density_counts_eigenvalues(knn_matrix):
    values = np.linalg.eigvalsh(knn_matrix.toarray().astype(np.float64))[::-1]
    density = density_of_states(Local(knn_matrix))
    assert density.weights.sum(axis=1) == pytest.approx(len(values))
    for rank in (50, 200, 600):
        assert density.eigenvalue(rank) == pytest.approx(values[rank], abs=0.02)


def test_sparsify_keeps_the_largest_of_the_whole(knn_matrix):
    spectrum = Exact(25)(knn_matrix)
    u = np.abs(spectrum.eigenvectors.toarray())
    for tau in (0, 1, 1000, u.size // 2):
        sparse = sparsify(spectrum, knn_matrix, nonzeros=tau)
        kept = np.abs(sparse.eigenvectors.toarray())
        assert np.count_nonzero(kept) == tau
        np.testing.assert_allclose(np.sort(kept[kept > 0]), np.sort(u.ravel())[u.size - tau :])
        np.testing.assert_array_equal(sparse.row_norms, spectrum.row_norms)  # η is taken before
    assert sparsify(spectrum, knn_matrix, nonzeros=u.size) is spectrum


def test_sparsify_with_ties_keeps_exactly_tau():
    matrix = sp.csr_array(np.zeros((6, 6), dtype=np.float32))
    spectrum = Exact()(matrix)  # U = I: six ones
    assert np.count_nonzero(sparsify(spectrum, matrix, nonzeros=4).eigenvectors.toarray()) == 4


def test_truncation_bound(knn_matrix):
    spectrum = Exact(100)(knn_matrix)
    values = np.linalg.eigvalsh(knn_matrix.toarray().astype(np.float64))[::-1]
    h = LowPass(0.99)
    assert spectrum.truncation_bound(h) == pytest.approx(h(values[100:101])[0], rel=1e-4)
    assert spectrum.truncation_bound(h, complement=True) == pytest.approx(h(values[100:101])[0] - 0.01, rel=1e-3)
    assert Exact()(knn_matrix).truncation_bound(h) == 0


def test_narrow_keeps_the_first_columns_in_place(monkeypatch):
    monkeypatch.setattr(blocks, "ROWS", 7)  # several row blocks
    block = np.random.default_rng(0).normal(size=(100, 10)).astype(np.float32)
    expected = block[:, :7].copy()
    narrow = blocks.narrow(block, 7)
    np.testing.assert_array_equal(narrow, expected)
    assert np.shares_memory(narrow, block)
    assert narrow.flags.c_contiguous


@pytest.mark.usefixtures("no_dense_shortcut")
@pytest.mark.parametrize("method", [Simultaneous(20), Chebyshev(20)], ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("name", ["star", "complete", "bipartite"])
def test_graphs_of_low_rank_give_orthonormal_columns(method, name):
    """𝒲 of rank 1 or 2: most columns of the range have no direction of their own."""
    n = 300
    adjacency = np.zeros((n, n))
    if name == "star":
        adjacency[0, 1:] = adjacency[1:, 0] = 1
    elif name == "complete":
        adjacency[:] = 1 - np.eye(n)
    else:
        adjacency[: n // 2, n // 2 :] = adjacency[n // 2 :, : n // 2] = 1
    root = 1 / np.sqrt(adjacency.sum(axis=1))
    matrix = sp.csr_array(root[:, None] * adjacency * root, dtype=np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the rank cuts a multiple eigenvalue: any basis will do
        spectrum = method(matrix)
    u = spectrum.eigenvectors.toarray().astype(np.float64)
    assert np.abs(u.T @ u - np.eye(20)).max() < 1e-3
    assert spectrum.eigenvalues[0] == pytest.approx(1, abs=1e-5)
    assert np.abs(spectrum.eigenvalues).max() <= 1


def test_dependent_columns_get_directions_of_their_own():
    block = np.zeros((50, 4), dtype=np.float32)
    block[:, 0] = block[:, 1] = 1
    blocks.orthonormalize(block)
    assert np.abs(block.T @ block - np.eye(4)).max() < 1e-4
    assert np.ptp(block[:, 0]) < 1e-3  # the one real direction stays


@pytest.mark.parametrize(
    "method", [Exact(5), Lanczos(5), Simultaneous(5), Chebyshev(5)], ids=lambda m: type(m).__name__
)
def test_a_graph_without_edges(method):
    spectrum = method(sp.csr_array((50, 50), dtype=np.float32))
    assert spectrum.rank == 5
    assert not spectrum.eigenvalues.any()
    assert spectrum.next_eigenvalue == 0


@pytest.mark.usefixtures("no_dense_shortcut")
def test_a_rank_that_cuts_a_multiple_eigenvalue_stops_early():
    """A hypercube has eigenvalues of high multiplicity; more rounds cannot help, and nobody is warned."""
    import networkx as nx

    matrix = sp.csr_array(nx.to_scipy_sparse_array(nx.hypercube_graph(9)), dtype=np.float32) / np.float32(9)
    spectrum, error, rounds = run(Chebyshev(20), matrix)
    assert rounds <= 2
    assert added_by_inexact_pairs(spectrum, matrix) <= error <= 5e-3
    np.testing.assert_allclose(spectrum.eigenvalues, [1] + [7 / 9] * 9 + [5 / 9] * 10, atol=1e-4)


def lattice(n, k=10):
    """𝒲 of a ring where every vertex has k neighbours on each side, with uneven weights: a graph of any size."""
    rng = np.random.default_rng(0)
    rows = np.repeat(np.arange(n), k)
    columns = (rows + np.tile(np.arange(1, k + 1), n)) % n
    half = sp.csr_array((rng.random(n * k), (rows, columns)), shape=(n, n))
    weights = half + half.T
    scale = sp.diags_array(1 / np.sqrt(weights.sum(axis=1)))
    return sp.csr_array(scale @ weights @ scale, dtype=np.float32)


def peak_bytes():
    """Of a decomposition, in a process that does nothing else; compiling is not counted."""
    import tracemalloc

    matrix = lattice(50_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        Chebyshev(20, tolerance=0.3, max_rounds=2)(matrix)
        tracemalloc.start()
        Chebyshev(150, tolerance=0.3, max_rounds=2)(matrix)
    return tracemalloc.get_traced_memory()[1]


def test_peak_memory_is_one_block():
    """Promised: 1.3 · 4 n r̂ bytes and a few r̂² in float64, judged from n = 50,000 on."""
    code = f"import sys; sys.path[:0] = {sys.path!r}; import test_spectrum; print(test_spectrum.peak_bytes())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=Path(__file__).parent)
    assert done.returncode == 0, done.stderr
    matrix, width = lattice(50_000), Chebyshev(150, tolerance=0.3, max_rounds=2).width
    graph = matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes
    assert int(done.stdout) < 1.3 * 4 * 50_000 * width + 6 * 8 * width**2 + graph


@pytest.mark.usefixtures("no_dense_shortcut")
def test_good_pairs_are_locked(knn_matrix, monkeypatch):
    """Later rounds filter fewer columns, leave the locked ones as they are, and the basis is orthonormal throughout."""
    widths = []
    original = blocks.chebyshev_filter
    monkeypatch.setattr(
        blocks, "chebyshev_filter", lambda m, b, **how: (widths.append(b.shape[1]), original(m, b, **how))
    )
    spectrum = Chebyshev(60, tolerance=1e-4)(knn_matrix)
    assert len(widths) > 1
    assert widths[-1] < widths[0]
    u = spectrum.eigenvectors.parts[0].values.astype(np.float64)
    assert np.abs(u.T @ u - np.eye(60)).max() < 1e-5
    np.testing.assert_allclose(spectrum.eigenvalues, Exact(60)(knn_matrix).eigenvalues, atol=1e-5)


def test_a_pair_that_was_missed_takes_its_place():
    """The locked pairs are λ₂, λ₃, ...; λ₁ turns up in the active columns and must come first in the end."""
    values = np.concatenate([[1.0], np.linspace(0.9, 0.7, 20), np.linspace(0.2, -0.5, 179)])
    matrix = planted(values)
    truth = Exact(40)(matrix)
    block = np.ascontiguousarray(truth.eigenvectors.parts[0].values[:, [*range(1, 40), 0]])
    known = np.array([*values[1:40], 0.0])
    residuals = np.array([1e-9] * 10 + [1e-2] * 29 + [0.5])
    state = chebyshev.State(1, block, known, residuals, cut=0.15)
    assert state.locked(20, 1e-4) == 10
    (after,) = chebyshev.filtered_subspace(Local(matrix), state, rank=20, lower=-0.6, tolerance=1e-4, max_rounds=2)
    np.testing.assert_allclose(after.values[:20], values[:20], atol=1e-5)
    assert np.all(np.diff(after.values) <= 0)
    assert abs(after.block[:, 0] @ truth.eigenvectors.parts[0].values[:, 0]) > 0.999


@pytest.mark.usefixtures("no_dense_shortcut")
def test_an_earlier_basis_is_a_better_start(knn_matrix):
    """From a basis of all but the last 20 vertices, one round gets nearer than from random columns."""
    earlier = Exact(60)(sp.csr_array(knn_matrix[:-20, :-20])).eigenvectors.parts[0].values

    class Earlier:
        width = 60

        def rows(self, chosen):
            return np.vstack([earlier, np.zeros((20, 60), dtype=np.float32)])[chosen]

    y = np.random.default_rng(0).normal(size=(20, knn_matrix.shape[0]))
    exact = filtered(Exact(60)(knn_matrix), y, LowPass(0.99))

    def error(method, run):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            got = filtered(method(knn_matrix, run), y, LowPass(0.99))
        return np.linalg.norm(got - exact) / np.linalg.norm(exact)

    once = Chebyshev(60, tolerance=1e-9, max_rounds=1)
    assert error(once, Run(start=Earlier())) < 0.5 * error(once, Run())
    assert error(Chebyshev(60), Run(start=Earlier())) < 1e-3


@pytest.mark.usefixtures("no_dense_shortcut")
def test_a_loose_tolerance_still_takes_one_round(knn_matrix):
    spectrum = Chebyshev(30, tolerance=5.0)(knn_matrix)
    u = spectrum.eigenvectors.parts[0].values
    assert np.abs(u.T @ u - np.eye(30)).max() < 1e-4
    assert np.isfinite(spectrum.residuals).all()


def test_a_product_with_one_query_equals_that_with_many():
    """One float64 column takes a loop of its own, with rows of every length, empty ones too."""
    lengths = np.random.default_rng(0).integers(0, 6, 300)
    matrix = sp.csr_array(np.tril(np.ones((300, 300))) * (np.arange(300) < lengths[:, None]), dtype=np.float32)
    x = np.random.default_rng(1).normal(size=(300, 2))
    both = blocks.multiply(matrix, x, scale=-2.5, own=0.5)
    np.testing.assert_allclose(both, -2.5 * (matrix @ x) + 0.5 * x, atol=1e-12)
    np.testing.assert_allclose(blocks.multiply(matrix, x[:, 1:], scale=-2.5, own=0.5), both[:, 1:], atol=1e-12)
