"""One test per claim of the paper. Each names norm, reference, h, y and precision.

The graph is real: digits, k = 10, the largest component where a claim needs a connected graph. 𝒲 is float32, the
reference is dense float64 algebra on the same 𝒲.
"""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import oracle
from graphs import make
from longwave import (
    Chebyshev,
    ConjugateGradient,
    Exact,
    GaussSeidel,
    Heat,
    Lanczos,
    LowPass,
    PowerIteration,
    RandomProjection,
    RandomWalk,
    Simultaneous,
    Spectral,
)
from longwave.errors import ConvergenceWarning, FilterWarning
from longwave.graph.laplacian import laplacian
from longwave.graph.paths import max_product, strongest_path, sum_product
from longwave.items.pooling import pooling_matrix
from longwave.rows.vectors import normalize
from longwave.search.extension import embed, kernel
from longwave.solvers import System
from longwave.solvers.fields import energy, objective
from longwave.spectrum import sparsify
from longwave.spectrum.components import decompose_blocks, decompose_giant, decompose_whole
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


def adjacency(graph):
    """W as dense float64, from 𝒲 and D."""
    root = np.sqrt(graph.degrees)
    return root[:, None] * dense(graph) * root[None, :]


def test_2_1_the_laplacians_are_those_of_the_paper(graph):
    """§2.1, §2.2: L = D − W and 𝓛 = I − 𝒲 are positive semi-definite, 𝓛's eigenvalues in [0, 2], L1 = 0; L_α and 𝓛_α
    are positive definite (L_α where there are edges). Dense float64, 1e-6."""
    w = adjacency(graph)
    plain, normalised = laplacian(graph).toarray(), laplacian(graph, normalized=True).toarray()
    np.testing.assert_allclose(plain, np.diag(w.sum(axis=1)) - w, atol=1e-6)
    np.testing.assert_allclose(normalised, np.eye(len(w)) - dense(graph), atol=1e-12)
    np.testing.assert_allclose(plain @ np.ones(len(w)), 0, atol=1e-5)
    values = np.linalg.eigvalsh(normalised)
    assert values[0] > -1e-6
    assert values[-1] < 2 + 1e-6
    np.testing.assert_allclose(
        laplacian(graph, alpha=0.9).toarray(), (np.diag(w.sum(axis=1)) - 0.9 * w) / 0.1, atol=1e-5
    )
    system = laplacian(graph, alpha=0.9, normalized=True).toarray()
    np.testing.assert_allclose(system, (np.eye(len(w)) - 0.9 * dense(graph)) / 0.1, atol=1e-12)
    assert np.linalg.eigvalsh(system)[0] >= 1 - 1e-6
    busy = graph.degrees > 0
    assert np.linalg.eigvalsh(laplacian(graph, alpha=0.9).toarray()[np.ix_(busy, busy)])[0] > 0


def test_5_3_the_energy_is_smallest_at_the_ranking(graph, y):
    """Eq. (9): f_α by its definition on dense matrices; its gradient 𝓛_α x − y vanishes at x* and its value there is
    −½ yᵀx*; any step away raises it. α = 0.99, 1e-8."""
    system, observed = laplacian(graph, alpha=0.99, normalized=True).toarray(), y.toarray().astype(np.float64)
    best = oracle.linear_system(dense(graph), observed, 0.99)
    expected = [0.5 * x @ system @ x - row @ x for x, row in zip(best, observed, strict=True)]
    np.testing.assert_allclose(energy(graph, best, y, 0.99), expected, rtol=1e-9)
    np.testing.assert_allclose(energy(graph, best, y, 0.99), -0.5 * (observed * best).sum(axis=1), rtol=1e-8)
    rng = np.random.default_rng(0)
    for size in (1e-3, 1.0):
        moved = best + size * rng.standard_normal(best.shape)
        assert (energy(graph, moved, y, 0.99) > energy(graph, best, y, 0.99)).all()


def test_5_3_eq_10_has_that_minimum_over_unordered_pairs_only(graph, y):
    """Eq. (10): its terms by their definition, pair by pair; the gradient at x* vanishes (1e-10) where every edge
    counts once, and does not where Σ_{i,j} counts it twice: then the minimum is that of 2α/(1 + α). On vertices that
    have edges; an isolated one stays at y_i."""
    alpha, busy = 0.9, graph.degrees > 0
    w = adjacency(graph)[np.ix_(busy, busy)]
    d = w.sum(axis=1)  # in float64, as the stored ones are those of float32 weights
    observed = y.toarray()[:1, busy].astype(np.float64)
    matrix = w / np.sqrt(d[:, None] * d[None, :])
    best = oracle.linear_system(matrix, observed, alpha)[0]

    def gradient(x, times):
        hat = x / np.sqrt(d)
        pull = (w * (hat[:, None] - hat[None, :])).sum(axis=1) / np.sqrt(d)
        return 2 * alpha * times * pull + 2 * (1 - alpha) * (x - observed[0])

    assert np.abs(gradient(best, 1)).max() < 1e-10
    assert np.abs(gradient(best, 2)).max() > 1e-4
    other = oracle.linear_system(matrix, observed, 2 * alpha / (1 + alpha))[0]
    assert np.abs(gradient(other, 2)).max() < 1e-10

    whole = np.zeros((1, graph.n_vertices))
    whole[0, busy] = best
    hat = best / np.sqrt(d)
    smooth = sum(w[i, j] * (hat[i] - hat[j]) ** 2 for i, j in zip(*np.nonzero(np.triu(w)), strict=True))
    seen = sp.csr_array(y[[0]])
    ours = objective(graph, whole, seen, alpha)
    assert ours.smoothness[0] == pytest.approx(alpha * smooth, rel=1e-6)
    assert ours.fitness[0] == pytest.approx((1 - alpha) * ((whole - seen.toarray()) ** 2).sum(), rel=1e-9)
    assert objective(graph, whole, seen, alpha, ordered=True).smoothness[0] == pytest.approx(2 * ours.smoothness[0])
    rng = np.random.default_rng(1)
    away = whole + 1e-3 * rng.standard_normal(whole.shape) * busy
    assert objective(graph, away, seen, alpha).total[0] > ours.total[0]


def test_5_3_gauss_seidel_descends_and_conjugate_gradients_descend_faster(graph, y):
    """§5.3: Jacobi, Gauss–Seidel and conjugate gradients tend to the minimum of eq. (9); sweeps are those of a dense
    loop over the vertices; after 20 steps f_α − f_α(x*) falls in this order. α = 0.99."""
    bare, h = System(graph.normalized, None), LowPass(0.99)
    sweep, target = np.zeros(graph.n_vertices), y.toarray()[0].astype(np.float64)
    matrix = dense(graph)
    for _ in range(3):
        for i in range(graph.n_vertices):
            sweep[i] = 0.99 * matrix[i] @ sweep + 0.01 * target[i]
    np.testing.assert_allclose(GaussSeidel(3)(bare, y[[0]], h).scores[0], sweep, atol=1e-7)

    least = energy(graph, oracle.linear_system(matrix, y.toarray(), 0.99), y, 0.99)
    above = {}
    for name, solver in {
        "jacobi": RandomWalk(20),
        "gauss-seidel": GaussSeidel(20),
        "cg": ConjugateGradient(0, max_steps=20),
    }.items():
        above[name] = energy(graph, solver(bare, y, h).scores, y, 0.99) - least
    assert (above["jacobi"] > above["gauss-seidel"]).all()
    assert (above["gauss-seidel"] > above["cg"]).all()
    falling = [energy(graph, GaussSeidel(t)(bare, y, h).scores, y, 0.99).sum() for t in (1, 2, 4, 8, 16)]
    assert falling == sorted(falling, reverse=True)


def test_5_2_alpha_1_is_the_power_iteration(graph, whole, y):
    """§5.2: eq. (8) with α = 1 from x = y is x⁽ᵗ⁾ = 𝒲ᵗ y; dense powers, relative 2-norm 1e-5; it tends to the top
    eigenvector of every component, the root of its degrees."""
    expected = y.toarray().astype(np.float64)
    for _ in range(7):
        expected = expected @ dense(graph)
    got = PRINTED(whole, y, PowerIteration(7)).scores
    assert np.linalg.norm(got - expected) < 1e-5 * np.linalg.norm(expected)
    late = PRINTED(whole, y[[0]], PowerIteration(100_001)).scores[0].astype(np.float64)
    limit = np.zeros(graph.n_vertices)
    for label in range(graph.labels.max() + 1):
        own = graph.labels == label
        if graph.degrees[own].sum() > 0:
            top = np.sqrt(graph.degrees[own] / graph.degrees[own].sum())
            limit[own] = top * (top @ y.toarray()[0, own])
    np.testing.assert_allclose(late, limit, atol=1e-3 * limit.max())


def test_5_5_the_max_power_holds_the_strongest_paths(graph):
    """§5.5: (W^{⊗t})_ij is the weight of the strongest path of length t: dense max-times products, 1e-12; W^t is the
    ordinary power; one path by itself has the weight of its edges and the total of W^t."""
    matrix = graph.normalized
    exact = dense(graph)
    power, summed = exact, exact
    for length in (2, 3, 4):
        power = np.stack([(power[[i]].T * exact).max(axis=0) for i in range(len(exact))])
        summed = summed @ exact
        np.testing.assert_allclose(max_product(matrix, length).toarray(), power, atol=1e-12)
        np.testing.assert_allclose(sum_product(matrix, length).toarray(), summed, atol=1e-12)
    for target in (1, 17, 200):
        found = strongest_path(matrix, 3, target, 4)
        if power[3, target] == 0:
            assert found is None
            continue
        assert found.vertices[[0, -1]].tolist() == [3, target]
        edges = exact[found.vertices[:-1], found.vertices[1:]]
        assert found.weight == pytest.approx(edges.prod(), rel=1e-9)
        assert found.weight == pytest.approx(power[3, target], rel=1e-9)
        assert found.total == pytest.approx(summed[3, target], rel=1e-9)


def test_6_random_projections_are_blunter_than_the_basis(connected):
    """§6: X Xᵀ with X = h(𝒲)^½ G/√m is h(𝒲) on average; its error falls like 1/√m and at the same number of columns it
    is above that of a basis. Frobenius norm on 20 unit observations, h_0.99, m = r = 100."""
    matrix, exact = connected
    n = len(exact)
    values, vectors = np.linalg.eigh(exact)
    truth = (vectors * H(values)) @ vectors.T
    system = System(matrix, Exact(100)(matrix))
    some = sp.csr_array(sp.eye_array(n, format="csr", dtype=np.float32)[:20])

    def error(solver):
        return np.linalg.norm(solver(system, some, H).scores - truth[:20])

    one = {m: np.mean([error(RandomProjection(m, seed)) for seed in range(3)]) for m in (100, 1600)}
    assert 2.5 < one[100] / one[1600] < 6.4  # 4 on average
    assert error(PRINTED) < one[100] / 2
    mean = np.mean([RandomProjection(100, s)(system, some, H).scores for s in range(40)], axis=0)
    assert np.linalg.norm(mean - truth[:20]) < one[100] / 3


def test_7_the_printed_rule_counts_every_component(graph):
    """§7 to the letter: up to ρ slices of each component count against r, the isolated vertex's one too, and the rest
    goes to the largest eigenvalues of all; a dense transcription of the rule, ρ = 3."""
    rank, rho, chosen = 60, 3, []
    matrix, pools = dense(graph), []
    for label in range(graph.labels.max() + 1):
        own = np.flatnonzero(graph.labels == label)
        values = np.sort(np.linalg.eigvalsh(matrix[np.ix_(own, own)]))[::-1]
        share = len(own) if len(own) <= rho else max(rho, -(-rank * len(own) // len(matrix)))
        kept = values[: min(share, len(own))]
        chosen += kept[:rho].tolist()
        pools += kept[rho:].tolist()
    chosen += sorted(pools, reverse=True)[: max(0, rank - len(chosen))]
    expected = np.sort(chosen)[::-1]
    isolated = int((graph.degrees == 0).sum())
    printed = decompose_blocks(graph, Exact(rank), min_rank=rho, printed=True)
    ours = np.sort(np.concatenate([printed.eigenvalues, np.zeros(isolated)]))[::-1]
    np.testing.assert_allclose(ours, expected, atol=1e-5)
    assert decompose_blocks(graph, Exact(rank), min_rank=rho).rank > printed.rank


BASES = {
    "exact": lambda g: decompose_blocks(g, Exact(60)),
    "chebyshev": lambda g: decompose_blocks(g, Chebyshev(60)),
    "simultaneous": lambda g: decompose_blocks(g, Simultaneous(60)),
    "simultaneous, many rounds": lambda g: decompose_blocks(g, Simultaneous(60, rounds=200)),
    "sparse": lambda g: sparsify(decompose_blocks(g, Exact(60)), g.normalized, nonzeros=4000),
    "giant": lambda g: decompose_giant(g, Exact(60)),
}


@pytest.mark.parametrize("name", BASES)
def test_4_3_a_bound_that_is_stated_holds(graph, name):
    """‖h(A) − x‖₂ is never above `error_bound`, for every way to a basis, with and without the complement; where none
    is known none is stated. Dense float64, 1e-5."""
    spectrum = BASES[name](graph)
    values, vectors = np.linalg.eigh(dense(graph))
    unit = sp.eye_array(graph.n_vertices, format="csr", dtype=np.float32)
    stated = []
    for h in (LowPass(0.99), LowPass(0.8), Heat(10)):
        truth = (vectors * h(values)) @ vectors.T
        for complement in (True, False):
            bound = spectrum.error_bound(h, complement=complement)
            stated.append(bound)
            if bound is not None:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", FilterWarning)
                    x = Spectral(complement=complement)(System(graph.normalized, spectrum), unit, h).scores
                assert np.linalg.norm(truth - x.T, 2) <= bound + 1e-5
    known = [bound is not None for bound in stated]
    assert any(known) == (name not in ("simultaneous", "sparse"))
    if name == "giant":
        assert min(stated) > 0.5


def test_4_3_the_warning_tests_what_is_left_out(graph, y):
    """§4.3: h = λ − 1 never falls, yet the cut basis keeps its smallest gains and drops its largest: warned of. λ² near
    −1 likewise. h_α is not, whose gains left out are small."""
    system = System(graph.normalized, decompose_blocks(graph, Exact(60)))
    with pytest.warns(FilterWarning, match="as large on the eigenvalues below"):
        PRINTED(system, y, lambda t: t - 1)
    with pytest.warns(FilterWarning, match="which this basis leaves out"):
        Spectral()(system, y, PowerIteration(2))
    for h in (LowPass(0.99), LowPass(0.9), Heat(5)):
        Spectral()(system, y, h)
        PRINTED(system, y, h)


def test_2_1_every_component_has_the_eigenvalue_one_and_a_basis_that_misses_some_says_so(graph):
    """§2.1, §7: 1 occurs once for each component with an edge. Lanczos on all of 𝒲 may miss some: then it warns; one
    basis for each component has them all."""
    several = sp.csr_array(sp.block_diag([graph.normalized] * 3))
    from longwave.graph.mutual import Graph, component_labels

    three = Graph(several, np.tile(graph.degrees, 3), component_labels(several), np.tile(graph.reach, 3))
    there = int((three.component_sizes > 1).sum())
    with pytest.warns(ConvergenceWarning, match=f"of {there} times.*components='blocks'"):
        decompose_whole(three, Lanczos(there + 5, tolerance=0.1))
    assert (decompose_blocks(three, Exact()).eigenvalues > 1 - 1e-4).sum() == there
    assert (decompose_whole(three, Exact(there + 5)).eigenvalues > 1 - 1e-4).sum() == there


def test_5_4_the_embedding_of_the_items_is_phi(digits_split):
    """Eq. (11): Φᵀ of the index's own items; ⟨φ(v_i), φ̂(z)⟩ is the printed score of item i for z. Max-norm 1e-5."""
    vectors, _, queries, _ = digits_split
    index = paper_index(np.vstack([vectors[:300], vectors[:2]]), k=10, spectrum=Exact(), merge_copies=True)
    points = index.embedding(filter=H)
    assert points.shape == (302, index.spectrum.rank)
    np.testing.assert_array_equal(points[300:], points[:2])  # copies are one vertex
    hits = index.search(queries[:3], 302, solver=PRINTED, filter=H)
    by_id = np.take_along_axis(hits.scores, np.argsort(hits.ids, axis=1), axis=1)
    ours = index.embed(queries[:3], filter=H) @ points.T
    inside = np.repeat(True, 302)
    inside[np.flatnonzero(np.diff(index.graph.normalized.indptr) == 0)] = False
    np.testing.assert_allclose(ours[:, inside], by_id[:, inside], atol=1e-5 * by_id.max())


def test_3_1_an_index_is_made_sparse_as_printed_in_one_line(digits_split):
    """Stage 3: `index.sparsify(0.5, printed=True)` keeps the half of U that is largest, entry by entry."""
    index = paper_index(digits_split[0][:300], k=10, spectrum=Exact(40))
    full = index.spectrum.eigenvectors.toarray()
    sparse = index.sparsify(0.5, printed=True)
    stored = index.spectrum.eigenvectors.nonzeros
    kept = sparse.spectrum.eigenvectors.toarray()
    assert np.count_nonzero(kept) == round(0.5 * stored)
    assert np.abs(kept[kept != 0]).min() >= np.abs(full[(kept == 0) & (full != 0)]).max()
    np.testing.assert_array_equal(kept[kept != 0], full[kept != 0])
    assert sparse.settings.sparsity == 0.5
    assert sparse.search(digits_split[2][:2], 5).ids.shape == (2, 5)
