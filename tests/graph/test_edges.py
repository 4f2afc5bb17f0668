"""Graphs of the user's own: every form gives the same matrix, and what is wrong is named."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

import longwave as lw
from longwave.errors import DataWarning, InputError
from longwave.graph.edges import of_edges, read_graph

EDGES = [("a", "b", 2.0), ("b", "c", 1.0), ("c", "a", 0.5)]
DENSE = np.array([[0, 2, 0.5], [2, 0, 1], [0.5, 1, 0]])


def test_every_form_is_the_same_matrix():
    drawn = nx.Graph()
    drawn.add_weighted_edges_from(EDGES)
    for given in (EDGES, tuple(EDGES), drawn, [*EDGES, ("b", "a", 1.0)]):
        matrix, ids = read_graph(given)
        assert ids.tolist() == ["a", "b", "c"]
        np.testing.assert_array_equal(matrix.toarray(), DENSE)
    matrix, ids = read_graph(sp.csr_array(DENSE))
    assert ids.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(matrix.toarray(), DENSE)
    matrix, ids = read_graph(np.array([[0, 1, 2], [1, 2, 1], [2, 0, 0.5]]))
    np.testing.assert_array_equal(matrix.toarray(), DENSE)
    matrix, ids = read_graph([(7, 3), (3, 5)], ids=[3, 5, 7, 9])
    assert ids.tolist() == [3, 5, 7, 9]
    np.testing.assert_array_equal(matrix.toarray(), [[0, 1, 1, 0], [1, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]])


def test_a_graph_is_normalised_as_the_paper_says():
    graph = of_edges(read_graph(EDGES)[0])
    degrees = DENSE.sum(axis=1)
    np.testing.assert_allclose(graph.normalized.toarray(), DENSE / np.sqrt(degrees[:, None] * degrees), rtol=1e-6)
    np.testing.assert_allclose(graph.adjacency().toarray(), DENSE, rtol=1e-6)


@pytest.mark.parametrize(
    ("given", "ids", "words"),
    [
        (5, None, "a graph must be a list of edges"),
        ([], None, "a graph must be a list of edges"),
        ([(1, 2), (1, 2, 3)], None, "a graph must be a list of edges"),
        (np.eye(4), None, "a graph must be a list of edges"),
        ([(0, 1, -1)], None, "at least 0, got -1.0"),
        ([(0, 1, np.nan)], None, "got nan"),
        ([(0, 1, "x")], None, "weights of edges must be numbers"),
        ([(0.5, 1)], None, "whole numbers or strings, got"),
        ([(0, 9)], [0, 1], "names 9, which is no item"),
        ([("a", "b")], [0, 1], "edges name items as 'a', but ids look like 0"),
        (sp.csr_array([[0, 1], [0, 0]]), None, "must be symmetric; give matrix.maximum"),
        (sp.csr_array((2, 3)), None, "must be square"),
        (sp.csr_array((2, 2)), [1, 2, 3], "the graph has 2 vertices but there are 3 items"),
        (nx.DiGraph([(0, 1)]), None, "directed"),
        (nx.Graph(), None, "no vertices"),
        (nx.Graph([((0, 1), (1, 2))]), None, "whole numbers or strings"),
    ],
)
def test_what_is_wrong_is_named(given, ids, words):
    with pytest.raises(InputError) as error:
        read_graph(given, ids)
    assert words in str(error.value)


def test_loops_are_left_out_with_a_word():
    with pytest.warns(DataWarning, match="1 edges lead from a vertex to itself"):
        matrix, _ = read_graph([(0, 0), (0, 1)])
    np.testing.assert_array_equal(matrix.toarray(), [[0, 1], [1, 0]])


def test_edges_join_the_neighbours_of_vectors(digits_split):
    """W = mutual W + edge_weight · edges, also where copies are one vertex."""
    vectors = np.vstack([digits_split[0][:100], digits_split[0][:1]])  # item 100 is a copy of item 0
    options = {"k": 5, "kernel": lw.Power(3), "spectrum": None, "progress": False}
    plain = lw.Index.build(vectors, **options)
    joined = lw.Index.build(vectors, graph=[(100, 40, 1), (3, 99, 2), (0, 100, 1)], edge_weight=0.5, **options)
    expected = plain.graph.adjacency().toarray()
    for a, b, weight in ((0, 40, 0.5), (3, 99, 1.0)):
        expected[a, b] += weight
        expected[b, a] += weight
    np.testing.assert_allclose(joined.graph.adjacency().toarray(), expected, atol=1e-6)
    assert joined.settings.given_edges == 2
    near = joined.search(vectors[[3]], 101, blend=0, tolerance=1e-6)
    before = plain.search(vectors[[3]], 101, blend=0, tolerance=1e-6)
    assert np.flatnonzero(near.ids[0] == 99) < np.flatnonzero(before.ids[0] == 99)
