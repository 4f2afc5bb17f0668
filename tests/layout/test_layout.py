"""A collection in two dimensions."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

import longwave
from longwave.layout import graph_positions, neighborhood, positions
from longwave.layout.plane import place
from longwave.layout.stress import place_few
from longwave.search.queries import Queries


@pytest.fixture(scope="module")
def digits():
    from longwave.datasets import digits

    return digits()


@pytest.fixture(scope="module")
def index(digits):
    return longwave.Index.build(digits.vectors, progress=False)


def purity(places, labels, k=10):
    """The share of the k nearest in the plane that have the same label."""
    from sklearn.neighbors import NearestNeighbors

    near = NearestNeighbors(n_neighbors=k + 1).fit(places).kneighbors(places)[1][:, 1:]
    return float((labels[near] == labels[:, None]).mean())


def test_digits_of_one_kind_lie_together_and_fill_the_square(index, digits):
    places = positions(index)
    assert places.dtype == np.float32
    assert places.shape == (1797, 2)
    assert np.abs(places).max() <= 1
    assert purity(places, digits.labels) > 0.95
    # No blob in the middle: of a hundred squares many are in use, and none has much.
    counts, *_ = np.histogram2d(*places.T, bins=10, range=[[-1, 1], [-1, 1]])
    assert np.count_nonzero(counts) > 30
    assert counts.max() < 0.1 * len(places)
    assert np.ptp(places, axis=0).max() == pytest.approx(2, abs=1e-3)


def test_the_same_graph_has_the_same_map(index):
    assert np.array_equal(positions(index), positions(index))


def test_after_prepare_nothing_is_left_to_compile(index):
    from longwave.layout import prepare
    from longwave.rows import layout_loops

    prepare()
    loops = (layout_loops.spread, layout_loops.mark_largest, layout_loops.pack)
    before = [loop.signatures for loop in loops]
    assert all(before)
    positions(index)
    assert [loop.signatures for loop in loops] == before


def test_usps_and_coil(shared_data):
    for name, least in (("usps", 0.85), ("coil20", 0.88)):
        vectors = np.load(next((shared_data / name).glob("[!l]*.npy"))).astype(np.float32)
        labels = np.load(shared_data / name / "labels.npy")
        index = longwave.Index.build(vectors - vectors.mean(axis=0), progress=False)
        assert purity(positions(index), labels) > least


def test_components_lie_apart(digits):
    index = longwave.Index.build(digits.vectors[:800], k=4, progress=False)
    sizes = index.graph.component_sizes
    assert len(sizes) > 100
    assert sizes[0] > 20
    places = positions(index)
    centers = np.array([places[index.graph.labels == c].mean(axis=0) for c in range(len(sizes))])
    reach = [np.linalg.norm(places[index.graph.labels == c] - centers[c], axis=1).max() for c in range(len(sizes))]
    for one in range(0, len(sizes), 7):
        apart = np.linalg.norm(centers - centers[one], axis=1) - reach - reach[one]
        apart[one] = 1
        assert apart.min() > 0
    # Room is shared by size: the largest component has about its part of the square.
    assert reach[0] ** 2 / np.sum(np.square(reach)) == pytest.approx(sizes[0] / sizes[sizes > 1].sum(), rel=0.5)


@pytest.mark.parametrize("n", [1, 2, 3, 9])
def test_graphs_of_few_vertices(n):
    path = sp.csr_array(sp.diags_array([np.ones(n - 1)] * 2, offsets=[-1, 1], shape=(n, n)) if n > 1 else (1, 1))
    for places in (place(path, lambda vertices: np.zeros((len(vertices), 2))), place_few(path)):
        assert places.shape == (n, 2)
        assert np.isfinite(places).all()
        assert np.abs(places).max() <= 1
        assert len(np.unique(places, axis=0)) == n


def test_no_edges_at_all():
    places = place(sp.csr_array((50, 50), dtype=np.float32), lambda vertices: np.zeros((len(vertices), 2)))
    assert len(np.unique(places, axis=0)) == 50
    assert np.abs(places).max() == pytest.approx(1, abs=1e-3)
    near = np.linalg.norm(places[:, None] - places[None], axis=2) + 9 * np.eye(50)
    assert near.min() > 0.15  # packed, but not on top of each other


def test_a_chain_is_drawn_as_one():
    """Ways in the graph are distances in the plane."""
    n = 20
    path = sp.csr_array(sp.diags_array([np.ones(n - 1)] * 2, offsets=[-1, 1], shape=(n, n)))
    places = place_few(path)
    steps = np.linalg.norm(np.diff(places, axis=0), axis=1)
    assert steps.max() < 1.05 * steps.min()
    assert np.linalg.norm(places[-1] - places[0]) == pytest.approx(steps.sum(), rel=1e-3)


def test_added_items_lie_among_what_they_are_expressed_by(digits):
    half = longwave.Index.build(digits.vectors[:1200], progress=False)
    whole = half.extend(digits.vectors[1200:])
    known = graph_positions(half)
    places = positions(whole, known)
    assert np.array_equal(places, positions(whole))
    assert np.array_equal(places[:1200], known)
    assert purity(places, digits.labels) > 0.9


def test_removed_items_are_not_there(tmp_path, digits):
    longwave.create(tmp_path / "c", digits.vectors[:200], progress=False).close()
    with longwave.open(tmp_path / "c") as living:
        before = positions(living.index)
        living.remove([0, 5])
        after = positions(living.index)
    assert np.array_equal(after, np.delete(before, [0, 5], axis=0))


def test_copies_share_a_place(digits):
    index = longwave.Index.build(digits.vectors[[*range(100), 3, 3]], progress=False)
    places = positions(index)
    assert places.shape == (102, 2)
    assert np.array_equal(places[100], places[3])


def test_items_of_several_vectors(digits):
    groups = np.repeat(np.arange(300), 2)
    order = np.argsort(digits.labels[:600], kind="stable")
    index = longwave.Index.build(digits.vectors[:600][order], groups=groups, progress=False)
    labels = digits.labels[:600][order][::2]
    assert purity(positions(index), labels) > 0.8
    more = index.extend(digits.vectors[600:604], groups=[300, 300, 301, 301])
    assert positions(more).shape == (302, 2)


def test_without_a_basis(digits):
    index = longwave.Index.build(digits.vectors[:400], spectrum=None, progress=False)
    assert purity(positions(index), digits.labels[:400]) > 0.85


def test_a_compressed_basis(index, digits):
    assert purity(positions(index.compress(basis="int8")), digits.labels) > 0.95


def around(index, vector, item, **options):
    path = index.explain(vector, item).path
    asked = Queries.make(vector, dimension=index.dimension)
    return path, neighborhood(index, index.observe(asked), path, longwave.LowPass(0.99), **options)


def test_the_neighbourhood_has_the_query_the_way_and_the_best(index, digits):
    path, found = around(index, digits.vectors[9], 20)
    assert len(path) > 2
    assert set(path) <= set(found.ids)
    y = index.observe(Queries.make(digits.vectors[9], dimension=64)).toarray()[0]
    assert set(np.flatnonzero(y)) <= set(found.ids)
    assert np.allclose(found.observed, y[found.ids])
    best = index.search(digits.vectors[9], 40, blend=0).ids[0]
    assert len(set(best.tolist()) & set(found.ids)) >= 38
    W = index.graph.normalized
    for i, j, weight in found.edges:
        assert weight == pytest.approx(W[found.ids[i], found.ids[j]])
    steps = {frozenset(pair) for pair in pairwise(path)}
    drawn = {frozenset((found.ids[i], found.ids[j])) for i, j, _ in found.edges}
    assert steps <= drawn
    assert np.array_equal(found.places, around(index, digits.vectors[9], 20)[1].places)


def test_it_stays_small_however_much_is_observed(index, digits):
    asked = Queries.make(digits.vectors[9], dimension=64)
    found = neighborhood(index, index.observe(asked, neighbors=1000), [], longwave.LowPass(0.99), most=30)
    assert 30 <= len(found.ids) <= 60


def test_an_item_outside_of_the_graph_hangs_on_what_it_is_expressed_by(digits):
    index = longwave.Index.build(digits.vectors[:1200], progress=False).extend(digits.vectors[1200:])
    path, found = around(index, digits.vectors[17], 1381)
    assert path[-1] == 1381
    place = found.ids.index(1381)
    joined = [pair for pair in found.edges if place in pair[:2]]
    assert 1 <= len(joined) <= 5
    assert found.scores[place] > 0
    assert found.observed[place] == 0


def test_items_of_several_vectors_are_one_node_each(digits):
    groups = np.repeat(np.arange(300), 2)
    order = np.argsort(digits.labels[:600], kind="stable")
    index = longwave.Index.build(digits.vectors[:600][order], groups=groups, progress=False)
    _, found = around(index, digits.vectors[17], 5)
    assert len(set(found.ids)) == len(found.ids)
    assert all(i != j for i, j, _ in found.edges)
