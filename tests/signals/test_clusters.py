"""Clusters: real classes found better than by k-means of the vectors; components and what stands alone."""

import networkx as nx
import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

import longwave as lw
from commands import run
from longwave.errors import InputError
from longwave.signals.clusters import Waves, modularity


@pytest.fixture(scope="module")
def digits():
    data = lw.datasets.digits()
    return lw.Index.build(data.vectors, progress=False), data


def test_digits(digits):
    index, data = digits
    made = index.cluster(10)
    unit = data.vectors / np.linalg.norm(data.vectors, axis=1, keepdims=True)
    plain = adjusted_rand_score(data.labels, KMeans(10, n_init=10, random_state=0).fit_predict(unit))
    ours = adjusted_rand_score(data.labels, made.labels)
    assert ours > plain + 0.1
    assert ours > 0.8
    assert len(made) == 10
    sizes = np.bincount(made.labels)
    assert (np.diff(sizes) <= 0).all()
    np.testing.assert_array_equal(made.labels, index.cluster(10).labels)


def test_the_number_of_clusters(digits):
    index, data = digits
    made = index.cluster()
    assert 8 <= len(made) <= 14
    assert adjusted_rand_score(data.labels, made.labels) > 0.5


def test_modularity_is_that_of_networkx():
    club = nx.karate_club_graph()
    index = lw.Index.build(graph=club, progress=False)
    made = index.cluster(3)
    parts = [set(np.flatnonzero(made.labels == c).tolist()) for c in range(3)]
    assert made.modularity == pytest.approx(nx.community.modularity(club, parts), abs=1e-6)
    assert modularity(index, made.labels) == pytest.approx(made.modularity)


def test_points_are_rows_of_phi(digits_split):
    """Unit rows of U h(Λ)^½, dense; all waves where there are fewer than twice the clusters."""
    index = lw.Index.build(digits_split[0][:90], k=6, spectrum=lw.Exact(), progress=False)
    phi = index.spectrum.eigenvectors.toarray() * np.sqrt(lw.LowPass(0.9)(index.spectrum.eigenvalues))
    norm = np.linalg.norm(phi, axis=1, keepdims=True)
    expected = np.divide(phi, norm, out=np.zeros_like(phi), where=norm > 0)
    ours = Waves(index, lw.LowPass(0.9), 90).points(90)
    np.testing.assert_allclose(ours @ ours.T, expected @ expected.T, atol=1e-5)


def test_strays_have_no_waves_and_go_by_their_neighbours():
    """A graph of mutual neighbours leaves some alone: they are no clusters, and are in one."""
    from longwave.signals.carrying import adoption, is_stray

    data = lw.datasets.digits()
    index = lw.Index.build(data.vectors, k=6, progress=False)
    stray = is_stray(index)
    assert 20 < stray.sum() < 400
    given = adoption(index, stray)
    assert not given[np.flatnonzero(~stray)].nnz
    np.testing.assert_allclose(given.sum(axis=1)[stray], 1, atol=1e-5)
    assert not stray[given.indices].any()
    made = index.cluster(10)
    assert (made.labels >= 0).all()
    assert np.bincount(made.labels).min() > 10
    assert adjusted_rand_score(data.labels, made.labels) > 0.5
    right = made.labels[stray] == [np.bincount(made.labels[given[[i]].indices]).argmax() for i in np.flatnonzero(stray)]
    assert right.mean() > 0.9


def test_what_stands_alone(hard_vectors):
    index = lw.Index.build(hard_vectors[:-1], k=5, progress=False)
    made = index.cluster(2)
    assert made.labels.shape == (len(hard_vectors) - 1,)
    assert (made.labels[:60] == 0).mean() > 0.9
    assert (made.labels[60:95] == 1).mean() > 0.9
    assert (made.labels >= 0).all()  # hermits follow their nearest vector
    lonely = lw.Index.build(graph=[(0, 1), (1, 2), (0, 2), (4, 5)], ids=[0, 1, 2, 4, 5, 7], progress=False)
    labels = lonely.cluster(2).labels
    assert labels.tolist() == [0, 0, 0, 1, 1, -1]
    with pytest.raises(InputError, match="k must be at most 5, the vertices that have edges, got 6"):
        lonely.cluster(6)
    with pytest.raises(InputError, match="k must be a whole number"):
        lonely.cluster(0)
    with pytest.raises(InputError, match="cluster needs a basis"):
        lw.Index.build(graph=[(0, 1)], spectrum=None, progress=False).cluster(1)


def test_command(tmp_path):
    lw.Index.build(graph=nx.karate_club_graph(), progress=False).save(tmp_path / "c.longwave")
    code, out, err = run("cluster", "c.longwave", "-k", 2, "-o", "c.csv", cwd=tmp_path)
    assert (code, err) == (0, "")
    assert out.startswith("c.csv: 2 clusters of 34 items, modularity 0.")
    rows = [line.split(",") for line in (tmp_path / "c.csv").read_text().splitlines()]
    expected = lw.Index.load(tmp_path / "c.longwave").cluster(2).labels
    assert [int(row[1]) for row in rows[1:]] == expected.tolist()
