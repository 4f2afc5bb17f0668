"""An index that changes, from the command line."""

import numpy as np
import pytest

import longwave as lw
from commands import run


@pytest.fixture(scope="module")
def place(tmp_path_factory, digits_split):
    folder = tmp_path_factory.mktemp("living")
    vectors, labels = digits_split[:2]
    np.save(folder / "v.npy", vectors[:300])
    np.save(folder / "more.npy", vectors[300:310])
    np.save(folder / "other.npy", vectors[310:312])
    np.savetxt(folder / "ids.txt", [5, 301], fmt="%d")
    lines = [f"{label},{year}" for year, label in enumerate(labels[300:310], 2015)]
    (folder / "more.csv").write_text("label,year\n" + "\n".join(lines) + "\n")
    code, _, err = run("build", "v.npy", "-o", "d.longwave", "--k", 10, "--rank", 20, cwd=folder)
    assert code == 0, err
    return folder


def test_a_collection_lives(place, digits_split):
    code, out, err = run("add", "d.longwave", "more.npy", "--metadata", "more.csv", cwd=place)
    assert (code, err) == (0, "")
    assert "10 items added; 310 items" in out
    code, out, err = run("search", "d.longwave", "more.npy", "-k", 4, "--where", "year>=2021", cwd=place)
    assert code == 0, err
    assert {line.split("\t")[2] for line in out.splitlines()[1:]} == {"306", "307", "308", "309"}
    code, _, err = run("search", "d.longwave", "more.npy", "--where", "yaer>=2021", cwd=place)
    assert code == 1
    assert "yaer" in err
    code, out, err = run("remove", "d.longwave", 3, 302, cwd=place)
    assert "2 items removed; 308 items" in out
    code, out, err = run("similar", "d.longwave", 302, cwd=place)
    assert code == 1
    assert "302" in err
    code, out, err = run("replace", "d.longwave", "other.npy", "--ids", "ids.txt", cwd=place)
    assert code == 0, err
    code, out, err = run("info", "d.longwave", cwd=place)
    assert "outside of the graph" in out
    assert "year (int64)" in out
    code, out, err = run("add", "d.longwave", "more.npy", "--ids", "ids.txt", cwd=place)
    assert code == 1
    assert "one entry per vector, 10, got 2" in err
    code, out, err = run("compact", "d.longwave", "--keep", 1, "--grace", 0, cwd=place)
    assert "of old versions removed" in out
    code, out, err = run("refresh", "d.longwave", cwd=place)
    assert code == 0, err
    code, out, err = run("history", "d.longwave", cwd=place)
    assert "refresh of 308 items" in out
    opened = lw.open(place / "d.longwave")
    assert opened.search(digits_split[0][310:312], 1).ids[:, 0].tolist() == [5, 301]
    assert opened.staleness().outside == 0


def test_metadata_from_the_build_on(tmp_path, digits_split):
    vectors, labels = digits_split[:2]
    np.save(tmp_path / "v.npy", vectors[:60])
    np.save(tmp_path / "q.npy", vectors[:2])
    lines = [f'"{label}, written",{2000 + number}' for number, label in enumerate(labels[:60])]
    (tmp_path / "v.csv").write_text("title,year\n" + "\n".join(lines) + "\n")
    (tmp_path / "short.csv").write_text("title,year\n" + "\n".join(lines[:9]) + "\n")
    arguments = ("build", "v.npy", "-o", "d.longwave", "--k", 10, "--rank", 20)
    code, _, err = run(*arguments, "--metadata", "short.csv", cwd=tmp_path)
    assert code == 1
    assert "one row for each item, 60, got 9 rows" in err
    code, _, err = run(*arguments, "--metadata", "v.csv", cwd=tmp_path)
    assert code == 0, err
    asked = ("search", "d.longwave", "q.npy", "-k", 60)
    code, out, err = run(
        *asked, "--where", "year>=2010", "--where", "year<2015", "--columns", "year, title", cwd=tmp_path
    )
    assert code == 0, err
    head, *rows = [line.split("\t") for line in out.splitlines()]
    assert head == ["query", "rank", "id", "score", "year", "title"]
    assert sorted(int(row[2]) for row in rows[:5]) == [10, 11, 12, 13, 14]
    assert all(row[4:] == [str(2000 + int(row[2])), f"{labels[int(row[2])]}, written"] for row in rows)
    code, _, err = run(*asked, "--where", "year>=2010", "--columns", "title", "-o", "h.csv", cwd=tmp_path)
    assert (tmp_path / "h.csv").read_text().splitlines()[0] == "query,rank,id,score,title"
    for where, words in (
        (["title=a, b"], "title is one of 'a', 'b'; widen it"),
        (["title='a, b'", "year<2003"], "(title = 'a, b') and (year < '2003'); widen it"),
        (["year>=2010 and year<2015"], "two comparisons"),
        (["v.npy", "year<2015"], "one file, or conditions"),
    ):
        code, _, err = run(*asked, *(part for text in where for part in ("--where", text)), cwd=tmp_path)
        assert code == 1
        assert words in err
