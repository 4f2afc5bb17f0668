"""`evaluate`: what it asks for, what it counts, every form of known answers and of the report."""

import csv
import json
from html.parser import HTMLParser

import numpy as np
import pytest

import longwave as lw
from longwave.errors import InputError
from longwave.evaluation import (
    Graded,
    GroundTruth,
    Judgement,
    Labels,
    average_precision,
    evaluate,
    judgements_from,
    ndcg,
    precision_at,
    recall_at,
)


@pytest.fixture(scope="module")
def collection(digits_split):
    vectors, labels, queries, query_labels = (
        part[:n] for part, n in zip(digits_split, (400, 400, 12, 12), strict=True)
    )
    return lw.Index.build(vectors, k=10, progress=False), labels, queries, query_labels


class Watched:
    """An index that remembers what it was asked for."""

    def __init__(self, index):
        self.index, self.asked = index, []
        self.ids = index.ids

    def __len__(self):
        return len(self.index)

    def search(self, queries, k, **options):
        self.asked.append((len(queries), k, options.get("solver")))
        return self.index.search(queries, k, **options)


def test_measures_are_those_of_the_rankings(collection):
    index, labels, queries, query_labels = collection
    found = evaluate(index, queries, Labels(labels, query_labels), k=(3, 7))
    judged = [Judgement(np.flatnonzero(labels == label).tolist()) for label in query_labels]
    for search, solver in (("manifold", None), ("Euclidean", lw.Euclidean())):
        ranked = index.search(queries, len(index), solver=solver).ids
        pairs = list(zip(ranked, judged, strict=True))
        for cut in (3, 7):
            at = [
                (precision_at(r, j, cut), recall_at(r, j, cut), ndcg(r, dict.fromkeys(j.positive, 1.0), k=cut))
                for r, j in pairs
            ]
            for name, values in zip(("P", "recall", "nDCG"), zip(*at, strict=True), strict=True):
                np.testing.assert_allclose(found.per_query(f"{name}@{cut}", search), values)
        np.testing.assert_allclose(found.per_query("mAP", search), [average_precision(r, j) for r, j in pairs])
    assert found.mean("mAP") > found.mean("mAP", "Euclidean")


def test_it_asks_as_a_user_does(collection):
    """k hits one query at a time, so that the fast way is measured; the whole ranking only for mAP."""
    index, labels, queries, query_labels = collection
    watched = Watched(index)
    evaluate(watched, queries, Labels(labels, query_labels), k=(5, 10), whole=False, euclidean=False)
    assert set(watched.asked) == {(1, 10, None)}
    watched.asked.clear()
    evaluate(watched, queries, Labels(labels, query_labels), k=10, batch=5, whole=False, euclidean=False)
    assert {rows for rows, _, _ in watched.asked} == {5, 2}
    watched.asked.clear()
    evaluate(watched, queries, Labels(labels, query_labels), k=10)
    assert {k for _, k, _ in watched.asked} == {10, len(index)}
    watched.asked.clear()
    truth = [Judgement([1, 2], junk=[3, 4, 5])] + [Judgement([1])] * 11
    evaluate(watched, queries, truth, k=4, whole=False, euclidean=False)
    assert [k for _, k, _ in watched.asked] == [7, 7, *[4] * 11]  # the first once more, outside of the time


def test_the_fast_way_is_what_is_measured(digits_split):
    vectors, labels, queries, query_labels = digits_split
    index = lw.Index.build(vectors, k=10, spectrum=lw.Chebyshev(20), progress=False)
    fast = index.accelerate(first=None, second="IVF8,Flat", overlap=0.2)
    few = Labels(labels, query_labels[:40])
    found = evaluate(fast, queries[:40], few, k=50, euclidean=False)
    alone = [fast.search(query, 50).ids[0] for query in queries[:40]]
    judged = judgements_from(few, fast.ids)
    np.testing.assert_allclose(
        found.per_query("P@50"), [precision_at(ids, j, 50) for ids, j in zip(alone, judged, strict=True)]
    )
    exact = evaluate(index, queries[:40], few, k=50, euclidean=False)
    assert found.mean("mAP") == pytest.approx(exact.mean("mAP"), abs=1e-6)  # of the exact ranking


def test_every_form_of_truth_says_the_same(collection, tmp_path):
    index, labels, queries, query_labels = collection
    right = [np.flatnonzero(labels == label).tolist() for label in query_labels]
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"queries": [{"positive": own} for own in right]}))
    plain, qrels = tmp_path / "plain.txt", tmp_path / "qrels.json"  # the content says what they are, not the name
    plain.write_text(json.dumps(right))
    lines = [f"{300 + q} 0 {item} 1" for q, own in enumerate(right) for item in own]
    qrels.write_text("\n".join(reversed(lines)))
    names = [f"q{i}" for i in range(len(queries))]
    images = [f"{i}.jpg" for i in range(len(labels))]
    forms = [
        Labels(labels, query_labels),
        path,
        str(path),
        plain,
        qrels,
        right,
        [set(own) for own in right],
        [np.array(own) for own in right],
        [Judgement(own) for own in right],
        [Graded(own[:3], own[3:]) for own in right],
        dict(enumerate(right)),
        dict(zip(names, right, strict=True)),
        [{"positive": own, "junk": []} for own in right],
        [dict.fromkeys(own, 1) for own in right],
        GroundTruth(images, names, [Judgement(own) for own in right]),
    ]
    for form in forms:
        given = judgements_from(form, index.ids, names=names if isinstance(form, dict) and "q0" in form else None)
        assert [sorted(judged.positive) for judged in given] == right
    found = evaluate(index, queries, forms[11], names=names, k=5, whole=False, euclidean=False)
    assert list(found.names) == names


def test_graded_answers_count_in_ndcg(collection):
    index, _, queries, _ = collection
    first = index.search(queries[:1], 3).ids[0].tolist()
    best_first = [{first[0]: 3, first[1]: 1}]
    worst_first = [{first[0]: 1, first[1]: 3}]
    values = [evaluate(index, queries[:1], t, k=3, whole=False, euclidean=False) for t in (best_first, worst_first)]
    assert values[0].mean("nDCG@3") == 1
    assert 0.5 < values[1].mean("nDCG@3") < 1
    assert values[0].mean("P@3") == values[1].mean("P@3") == pytest.approx(2 / 3)
    hard = evaluate(index, queries[:1], [Graded([first[1]], [first[0]])], k=1, setup="hard", whole=False)
    assert hard.mean("P@1") == 1


def test_truth_by_names_of_images():
    names = np.array([f"sub/{i}.jpg" for i in range(20)])
    truth = GroundTruth(["3.jpg", "7", "elsewhere"], ["q"], [Judgement([0, 1, 2])])
    (judged,) = judgements_from(truth, names)
    assert judged.positive == ["sub/3.jpg", "sub/7.jpg"]  # what the index does not have is left out
    with pytest.raises(InputError, match="none of the 1 images"):
        judgements_from(GroundTruth(["x"], ["q"], [Judgement([0])]), names)
    with pytest.raises(InputError, match="of 3 images but the index has 2 items"):
        judgements_from(truth, np.arange(2))


def test_regions_and_weights_belong_to_their_queries(collection):
    index, labels, queries, query_labels = collection
    order = np.random.default_rng(0).permutation(12)
    groups = (np.arange(12) // 3)[order]
    weights = np.linspace(0.5, 1.5, 12)[order]
    truth = [np.flatnonzero(labels == query_labels[3 * q]).tolist() for q in range(4)]
    found = evaluate(index, queries[order], truth, k=5, query_groups=groups, weights=weights, euclidean=False)
    hits = index.search(queries[order], len(index), query_groups=groups, weights=weights)
    expected = [average_precision(ids, Judgement(own)) for ids, own in zip(hits.ids, truth, strict=True)]
    np.testing.assert_allclose(found.per_query("mAP"), expected, atol=1e-6)


def test_queries_without_a_right_item_are_left_out_and_counted(collection):
    index, labels, queries, query_labels = collection
    truth = {q: np.flatnonzero(labels == query_labels[q]) for q in range(1, 12)}
    found = evaluate(index, queries, truth, k=5)
    assert (found.n_judged, found.left_out) == (11, 1)
    assert "over 11 queries (1 without positives left out)" in str(found)
    assert np.isnan(found.per_query("P@5")[0])
    assert json.loads(found.to_json(per_query=True))["per_query"][0]["P@5"] is None


def test_euclidean_alone_is_called_so(collection):
    index, labels, queries, query_labels = collection
    found = evaluate(index, queries, Labels(labels, query_labels), k=5, solver=lw.Euclidean(), filter=lw.Heat(3))
    assert [one.search for one in found.searches] == ["Euclidean"]


def test_the_report_in_every_form(collection):
    index, labels, queries, query_labels = collection
    found = evaluate(index, queries, Labels(labels, query_labels), k=(1, 5), names=["<b>", *map(str, range(11))])
    text = str(found)
    lines = text.splitlines()
    assert lines[0].split() == ["in", "per", "cent", "manifold", "Euclidean"]
    assert "mAP (whole exact ranking)" in text
    assert "ms per query, one at a time, k 5" in text
    assert lines[-1].startswith(f"mAP {100 * found.mean('mAP'):.2f} (Euclidean ")
    whole = json.loads(found.to_json())
    assert whole["searches"][0]["mAP"] == found.mean("mAP")
    assert set(whole) == {"queries", "left_out", "k", "batch", "searches"}
    rows = list(csv.DictReader(found.to_csv().splitlines()))
    assert [row["search"] for row in rows] == ["manifold", "Euclidean"]
    assert len(list(csv.DictReader(found.to_csv(per_query=True).splitlines()))) == 24
    parser = HTMLParser()
    parser.feed(found._repr_html_())
    assert "<table" in found._repr_html_()


@pytest.mark.parametrize(
    ("truth", "options", "words"),
    [
        ([[1]] * 3, {}, "12 queries but ground truth for 3"),
        ([[]] * 12, {}, "nothing to evaluate"),
        ([[999]] * 12, {}, "query 0 names item 999, which the index does not have"),
        ({40: [1]}, {}, "query 40, but there is no such query; they are 0 … 11"),
        ({"x": [1]}, {"names": list("abcdefghijkl")}, "no such query; they are called 'a'"),
        (["ab"] * 12, {}, "a collection of ids, got 'ab'"),
        (5, {}, "truth must be a path"),
        ([{1: -1}] * 12, {}, "at least 0, got -1"),
        ([[1]] * 12, {"k": 0}, "k must be"),
        ([[1]] * 12, {"k": ()}, "at least one cut"),
        ([[1]] * 12, {"batch": 0}, "batch must be"),
        ([[1]] * 12, {"where": [1]}, "leave out where"),
        ([[1]] * 12, {"names": ["a"]}, "a name for each query, 12, got 1"),
        ([[1]] * 12, {"query_groups": [0, 2]}, "query_groups must have a number for each query row, 12, got 2"),
        ([[1]] * 12, {"query_groups": [0] * 11 + [2]}, "whole numbers from 0 on, none left out"),
        ([[1]] * 12, {"weights": [1]}, "weights must have a number for each query row, 12, got 1"),
        (Labels([1], [1] * 12), {}, "a label for each item of the index, 400, got 1"),
    ],
)
def test_what_can_be_wrong(collection, truth, options, words):
    index, _, queries, _ = collection
    with pytest.raises(InputError, match=words):
        evaluate(index, queries, truth, **options)


def test_unknown_measures_and_searches_are_named(collection):
    index, labels, queries, query_labels = collection
    found = evaluate(index, queries, Labels(labels, query_labels), k=5, whole=False)
    with pytest.raises(InputError, match="measure must be one of P@5, recall@5, nDCG@5, got 'mAP'"):
        found.mean("mAP")
    with pytest.raises(InputError, match="search must be one of manifold, Euclidean"):
        found.mean("P@5", "random")
