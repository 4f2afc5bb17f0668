"""What users may give as metadata, joined segments, values for hits, and bytes that come back or are refused."""

import datetime
import io
import json
import os
import subprocess
import sys

import numpy as np
import parquet_damage as damage
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longwave.errors import CorruptIndexError, FileError, InputError
from longwave.files.parquet_footer import announced
from longwave.metadata import as_table, common_schema, from_bytes, join, parse, select, to_bytes
from longwave.metadata import given as given_forms

DAY, NOON = datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1, 12)
ROWS = [{"year": 2020, "city": "Oxford"}, {"city": "Paris", "score": 0.5}, {"year": None, "score": float("nan")}]
EXPECTED = {"year": [2020, None, None], "city": ["Oxford", "Paris", None], "score": [None, 0.5, None]}


def values(table):
    return table.to_pydict()


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_forms_that_mean_the_same(tmp_path):
    table = pa.table(EXPECTED)
    pq.write_table(table, tmp_path / "a.parquet")
    lines = "\n".join(json.dumps(row) for row in ROWS)
    forms = [
        ROWS,
        tuple(ROWS),
        {**EXPECTED, "score": np.array([np.nan, 0.5, np.nan])},
        {**EXPECTED, "year": pa.array([2020, None, None])},
        table,
        table.to_batches()[0],
        tmp_path / "a.parquet",
        str(tmp_path / "a.parquet"),
        write(tmp_path / "a.csv", "year,city,score\n2020,Oxford,\n,Paris,0.5\n,,\n"),
        write(tmp_path / "b.CSV", '\ufeffyear,"city",score\r\n2020,"Oxford",\r\n,Paris,0.5\r\n,,\r\n'),
        write(tmp_path / "a.jsonl", lines),
        write(tmp_path / "a.ndjson", lines + "\n\n"),
    ]
    for form in forms:
        assert values(as_table(form, count=3)) == EXPECTED


class Stream:
    """A table of another library."""

    def __arrow_c_stream__(self, requested_schema=None):
        return pa.table(EXPECTED).__arrow_c_stream__(requested_schema)


def test_tables_of_other_libraries():
    assert values(as_table(Stream(), count=3)) == EXPECTED


def test_pandas():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed, and nothing of Longwave needs it")
    frame = pandas.DataFrame(EXPECTED, index=[7, 8, 9])
    frame["kind"] = pandas.Categorical(["a", None, "b"])
    frame["when"] = pandas.to_datetime(["2020-01-01", None, "2021-01-01"])
    table = as_table(frame, count=3)
    assert table.schema.metadata is None
    assert table.column("city").to_pylist() == EXPECTED["city"]
    assert table.column("year").to_pylist() == [2020.0, None, None]
    assert table.column("when").to_pylist() == [datetime.datetime(2020, 1, 1), None, datetime.datetime(2021, 1, 1)]
    assert table.schema.field("kind").type == pa.dictionary(pa.int32(), pa.string())
    assert values(from_bytes(to_bytes(table), count=3)) == values(table)
    with pytest.raises(InputError, match="names of columns must be strings, got 0"):
        as_table(pandas.DataFrame([[1]]), count=1)


def test_types_of_csv(tmp_path):
    content = (
        "whole,code,real,flag,day,time,zoned,mixed,quoted,none,bad day,big\n"
        "1,007,1.5,true,2020-01-01,2020-01-01T10:00:00,2020-01-01T10:00:00+02:00,1,,,2020-06-31,9999999999999999999\n"
        '-2,1,1e3,FALSE,,2020-01-01 10:00:00.5,2020-01-01T10:00:00Z,x,"",,2020-01-01,1\n'
    )
    table = as_table(write(tmp_path / "a.csv", content), count=2)
    kinds = {field.name: str(field.type) for field in table.schema}
    assert kinds == {
        "whole": "int64",
        "code": "string",
        "real": "double",
        "flag": "bool",
        "day": "date32[day]",
        "time": "timestamp[us]",
        "zoned": "timestamp[us, tz=UTC]",
        "mixed": "string",
        "quoted": "string",
        "none": "null",
        "bad day": "string",
        "big": "double",
    }
    assert table.column("quoted").to_pylist() == [None, ""]
    assert table.column("code").to_pylist() == ["007", "1"]
    assert table.column("flag").to_pylist() == [True, False]
    assert table.column("zoned").to_pylist()[0].isoformat() == "2020-01-01T08:00:00+00:00"
    several = write(tmp_path / "b.csv", 'a,b\n"one\ntwo",1\n"x, ""y""",2\n')
    assert values(as_table(several, count=2)) == {"a": ["one\ntwo", 'x, "y"'], "b": [1, 2]}


def test_types_become_plain():
    text = pa.array(["a", None])
    when = datetime.datetime(2020, 1, 1, 12)
    given = {
        "large": text.cast(pa.large_string()),
        "view": text.cast(pa.string_view()),
        "codes": pa.array(["a", None], pa.large_string()).dictionary_encode(),
        "numbered": pa.array([5, None]).dictionary_encode(),
        "half": pa.array([np.float16(1.5), None], pa.float16()),
        "unsigned": pa.array([5, None], pa.uint64()),
        "date64": pa.array([when.date(), None], pa.date64()),
        "seconds": pa.array([when, None], pa.timestamp("s")),
        "nano": pa.array([when, None], pa.timestamp("ns")),
        "paris": pa.array([when, None], pa.timestamp("ms", "Europe/Paris")),
        "fixed": pa.array([[1, 2], None], pa.list_(pa.int8(), 2)),
        "lists": pa.array([["a"], None], pa.large_list(pa.large_string())),
        "rows": np.array([[1.0, 2.0], [3.0, 4.0]]),
        "words": np.array(["x", "y"]),
    }
    table = as_table(given, count=2)
    assert [str(field.type) for field in table.schema] == [
        *("string", "string", "dictionary<values=string, indices=int32, ordered=0>", "int64", "float", "int64"),
        *("date32[day]", "timestamp[us]", "timestamp[us]", "timestamp[us, tz=UTC]"),
        *("list<item: int8>", "list<item: string>", "list<item: double>", "string"),
    ]
    assert [column[0].as_py() for column in table.columns] == [
        *("a", "a", "a", 5, 1.5, 5, when.date(), when, when, when.replace(tzinfo=datetime.UTC)),
        *([1, 2], ["a"], [1.0, 2.0], "x"),
    ]
    assert values(from_bytes(to_bytes(table), count=2)) == values(table)


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        (5, "metadata must be a pyarrow Table, a DataFrame, a dict of columns, a list of dicts or a path, got int"),
        (
            b"abc",
            "metadata must be a pyarrow Table, a DataFrame, a dict of columns, a list of dicts or a path, got bytes",
        ),
        (
            {"a": [1]},
            "metadata must have one row for each item, 2, got 1 row; put missing values where there is nothing",
        ),
        ([{"a": 1}] * 3, "metadata must have one row for each item, 2, got 3 rows"),
        ({}, "metadata has no columns; give at least one, or no metadata at all"),
        ([{}, {}], "metadata has no columns"),
        ([{"a": 1}, 5], "metadata in a list must be one dict for each item, got int at 1"),
        ({"a": [1, 2], "b": [1]}, "columns of metadata must have one length, but 'b' has 1 and 'a' 2 values"),
        ({"a": "xy"}, "column 'a' must be a list with one value for each item, got str"),
        ({"a": 5}, "column 'a' must be a list with one value for each item, got int"),
        (
            {"a": [1, "x"]},
            "column 'a' cannot become a column of one type (Could not convert 'x' with type str: tried to",
        ),
        ({"a": [1 << 70, 1]}, "column 'a' cannot become a column of one type (Python int too large"),
        ({"a": ["\ud800", ""]}, "column 'a' cannot become a column of one type ('utf-8' codec can't encode"),
        ({"a": [DAY, NOON]}, "column 'a' has dates and times; give values of one kind"),
        (
            {"a": [NOON, NOON.replace(tzinfo=datetime.UTC)]},
            "column 'a' has times with and without a zone; give values of",
        ),
        ({"a": [1.5, True]}, "column 'a' has numbers and booleans; give values of one kind"),
        ({"a": [object(), 1]}, "column 'a' cannot become a column of one type"),
        ({"a": [{"b": 1}, None]}, "column 'a' is of type struct<b: int64>; metadata can have booleans, whole numbers"),
        ({"a": [b"x", b"y"]}, "column 'a' is of type binary; metadata can have booleans"),
        ({"a": [[[1]], None]}, "column 'a' is of type list<item: list<item: int64>>; metadata can have"),
        ({"a": pa.array([1, 2], pa.time32("s"))}, "column 'a' is of type time32[s]; metadata can have"),
        ({"a": pa.array([1, 1001], pa.timestamp("ns"))}, "column 'a' cannot be kept as timestamp[us] without loss ("),
        ({"a": np.array([1, 2**63], np.uint64)}, "column 'a' cannot be kept as int64 without loss ("),
        (
            {"a": pa.array([1 << 62, 0], pa.timestamp("us"))},
            "column 'a' has dates outside of the years 1 to 9999; leave",
        ),
        ({"a": pa.array([0, 1 << 30], pa.date32())}, "column 'a' has dates outside of the years 1 to 9999"),
        ({5: [1, 2]}, "names of columns must be strings, got 5; rename the column"),
        (
            {"": [1, 2]},
            "names of columns must be 1 to 255 printable characters without spaces around them, got ''; rename",
        ),
        ({" a": [1, 2]}, "without spaces around them, got ' a'"),
        ({"a\n": [1, 2]}, "without spaces around them, got 'a\\n'"),
        ({"a" * 256: [1, 2]}, "names of columns must be 1 to 255 printable"),
        ({"\ud800": [1, 2]}, "got '\\ud800'"),
        ({"$a": [1, 2]}, "names of columns must not begin with $, as operators do, got '$a'; rename the column"),
        (
            pa.table([[1, 2], [3, 4]], names=["a", "a"]),
            "names of columns must be distinct, but 'a' occurs twice; rename",
        ),
        ({f"c{i}": [1, 2] for i in range(1001)}, "metadata can have at most 1,000 columns, got 1,001; leave some out"),
        ([{f"c{i}": 1 for i in range(1001)}] * 2, "metadata can have at most 1,000 columns, got 1,001; leave some out"),
    ],
    ids=range(35),
)
def test_errors_of_metadata(metadata, message):
    with pytest.raises(InputError) as caught:
        as_table(metadata, count=2)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_arrays_that_are_not_whole():
    offsets = pa.py_buffer(np.array([0, 1, 2], np.int32))
    broken = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"\xff\xfe")])
    with pytest.raises(InputError, match="cannot become a column of one type"):
        as_table(pa.table({"a": broken}), count=2)


def test_errors_of_files(tmp_path, monkeypatch):
    def error(path, kind=FileError):
        with pytest.raises(kind) as caught:
            as_table(path, count=2)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    assert "must be a .parquet, .csv or .jsonl file to be read as metadata, got '.xlsx'" in error(tmp_path / "a.xlsx")
    assert "no such file" in error(tmp_path / "a.csv")
    (tmp_path / "folder.csv").mkdir()
    assert "is a directory" in error(tmp_path / "folder.csv")
    os.mkfifo(tmp_path / "pipe.csv")
    assert "not a file" in error(tmp_path / "pipe.csv")
    assert "cannot be read as .csv (Empty CSV file)" in error(write(tmp_path / "empty.csv", ""))
    ragged = error(write(tmp_path / "c.csv", "a,b\n1\n"))  # which row it is, pyarrow says from version 26 on
    assert "cannot be read as .csv (CSV parse error: " in ragged
    assert "Expected 2 columns" in ragged
    assert "cannot be read as .csv" in error(write(tmp_path / "d.csv", b"a\n\xff\xfe\n1\n"))
    assert "occurs twice" in error(write(tmp_path / "e.csv", "a,a\n1,2\n3,4\n"), InputError)
    assert "cannot be read as .jsonl (line 2: Expecting value" in error(write(tmp_path / "a.jsonl", '{"a": 1}\nx\n'))
    assert "(line 1: it is nested too deeply)" in error(write(tmp_path / "b.jsonl", "[" * 100_000))
    assert "got list at 0" in error(write(tmp_path / "c.jsonl", "[1]\n[2]"), InputError)
    assert "cannot be read as .jsonl" in error(write(tmp_path / "d.jsonl", b"\xff"))
    assert "does not end as a Parquet file does" in error(write(tmp_path / "a.parquet", "hello, I am text"))
    monkeypatch.setattr(given_forms, "_MOST_CSV", 3)
    assert "a .csv of at most 3 is read: save it as .parquet" in error(write(tmp_path / "f.csv", "a\n1\n2\n"))


def test_a_file_that_unfolds_to_too_much(tmp_path):
    pq.write_table(pa.table({"a": np.zeros(60_000_000, np.int64)}), tmp_path / "a.parquet", compression="zstd")
    with pytest.raises(FileError, match=r"cannot be read as .parquet \(it has .* bytes but announces "):
        as_table(tmp_path / "a.parquet", count=5)


def test_columns_of_one_value_may_be_long():
    n = 20_000_000  # 160 MB announced for each column, by a file of some hundred bytes
    table = as_table(pa.table({name: np.zeros(n, bool) for name in "ab"}), count=n)
    assert from_bytes(to_bytes(table), count=n).num_rows == n


def test_join():
    one = as_table({"year": pa.array([1, None], pa.int8()), "city": ["a", None], "n": [None, None]}, count=2)
    two = as_table({"score": [0.5], "year": pa.array([300], pa.uint16()), "n": ["x"]}, count=1)
    three = as_table({"year": [1.5], "city": pa.array(["b"]).dictionary_encode(), "tags": [[1]]}, count=1)
    both = join([one, 2, two])
    assert both.schema.field("year").type == pa.int64()
    assert values(both) == {
        "year": [1, None, None, None, 300],
        "city": ["a", None, None, None, None],
        "n": [None, None, None, None, "x"],
        "score": [None, None, None, None, 0.5],
    }
    everything = join([one, two, three])
    assert [str(field.type) for field in everything.schema] == [
        "double",
        "string",
        "string",
        "double",
        "list<item: int64>",
    ]
    assert everything.column("year").to_pylist() == [1.0, None, 300.0, 1.5]
    assert everything.schema == common_schema([one.schema, two.schema, three.schema])
    assert parse({"year": {"$gt": 1}, "city": {"$exists": False}}).mask(everything).tolist() == [
        False,
        False,
        True,
        False,
    ]
    assert values(from_bytes(to_bytes(everything), count=4)) == values(everything)
    assert join([one]).equals(one)


@pytest.mark.parametrize(
    ("one", "two", "message"),
    [
        (
            [1],
            ["a"],
            "column 'a' is int64 in one table and string in another; only whole numbers and floats are widened",
        ),
        ([1], [True], "column 'a' is int64 in one table and bool in another"),
        ([[1]], [1], "column 'a' is list<item: int64> in one table and int64 in another"),
        ([[1]], [["a"]], "column 'a' is int64 in one table and string in another"),
        (
            [datetime.date(2020, 1, 1)],
            [datetime.datetime(2020, 1, 1)],
            "is date32[day] in one table and timestamp[us] in",
        ),
        (
            [2**60 + 1],
            [0.5],
            "column 'a' is int64 in one table and double in all, which does not hold its values exactly (",
        ),
    ],
)
def test_errors_of_join(one, two, message):
    with pytest.raises(InputError) as caught:
        join([as_table({"a": one}, count=1), as_table({"a": two}, count=1)])
    assert message in str(caught.value)
    with pytest.raises(InputError, match="there is no metadata in any of the tables; give one that has columns"):
        join([3, 4])


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.sets(st.sampled_from("abcd"), min_size=1), st.integers(0, 4), st.randoms()), min_size=1, max_size=5
    )
)
def test_joined_rows_are_those_of_the_tables(drawn):
    def cell(name, random):
        return random.choice([None, {"a": 1, "b": 2.5, "c": "x", "d": ["y"]}[name]])

    lists = [[{name: cell(name, random) for name in sorted(names)} for _ in range(n)] for names, n, random in drawn]
    parts = [as_table(rows, count=len(rows)) for rows in lists if rows]
    if not parts:
        return
    whole = join(parts)
    expected = [{name: row.get(name) for name in whole.column_names} for rows in lists for row in rows]
    assert whole.to_pylist() == expected
    assert from_bytes(to_bytes(whole), count=len(expected)).to_pylist() == expected


def test_select():
    table = join([damage.sample(), damage.sample()])
    rows = np.array([599, 0, 0, 310])
    chosen = select(table, rows, ["city", "day", "tags", "kind"])
    whole = table.to_pydict()
    assert chosen == {name: [whole[name][row] for row in rows] for name in ("city", "day", "tags", "kind")}
    assert select(table, [], ["city"]) == {"city": []}
    assert select(table, [1], []) == {}


@pytest.mark.parametrize(
    ("rows", "columns", "message"),
    [
        ([2], ["a"], "rows must be at least 0 and below 2, got 2"),
        ([-1], ["a"], "rows must be at least 0 and below 2, got -1"),
        ([[0]], ["a"], r"rows must be a flat list of row numbers, got shape \(1, 1\), int64"),
        ([0.5], ["a"], "rows must be a flat list of row numbers"),
        ([0], ["aa"], "there is no column 'aa'; did you mean 'a'. the columns are 'a'"),
        ([0], "a", "columns must be a list of names, got 'a'"),
        ([0], [5], r"columns must be a list of names, got \[5\]"),
    ],
)
def test_errors_of_select(rows, columns, message):
    with pytest.raises(InputError, match=message):
        select(as_table({"a": [1, 2]}, count=2), rows, columns)


def test_bytes_come_back():
    table = damage.sample()
    content = to_bytes(table)
    back = from_bytes(content, count=damage.COUNT)
    assert back.equals(table)
    assert back.schema == table.schema
    assert back.schema.metadata is None
    assert pq.read_table(io.BytesIO(content)).equals(table)  # any reader of Parquet
    assert b"pandas" not in to_bytes(table.replace_schema_metadata({"pandas": "{}", "note": "x"}))
    empty = table.slice(0, 0)
    assert from_bytes(to_bytes(empty), count=0).schema == table.schema


def test_bytes_that_are_wrong():
    content = to_bytes(damage.sample())
    plain = io.BytesIO()
    pq.write_table(damage.sample(), plain)
    with pytest.raises(
        CorruptIndexError, match=r"^seg/m.parquet is damaged \(it has 300 rows for 5 items\); restore it"
    ):
        from_bytes(content, count=5, name="seg/m.parquet")
    with pytest.raises(CorruptIndexError, match=r"metadata is damaged \(its checksum is wrong\)"):
        from_bytes(plain.getvalue(), count=damage.COUNT)
    with pytest.raises(CorruptIndexError, match="does not end as a Parquet file does"):
        from_bytes(b"", count=damage.COUNT)
    strange = io.BytesIO()
    pq.write_table(pa.table({"$a": [1]}), strange)
    start = announced(strange).start
    made = strange.getvalue()[:start] + bytes(8) + strange.getvalue()[start:]
    with pytest.raises(CorruptIndexError, match="must not begin with"):
        from_bytes(damage.resealed(made), count=1)


def test_a_flipped_bit_of_any_byte_is_noticed():
    table = as_table({"a": [1, 2], "b": ["x", None]}, count=2)
    content = to_bytes(table)
    for place in range(len(content)):
        bad = bytearray(content)
        bad[place] ^= 1 << place % 8
        with pytest.raises(CorruptIndexError, match="metadata is damaged"):
            from_bytes(bytes(bad), count=2)


@pytest.mark.parametrize("how", ["accident", "crafted", "file"])
def test_damage(how):
    """In another process: a crash is then a failure, not the end of the tests."""
    done = subprocess.run([sys.executable, damage.__file__, how, "0", "700"], capture_output=True, text=True)
    assert "wrong" not in done.stdout
    assert done.stdout.endswith("done\n"), f"ended at {done.stdout.split()[-1]}: {done.stderr[-500:]}"
    assert done.returncode == 0
