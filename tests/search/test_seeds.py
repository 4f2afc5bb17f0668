"""Searches that begin at items: PageRank as networkx has it, the manifold's own scores as the paper has them."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

import longwave as lw
import oracle
from commands import run
from longwave.errors import InputError
from settings import paper_index


@pytest.fixture(scope="module")
def club():
    return nx.karate_club_graph()


@pytest.fixture(scope="module")
def large():
    """2,500 vertices in two components, and three that stand alone; weights from 0.1 to 1."""
    rng = np.random.default_rng(0)
    small = nx.connected_watts_strogatz_graph(197, 6, 0.2, seed=2)
    made = nx.disjoint_union(nx.powerlaw_cluster_graph(2300, 4, 0.3, seed=1), small)
    for _, _, data in made.edges(data=True):
        data["weight"] = float(rng.uniform(0.1, 1))
    made.add_nodes_from(range(2497, 2500))
    return made


@pytest.mark.parametrize("seeds", [{0: 1.0}, {5: 0.3, 33: 2.0, 8: 1}])
@pytest.mark.parametrize("options", [{}, {"tolerance": 1e-9}])
def test_pagerank_is_that_of_networkx(club, seeds, options):
    index = lw.Index.build(graph=club, progress=False)
    expected = nx.pagerank(club, alpha=0.85, personalization=seeds, tol=1e-13, max_iter=1000)
    hits = index.search(seeds=seeds, k=34, kind="pagerank", filter=lw.LowPass(0.85), **options)
    assert hits.scores.sum() == pytest.approx(1, abs=1e-6)
    ours = dict(zip(hits.ids[0].tolist(), hits.scores[0].tolist(), strict=True))
    assert max(abs(ours[node] - expected[node]) for node in club) < 1e-6


def test_the_first_hundred_are_exact_on_demand(large):
    """A basis of rank 100 of 2,500: with a tolerance the first 100 are those of networkx, one by one."""
    index = lw.Index.build(graph=large, spectrum=lw.Chebyshev(100), progress=False)
    for seeds in ({17: 1.0}, {2400: 1.0, 3: 2.0}, {2498: 1.0, 5: 1.0}):
        expected = nx.pagerank(large, alpha=0.85, personalization=seeds, tol=1e-14, max_iter=1000)
        best = sorted(expected, key=lambda node: -expected[node])[:100]
        hits = index.search(seeds=seeds, k=100, kind="pagerank", filter=lw.LowPass(0.85), tolerance=1e-7)
        assert hits.route == "exact"
        assert set(hits.ids[0].tolist()) == set(best)
        np.testing.assert_allclose(hits.scores[0], [expected[n] for n in hits.ids[0].tolist()], rtol=1e-4)


def test_seeds_are_y(digits_split):
    """With vectors in the index: the scores are h(𝒲)y of the paper, y the weights of the seeds. Dense float64, 1e-5."""
    index = paper_index(digits_split[0][:200], k=8, spectrum=lw.Exact(), ids=[f"v{i}" for i in range(200)])
    hits = index.search(seeds={"v3": 1.0, "v150": -0.5}, k=200, solver=lw.Spectral(complement=False))
    y = np.zeros((1, 200))
    y[0, [3, 150]] = 1.0, -0.5
    expected = oracle.filtered(index.graph.normalized.toarray().astype(np.float64), y, lw.LowPass(0.99))[0]
    order = np.argsort([int(name[1:]) for name in hits.ids[0]])
    np.testing.assert_allclose(hits.scores[0][order], expected, atol=1e-5)


def test_several_at_once_and_what_is_allowed(large, tmp_path):
    index = lw.Index.build(graph=large, progress=False)
    assert index.settings.plan.route == "sublinear"
    both = index.search(seeds=[{3: 1.0}, {2300: 1.0}], k=5)
    alone = index.search(seeds={2300: 1.0}, k=5)
    np.testing.assert_array_equal(both.ids[1], alone.ids[0])
    assert alone.route == "sublinear"
    exact = index.search(seeds={2300: 1.0}, k=5, tolerance=1e-8)
    assert set(alone.ids[0]) == set(exact.ids[0])
    some = index.search(seeds={3: 1.0}, k=4, where=list(range(100, 600)), kind="pagerank")
    assert ((some.ids >= 100) & (some.ids < 600)).all()
    np.testing.assert_array_equal(index.search_by_id([3, 9], 6).ids[:, 0] == [3, 9], False)
    index.save(tmp_path / "g.longwave")
    loaded = lw.Index.load(tmp_path / "g.longwave", verify=True)
    np.testing.assert_array_equal(loaded.search(seeds={3: 1.0}, k=7).ids, index.search(seeds={3: 1.0}, k=7).ids)
    assert repr(loaded).startswith("<Index of 2500 items, a graph, rank ")


def test_what_needs_vectors_says_so(club):
    index = lw.Index.build(graph=club, progress=False)
    for call in (
        lambda: index.search([[1.0, 2.0]]),
        lambda: index.extend([[1.0]]),
        lambda: index.embed([[1.0]]),
        lambda: index.kernel([[1.0]], [[1.0]]),
        lambda: index.explain([1.0], 0),
        lambda: index.compress(vectors="int8"),
    ):
        with pytest.raises(InputError, match=r"needs vectors, and this index has a graph alone; search with seeds="):
            call()
    for wrong, words in (
        ({}, "give queries, or items to begin at"),
        ({"seeds": {0: 1}, "queries": [[1.0]]}, "leave out queries"),
        ({"seeds": {0: 1}, "blend": 0.5, "neighbors": 3}, "leave out blend, neighbors"),
        ({"seeds": {0: 1}, "solver": lw.Euclidean()}, "leave out solver=Euclidean"),
        ({"seeds": {}}, "none empty"),
        ({"seeds": {0: "x"}}, "weights of seeds must be numbers"),
        ({"seeds": {0: 0.0}}, "not all 0"),
        ({"seeds": {99: 1}}, "no item with id 99"),
        ({"seeds": {0: 1}, "kind": "katz"}, "kind must be one of manifold, pagerank"),
    ):
        with pytest.raises(InputError, match=words):
            index.search(**wrong)
    with pytest.raises(InputError, match="give vectors, or a graph of your own"):
        lw.Index.build()
    with pytest.raises(InputError, match="leave out groups"):
        lw.Index.build(np.eye(3), groups=[0, 0, 1], graph=[(0, 1)])


def test_an_index_of_vectors_and_edges_is_not_refreshed(tmp_path):
    vectors = np.random.default_rng(0).normal(size=(60, 8))
    lw.Index.build(vectors, graph=[(0, 1)], k=5, progress=False).save(tmp_path / "g.longwave")
    with lw.open(tmp_path / "g.longwave") as collection, pytest.raises(InputError, match="build it again with graph="):
        collection.refresh()


def test_commands(tmp_path, club):
    lines = [f"n{a},n{b},{data['weight']}" for a, b, data in club.edges(data=True)]
    (tmp_path / "club.csv").write_text("# a comment\n" + "\n".join(lines))
    code, out, err = run("build", "--graph", "club.csv", "-o", "c.longwave", cwd=tmp_path)
    assert code == 0, err
    assert "34 items" in out
    code, out, err = run("pagerank", "c.longwave", "n0=2", "n5", "-k", 3, "-o", "h.csv", cwd=tmp_path)
    assert (code, err) == (0, "")
    expected = nx.pagerank(club, personalization={0: 2, 5: 1}, tol=1e-12)
    rows = [line.split(",") for line in (tmp_path / "h.csv").read_text().splitlines()[1:]]
    for _, _, name, score in rows:
        assert float(score) == pytest.approx(expected[int(name[1:])], abs=1e-6)
    code, out, _ = run("info", "c.longwave", "--details", cwd=tmp_path)
    assert "78 edges of your own" in out
    assert "begin at items of it" in " ".join(out.split())
    (tmp_path / "bad.csv").write_text("a,b\nc\n")
    code, _, err = run("build", "--graph", "bad.csv", "-o", "d.longwave", cwd=tmp_path)
    assert code == 1
    assert "line 2 is not an edge" in err


def test_sparse_matrices_from_files(tmp_path, club):
    sp.save_npz(tmp_path / "w.npz", nx.to_scipy_sparse_array(club, format="csr"))
    from longwave.cli.reading import graph_from

    index = lw.Index.build(graph=graph_from(str(tmp_path / "w.npz")), progress=False)
    hits = index.search(seeds={0: 1}, k=1, kind="pagerank", filter=lw.LowPass(0.85))
    assert hits.scores[0, 0] == pytest.approx(nx.pagerank(club, personalization={0: 1}, tol=1e-12)[0], abs=1e-6)
