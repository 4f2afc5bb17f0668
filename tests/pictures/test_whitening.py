"""Whitening makes the covariance the identity: of the vectors, or of what differs within pairs."""

import warnings

import numpy as np
import pytest

from longwave.errors import DataWarning, FileError, InputError
from longwave.pictures import Whitening, learn_pca, learn_supervised, read_whitening, reduce_regions, write_whitening


@pytest.fixture(scope="module")
def vectors(digits_split):
    return digits_split[0].astype(np.float32)  # (1597, 64)


def covariance(rows):
    return np.cov(rows.astype(np.float64).T, bias=True)


def test_pca_makes_the_covariance_the_identity(vectors):
    whitening = learn_pca(vectors, dimensions=40)
    white = whitening(vectors)
    np.testing.assert_allclose(covariance(white), np.eye(40), atol=1e-3)
    np.testing.assert_allclose(white.mean(axis=0), 0, atol=1e-3)
    np.testing.assert_allclose(whitening.cut(10)(vectors), white[:, :10], atol=1e-5)  # another product of BLAS


def test_shrinkage_keeps_weak_directions_weak(vectors):
    usable = vectors[:, vectors.std(axis=0) > 0.01]
    values = np.linalg.eigvalsh(covariance(usable))[::-1][:30]
    mean = np.linalg.eigvalsh(covariance(usable)).mean()
    white = covariance(learn_pca(usable, dimensions=30, shrinkage=5)(usable))
    np.testing.assert_allclose(np.diag(white), values / (values + 5 * mean), rtol=1e-3)
    np.testing.assert_allclose(white - np.diag(np.diag(white)), 0, atol=1e-4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # two pairs are too few without it
        few = learn_supervised(usable, [(0, 1), (2, 3)], dimensions=5, shrinkage=5)
    assert np.isfinite(few(usable)).all()
    for bad in (-1, np.nan, np.inf):
        with pytest.raises(InputError, match="shrinkage must be 0 or more"):
            learn_pca(usable, dimensions=5, shrinkage=bad)


def test_recentred(vectors):
    whitening = learn_pca(vectors[:500], dimensions=10)
    moved = vectors[500:] + 0.1
    again = whitening.recentred(moved)
    np.testing.assert_allclose(again(moved).mean(axis=0), 0, atol=1e-3)
    np.testing.assert_array_equal(again.projection, whitening.projection)
    with pytest.raises(InputError, match="64 dimensions"):
        whitening.recentred(moved[:, :5])


def test_supervised_makes_differences_of_pairs_the_identity(vectors, digits_split):
    labels = digits_split[1]
    rng = np.random.default_rng(0)
    rows = rng.integers(0, len(labels), size=(40_000, 2))
    matching = rows[(labels[rows[:, 0]] == labels[rows[:, 1]]) & (rows[:, 0] != rows[:, 1])]
    usable = vectors[:, vectors.std(axis=0) > 0.01]
    whitening = learn_supervised(usable, matching, dimensions=30)
    first, second = whitening(usable)[matching.T]
    difference = (first - second).astype(np.float64)
    np.testing.assert_allclose(difference.T @ difference / len(difference), np.eye(30), atol=1e-3)
    # what tells classes apart comes first
    spread = whitening(usable).var(axis=0)
    assert (np.diff(spread) <= 1e-3).all()
    other = rows[labels[rows[:, 0]] != labels[rows[:, 1]]]
    again = learn_supervised(usable, matching, dimensions=30, different=other)
    first, second = again(usable)[other.T]
    apart = covariance(first - second)
    assert np.abs(apart - np.diag(np.diag(apart))).max() < 1e-2 * apart.max()


def test_supervised_beats_pca_on_what_it_was_told(vectors, digits_split):
    import longwave as lw

    labels, queries, query_labels = digits_split[1:]
    rng = np.random.default_rng(1)
    rows = rng.integers(0, len(labels), size=(20_000, 2))
    matching = rows[labels[rows[:, 0]] == labels[rows[:, 1]]]
    usable = vectors.std(axis=0) > 0.01

    def hits(whitening):
        index = lw.Index.build(whitening(vectors[:, usable]), spectrum=None, k=5)
        found = index.search(whitening(queries[:, usable].astype(np.float32)), 10, solver=lw.Euclidean())
        return (labels[found.ids] == query_labels[:, None]).mean()

    supervised = learn_supervised(vectors[:, usable], matching, dimensions=8)
    assert hits(supervised) > hits(learn_pca(vectors[:, usable], dimensions=8)) + 0.01


def test_fewer_dimensions_than_asked_for(vectors):
    with pytest.warns(DataWarning, match="are kept"):
        assert learn_pca(vectors[:5], dimensions=20).dimensions == 4
    with pytest.raises(InputError, match="the same"):
        learn_pca(np.ones((4, 3)), dimensions=2)
    with pytest.warns(DataWarning, match="give more pairs"):
        learn_supervised(vectors, [(0, 1), (2, 3)], dimensions=5)
    with pytest.raises(InputError, match="row numbers"):
        learn_supervised(vectors, [0, 1, 2], dimensions=5)
    with pytest.raises(InputError, match="names row"):
        learn_supervised(vectors, [(0, 99_999)], dimensions=5)


def test_files(tmp_path):
    whitening = Whitening(np.arange(3, dtype=np.float32), np.ones((3, 2), dtype=np.float32))
    write_whitening(whitening, tmp_path / "w.npz")
    np.testing.assert_array_equal(read_whitening(tmp_path / "w.npz").projection, whitening.projection)
    np.savez(tmp_path / "other.npz", x=1)
    for name in ("other.npz", "gone.npz"):
        with pytest.raises(FileError):
            read_whitening(tmp_path / name)


def test_mixture_means(vectors):
    item_of = np.repeat(np.arange(20), 21)
    fewer, owner = reduce_regions(vectors[:420], item_of, count=5)
    assert (np.bincount(owner) == 5).all()
    np.testing.assert_allclose(np.linalg.norm(fewer, axis=1), 1, rtol=1e-5)
    again, _ = reduce_regions(vectors[:420], item_of, count=5)
    np.testing.assert_array_equal(fewer, again)
    # means lie nearer to the regions than one mean does
    own = vectors[:21] / np.linalg.norm(vectors[:21], axis=1, keepdims=True)
    assert (own @ fewer[:5].T).max(axis=1).mean() > (own @ own.mean(axis=0) / np.linalg.norm(own.mean(axis=0))).mean()


def test_few_or_equal_regions_pass(vectors):
    item_of = np.array([0, 0, 1, 1, 1, 1, 1, 1, 1])
    rows = np.vstack([vectors[:2], np.tile(vectors[3], (7, 1))])
    fewer, owner = reduce_regions(rows, item_of, count=5)
    assert owner.tolist() == [0, 0, 1]
    np.testing.assert_array_equal(fewer[:2], rows[:2])


def test_files_that_hold_no_whitening(tmp_path):
    whole = Whitening(np.zeros(3, dtype=np.float32), np.ones((3, 2), dtype=np.float32))
    write_whitening(whole, tmp_path / "w.npz")
    data = (tmp_path / "w.npz").read_bytes()
    for content in (b"", b"nothing here", data[: len(data) // 2]):
        (tmp_path / "x.npz").write_bytes(content)
        with pytest.raises(FileError, match="not a whitening"):
            read_whitening(tmp_path / "x.npz")
    write_whitening(Whitening(np.full(3, np.nan, dtype=np.float32), whole.projection), tmp_path / "x.npz")
    with pytest.raises(FileError, match="not finite"):
        read_whitening(tmp_path / "x.npz")
