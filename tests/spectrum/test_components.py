"""One basis from many connected components."""

import numpy as np
import pytest
import scipy.sparse as sp

import oracle
from graphs import make
from longwave import Chebyshev, Exact, Lanczos, LowPass, Simultaneous
from longwave.solvers import Spectral, System
from longwave.spectrum.components import decompose_blocks, decompose_giant, decompose_whole, rank_share, select_slices
from longwave.spectrum.spectrum import COPIED, IN_BASIS, ISOLATED


def test_rank_shares_of_section_7():
    assert rank_share(7, n_vertices=1000, rank=100, min_rank=10) == 7  # n_l ≤ ρ: exact
    assert rank_share(50, n_vertices=1000, rank=100, min_rank=10) == 10  # max(ρ, 5)
    assert rank_share(501, n_vertices=1000, rank=100, min_rank=10) == 51  # ⌈50.1⌉
    assert rank_share(12, n_vertices=12, rank=100, min_rank=10) == 12  # never more than n_l


def test_slices_are_completed_by_the_largest():
    values = [np.array([1, 0.9, 0.8, 0.7]), np.array([1, 0.85, 0.2]), np.array([1.0])]
    assert select_slices(values, rank=4, min_rank=1) == [2, 1, 1]
    assert select_slices(values, rank=5, min_rank=1) == [2, 2, 1]
    assert select_slices(values, rank=6, min_rank=1) == [3, 2, 1]
    assert select_slices(values, rank=2, min_rank=2) == [2, 2, 1]  # ρ of each already exceeds r: all stay
    assert select_slices(values, rank=99, min_rank=1) == [4, 3, 1]
    assert select_slices([], rank=5, min_rank=1) == []


@pytest.mark.parametrize(
    "method", [Exact(), Lanczos(500), Chebyshev(500), Simultaneous(500)], ids=lambda m: type(m).__name__
)
@pytest.mark.parametrize("min_rank", [1, 4, 200])
def test_blocks_equal_the_whole_at_full_rank(hard_vectors, method, min_rank):
    graph = make(hard_vectors, k=8)
    y = np.eye(graph.n_vertices)
    expected = oracle.filtered(graph.normalized.toarray().astype(np.float64), y, LowPass(0.99))
    spectrum = decompose_blocks(graph, method, min_rank=min_rank)
    got = apply(graph, spectrum, y, complement=False)
    np.testing.assert_allclose(got, expected, atol=2e-6)
    np.testing.assert_allclose(spectrum.row_norms, 1, atol=1e-5)
    assert spectrum.next_eigenvalue is None


def apply(graph, spectrum, y, *, complement, h=LowPass(0.99)):  # noqa: B008
    import scipy.sparse as sp

    return Spectral(complement)(System(graph.normalized, spectrum), sp.csr_array(y, dtype=np.float32), h).scores


def test_isolated_vertices_are_exact_at_any_rank(hard_vectors):
    graph = make(hard_vectors, k=8)
    spectrum = decompose_blocks(graph, Lanczos(5), min_rank=1)
    isolated = np.flatnonzero(graph.degrees == 0)
    assert (spectrum.kinds[isolated] == ISOLATED).all()
    assert (spectrum.kinds == IN_BASIS).sum() == graph.n_vertices - len(isolated)
    for complement in (True, False):
        x = apply(graph, spectrum, np.eye(graph.n_vertices), complement=complement)
        np.testing.assert_allclose(x[isolated][:, isolated], 0.01 * np.eye(len(isolated)), rtol=1e-5)


def test_giant_copies_the_rest(hard_vectors):
    graph = make(hard_vectors, k=8)
    spectrum = decompose_giant(graph, Exact())
    outside = graph.labels != 0
    assert (spectrum.kinds[outside] == COPIED).all()
    y = np.random.default_rng(0).random((3, graph.n_vertices))
    x = apply(graph, spectrum, y, complement=False)
    np.testing.assert_allclose(x[:, outside], y[:, outside], rtol=1e-6)
    exact = oracle.filtered(graph.normalized.toarray().astype(np.float64), y, LowPass(0.99))
    np.testing.assert_allclose(x[:, ~outside], exact[:, ~outside], atol=1e-6)
    isolated = graph.degrees == 0
    np.testing.assert_allclose(x[:, isolated], exact[:, isolated] / (1 - 0.99), rtol=1e-4)  # as the docstring says


def test_whole_is_the_method_on_everything(hard_vectors):
    graph = make(hard_vectors, k=8)
    spectrum = decompose_whole(graph, Exact())
    exact = oracle.filtered(graph.normalized.toarray().astype(np.float64), np.eye(graph.n_vertices), LowPass(0.9))
    np.testing.assert_allclose(
        apply(graph, spectrum, np.eye(graph.n_vertices), complement=False, h=LowPass(0.9)), exact, atol=2e-6
    )


@pytest.mark.parametrize("n", [1, 2, 5])
def test_one_component_per_vertex(n):
    graph = make(np.eye(n), k=3)
    assert len(graph.component_sizes) == n
    for decompose in (decompose_blocks, decompose_giant, decompose_whole):
        spectrum = decompose(graph, Chebyshev(10))
        x = apply(graph, spectrum, np.eye(n), complement=True)
        assert np.isfinite(x).all()
    np.testing.assert_allclose(
        apply(graph, decompose_blocks(graph, Chebyshev(10)), np.eye(n), complement=False), 0.01 * np.eye(n), rtol=1e-5
    )


def test_residuals_and_eigenvalues_belong_together(hard_vectors):
    graph = make(hard_vectors, k=8)
    spectrum = decompose_blocks(graph, Lanczos(40), min_rank=3)
    u = spectrum.eigenvectors.toarray()
    assert u.shape == (graph.n_vertices, spectrum.rank)
    residuals = np.linalg.norm(graph.normalized @ u - u * spectrum.eigenvalues.astype(np.float32), axis=0)
    assert residuals.max() < 1e-5
    np.testing.assert_allclose(spectrum.residuals, residuals, atol=1e-5)


def test_small_components_do_not_starve_the_giant():
    """Hundreds of pairs of vertices beside a chain: the chain keeps its whole rank, the pairs are exact."""
    angles = np.radians(np.arange(60) * 2.0)
    chain = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    vectors = np.zeros((60 + 400, 2 + 200))
    vectors[:60, :2] = chain
    vectors[60 + np.arange(400), 2 + np.arange(400) // 2] = 1.0
    graph = make(vectors, k=2)
    assert graph.component_sizes.tolist() == [60] + [2] * 200
    spectrum = decompose_blocks(graph, Lanczos(30), min_rank=5)
    assert spectrum.rank == 5 + 400  # the chain's share is max(ρ, ⌈30 · 60 / 460⌉)
    spectrum = decompose_blocks(graph, Lanczos(230), min_rank=5)
    assert spectrum.rank == 30 + 400
    pairs = np.eye(460)[60:]
    exact = oracle.filtered(graph.normalized.toarray().astype(np.float64), pairs, LowPass(0.9))
    np.testing.assert_allclose(apply(graph, spectrum, pairs, complement=False, h=LowPass(0.9)), exact, atol=1e-6)


def test_many_small_components_leave_the_rank_to_the_giant():
    """60 rings of 8 vertices beside one of 600: as printed, ρ = 5 of each would take 300 of the 120 slices."""
    import scipy.sparse as sp

    from longwave.graph import mutual as graphs
    from longwave.graph.mutual import Graph

    sizes = [600] + [8] * 60
    rings = [sp.csr_array(np.roll(np.eye(s), 1, axis=1) + np.roll(np.eye(s), -1, axis=1)) for s in sizes]
    adjacency = sp.csr_array(sp.block_diag(rings), dtype=np.float32)
    normalized, degrees = graphs.normalize(adjacency)
    whole = Graph(normalized, degrees, graphs.component_labels(adjacency), np.zeros(len(degrees), dtype=np.float32))
    spectrum = decompose_blocks(whole, Exact(120), min_rank=5)
    in_giant = np.abs(spectrum.eigenvectors.toarray()[:600]).max(axis=0) > 1e-6
    assert in_giant.sum() == rank_share(600, n_vertices=1080, rank=120, min_rank=5) == 67
    assert spectrum.rank == 67 + 60 * 5


def test_cutting_out_a_component_does_not_look_at_the_others():
    """Rows and columns of a component are those of the whole matrix, in another order."""
    from longwave.spectrum.components import submatrix

    rng = np.random.default_rng(0)
    blocks = [sp.random_array((n, n), density=0.5, rng=rng) for n in (5, 9, 4)]
    whole = sp.csr_array(sp.block_diag([b + b.T for b in blocks]), dtype=np.float32)
    vertices = np.arange(5, 14)
    part, order = submatrix(whole, vertices)
    assert sorted(order.tolist()) == vertices.tolist()
    np.testing.assert_array_equal(part.toarray(), whole.toarray()[np.ix_(order, order)])


def test_components_of_middle_size_are_kept_whole_as_far_as_there_is_room():
    from longwave.spectrum.components import kept_whole

    sizes = np.array([5000, 700, 300, 300, 2])
    assert kept_whole(sizes, 0) == set()
    assert kept_whole(sizes, 4 + 90_000) == {4, 2}
    assert kept_whole(sizes, 10**9) == {1, 2, 3, 4}


def test_an_earlier_basis_of_several_components_is_a_start_for_each(monkeypatch):
    """A component takes its own columns of the earlier basis; what is left of its block is random, not zero."""
    from longwave.graph import mutual
    from longwave.graph.mutual import Graph
    from longwave.spectrum import chebyshev

    monkeypatch.setattr(chebyshev, "_DENSE_VERTICES", 0)
    rings = [sp.csr_array(np.roll(np.eye(n), 1, axis=1) + np.roll(np.eye(n), -1, axis=1)) for n in (300, 200)]
    normalized, degrees = mutual.normalize(sp.csr_array(sp.block_diag(rings), dtype=np.float32))
    labels = np.repeat([0, 1], [300, 200])
    graph = Graph(normalized, degrees, labels, np.zeros(500, dtype=np.float32))
    earlier = decompose_blocks(graph, Exact(60))
    again = decompose_blocks(graph, Chebyshev(60, tolerance=1e-4), earlier=earlier.eigenvectors)
    np.testing.assert_allclose(np.sort(again.eigenvalues), np.sort(earlier.eigenvalues), atol=1e-4)
