"""Conditions against a brute-force evaluation in Python, their errors, and the text of the command line."""

import datetime
import json
import math
import operator
import sys
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longwave.errors import InputError, MissingExtraError
from longwave.metadata import all_of, as_table, parse, parse_text
from longwave.metadata.conditions import AllOf, Compare, Exists, Not, OneOf
from longwave.metadata.values import Written

DAY, TIME = datetime.date, datetime.datetime
UTC = datetime.UTC

# Few values, so that conditions hit some; and the ends of the types.
INTS = st.sampled_from([-(2**63), -128, -1, 0, 1, 2, 127, 2**53, 2**53 + 1, 2**63 - 1])
SMALL = st.sampled_from([-128, -1, 0, 1, 2, 127])
FLOATS = st.sampled_from([-math.inf, -1.5, -0.0, 0.0, 0.1, 1.0, 2.0**53, 1e300, math.inf])
TEXTS = st.sampled_from(["", "A", "a", "b", "é", "z", "😀", "ﬀ"])
DAYS = st.sampled_from([DAY(1, 1, 1), DAY(1969, 12, 31), DAY(2020, 2, 29), DAY(9999, 12, 31)])
TIMES = st.sampled_from(
    [TIME(1, 1, 1), TIME(1969, 12, 31, 23, 59, 59, 999999), TIME(2020, 2, 29), TIME(2020, 2, 29, 12)]
)

# name: type, values of the column, values of conditions.
COLUMNS = {
    "int64": (pa.int64(), INTS, INTS | FLOATS | st.sampled_from([0.5, -0.5, 2**63, 2**70, -(2**70)])),
    "int8": (pa.int8(), SMALL, INTS | FLOATS | st.sampled_from([0.5, 126.5, 128, -129])),
    "uint8": (pa.uint8(), st.sampled_from([0, 1, 2, 255]), INTS | FLOATS | st.sampled_from([254.5, 256])),
    "float64": (pa.float64(), FLOATS, FLOATS | INTS | st.just(2**1024 - 1)),
    "float32": (pa.float32(), st.sampled_from([-1.5, 0.0, -0.0, 0.1, 1.0, math.inf]), FLOATS | INTS),
    "string": (pa.string(), TEXTS, TEXTS),
    "codes": (pa.dictionary(pa.int32(), pa.string()), TEXTS, TEXTS),
    "bool": (pa.bool_(), st.booleans(), st.booleans()),
    "date": (pa.date32(), DAYS, DAYS | DAYS.map(str)),
    "time": (pa.timestamp("us"), TIMES, TIMES | TIMES.map(TIME.isoformat) | DAYS),
    "zoned": (pa.timestamp("us", "UTC"), TIMES.map(lambda t: t.replace(tzinfo=UTC)), TIMES | DAYS.map(str)),
    "tags": (pa.list_(pa.string()), st.lists(TEXTS | st.none(), max_size=3), TEXTS),
    "numbers": (pa.list_(pa.int16()), st.lists(SMALL | st.none(), max_size=3), SMALL | FLOATS),
    "nothing": (pa.null(), st.none(), TEXTS | INTS),
}
ORDERS = {"$lt": operator.lt, "$lte": operator.le, "$gt": operator.gt, "$gte": operator.ge}
UNORDERED = {"bool", "tags", "numbers"}


@st.composite
def tables(draw, names):
    n = draw(st.integers(0, 8))
    columns = {}
    for name in sorted(names):
        kind, values, _ = COLUMNS[name]
        drawn = draw(st.lists(st.none() | values, min_size=n, max_size=n))
        cut = draw(st.integers(0, n))
        parts = [
            pa.array(part, pa.string() if pa.types.is_dictionary(kind) else kind) for part in (drawn[:cut], drawn[cut:])
        ]
        columns[name] = pa.chunked_array([p.dictionary_encode() if pa.types.is_dictionary(kind) else p for p in parts])
    return as_table(pa.table(columns), count=n)


@st.composite
def leaves(draw):
    name = draw(st.sampled_from(sorted(COLUMNS)))
    value = COLUMNS[name][2]
    forms = [
        value,
        st.lists(value, max_size=4),
        st.fixed_dictionaries({"$eq": value}),
        st.fixed_dictionaries({"$ne": value}),
        st.fixed_dictionaries({"$in": st.lists(value, max_size=4)}),
        st.fixed_dictionaries({"$nin": st.lists(value, max_size=4)}),
        st.fixed_dictionaries({"$exists": st.booleans()}),
        st.fixed_dictionaries(
            {"$not": st.fixed_dictionaries({"$in": st.lists(value, max_size=2), "$exists": st.booleans()})}
        ),
    ]
    if name not in UNORDERED:
        forms += [st.fixed_dictionaries({sign: value}) for sign in ORDERS]
        forms.append(st.fixed_dictionaries({"$gte": value, "$lt": value}))
        forms.append(st.fixed_dictionaries({"$not": st.fixed_dictionaries({"$gt": value})}))
    return {name: draw(st.one_of(forms))}


def joined(inner):
    return st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: {"$and": parts}),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: {"$or": parts}),
        inner.map(lambda part: {"$not": part}),
        st.lists(inner, max_size=3).map(lambda parts: {key: value for part in parts for key, value in part.items()}),
    )


def comparable(name, value):
    """A value of a condition, as Python compares it with those of the column."""
    if name == "float32" and not isinstance(value, str):
        with np.errstate(over="ignore"):
            return float(np.float32(float(value)))
    if name == "float64":
        try:
            return float(value)
        except OverflowError:
            return math.inf
    if name == "date" and isinstance(value, str):
        return DAY.fromisoformat(value)
    if name in ("time", "zoned"):
        if isinstance(value, str):
            value = TIME.fromisoformat(value)
        if not isinstance(value, TIME):
            value = TIME(value.year, value.month, value.day)
        return value.replace(tzinfo=UTC) if name == "zoned" else value
    return value


def holds(where, row):
    """Whether a row fulfils a condition, one row at a time."""
    return all(holds_entry(key, inner, row) for key, inner in where.items())


def holds_entry(key, inner, row):
    if key == "$and":
        return all(holds(part, row) for part in inner)
    if key == "$or":
        return any(holds(part, row) for part in inner)
    if key == "$not":
        return not holds(inner, row)
    if isinstance(inner, list):
        return holds_sign(key, "$in", inner, row)
    if not isinstance(inner, dict):
        return holds_sign(key, "$eq", inner, row)
    return all(holds_sign(key, sign, value, row) for sign, value in inner.items())


def holds_sign(name, sign, value, row):
    mine = row[name]
    if sign == "$not":
        return not holds_entry(name, value, row)
    if sign == "$exists":
        return (mine is not None) == value
    if sign in ("$ne", "$nin"):
        return not holds_sign(name, {"$ne": "$eq", "$nin": "$in"}[sign], value, row)
    if sign == "$in":
        return any(holds_sign(name, "$eq", one, row) for one in value)
    if mine is None:
        return False
    wanted = comparable(name, value)
    if sign == "$eq":
        return wanted in mine if isinstance(mine, list) else mine == wanted
    return ORDERS[sign](mine, wanted)


@settings(max_examples=600, deadline=None)
@given(st.recursive(leaves(), joined, max_leaves=8), st.data())
def test_conditions_are_what_python_says(where, data):
    table = data.draw(tables(parse(where).columns() or {"int64"}))
    rows = table.to_pylist()
    mask = parse(where).mask(table)
    assert mask.dtype == bool
    assert mask.tolist() == [holds(where, row) for row in rows]
    assert (~mask).tolist() == parse({"$not": where}).mask(table).tolist()


@settings(max_examples=150, deadline=None)
@given(leaves(), st.data())
def test_conditions_in_json_mean_the_same(where, data):
    table = data.draw(tables(where))
    try:
        text = json.dumps(where)
    except TypeError:  # dates are text in JSON
        text = json.dumps(where, default=str)
    assert parse_text(text).mask(table).tolist() == parse(where).mask(table).tolist()


@pytest.fixture(scope="module")
def table():
    return as_table(
        {
            "year": [2019, 2020, None, 2021],
            "city": ["Oxford", "Paris", "Paris, Texas", None],
            "zip": ["007", "7", "x=1", ""],
            "score": pa.array([0.1, 0.5, None, -1.0], pa.float32()),
            "flag": [True, False, None, True],
            "day": [DAY(2020, 1, 1), None, DAY(2021, 6, 1), DAY(2022, 1, 1)],
            "seen": [TIME(2020, 1, 1, 12), None, TIME(2021, 1, 1), TIME(2022, 1, 1)],
            "zoned": [
                TIME(2020, 1, 1, 12, tzinfo=UTC),
                None,
                TIME(2021, 1, 1, tzinfo=UTC),
                TIME(2022, 1, 1, tzinfo=UTC),
            ],
            "tags": [["red", "blue"], [], None, ["red"]],
            "kind": pa.array(["a", "b", None, "a"]).dictionary_encode(),
        },
        count=4,
    )


def found(where, table):
    condition = parse_text(where) if isinstance(where, str) else parse(where)
    return np.flatnonzero(condition.mask(table)).tolist()


@pytest.mark.parametrize(
    ("where", "rows"),
    [
        ({}, [0, 1, 2, 3]),
        ({"year": 2020}, [1]),
        ({"year": np.int64(2020)}, [1]),
        ({"year": np.array([2019, 2020])}, [0, 1]),
        ({"year": {"$ne": 2020}}, [0, 2, 3]),
        ({"year": {"$lt": 2020.5, "$gt": 2019}}, [1]),
        ({"year": []}, []),
        ({"year": {"$nin": []}}, [0, 1, 2, 3]),
        ({"score": 0.1}, [0]),
        ({"seen": {"$gte": "2021-01-01"}}, [2, 3]),
        ({"seen": np.datetime64("2020-01-01T12", "ns")}, [0]),
        ({"zoned": "2020-01-01T14:00:00+02:00"}, [0]),
        ({"zoned": {"$lt": "2020-01-01T12:00:00.000001"}}, [0]),
        ({"day": {"$lte": DAY(2021, 6, 1)}}, [0, 2]),
        ({"tags": "red"}, [0, 3]),
        ({"tags": {"$nin": ["blue"]}}, [1, 2, 3]),
        ({"tags": {"$exists": False}}, [2]),
        ({"kind": {"$gt": "a"}}, [1]),
        ({"$or": [{"year": 2019}, {"city": {"$exists": False}}]}, [0, 3]),
    ],
)
def test_examples(where, rows, table):
    assert found(where, table) == rows


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("year>=2020", [1, 3]),
        (" year >= 2020 ", [1, 3]),
        ("year<2020.5", [0, 1]),
        ("year!=2020", [0, 2, 3]),
        ("year = 2019 , 2021", [0, 3]),
        ("year<=+2.02e3", [0, 1]),
        ("year<inf", [0, 1, 3]),
        ("city=Oxford,Paris", [0, 1]),
        ("city='Paris, Texas'", [2]),
        ('city=Oxford,"Paris, Texas"', [0, 2]),
        ("city!=Oxford,Paris", [2, 3]),
        ("'city' = Oxford", [0]),
        ("zip=007", [0]),
        ("zip=7", [1]),
        ("zip='x=1'", [2]),
        ("zip=x=1", [2]),
        ("zip=''", [3]),
        ("zip?", [0, 1, 2, 3]),
        ("city?", [0, 1, 2]),
        ("flag=TRUE", [0, 3]),
        ("flag!=true", [1, 2]),
        ("score=0.1", [0]),
        ("day>2021-05-31", [2, 3]),
        ("seen<2021-01-01T00:00:01", [0, 2]),
        ("tags=blue", [0]),
        ("kind=b", [1]),
        ('{"year": {"$gt": 2019}}', [1, 3]),
        (' {"$not": {"year": [2019]}}', [1, 2, 3]),
    ],
)
def test_text(text, rows, table):
    assert found(text, table) == rows


def test_quotes_inside_quotes():
    assert parse_text("name='it''s'") == OneOf("name", (Written("it's"),))
    assert parse_text('"a ""b"""?') == Exists('a "b"')


@given(st.text(max_size=20), st.lists(st.text(max_size=10), min_size=1, max_size=4))
def test_every_name_and_value_can_be_quoted(name, values):
    quoted = ["'" + value.replace("'", "''") + "'" for value in [name, *values]]
    if not name or name.startswith("$"):
        return
    expected = OneOf(name, tuple(map(Written, values)))
    assert parse_text(f"{quoted[0]} = {', '.join(quoted[1:])}") == expected


@given(st.text(st.sampled_from("ab $=!<>?,'\"{}[]:1.\\\ud800\n"), max_size=12))
def test_any_text_is_a_condition_or_a_clear_error(text):
    with suppress(InputError):
        parse_text(text)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["$and", "$or", "$not", "$in", "$gt", "$exists", "$x", "year", "city"]), inner, max_size=3
        )
    ),
    max_leaves=12,
)


@settings(deadline=None)
@given(VALUES)
def test_any_object_is_a_condition_or_a_clear_error(where):
    table = as_table({"year": [1, None], "city": ["a", None]}, count=2)
    with suppress(InputError):
        assert parse(where).mask(table).shape == (2,)


def test_values_are_frozen_and_say_their_columns():
    condition = parse({"a": {"$gte": 1}, "$or": [{"b": "x"}, {"$not": {"c": {"$exists": True}}}]})
    assert condition.columns() == {"a", "b", "c"}
    assert hash(condition) == hash(parse({"a": {"$gte": 1}, "$or": [{"b": "x"}, {"$not": {"c": {"$exists": True}}}]}))
    assert parse(condition) is condition
    with pytest.raises(AttributeError):
        parse({"a": 1}).column = "b"


def test_several_texts_must_all_hold(table):
    condition = all_of([parse_text("year>=2020"), parse_text("city?")])
    assert condition == AllOf((Compare("year", "$gte", Written("2020")), Exists("city")))
    assert np.flatnonzero(condition.mask(table)).tolist() == [1]
    assert all_of([]).mask(table).all()
    assert parse({"a": {"$exists": False}}) == Not(Exists("a"))


COLUMN_LIST = "'year', 'city', 'zip', 'score', 'flag', 'day', 'seen', 'zoned', 'tags', 'kind'"


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ({"yaer": 1}, f"there is no column 'yaer'; did you mean 'year'? the columns are {COLUMN_LIST}"),
        ({"q": 1}, f"there is no column 'q'; the columns are {COLUMN_LIST}"),
        ({"q": {"$exists": True}}, f"there is no column 'q'; the columns are {COLUMN_LIST}"),
        ({"year": "abc"}, "year is int64, got 'abc'; give a number"),
        ({"year": True}, "year is int64, got True; give a number"),
        ({"year": {"$in": [1, "x"]}}, "year is int64, got 'x'; give a number"),
        ({"score": "x"}, "score is float, got 'x'; give a number"),
        ({"city": 5}, "city is string, got 5; give text"),
        ({"kind": 5}, "kind is string, got 5; give text"),
        ({"flag": 1}, "flag is bool, got 1; give true or false"),
        ({"flag": {"$lt": True}}, "flag is bool, which has no order, got $lt; use $eq or $ne"),
        ({"day": "tomorrow"}, "day is date32[day], got 'tomorrow'; give a date such as 2024-05-17"),
        ({"day": "2020-01-01T10:00"}, "day is date32[day], got '2020-01-01T10:00'; give a date such as 2024-05-17"),
        ({"day": TIME(2020, 1, 1)}, "day is date32[day], got datetime.datetime(2020, 1, 1, 0, 0); give a date such as"),
        ({"seen": 5}, "seen is timestamp[us], got 5; give a date or time such as 2024-05-17 or 2024-05-17T12:30:00"),
        ({"seen": "noon"}, "seen is timestamp[us], got 'noon'; give a date or time such as"),
        ({"seen": "2020-01-01T00:00:00Z"}, "got '2020-01-01T00:00:00Z'; give a time without a zone, as the column has"),
        ({"seen": "2020-01-01T00:00:00.1234567"}, "give at most six digits after the second"),
        ({"tags": 5}, "tags is list of string, got 5; give text"),
        (
            {"tags": {"$lt": "a"}},
            "tags is list of string, and lists have no order, got $lt; use $eq, $ne, $in, $nin or",
        ),
        ("year=abc", "year is int64, got 'abc'; give a number"),
        ("year=1_000", "year is int64, got '1_000'; give a number"),
        ("year=nan", "year is int64, got 'nan'; give a number"),
        ("flag=yes", "flag is bool, got 'yes'; give true or false"),
        ("day=1.5.2020", "day is date32[day], got '1.5.2020'; give a date such as 2024-05-17"),
    ],
)
def test_errors_of_columns(where, message, table):
    with pytest.raises(InputError) as caught:
        found(where, table)
    assert message in str(caught.value)


def nested(depth):
    where = {"a": 1}
    for _ in range(depth):
        where = {"$not": where}
    return where


@pytest.mark.parametrize(
    ("where", "message"),
    [
        (5, "a condition is an object of columns, such as {'year': {'$gte': 2020}}, got 5"),
        ([{"a": 1}], "a condition is an object of columns"),
        ({5: 1}, "a key of a condition must be a string, the name of a column, got 5"),
        ({"$nor": []}, "unknown operator '$nor'; did you mean $or? use $and, $or, $not or name a column"),
        ({"$gt": 5}, "$gt belongs to a column, as in {'year': {'$gt': …}}"),
        (
            {"a": {"$gte ": 5}},
            "unknown operator '$gte '; did you mean $gte? use $eq, $ne, $lt, $lte, $gt, $gte, $in, $nin",
        ),
        ({"a": {"b": 5}}, "unknown operator 'b'; use $eq"),
        ({"a": {7: 5}}, "unknown operator 7; use $eq"),
        ({"a": {"$or": []}}, "$or joins whole objects, as in {'$or': [{'a': …}, …]}; it stands outside"),
        ({"a": {}}, "the condition on 'a' is empty; give an operator, one of $eq"),
        ({"$and": []}, "$and takes a list of one or more objects, got []"),
        ({"$or": {"a": 1}}, "$or takes a list of one or more objects, got {'a': 1}"),
        ({"$not": [1]}, "a condition is an object of columns"),
        (
            {"a": {"$not": 5}},
            "$not takes an object of operators, such as {'$gt': 5}, got 5 for 'a'; for a single value",
        ),
        ({"a": {"$in": "x"}}, "$in takes a list, got 'x' for 'a'; for a single value use $eq or $ne"),
        ({"a": {"$exists": 1}}, "$exists takes true or false, got 1 for 'a'"),
        ({"a": None}, "$eq takes a value, got None for 'a'; ask for missing values with {'$exists': false}"),
        ({"a": {"$lt": math.nan}}, "$lt takes a value, got nan for 'a'; ask for missing values with"),
        ({"a": [1, None]}, "$in takes a value, got None for 'a'"),
        ({"a": {"$eq": [1]}}, "$eq takes single values, got [1] for 'a'; use $in, which takes a flat list"),
        ({"a": {"$ne": [1]}}, "$ne takes single values, got [1] for 'a'; use $nin"),
        ({"a": [[1]]}, "$in takes single values, got [1] for 'a'; use $in, which takes a flat list"),
        ({"a": b"x"}, "$eq takes text, a number, true or false, a date or a time, got b'x' for 'a'"),
        ({"a": {"$lt": {}}}, "$lt takes text, a number, true or false, a date or a time, got {} for 'a'"),
        ({"a": 1 << 5000}, "$eq takes numbers of up to 1024 bits, got one of 5001 for 'a'"),
        ({"a": "\ud800"}, "text must be Unicode without lone surrogates, got '\\ud800' for 'a'"),
        (nested(40), "a condition is nested at most 32 deep, got more; make it flatter"),
        (nested(5000), "a condition is nested at most 32 deep, got more; make it flatter"),
        (
            {"$or": [{"a": 1}] * 2000},
            "a condition has at most 1,000 parts, got more; use $in for many values of a column",
        ),
        ({"a": [1] * 100_001}, "a condition has at most 100,000 values, got more; give a mask or ids instead"),
    ],
)
def test_errors_of_objects(where, message):
    with pytest.raises(InputError) as caught:
        parse(where)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a column's name must come first in the condition ''; write NAME OP VALUE with = != < <= > >=, such as"),
        (">5", "a column's name must come first in the condition '>5'"),
        ("$and=5", "a column's name must come first"),
        ("year", "there is no sign in the condition 'year'"),
        ("year!2020", "there is no sign in the condition 'year!2020'"),
        ("year=", "a value is missing after = (empty text is '') in the condition 'year='"),
        ("year=1,,2", "a value is missing after ="),
        ("year=1,", "a value is missing after ="),
        ("year==2020", "a value begins with =; quote it if that is meant"),
        ("year=<2020", "a value begins with <; quote it if that is meant"),
        ("year>1,2", "> takes one value; quote it if the comma belongs to it"),
        ("year?5", "nothing may follow the question mark"),
        ("city='Oxford", "a quote is not closed in the condition"),
        ("city='Oxford' b", "something follows the closing quote of a value"),
        ("'city' b=5", "something follows the closing quote of a column"),
        ("city=\ud800", "text must be Unicode without lone surrogates"),
        (5, "a condition in text must be a string, got 5; objects go through parse"),
        ("x" * (1 << 23), "a condition has at most 4,194,304 characters, got 8,388,608; make it shorter"),
        ('{"a": 1', "the condition '{\"a\": 1' begins like JSON but is not: "),
        ('{"a": 1, "a": 2}', "the key 'a' occurs twice in one object of the condition; join with $and"),
        ('{"a": ' + "9" * 5000 + "}", "begins like JSON but is not: Exceeds the limit"),
        ('{"a":' * 100_000, "a condition is nested at most 32 deep, got more; make it flatter"),
        ('{"a": ' + "[" * 100_000, "a condition is nested at most 32 deep, got more; make it flatter"),
        ("a=" + ",".join("1" * 100_001), "a condition has at most 100,000 values, got 100,001; give ids instead"),
    ],
    ids=range(24),
)
def test_errors_of_text(text, message):
    with pytest.raises(InputError) as caught:
        parse_text(text)
    assert message in str(caught.value)
    assert len(str(caught.value)) < 400


def test_many_columns_are_not_all_listed():
    table = as_table({f"c{i}": [1] for i in range(40)}, count=1)
    with pytest.raises(InputError, match=r"'c11' and 28 more$"):
        parse({"zzz": 1}).mask(table)


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()])
def test_both_zeros_are_zero(kind):
    table = as_table({"a": pa.array([0.0, -0.0, 1.0, None], kind)}, count=4)
    for zero in (0, 0.0, -0.0):
        assert parse({"a": zero}).mask(table).tolist() == [True, True, False, False]
        assert parse({"a": {"$gte": zero}}).mask(table).tolist() == [True, True, True, False]


def test_a_part_of_a_table():
    whole = as_table(
        {"a": [["x"], ["y"], None, ["x"]], "b": pa.array(["x", "y", None, "x"]).dictionary_encode()}, count=4
    )
    for name in whole.column_names:
        assert parse({name: "x"}).mask(whole.slice(1)).tolist() == [False, False, True]


def test_a_table_that_was_not_checked():
    with pytest.raises(
        InputError, match=r"t is time64\[us\], which cannot be compared; give the table to as_table first"
    ):
        parse({"t": 1}).mask(pa.table({"t": pa.array([1], pa.time64("us"))}))


def test_without_pyarrow(monkeypatch):
    condition = parse({"a": 1})  # needs none
    for module in [name for name in sys.modules if name.split(".")[0] == "pyarrow"]:
        monkeypatch.setitem(sys.modules, module, None)
    message = r"metadata needs the extra 'metadata'. Install it with: pip install 'longwave\[metadata\]'"
    with pytest.raises(MissingExtraError, match=message):
        as_table({"a": [1]}, count=1)
    with pytest.raises(MissingExtraError, match=message):
        condition.mask(pa.table({"a": [1]}))


@pytest.mark.parametrize(
    ("where", "text"),
    [
        ({"year": {"$gte": 2020}}, "year >= 2020"),
        ({"city": ["Oxford", "Paris"]}, "city is one of 'Oxford', 'Paris'"),
        ({"id": list(range(15))}, "id is one of 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 3 more"),
        ({"city": {"$ne": "Oxford"}, "year": {"$exists": True}}, "(not (city = 'Oxford')) and (year has a value)"),
        ({"$or": [{"year": 1}, {}]}, "(year = 1) or (anything)"),
    ],
)
def test_a_condition_is_told_in_words(where, text):
    assert str(parse(where)) == text


def test_two_comparisons_in_one_line_are_refused_but_text_is_text():
    for text in ("year>=2020 and city=Oxford", "year<3 OR year > 5", "a=1 && b=2"):
        with pytest.raises(InputError, match="two comparisons"):
            parse_text(text)
    assert parse_text("title=rock and roll") == OneOf("title", (Written("rock and roll"),))
    assert parse_text("title='rock and roll = fun'") == OneOf("title", (Written("rock and roll = fun"),))
