"""Where relevance ends, near-duplicates, diversity: on made-up scores, by hand, and on real classes."""

import numpy as np
import pytest

import longwave as lw
from commands import run
from longwave.errors import InputError
from longwave.search.shaping import _diverse, _folded, ends


@pytest.fixture(scope="module")
def digits(digits_split):
    return lw.Index.build(digits_split[0], progress=False), digits_split


def test_the_cut_is_the_largest_gap():
    assert ends(np.array([1.0, 0.9, 0.8, 0.8, 0.8, 0.7, 0.6, 0.05, 0.04])) == 7
    assert ends(np.array([5.0, 1, 1, 1, 1, 0.9, 0.45, 0.4, 0.1, 0.09])) == 8
    assert ends(np.array([5.0, 1, 1, 1, 1, 0.9, 0.3, 0.05, 0.03, 1e-9])) == 7  # what lies further down does not count
    assert ends(np.full(30, 0.5)) == 30  # nothing stands out
    assert ends(np.array([0.3])) == 1
    assert ends(np.array([1.0, 1, 0, 0, 0, 0])) == 2
    assert ends(np.zeros(4)) == 4


def test_relevance_ends_where_the_class_does(digits):
    """Digits, by default: about as many hits as the class has, most of them right."""
    index, (_, labels, queries, asked) = digits
    hits = index.search(queries[:60], "auto")
    precision, recall = [], []
    for row, wanted in enumerate(asked[:60]):
        right = labels[hits.ids[row, : hits.counts[row]]] == wanted
        precision.append(right.mean())
        recall.append(right.sum() / (labels == wanted).sum())
    assert np.mean(precision) > 0.85
    assert np.mean(recall) > 0.6
    assert [len(own) for own in hits.records()] == hits.counts.tolist()
    one = index.search(queries[0], "auto")
    assert one.ids.shape == (1, one.counts[0])
    assert len(one[0].records()[0]) == one.counts[0]
    again = index.search_by_id([0, 5], "auto")
    assert not (again.ids == [[0], [5]]).any()


def test_folding_has_no_chains():
    angle = np.deg2rad([0, 8, 16, 90, 24])
    points = np.stack([np.cos(angle), np.sin(angle)], axis=1).astype(np.float32)
    kept, under = _folded(points, np.cos(np.deg2rad(10)))
    assert kept.tolist() == [0, 2, 3]  # 16° is near to 8°, which is folded, and so stands by itself
    assert under == {0: [1], 2: [4], 3: []}


def test_hits_are_folded(digits_split):
    vectors = digits_split[0][:200]
    rng = np.random.default_rng(0)
    noisy = np.vstack([vectors, vectors[:50] + 0.05 * rng.normal(size=(50, 64)), vectors[:50]])
    index = lw.Index.build(noisy, k=10, progress=False)
    plain = index.search(vectors[[3]], 10)
    folded = index.search(vectors[[3]], 10, fold=0.999)
    assert {3, 203, 253} <= set(plain.ids[0].tolist())
    assert len({3, 203, 253} & set(folded.ids[0].tolist())) == 1
    place = next(p for p, i in enumerate(folded.ids[0].tolist()) if i in (3, 203, 253))
    assert {folded.ids[0, place].item(), *folded.folded[0][place]} == {3, 203, 253}
    assert folded.ids.shape == (1, 10)
    unit = noisy / np.linalg.norm(noisy, axis=1, keepdims=True)
    own = unit[folded.ids[0]] @ unit[folded.ids[0]].T
    assert (own[~np.eye(10, dtype=bool)] < 0.999).all()
    assert folded[0].folded == folded.folded
    regional = lw.Index.build(noisy, groups=np.arange(300) // 2, k=10, progress=False)
    assert regional.search(vectors[[3]], 5, fold=0.9).ids.shape == (1, 5)


def test_duplicates_are_groups_around_one(digits_split):
    vectors = digits_split[0][:100]
    angle = np.deg2rad(np.arange(0, 40, 8))
    chain = np.zeros((5, 64))
    chain[:, 0], chain[:, 1] = np.cos(angle), np.sin(angle)
    index = lw.Index.build(np.vstack([vectors, vectors[:3], vectors[:1], chain]), k=5, progress=False)
    groups = index.duplicates(0.9999)
    assert sorted(sorted(group) for group in groups) == [[0, 100, 103], [1, 101], [2, 102]]
    assert len(groups[0]) == 3
    chained = [group for group in index.duplicates(np.cos(np.deg2rad(10))) if set(group) & set(range(104, 109))]
    unit = chain / np.linalg.norm(chain, axis=1, keepdims=True)
    for group in chained:
        assert all(unit[group[0] - 104] @ unit[i - 104] >= np.cos(np.deg2rad(10)) - 1e-6 for i in group)
    assert max(len(group) for group in chained) <= 3
    every = [i for group in index.duplicates(0.95) for i in group]
    assert len(every) == len(set(every))


def test_more_near_ones_than_are_looked_up_at_first():
    rng = np.random.default_rng(0)
    vectors = np.vstack([np.ones((90, 8)) + 1e-4 * rng.normal(size=(90, 8)), rng.normal(size=(40, 8))])
    groups = lw.Index.build(vectors, k=5, progress=False).duplicates(0.9999)
    assert sorted(groups[0]) == list(range(90))


def test_diversity_is_maximal_marginal_relevance():
    scores = np.array([1.0, 0.99, 0.5, 0.4])
    points = np.array([[1, 0], [1, 0], [0, 1], [0.6, 0.8]], dtype=np.float32)
    assert _diverse(scores, points, 0.0, 4).tolist() == [0, 1, 2, 3]
    # after 0: 1 is worth 0.5·0.99 − 0.5, 2 is worth 0.25, 3 is worth 0.2 − 0.3
    assert _diverse(scores, points, 0.5, 3).tolist() == [0, 2, 1]


def test_diverse_hits_are_less_alike(digits):
    index, (vectors, _, queries, _) = digits
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    def alike(hits):
        products = [unit[row] @ unit[row].T for row in hits.ids]
        return np.mean([p[~np.eye(10, dtype=bool)].mean() for p in products])

    plain, some = (index.search(queries[:20], 10, diversity=d) for d in (0.0, 0.5))
    np.testing.assert_array_equal(plain.ids[:, 0], some.ids[:, 0])
    assert alike(some) < alike(plain)
    assert some.ids.shape == (20, 10)
    assert all(len(set(row)) == 10 for row in some.ids.tolist())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"k": "all"}, "or 'auto', got 'all'"),
        ({"k": 0}, "k must be a whole number of at least 1"),
        ({"fold": 1.5}, "fold must be a cosine above 0 and at most 1"),
        ({"diversity": 1.0}, "diversity must be at least 0 and below 1"),
    ],
)
def test_refusals(digits, options, words):
    with pytest.raises(InputError, match=words):
        digits[0].search(digits[1][2][:1], **options)
    with pytest.raises(InputError, match="reads the scores of a manifold search"):
        digits[0].search(digits[1][2][:1], "auto", solver=lw.Euclidean())
    with pytest.raises(InputError, match="threshold must be a cosine"):
        digits[0].duplicates(0)


def test_graphs_are_diverse_and_cut_but_not_folded():
    index = lw.Index.build(graph=[(0, 1), (1, 2), (2, 3), (0, 4), (4, 5)], progress=False)
    assert index.search(seeds={0: 1}, k=3, diversity=0.3).ids.shape == (1, 3)
    assert index.search(seeds={0: 1}, k="auto").counts[0] >= 1
    with pytest.raises(InputError, match="fold needs vectors"):
        index.search(seeds={0: 1}, k=3, fold=0.9)
    with pytest.raises(InputError, match="duplicates needs vectors"):
        index.duplicates()


def test_commands(tmp_path, digits_split):
    vectors = np.vstack([digits_split[0][:150], digits_split[0][:2]])
    index = lw.Index.build(vectors, k=8, progress=False)
    index.save(tmp_path / "d.longwave")
    np.save(tmp_path / "q.npy", digits_split[2][:3])
    shape = ("-k", "auto", "--fold", 0.999, "--diversity", 0.2)
    code, out, err = run("search", "d.longwave", "q.npy", *shape, cwd=tmp_path)
    assert (code, err) == (0, "")
    expected = index.search(digits_split[2][:3], "auto", fold=0.999, diversity=0.2)
    assert len(out.splitlines()) == 1 + expected.counts.sum()
    code, out, _ = run("duplicates", "d.longwave", "--threshold", 0.9999, cwd=tmp_path)
    assert sorted(out.splitlines()) == ["0\t150", "1\t151"]
    code, _, err = run("search", "d.longwave", "q.npy", "-k", "some", cwd=tmp_path)
    assert code == 1
    assert "-k must be a whole number of at least 1, or auto, got 'some'" in err
