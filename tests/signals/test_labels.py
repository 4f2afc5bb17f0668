"""Labels that spread: against dense algebra, against 1-NN on real digits, and where nothing is reached."""

import numpy as np
import pytest

import longwave as lw
import oracle
from commands import run
from longwave.errors import InputError
from longwave.signals.carrying import adoption, is_stray


@pytest.fixture(scope="module")
def digits():
    data = lw.datasets.digits()
    return lw.Index.build(data.vectors, progress=False), data


def fifty(labels, seed=0):
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.choice(np.flatnonzero(labels == c), 5, replace=False) for c in range(10)])


def test_it_is_the_formula(digits_split):
    """x_c = h(𝒲)y_c, every class scaled to equal mass (or to its frequency), shares of a row. Dense float64, 1e-4."""
    vectors, labels = digits_split[0][:300], digits_split[1][:300]
    index = lw.Index.build(vectors, k=10, spectrum=lw.Exact(), progress=False)
    chosen = np.arange(0, 300, 9)
    classes = np.unique(labels[chosen])
    y = np.zeros((len(classes), 300))
    for item in chosen:
        y[np.searchsorted(classes, labels[item]), item] = 1
    matrix = index.graph.normalized.toarray().astype(np.float64)
    strays = adoption(index, is_stray(index)).toarray()
    assert strays.any()
    touched = y + y @ strays
    x = oracle.filtered(matrix, touched, lw.LowPass(0.9)).T
    x += strays @ x
    reached = np.isin(index.graph.labels, index.graph.labels[touched.any(axis=0)])
    reached |= (strays @ reached) > 0
    x[~reached] = 0
    for prior, weight in (("equal", np.ones(len(classes))), ("labels", y.sum(axis=1))):
        scaled = x / x.sum(axis=0) * weight
        expected = scaled / np.maximum(scaled.sum(axis=1, keepdims=True), 1e-300)
        made = index.propagate({int(i): int(labels[i]) for i in chosen}, filter=lw.LowPass(0.9), prior=prior)
        np.testing.assert_array_equal(made.classes, classes)
        np.testing.assert_array_equal(made.reached, reached)
        np.testing.assert_allclose(made.scores, expected, atol=1e-4)
    exact = index.propagate({int(i): int(labels[i]) for i in chosen}, filter=lw.LowPass(0.9), tolerance=1e-8)
    listed = np.where(np.isin(np.arange(300), chosen), labels, -1)
    np.testing.assert_array_equal(exact.labels, index.propagate(listed, filter=lw.LowPass(0.9)).labels)


def test_fifty_labels_on_digits(digits):
    """Mean of three draws: far above 1-NN from the same labels, and the confident ones are right more often."""
    index, data = digits
    ours, nearest, sure, unsure = [], [], [], []
    unit = data.vectors / np.linalg.norm(data.vectors, axis=1, keepdims=True)
    for seed in range(3):
        known = fifty(data.labels, seed)
        rest = np.setdiff1d(np.arange(len(data.labels)), known)
        made = index.propagate({int(i): int(data.labels[i]) for i in known})
        right = made.labels[rest] == data.labels[rest]
        ours.append(right.mean())
        nearest.append((data.labels[known][(unit[rest] @ unit[known].T).argmax(axis=1)] == data.labels[rest]).mean())
        order = np.argsort(-made.confidence[rest])
        sure.append(right[order[:800]].mean())
        unsure.append(right[order[800:]].mean())
    assert np.mean(ours) > 0.95
    assert np.mean(ours) > np.mean(nearest) + 0.06
    assert np.mean(sure) > np.mean(unsure) + 0.02


def test_what_nothing_reaches_is_minus_one():
    index = lw.Index.build(graph=[(0, 1), (1, 2), (5, 6)], ids=[0, 1, 2, 5, 6, 9], progress=False)
    made = index.propagate({0: 4})
    assert made.labels.tolist() == [4, 4, 4, -1, -1, -1]
    assert made.reached.tolist() == [True] * 3 + [False] * 3
    assert (made.confidence[3:] == 0).all()
    assert index.propagate({0: "cat"}).labels.tolist() == ["cat"] * 3 + [""] * 3


def test_strays_take_and_give_labels():
    """A graph of mutual neighbours leaves some alone: they have labels by their nearest, and pass on their own."""
    data = lw.datasets.digits()
    index = lw.Index.build(data.vectors, k=6, progress=False)
    stray = np.flatnonzero(is_stray(index))
    known = fifty(data.labels)
    made = index.propagate({int(i): int(data.labels[i]) for i in known})
    assert made.reached[stray].all()
    assert (made.labels[stray] == data.labels[stray]).mean() > 0.8
    alone = index.propagate({int(i): int(data.labels[i]) for i in stray})
    assert (alone.labels[stray] == data.labels[stray]).mean() > 0.9
    assert (alone.labels == data.labels).mean() > 0.85


def test_several_labels(digits):
    """Two labels each, parity and whether it is round: each is found about as well as alone."""
    index, data = digits
    truth = np.stack([data.labels % 2 == 0, np.isin(data.labels, [0, 6, 8, 9])], axis=1)
    known = fifty(data.labels)
    given = {int(i): [name for name, has in zip(("even", "round"), truth[i], strict=True) if has] for i in known}
    made = index.propagate(given)
    assert made.several
    assert made.classes.tolist() == ["even", "round"]
    assert made.labels.shape == truth.shape
    assert ((made.labels == truth).mean(axis=0) > 0.93).all()
    assert made.confidence.shape == (len(truth),)


def test_copies_groups_and_added_items_have_labels_too(digits_split):
    vectors, labels = digits_split[0], digits_split[1]
    index = lw.Index.build(np.vstack([vectors[:200], vectors[:3]]), k=10, progress=False).extend(vectors[200:260])
    made = index.propagate({int(i): int(labels[i]) for i in range(0, 200, 2)})
    assert len(made.labels) == 263
    np.testing.assert_array_equal(made.labels[200:203], made.labels[:3])
    assert (made.labels[203:] == labels[200:260]).mean() > 0.8
    regional = lw.Index.build(vectors[:200], groups=np.arange(200) // 2, k=10, progress=False)
    assert regional.propagate({0: 1, 50: 2}).labels.shape == (100,)


@pytest.mark.parametrize(
    ("labels", "options", "words"),
    [
        ({}, {}, "labels is empty"),
        ({0: 1.5}, {}, "whole numbers or strings, all alike, got 1.5"),
        ({0: 1, 1: "a"}, {}, "all alike"),
        ({99: 1}, {}, "no item with id 99"),
        ([1, 2], {}, "one label for each of 6 items"),
        ([-1] * 6, {}, "no item has a label"),
        ([0.5] * 6, {}, "whole numbers or strings, got float64"),
        ({0: 1}, {"prior": "even"}, "prior must be one of equal, labels"),
    ],
)
def test_refusals(labels, options, words):
    index = lw.Index.build(graph=[(0, 1), (1, 2), (5, 6)], ids=[0, 1, 2, 5, 6, 9], progress=False)
    with pytest.raises(InputError, match=words):
        index.propagate(labels, **options)


def test_command(tmp_path, digits_split):
    vectors, labels = digits_split[0][:300], digits_split[1][:300]
    index = lw.Index.build(vectors, k=10, spectrum=lw.Exact(60), progress=False)
    index.save(tmp_path / "d.longwave")
    (tmp_path / "known.csv").write_text("id,label\n" + "".join(f"{i},n{labels[i]}\n" for i in range(60)))
    code, out, err = run("propagate", "d.longwave", "known.csv", "-o", "all.csv", cwd=tmp_path)
    assert (code, err) == (0, "")
    assert out.startswith("all.csv: 300 items")
    expected = index.propagate({i: f"n{labels[i]}" for i in range(60)})
    rows = [line.split(",") for line in (tmp_path / "all.csv").read_text().splitlines()]
    assert rows[0] == ["id", "label", "confidence"]
    assert [row[1] for row in rows[1:]] == expected.labels.tolist()
    (tmp_path / "bad.csv").write_text("0,a,b\n")
    code, _, err = run("propagate", "d.longwave", "bad.csv", "-o", "all.csv", cwd=tmp_path)
    assert code == 1
    assert "line 1 must be an id and a label" in err
