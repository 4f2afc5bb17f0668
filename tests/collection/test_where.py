"""`where` gives exactly what a plain loop over the items would give."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from living_samples import copy, start, vectors

import longwave as lw
from longwave.errors import InputError
from longwave.metadata import parse_text

pytestmark = pytest.mark.filterwarnings("ignore::longwave.errors.DataWarning")

OPERATORS = {
    "$eq": lambda a, b: a == b, "$ne": lambda a, b: a != b, "$lt": lambda a, b: a < b,
    "$lte": lambda a, b: a <= b, "$gt": lambda a, b: a > b, "$gte": lambda a, b: a >= b,
}  # fmt: skip


@pytest.fixture(scope="module", params=["numbers", "regional", "copies"])
def grown(request, tmp_path_factory):
    """A collection with items added and removed, and its model: the metadata of every id."""
    path = copy(request.param, tmp_path_factory.mktemp("where"))
    model = {name: number for name, (_, number) in start(request.param).items()}
    groups = [0, 0, 1, 1, 2, 2] if request.param == "regional" else None
    with lw.open(path) as collection:
        for batch in range(4):
            ids = [600 + 3 * batch + i for i in range(3)]
            rows = vectors(6 if groups else 3, 50 + batch)
            numbers = [7 * batch + i for i in range(3)]
            collection.add(rows, ids=ids, groups=groups, metadata={"n": numbers})
            model.update(zip(ids, numbers, strict=True))
        gone = [1, 4, 601, 610]
        collection.remove(gone)
    for name in gone:
        del model[name]
    with lw.open(path) as collection:
        yield collection, model


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    sign=st.sampled_from(sorted(OPERATORS)), value=st.integers(-2, 42), k=st.integers(1, 60), seed=st.integers(0, 50)
)
def test_equals_brute_force(grown, sign, value, k, seed):
    collection, model = grown
    query = vectors(1, seed)
    left = {name for name, number in model.items() if OPERATORS[sign](number, value)}
    if not left:
        with pytest.raises(InputError, match="no item meets"):
            collection.search(query, k, where={"n": {sign: value}})
        return
    every = collection.search(query, 1000)
    pairs = zip(every.ids[0].tolist(), every.scores[0].tolist(), strict=True)
    expected = [(name, score) for name, score in pairs if name in left][:k]
    got = collection.search(query, k, where={"n": {sign: value}}, columns=["n"])
    assert got.scores[0].tolist() == pytest.approx([score for _, score in expected])
    assert set(got.ids[0].tolist()) <= left
    assert got.columns["n"][0] == [model[name] for name in got.ids[0].tolist()]
    if len({score for _, score in expected}) == len(expected):
        assert got.ids[0].tolist() == [name for name, _ in expected]


def test_text_and_ids_say_the_same(grown):
    collection, model = grown
    left = [name for name, number in model.items() if number >= 20]
    one = collection.search(vectors(1, 3), 100, where=parse_text("n>=20"))
    two = collection.search(vectors(1, 3), 100, where=left)
    assert one.ids.tolist() == two.ids.tolist()
