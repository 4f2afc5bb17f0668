"""Every way to evaluate x = h(𝒲)y against the dense oracle, on a graph with everything that breaks graphs."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.linalg import expm_multiply

import oracle
from graphs import make
from longwave import (
    Chebyshev,
    ChebyshevFilter,
    ConjugateGradient,
    Exact,
    Heat,
    Hybrid,
    Ideal,
    Lanczos,
    LowPass,
    Polynomial,
    RandomWalk,
    Spectral,
    Walk,
)
from longwave.errors import ConvergenceWarning, FilterError, FilterWarning, InputError
from longwave.solvers import System
from longwave.spectrum.components import decompose_blocks

EXACT = [Spectral(), Spectral(complement=False), ConjugateGradient(), Hybrid(1e-6), ChebyshevFilter(), RandomWalk(3000)]


@pytest.fixture(scope="module")
def hard(hard_vectors):
    graph = make(hard_vectors, k=8)
    assert len(graph.component_sizes) > 5
    return System(graph.normalized, decompose_blocks(graph, Exact()))


@pytest.fixture(scope="module")
def y(hard):
    rng = np.random.default_rng(0)
    dense = rng.random((30, hard.normalized.shape[0])) * (rng.random((30, hard.normalized.shape[0])) < 0.1)
    return sp.csr_array(dense, dtype=np.float32)


def relative(got, expected):
    return np.linalg.norm(got - expected, axis=1).max() / np.linalg.norm(expected, axis=1).min()


@pytest.mark.parametrize("solver", EXACT, ids=repr)
@pytest.mark.parametrize("alpha", [0.0, 0.5, 0.99])
def test_exact_solve_to_1e5(hard, y, solver, alpha):
    """Relative 2-norm error ≤ 1e-5 of float32 scores against the float64 dense solve of 𝓛_α x = y."""
    expected = oracle.linear_system(hard.normalized.toarray().astype(np.float64), y.toarray(), alpha)
    assert relative(solver(hard, y, LowPass(alpha)).scores, expected) < 1e-5


@pytest.mark.parametrize("h", [Heat(3.0), Walk(0.9, 7), Polynomial([0, 0.2, 0.8]), np.sinh], ids=repr)
@pytest.mark.parametrize("solver", [Spectral(), Spectral(complement=False), ChebyshevFilter()], ids=repr)
def test_other_filters(hard, y, solver, h):
    expected = oracle.filtered(hard.normalized.toarray().astype(np.float64), y.toarray(), h)
    assert relative(solver(hard, y, h).scores, expected) < 1e-5


def test_heat_equals_expm_multiply(hard, y):
    """A second oracle for `Heat`: e^{−t(I − 𝒲)} y by scipy."""
    laplacian = sp.eye_array(hard.normalized.shape[0]) - hard.normalized.astype(np.float64)
    expected = expm_multiply(-4.0 * laplacian.tocsc(), y.toarray().T.astype(np.float64)).T
    for solver in (Spectral(), ChebyshevFilter()):
        assert relative(solver(hard, y, Heat(4.0)).scores, expected) < 1e-5


def test_networkx_pagerank_is_a_second_oracle(digits_split):
    """h_α(𝒲)y = D^{-1/2} PPR(D^{1/2}y) ‖D^{1/2}y‖₁, on the largest component of real digits."""
    graph = make(digits_split[0][:400], k=10)
    keep = np.flatnonzero(graph.labels == 0)
    w = graph.adjacency()[keep][:, keep].astype(np.float64)
    root = np.sqrt(w.sum(axis=1))
    y = np.zeros(len(keep))
    y[[3, 50, 101]] = 0.9, 0.4, 0.2
    rank = nx.pagerank(
        nx.from_scipy_sparse_array(w), alpha=0.9, personalization=dict(enumerate(root * y)), tol=1e-14, max_iter=1000
    )
    expected = np.array([rank[i] for i in range(len(keep))]) / root * (root * y).sum()
    matrix = sp.csr_array(graph.normalized[keep][:, keep])
    for solver in (ConjugateGradient(1e-9), Spectral()):
        system = System(matrix, Exact()(matrix))
        assert (
            relative(solver(system, sp.csr_array(y[None], dtype=np.float32), LowPass(0.9)).scores, expected[None])
            < 1e-5
        )


@pytest.mark.parametrize("solver", [ConjugateGradient(), Hybrid(), RandomWalk(5)], ids=repr)
def test_the_linear_system_is_for_lowpass_only(hard, y, solver):
    with pytest.raises(FilterError, match=r"LowPass\(alpha\) only, got Heat.*use solver=Spectral"):
        solver(hard, y, Heat(1.0))


def test_walk_solver_is_the_walk_filter(hard, y):
    expected = oracle.filtered(hard.normalized.toarray().astype(np.float64), y.toarray(), Walk(0.9, 5))
    assert relative(RandomWalk(5)(hard, y, LowPass(0.9)).scores, expected) < 1e-5


def test_the_error_that_cg_states_is_a_bound(hard, y):
    """‖x − x*‖ ≤ ‖y − 𝓛_α x‖, since λ_min(𝓛_α) = 1; stated relative to ‖x‖."""
    exact = oracle.linear_system(hard.normalized.toarray().astype(np.float64), y.toarray(), 0.99)
    low = System(hard.normalized, Lanczos(20)(hard.normalized))
    for solver in (ConjugateGradient(0, max_steps=7), Hybrid(0, max_steps=2), Hybrid(1e-3)):
        solution = solver(low, y, LowPass(0.99))
        true = np.linalg.norm(solution.scores - exact, axis=1) / np.linalg.norm(solution.scores, axis=1)
        assert (true <= solution.errors + 1e-6).all()


def test_hybrid_needs_fewer_steps_and_stops_at_the_tolerance(digits_split):
    graph = make(digits_split[0], k=20)
    system = System(graph.normalized, decompose_blocks(graph, Chebyshev(100)))
    y = sp.csr_array(np.random.default_rng(0).random((20, graph.n_vertices)) < 0.006, dtype=np.float32)
    plain = ConjugateGradient(1e-3)(system, y, LowPass(0.99))
    hybrid = Hybrid(1e-3)(system, y, LowPass(0.99))
    assert hybrid.steps.max() * 3 < plain.steps.max()
    assert hybrid.errors.max() <= 1e-3
    exact = ConjugateGradient(1e-8)(system, y, LowPass(0.99)).scores
    assert relative(hybrid.scores, exact) < 2e-3


def test_hybrid_reaches_the_truth_from_a_poor_basis(hard, y):
    """Approximate eigenpairs cost steps, never accuracy: the residual is that of the true system."""
    from longwave import Simultaneous

    poor = System(hard.normalized, Simultaneous(30, 5, 1)(hard.normalized))
    assert poor.spectrum.residuals.max() > 0.05
    expected = oracle.linear_system(hard.normalized.toarray().astype(np.float64), y.toarray(), 0.99)
    assert relative(Hybrid(1e-6)(poor, y, LowPass(0.99)).scores, expected) < 1e-5


def test_the_hybrid_identity_of_deflation(hard, y):
    """h(𝒲) = U g(Λ) Uᵀ + h(𝒲 − UΛUᵀ), g = h − h(0), exact for exact eigenpairs; any h."""
    dense = hard.normalized.toarray().astype(np.float64)
    values, vectors = np.linalg.eigh(dense)
    u, lam = vectors[:, -15:], values[-15:]
    for h in (LowPass(0.9), Heat(2.0)):
        whole = oracle.filtered(dense, y.toarray(), h)
        low = y.toarray() @ u * (h(lam) - h(np.zeros(1))) @ u.T
        rest = oracle.filtered(dense - u * lam @ u.T, y.toarray(), h)
        np.testing.assert_allclose(low + rest, whole, atol=1e-10)


def test_cg_that_stops_early_warns(hard, y):
    with pytest.warns(ConvergenceWarning, match="stopped after 2 steps"):
        ConjugateGradient(1e-9, max_steps=2)(hard, y, LowPass(0.99))


def test_an_empty_observation_gives_zeros(hard):
    nothing = sp.csr_array((2, hard.normalized.shape[0]), dtype=np.float32)
    for solver in EXACT:
        assert not solver(hard, nothing, LowPass(0.99)).scores.any()


def test_smooth_filters_only_for_polynomials(hard, y):
    with pytest.raises(FilterError, match="not smooth enough"):
        ChebyshevFilter()(hard, y, Ideal(0.5))
    loose = ChebyshevFilter(tolerance=1e-2)(hard, y, LowPass(0.9)).steps[0]
    assert loose < ChebyshevFilter(tolerance=1e-8)(hard, y, LowPass(0.9)).steps[0]


def test_a_falling_filter_warns_on_a_truncated_basis_only(hard, y):
    Spectral()(hard, y, Polynomial([0, 0, 1.0]))  # complete basis: fine
    cut = System(hard.normalized, Lanczos(10)(hard.normalized))
    with pytest.warns(FilterWarning, match="as large on the eigenvalues below"):
        Spectral()(cut, y, Polynomial([0, 0, 1.0]))


def test_no_basis_is_a_clear_error(hard, y):
    for solver in (Spectral(), Hybrid()):
        with pytest.raises(InputError, match=r"built without; build with spectrum=Chebyshev"):
            solver(System(hard.normalized, None), y, LowPass(0.9))


@pytest.mark.parametrize(
    "make_solver",
    [
        lambda: ConjugateGradient(-1),
        lambda: ConjugateGradient(max_steps=0),
        lambda: Hybrid(float("nan")),
        lambda: RandomWalk(0),
        lambda: ChebyshevFilter(0),
        lambda: ChebyshevFilter(max_degree=0),
    ],
)
def test_bad_parameters(make_solver):
    with pytest.raises(InputError, match="must be"):
        make_solver()


@settings(deadline=None, max_examples=25)
@given(
    angles=st.lists(st.integers(0, 23), min_size=1, max_size=25),
    zeros=st.integers(0, 2),
    k=st.integers(1, 5),
    alpha=st.sampled_from([0.0, 0.5, 0.99]),
)
def test_solvers_agree_on_any_small_graph(angles, zeros, k, alpha):
    """Duplicates, ties, hermits, zero vectors, many components."""
    a = np.radians(np.array(angles) * 15.0)
    vectors = np.vstack([np.stack([np.cos(a), np.sin(a)], axis=1), np.zeros((zeros, 2))])
    graph = make(vectors, k)
    system = System(graph.normalized, decompose_blocks(graph, Exact(), min_rank=2))
    y = sp.csr_array(np.eye(len(vectors)), dtype=np.float32)
    expected = oracle.linear_system(graph.normalized.toarray().astype(np.float64), np.eye(len(vectors)), alpha)
    for solver in EXACT:
        np.testing.assert_allclose(solver(system, y, LowPass(alpha)).scores, expected, atol=2e-6)
