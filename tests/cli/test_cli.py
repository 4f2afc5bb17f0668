"""The command line as a user meets it: a process, its output, its exit code."""

import csv
import itertools
import json
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.io

import longwave as lw
from commands import instead_of, map_of, run

DOCUMENT = Path(__file__).parents[2] / "docs" / "cli.md"


@pytest.fixture(scope="module")
def folder(tmp_path_factory, digits_split):
    """Digits as files, and an index of them."""
    place = tmp_path_factory.mktemp("cli")
    vectors, labels, queries, query_labels = digits_split
    for name, array in (("v", vectors), ("l", labels), ("q", queries), ("ql", query_labels)):
        np.save(place / f"{name}.npy", array)
    code, out, err = run("build", "v.npy", "-o", "d.longwave", "--k", 20, "--rank", 20, cwd=place)
    assert code == 0, err
    assert "1,597 items" in out
    return place


def test_build_equals_the_library(folder, digits_split):
    index = lw.Index.build(digits_split[0], k=20, spectrum=lw.Chebyshev(20))
    loaded = lw.Index.load(folder / "d.longwave")
    np.testing.assert_array_equal(index.search(digits_split[2], 9).ids, loaded.search(digits_split[2], 9).ids)


def test_evaluate_digits(folder):
    labels = ("--labels", "l.npy", "--query-labels", "ql.npy")
    code, out, _ = run("evaluate", "d.longwave", "q.npy", *labels, "--solver", "euclidean", cwd=folder)
    assert code == 0
    assert map_of(out) == pytest.approx(65.8, abs=0.1)
    _, out, _ = run("evaluate", "d.longwave", "q.npy", *labels, cwd=folder)
    assert map_of(out) == pytest.approx(88.3, abs=0.5)  # k 20, rank 20
    assert "(Euclidean 65.8" in out
    _, out, _ = run("evaluate", "d.longwave", "q.npy", *labels, "--per-query", cwd=folder)
    assert len(re.findall(r"^query \d+: AP [\d.]+ \(Euclidean [\d.]+\)$", out, re.M)) == 200


def test_evaluate_prints_and_writes_what_the_library_finds(folder, digits_split):
    from longwave.evaluation import Labels, evaluate

    _, item_labels, queries, query_labels = digits_split
    index = lw.Index.load(folder / "d.longwave")
    expected = evaluate(index, queries, Labels(item_labels, query_labels), k=(1, 20), whole=False)
    shared = ("--labels", "l.npy", "--query-labels", "ql.npy", "-k", "1,20", "--no-map")
    code, out, err = run("evaluate", "d.longwave", "q.npy", *shared, "--json", cwd=folder)
    assert code == 0, err
    found = json.loads(out)
    assert (found["queries"], found["left_out"], found["k"], found["batch"]) == (200, 0, [1, 20], 1)
    for own, known in zip(found["searches"], expected.records(), strict=True):
        assert {**own, "milliseconds": 0} == pytest.approx({**known, "milliseconds": 0})
    assert found["searches"][0]["P@20"] > found["searches"][1]["P@20"]
    code, out, _ = run("evaluate", "d.longwave", "q.npy", *shared, "--csv", "--no-euclidean", cwd=folder)
    (row,) = csv.DictReader(out.splitlines())
    assert row["search"] == "manifold"
    assert float(row["recall@20"]) == pytest.approx(expected.mean("recall@20"))
    code, out, err = run("evaluate", "d.longwave", "q.npy", *shared, "-o", "e.csv", "--per-query", cwd=folder)
    assert code == 0, err
    assert "P@20" in out
    with (folder / "e.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 2 * 200
    code, out, _ = run("evaluate", "d.longwave", "q.npy", *shared, "--batch", 50, cwd=folder)
    assert "50 at a time" in out


def test_evaluate_with_truth_and_queries_without_positives(folder, digits_split):
    labels, query_labels = digits_split[1], digits_split[3]
    entries = [{"positive": np.flatnonzero(labels == label).tolist()} for label in query_labels]
    entries[0]["positive"] = []
    (folder / "t.json").write_text(json.dumps({"queries": entries}))
    code, out, _ = run("evaluate", "d.longwave", "q.npy", "--truth", "t.json", cwd=folder)
    assert code == 0
    assert "over 199 queries (1 without positives left out)" in out
    right = [entry["positive"] for entry in entries]
    (folder / "plain.json").write_text(json.dumps(right))
    lines = [f"t{number} 0 {item} 1\n" for number, own in enumerate(right) for item in own]
    (folder / "qrels.txt").write_text("".join(lines))
    (folder / "topics.txt").write_text("".join(f"t{number}\n" for number in range(len(right))))
    same = ("evaluate", "d.longwave", "q.npy", "--json", "--truth")
    means = []
    for form in (("t.json",), ("plain.json",), ("qrels.txt", "--query-ids", "topics.txt")):
        code, out, err = run(*same, *form, cwd=folder)
        assert code == 0, err
        own = json.loads(out)["searches"][0]
        means.append({name: own[name] for name in ("mAP", "P@5", "nDCG@10")})
    assert means[0] == means[1] == means[2]
    assert "--query-ids F" in run(*same, "qrels.txt", cwd=folder)[2]


def test_evaluate_with_ground_truth_as_it_is_published(tmp_path, digits_split):
    vectors, labels, queries, query_labels = digits_split
    names = [f"digit_{row}" for row in range(300)]
    np.save(tmp_path / "v.npy", vectors[:300])
    np.save(tmp_path / "q.npy", queries[:9])
    (tmp_path / "names.txt").write_text("".join(f"{name}.jpg\n" for name in names))
    right = [np.flatnonzero(labels[:300] == label).tolist() for label in query_labels[:9]]
    (tmp_path / "t.json").write_text(
        json.dumps({"queries": [{"positive": rows[1:], "junk": rows[:1]} for rows in right]})
    )
    (tmp_path / "text").mkdir()
    for number, rows in enumerate(right):
        parts = {"query": f"{names[0]} 0 0 5 5", "good": rows[1:9], "ok": rows[9:], "junk": rows[:1]}
        for kind, own in parts.items():
            text = own if isinstance(own, str) else "\n".join(names[row] for row in own)
            (tmp_path / "text" / f"digit_{number}_{kind}.txt").write_text(text)
    entries = [{"ok": np.array(rows[1:]) + 1.0, "junk": np.array(rows[:1]) + 1.0, "bbx": np.zeros(4)} for rows in right]
    lists = {"imlist": np.array(names, dtype=object), "qimlist": np.array(names[:9], dtype=object)}
    scipy.io.savemat(tmp_path / "gnd.mat", {"gnd": np.array(entries), **lists})
    graded = [{"easy": rows[1:9], "hard": rows[9:], "junk": rows[:1], "bbx": [0, 0, 5, 5]} for rows in right]
    (tmp_path / "gnd.pkl").write_bytes(pickle.dumps({"gnd": graded, "imlist": names, "qimlist": names[:9]}))
    for index, options in (("n.longwave", ()), ("s.longwave", ("--ids", "names.txt"))):
        code, _, err = run("build", "v.npy", "-o", index, *options, cwd=tmp_path)
        assert code == 0, err
    _, out, _ = run("evaluate", "n.longwave", "q.npy", "--truth", "t.json", cwd=tmp_path)
    expected = map_of(out)
    assert 50 < expected < 99
    for index, truth in itertools.product(("n.longwave", "s.longwave"), ("text", "gnd.mat", "gnd.pkl")):
        code, out, err = run("evaluate", index, "q.npy", "--truth", truth, cwd=tmp_path)
        if (index, truth) == ("n.longwave", "text"):
            assert (code, "longwave build VECTORS --ids names.txt" in err) == (1, True)
        else:
            assert (code, map_of(out)) == (0, expected), err
    _, out, _ = run("evaluate", "n.longwave", "q.npy", "--truth", "gnd.pkl", "--setup", "easy", cwd=tmp_path)
    assert map_of(out) != expected
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "a.jpg").touch()
    code, _, err = run("evaluate", "s.longwave", "pictures", "--truth", "gnd.mat", cwd=tmp_path)
    assert (code, "answers as JSON" in err) == (1, True)


def test_search_prints_a_table(folder):
    code, out, _ = run("search", "d.longwave", "q.npy", "-k", 3, cwd=folder)
    assert code == 0
    lines = [line.split("\t") for line in out.splitlines()]  # in a pipe: a line per hit
    assert lines[0] == ["query", "rank", "id", "score"]
    assert len(lines) == 1 + 200 * 3
    assert [line[:2] for line in lines[1:5]] == [["0", "1"], ["0", "2"], ["0", "3"], ["1", "1"]]


@pytest.mark.parametrize("width", [30, 60, 80, 200])
def test_the_table_never_cuts_ids(width, monkeypatch, capsys):
    from rich.console import Console

    from longwave.cli import results

    monkeypatch.setattr(results, "out", Console(width=width, force_terminal=True, color_system=None))
    ids = np.array([[f"photo_{i:05d}" for i in range(10)], [f"[/b]{i}" for i in range(10)]])
    results.print_hits(lw.Hits(ids, np.linspace(1, 0, 20).reshape(2, 10)))
    printed = capsys.readouterr().out
    assert "photo_00000" in printed
    assert "[/b]0" in printed
    assert "…" not in printed


def test_long_ids_are_listed_below_each_other(monkeypatch, capsys):
    from rich.console import Console

    from longwave.cli import results

    monkeypatch.setattr(results, "out", Console(width=80, force_terminal=True, color_system=None))
    ids = np.array([[f"archive/of_a_long_journey_{i:05d}.jpg" for i in range(10)]])
    hits = lw.Hits(ids, np.linspace(1, 0.1, 10)[None], confidence=np.array([0.5]))
    results.print_hits(hits, names=["beach.jpg"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("beach.jpg")
    assert [line.split() for line in lines[1:3]] == [["1", "1", ids[0, 0]], ["2", "0.9", ids[0, 1]]]
    assert lines[11] == "confidence 0.50: how far to trust the graph, from 0 to 1"
    many = lw.Hits(np.repeat(ids, 20, axis=0), np.repeat(hits.scores, 20, axis=0))
    results.print_hits(many, asked="item")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4 * 11 + 1
    assert lines[-1].startswith("20 items × 10 hits; write all of them with -o")


def test_search_writes_every_format(folder, digits_split):
    expected = lw.Index.load(folder / "d.longwave").search(digits_split[2], 4, filter=lw.Heat(500.0), blend=0.3)
    for name in ("h.npz", "h.json", "h.csv"):
        code, _, err = run(
            "search", "d.longwave", "q.npy", "-k", 4, "--filter", "heat:500", "--blend", 0.3, "-o", name, cwd=folder
        )
        assert code == 0, err
    with np.load(folder / "h.npz") as arrays:
        np.testing.assert_array_equal(arrays["ids"], expected.ids)
        np.testing.assert_allclose(arrays["scores"], expected.scores, rtol=1e-5)
    rows = json.loads((folder / "h.json").read_text())
    assert [row["ids"] for row in rows] == expected.ids.tolist()
    with (folder / "h.csv").open() as file:
        table = list(csv.DictReader(file))
    assert [int(row["id"]) for row in table] == expected.ids.ravel().tolist()
    assert [(row["query"], row["rank"]) for row in table[:5]] == [
        ("0", "1"),
        ("0", "2"),
        ("0", "3"),
        ("0", "4"),
        ("1", "1"),
    ]


@pytest.mark.parametrize(
    "options",
    [
        ["--solver", "hybrid", "--tolerance", "1e-3"],
        ["--solver", "cg", "--tolerance", "1e-4", "--steps", "500"],
        ["--solver", "walk", "--steps", "30"],
        ["--solver", "chebyshev"],
        ["--no-complement"],
        ["--blend", "1", "--blend-scale", "printed"],
        ["--blend", "1", "--blend-everywhere"],
        ["--cut", "5", "--neighbors", "20", "--region-sum", "similarities"],
    ],
    ids=" ".join,
)
def test_every_option_of_search(folder, options):
    code, out, err = run("search", "d.longwave", "q.npy", *options, cwd=folder)
    assert code == 0, err
    assert len(out.splitlines()) == 2001


def test_regional_build_and_search(folder):
    np.save(folder / "groups.npy", np.arange(1597) // 4)
    np.save(folder / "qg.npy", np.arange(200) // 5)
    code, out, err = run("build", "v.npy", "-o", "r.longwave", "--groups", "groups.npy", "--rank", 30, cwd=folder)
    assert code == 0, err
    assert "400 items" in out
    code, out, err = run(
        "search", "r.longwave", "q.npy", "--query-groups", "qg.npy", "--cut", 200, "-o", "r.npz", cwd=folder
    )
    assert code == 0, err
    assert "40 queries × 10 hits" in out


def test_lists_from_a_file(folder, digits_split):
    from longwave.graph.lists import nearest_others
    from longwave.rows.vectors import normalize

    lists = nearest_others(normalize(digits_split[0]), k=20)
    np.savez(folder / "lists.npz", ids=lists.ids, similarities=lists.similarities)
    np.save(folder / "lists.npy", lists.ids)
    expected = lw.Index.load(folder / "d.longwave").search(digits_split[2], 9)
    for name in ("lists.npz", "lists.npy"):
        code, _, err = run("build", "v.npy", "-o", "g.longwave", "--lists", name, "--rank", 20, "--force", cwd=folder)
        assert code == 0, err
        hits = lw.Index.load(folder / "g.longwave").search(digits_split[2], 9)
        np.testing.assert_allclose(hits.scores, expected.scores, atol=1e-5)
    assert "neighbours given" in run("info", "g.longwave", "--details", cwd=folder)[1]


@pytest.mark.parametrize("spectrum", ["lanczos", "simultaneous", "exact", "none"])
def test_every_spectrum(folder, spectrum):
    name = f"{spectrum}.longwave"
    rank = () if spectrum == "none" else ("--rank", 30)
    code, _, err = run("build", "v.npy", "-o", name, "--k", 10, *rank, "--spectrum", spectrum, cwd=folder)
    assert code == 0, err
    code, out, err = run("info", name, "--details", cwd=folder)
    assert code == 0, err
    assert ("none" if spectrum == "none" else "rank ") in out


def test_info_says_it_all(folder):
    code, out, _ = run("info", "d.longwave", "--verify", "--filter", "lowpass:0.9", cwd=folder)
    assert code == 0
    for word in (
        "items",
        "1,597 × 64",
        "components",
        "isolated",
        "eigenvalues",
        "residuals",
        "LowPass(alpha=0.9)",
        "memory",
        "checksums",
    ):
        assert word in out
    np.save(folder / "few.npy", np.abs(np.random.default_rng(0).normal(size=(6, 4))))
    run("build", "few.npy", "-o", "few.longwave", cwd=folder)
    assert "clipped from 50" in " ".join(run("info", "few.longwave", "--details", cwd=folder)[1].split())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["build", "nothing.npy", "-o", "x"], ["nothing.npy"]),
        (["build", "v.xyz", "-o", "x"], ["v.xyz"]),
        (["build", "v.npy", "-o", "d.longwave"], ["d.longwave exists", "--force"]),
        (["build", "v.npy", "-o", "no/where"], ["there is no folder"]),
        (["build", "v.npy", "-o", "x", "--rank", "0"], ["rank must be"]),
        (["build", "v.npy", "-o", "x", "--spectrum", "magic"], ["chebyshev, lanczos", "'magic'"]),
        (["build", "v.npy", "-o", "x", "--groups", "ql.npy"], ["groups must have one entry per vector, 1597, got 200"]),
        (["build", "nan.npy", "-o", "x"], ["nan at row 1, column 2"]),
        (["search", "v.npy", "q.npy"], ["is a file"]),
        (["search", "nothing", "q.npy"], ["does not exist"]),
        (["search", "d.longwave", "nothing.npy"], ["nothing.npy"]),
        (["search", "d.longwave", "few.npy"], ["4 dimensions but the index has 64"]),
        (["search", "d.longwave", "q.npy", "--filter", "lowpass:1.0"], ["below 1, got 1.0"]),
        (["search", "d.longwave", "q.npy", "--filter", "magic:1"], ["unknown filter", "lowpass:ALPHA"]),
        (["search", "d.longwave", "q.npy", "--solver", "magic"], ["solver must be one of"]),
        (["search", "d.longwave", "q.npy", "--solver", "walk", "--tolerance", "1"], ["has no --tolerance"]),
        (["search", "d.longwave", "q.npy", "--solver", "cg", "--filter", "heat:1"], ["LowPass(alpha) only"]),
        (["search", "d.longwave", "q.npy", "--blend-everywhere"], ["need --blend"]),
        (["search", "d.longwave", "q.npy", "-k", "0"], ["k must be"]),
        (["search", "d.longwave", "q.npy", "-o", "h.xls"], [".npz, .json, .csv"]),
        (["evaluate", "d.longwave", "q.npy"], ["either with --truth F or with --labels F"]),
        (["evaluate", "d.longwave", "q.npy", "--labels", "l.npy"], ["--query-labels"]),
        (["evaluate", "d.longwave", "q.npy", "--labels", "ql.npy", "--query-labels", "ql.npy"], ["1597, got 200"]),
        (["evaluate", "d.longwave", "q.npy", "--truth", "unknown.json", "-k", "1,x"], ["such as 1,5,20, got '1,x'"]),
        (["evaluate", "d.longwave", "q.npy", "--truth", "unknown.json", "-o", "e.txt"], ["one of .json, .csv"]),
        (["evaluate", "d.longwave", "q.npy", "--truth", "unknown.json", "--json", "--csv"], ["not both"]),
        (["evaluate", "d.longwave", "q.npy", "--truth", "bad.json"], ["not ground truth", "positive"]),
        (["evaluate", "d.longwave", "q.npy", "--truth", "unknown.json"], ["query 0 names item 99999"]),
        (["info", "v.npy"], ["is a file"]),
        (["evaluate", "d.longwave", "q.npy", "--truth", "q.npy"], ["not ground truth"]),
        (["build", "v.npy", "-o", "x", "--spectrum", "none", "--rank", "5"], ["has no --rank"]),
        (["build", "v.npy", "-o", "x", "--rounds", "5"], ["chebyshev has no --rounds"]),
        (["build", "v.npy", "-o", "x", "--seed", "-1"], ["seed must be"]),
        (["search", "d.longwave", "q.npy", "--blend-scale", "impulse"], ["need --blend"]),
        (["search", "d.longwave", "q.npy", "--filter", "walk:0.9,2.5"], ["whole number"]),
        (["search", "d.longwave", "q.npy", "--filter", "walk:0.9,inf"], ["whole number"]),
        (["evaluate", "d.longwave", "q.npy", "--truth", "nested.json"], ["query 0 names item [1]"]),
        (["search", "d.longwave", "q.npy", "--filter", "lowpass:"], ["lowpass:ALPHA"]),
        (["demo", "--picture", "nowhere/x.png"], ["no folder nowhere"]),
        (["similar", "d.longwave", "²"], ["whole numbers, such as 0, got '²'"]),
        (["similar", "d.longwave", "9" * 30], ["no item '999"]),
        (["build", "some", "-o", "x"], ["some is a folder", "--images FOLDER"]),
        (["build", "photos", "-o", "x"], ["longwave build --images photos -o INDEX"]),
        (["build", "photos/x.JPG", "-o", "x"], ["longwave build --images photos -o INDEX"]),
        (["advise", "photos"], ["longwave build --images photos -o INDEX"]),
        (["build", "d.longwave", "-o", "x"], ["d.longwave is an index"]),
        (["build", "--images", "photos", "-o", "x", "--ids", "l.npy"], ["leave out --groups and --ids"]),
        (["search", "d.longwave", "q.npy", "-o", "some"], ["suffix must be"]),
        (["search", "d.longwave", "q.npy", "-o", "folder.csv"], ["it is a folder"]),
        (["demo", "--picture", "x.doc"], ["suffix"]),
    ],
    ids=lambda a: (
        " ".join(a) if a and a[0] in ("build", "search", "similar", "advise", "evaluate", "info", "demo") else ""
    ),
)
def test_errors_are_one_line_and_exit_1(folder, arguments, words):
    np.save(folder / "nan.npy", np.where(np.arange(12).reshape(3, 4) == 6, np.nan, 1.0))
    np.save(folder / "few.npy", np.abs(np.random.default_rng(0).normal(size=(6, 4))))
    (folder / "v.xyz").write_text("1")
    for name in ("some", "photos", "folder.csv"):
        (folder / name).mkdir(exist_ok=True)
    (folder / "photos" / "x.JPG").touch()
    (folder / "bad.json").write_text('{"queries": [{"junk": []}]}')
    (folder / "nested.json").write_text(json.dumps({"queries": [{"positive": [[1]]}] * 200}))
    (folder / "unknown.json").write_text(json.dumps({"queries": [{"positive": [99999]}] * 200}))
    code, out, err = run(*arguments, cwd=folder)
    assert code == 1
    assert err.count("\n") == 1, err
    assert len(err) < 400
    assert err.startswith("longwave: ")
    assert all(word in err for word in words), err
    assert "Traceback" not in out + err
    assert not (folder / "x").exists()


def test_usage_errors_exit_2(folder):
    assert run("build", cwd=folder)[0] == 2
    assert run("search", "d.longwave", "q.npy", "--colour", "red", cwd=folder)[0] == 2


def test_force_replaces(folder):
    run("build", "v.npy", "-o", "f.longwave", "--rank", 5, cwd=folder)
    code, _, _ = run("build", "v.npy", "-o", "f.longwave", "--rank", 6, "--force", cwd=folder)
    assert code == 0
    assert "rank=6" in lw.Index.load(folder / "f.longwave").settings.spectrum


def test_warnings_are_one_line(folder):
    vectors = np.abs(np.random.default_rng(0).normal(size=(10, 4)))
    vectors[3] = 0
    np.save(folder / "zero.npy", vectors)
    code, _, err = run("build", "zero.npy", "-o", "zero.longwave", cwd=folder)
    assert code == 0
    assert err == (
        "longwave: warning: 1 of 10 rows of vectors are all zero (the first is row 3); "
        "they have no neighbours and can only be found last: consider dropping them\n"
    )


def test_version_and_help():
    assert run("--version")[1].strip() == lw.__version__
    code, out, _ = run("--help")
    assert code == 0
    for command in ("build", "search", "info", "evaluate", "demo"):
        assert command in out


def test_help_is_whole_at_80_columns():
    """Summaries are not cut, every option says what it is in a phrase of its own, and nothing is wider."""
    from typer.main import get_command
    from typer.testing import CliRunner

    from longwave.cli.commands import app

    whole = run("--help", COLUMNS=80)[1]
    assert "..." not in whole.partition("Commands:")[2]
    printed = CliRunner(env={"COLUMNS": "80"})
    for name, command in get_command(app).commands.items():
        shown = printed.invoke(app, [name, "--help"]).stdout
        assert shown.startswith("Usage:")
        assert max(len(line) for line in shown.splitlines()) <= 80, name
        for parameter in command.params:
            text = parameter.help
            assert text, (name, parameter.name)
            assert text.endswith("."), text
            assert re.match("[A-Z]", text), text
            assert text.split()[0] not in ("Of", "And", "Or", "Their", "At", "As"), text
            assert len(text.split()) > 3, text


@pytest.mark.parametrize(("module", "arguments"), [("typer", ["--help"]), ("numba", ["build", "v.npy", "-o", "x"])])
def test_ctrl_c_is_quiet_in_imports_and_in_commands(folder, tmp_path, module, arguments):
    press = "import os, signal, time; os.kill(os.getpid(), signal.SIGINT); time.sleep(60)"
    code, out, err = run(*arguments, cwd=folder, **instead_of(module, press, tmp_path))
    assert (code, out, err) == (130, "", "")
    assert not (folder / "x").exists()


def test_the_reference_in_the_docs_is_what_help_prints():
    """`make docs` writes it."""
    from longwave.cli.reference import reference

    assert DOCUMENT.read_text("utf-8") == reference(), "docs/cli.md is out of date: run `make docs`"


def test_demo(tmp_path):
    code, out, err = run("demo", cwd=tmp_path)
    assert code == 0, err
    rows = {cells[1].strip(): cells for line in out.splitlines() if len(cells := line.split("│")) > 5}
    assert float(rows["Euclidean"][3]) == pytest.approx(65.8, abs=0.1)
    assert float(rows["linear system"][3]) == pytest.approx(87.1, abs=0.2)
    assert float(rows["Longwave's default"][3]) == pytest.approx(90.2, abs=0.5)
    assert (tmp_path / "demo.png").stat().st_size > 20_000
    assert out.splitlines()[-1] == "Look at them: longwave serve demo.longwave (in a clone: make serve)"
    kept = lw.Index.load(tmp_path / "demo.longwave")
    assert len(kept) == 1797
    assert kept.metadata.table.column("label").to_pylist()[:3] == [0, 1, 2]
    assert kept.about["draw"] == {"kind": "digits", "width": 8, "height": 8}


def test_demo_without_the_extra_still_has_its_table(tmp_path, monkeypatch, capsys):
    from longwave.cli import showing
    from longwave.errors import MissingExtraError
    from longwave.experiments import demo

    def undrawn(*_):
        raise MissingExtraError("drawing", "plots")

    monkeypatch.setattr(demo, "run", lambda: ([demo.Variant("x", "y", np.ones(1), 1.0, 1, None)], None, None, None))
    monkeypatch.setattr(demo, "draw", undrawn)
    monkeypatch.setattr(demo.Index, "with_metadata", undrawn)
    showing.demo(tmp_path / "demo.png", tmp_path / "demo.longwave")
    out = " ".join(capsys.readouterr().out.split())
    assert "No picture was written: drawing needs the extra 'plots'" in out
    assert "demo.longwave,withoutlabels" in out.replace(" ", "")  # a long path is cut anywhere


def test_advise_names_a_rank_for_vectors_and_for_an_index(folder):
    code, out, err = run("advise", "v.npy", "--k", 20, cwd=folder)
    assert code == 0, err
    suggested = int(re.search(r"answers alone: --rank (\d+)", out).group(1))
    assert 50 <= suggested <= 1000
    assert "Begin without --rank: `build` then takes all eigenvectors" in " ".join(out.split())
    code, out, err = run("advise", "d.longwave", cwd=folder)
    assert code == 0, err
    assert f"--rank {suggested} " in out  # the same graph
    assert "Begin" not in out
    code, out, _ = run("advise", "d.longwave", "--filter", "heat:2", cwd=folder)
    assert code == 0
    assert int(re.search(r"--rank (\d+)", out).group(1)) != suggested
    code, _, err = run("advise", "v.npy", "--memory", "lots", cwd=folder)
    assert code == 1
    assert "such as 20G" in err


def test_a_build_that_does_not_fit_says_what_would(folder):
    code, _, err = run("build", "v.npy", "-o", "small.longwave", "--memory", "1M", cwd=folder)
    assert code == 1
    assert "but memory= allows 1.0 MiB" in err
    assert not (folder / "small.longwave").exists()


def test_build_starts_from_an_earlier_index(folder):
    code, out, err = run(
        "build", "v.npy", "-o", "again.longwave", "--k", 20, "--rank", 20, "--start", "d.longwave", cwd=folder
    )
    assert code == 0, err
    assert "rank" in out


def test_more_like_an_item(folder):
    code, _, err = run("similar", "d.longwave", 3, 17, "-k", 4, "-o", "s.json", cwd=folder)
    assert code == 0, err
    rows = json.loads((folder / "s.json").read_text())
    assert [len(row["ids"]) for row in rows] == [4, 4]
    assert 3 not in rows[0]["ids"]
    code, _, err = run("similar", "d.longwave", "cat", cwd=folder)
    assert (code, "whole numbers, such as 0, got 'cat'" in err) == (1, True)
    code, _, err = run("similar", "d.longwave", 999999, cwd=folder)
    assert (code, "no item '999999'" in err) == (1, True)


def test_explain_an_item(folder):
    run("search", "d.longwave", "q.npy", "-k", 5, "-o", "h.json", cwd=folder)
    item = json.loads((folder / "h.json").read_text())[2]["ids"][4]
    code, out, err = run("explain", "d.longwave", "q.npy", item, "--row", 2, cwd=folder)
    assert code == 0, err
    assert "from 5 neighbours of the query" in out
    assert out.strip().endswith(str(item))
    code, _, err = run("explain", "d.longwave", "q.npy", item, "--row", 999, cwd=folder)
    assert (code, "--row must be from 0 to 199" in err) == (1, True)


def test_where_and_weights_and_tolerance(folder):
    (folder / "some.txt").write_text("\n".join(map(str, range(0, 1500, 10))))
    np.save(folder / "mask.npy", np.arange(1597) % 10 == 0)
    np.save(folder / "w.npy", np.ones(200))
    for where in ("some.txt", "mask.npy"):
        options = ("-k", 5, "--where", where, "--weights", "w.npy", "--tolerance", 1e-4)
        code, _, err = run("search", "d.longwave", "q.npy", *options, "-o", "h.npz", cwd=folder)
        assert code == 0, err
        assert (np.load(folder / "h.npz")["ids"] % 10 == 0).all()


def test_a_fast_index(folder):
    options = ("--k", 20, "--rank", 20, "--fast", "--second", "HNSW16")
    code, _, err = run("build", "v.npy", "-o", "fast.longwave", *options, cwd=folder)
    assert code == 0, err
    code, out, _ = run("info", "fast.longwave", "--details", cwd=folder)
    assert "first search" in out
    assert "HNSW16, effort" in out
    code, _, err = run("build", "v.npy", "-o", "x.longwave", "--k", 20, "--fast", "--first", "nonsense", cwd=folder)
    assert (code, "'nonsense' is not a search that faiss has" in err) == (1, True)


def test_evaluate_takes_weights(folder):
    np.save(folder / "w.npy", np.ones(200))
    labels = ("--labels", "l.npy", "--query-labels", "ql.npy")
    code, out, err = run("evaluate", "d.longwave", "q.npy", *labels, "--weights", "w.npy", cwd=folder)
    assert code == 0, err
    assert map_of(out) > 80


def test_options_that_would_be_refused_are_not_offered():
    for command, options in (("similar", ("--query-groups", "--weights")), ("evaluate", ("--where",))):
        shown = run(command, "--help")[1]
        assert "--filter" in shown
        assert not [option for option in options if option in shown]


def test_rows_for_one_filter(folder):
    options = ("--k", 20, "--rank", 20, "--precompute", "lowpass:0.9")
    code, _, err = run("build", "v.npy", "-o", "rows.longwave", *options, cwd=folder)
    assert code == 0, err
    code, _, err = run(
        "search", "rows.longwave", "q.npy", "--solver", "precomputed", "--filter", "lowpass:0.9", cwd=folder
    )
    assert code == 0, err
    code, _, err = run("search", "rows.longwave", "q.npy", "--solver", "precomputed", cwd=folder)
    assert (code, "those of LowPass(alpha=0.9)" in err) == (1, True)
    code, _, err = run("build", "v.npy", "-o", "y.longwave", "--first", "HNSW8", cwd=folder)
    assert (code, "need --fast" in err) == (1, True)


def test_the_default_index_is_searched_as_the_library_searches_it(tmp_path, digits_split):
    vectors, _, queries, _ = digits_split
    np.save(tmp_path / "v.npy", vectors[:600])
    np.save(tmp_path / "q.npy", queries[:20])
    code, _, err = run("build", tmp_path / "v.npy", "-o", tmp_path / "i", "--auto")  # a word of older scripts
    assert code == 0, err
    run("search", tmp_path / "i", tmp_path / "q.npy", "-k", 20, "-o", tmp_path / "h.npz")
    index = lw.Index.load(tmp_path / "i")
    hits = index.search(queries[:20], 20)
    found = np.load(tmp_path / "h.npz")
    assert np.array_equal(found["ids"], hits.ids)
    assert np.allclose(found["confidence"], hits.confidence)
    assert index.settings == lw.Index.build(vectors[:600], progress=False).settings
    told = " ".join(run("info", tmp_path / "i", "--details")[1].split())
    assert "kernel local:7,5,4,3, balanced True" in told
    assert "a search spreads from the 5 nearest vectors, and outstanding nearest neighbours stay in front" in told


def test_build_as_in_the_paper_but_for_what_is_said(tmp_path, digits_split):
    np.save(tmp_path / "v.npy", digits_split[0][:300])
    code, _, err = run("build", tmp_path / "v.npy", "-o", tmp_path / "i", "--paper", "--k", 20)
    assert code == 0, err
    known = lw.Index.load(tmp_path / "i").settings
    assert (known.k, known.kernel, known.balanced) == (20, "power:3", False)
    assert (known.search.filter, known.search.neighbors, known.search.blend) == ("lowpass:0.99", 10, "none")
    run("build", tmp_path / "v.npy", "-o", tmp_path / "j", "--paper", "--gamma", 5, "--blend", "anchor")
    known = lw.Index.load(tmp_path / "j").settings
    assert (known.kernel, known.search.blend) == ("power:5", "anchor")


def test_tune_by_labels_and_what_it_refuses(tmp_path, digits_split):
    vectors, labels, queries, query_labels = digits_split
    for name, array in (("v", vectors[:500]), ("q", queries[:30]), ("l", labels[:500]), ("ql", query_labels[:30])):
        np.save(tmp_path / f"{name}.npy", array)
    asked = ("--queries", tmp_path / "q.npy", "--labels", tmp_path / "l.npy", "--query-labels", tmp_path / "ql.npy")
    for options in (asked, ("--labels", tmp_path / "l.npy")):
        code, out, err = run("tune", tmp_path / "v.npy", *options)
        assert code == 0, err
        assert "the defaults have" in " ".join(out.split())
        assert ("\nbuild --" in out) == ("`longwave evaluate`" in out)  # a suggestion comes with how to check it
    assert "there is nothing to tune" in run("tune", tmp_path / "v.npy")[2]
    assert "a label for each vector, 500, got 30" in run("tune", tmp_path / "v.npy", "--labels", tmp_path / "ql.npy")[2]
    assert "give --queries F" in run("tune", tmp_path / "v.npy", "--truth", tmp_path / "t.json")[2]
    lines = [f"{q} 0 {i} 1\n" for q in range(30) for i in np.flatnonzero(labels[:500] == query_labels[q])]
    (tmp_path / "qrels").write_text("".join(lines))
    known = ("--queries", tmp_path / "q.npy", "--truth", tmp_path / "qrels")
    code, out, err = run("tune", tmp_path / "v.npy", *known)
    assert code == 0, err
    assert "On these 30 queries" in " ".join(out.split())
    few = run("tune", tmp_path / "v.npy", *known, "--query-ids", tmp_path / "l.npy")[2]
    assert "an id for each query, 30, got 500" in few


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--store-basis", "PQ64"), "float16 or int8"),
        (("--store-basis", "int8", "--spectrum", "none"), "needs a basis"),
        (("--store-vectors", "FASTEST"), "'FASTEST' is not a search"),
        (("--store-vectors", "PQ48"), "nothing that 64 dimensions"),
        (("--fast", "--first", "IVF,nonsense"), "'IVF,nonsense' is not a search"),
        (("--fast", "--first", "PQ48"), "not a search that faiss has over 64 dimensions"),
        (("--fast", "--second", "nonsense"), "'nonsense' is not a search"),
    ],
)
def test_kinds_are_checked_before_the_build(tmp_path, digits_split, options, message):
    np.save(tmp_path / "v.npy", digits_split[0][:100])
    stages = tmp_path / "stages"
    assert message in run("build", tmp_path / "v.npy", "-o", tmp_path / "i", *options, "--workdir", stages)[2]
    assert not stages.exists()  # nothing was begun


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["build", "--images", "archive", "-o", "archive"],
            "choose another name for the index, such as archive.longwave",
        ),
        (["build", "v.npy", "-o", ".", "--force"], "is left as it is; choose another name"),
        (["build", "v.npy", "-o", "v.npy", "--force"], "v.npy is a file that is not a Longwave index"),
        (["build", "i/vectors.npy", "-o", "i", "--force"], "i contains the input i/vectors.npy; choose another name"),
        (["search", "i", "q.npz", "-o", "q.npz"], "q.npz is the input q.npz; choose another name"),
        (["search", "i", "q.npz", "-o", "i/data/hits.json"], "would lie in the index i"),
    ],
    ids=lambda a: " ".join(a) if isinstance(a, list) else "",
)
def test_nothing_of_the_users_is_overwritten_or_advised_away(tmp_path, arguments, words):
    (tmp_path / "archive").mkdir()
    (tmp_path / "archive" / "beach.jpg").write_bytes(b"mine")
    vectors = np.abs(np.random.default_rng(0).normal(size=(40, 5)))
    np.save(tmp_path / "v.npy", vectors)
    np.savez(tmp_path / "q.npz", vectors=vectors)
    lw.Index.build(vectors, k=5).save(tmp_path / "i")
    np.save(tmp_path / "i" / "vectors.npy", vectors)

    def content():
        return {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    before = content()
    code, _, err = run(*arguments, cwd=tmp_path)
    assert (code, words in err) == (1, True), err
    assert "remove" not in err
    assert content() == before


def test_a_full_disk_is_named_with_the_path(folder):
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    (folder / "full.csv").symlink_to("/dev/full")
    code, _, err = run("search", "d.longwave", "q.npy", "-o", "full.csv", cwd=folder)
    assert (code, err) == (
        1,
        "longwave: cannot write full.csv: the disk is full; free some space, or write elsewhere\n",
    )


def test_errors_of_the_system_name_the_path(monkeypatch, capsys):
    from longwave import cli
    from longwave.cli import commands

    def refused():
        raise PermissionError(13, "Permission denied", "/somewhere/x.work")

    monkeypatch.setattr(commands, "app", refused)
    with pytest.raises(SystemExit, match="1"):
        cli.main()
    assert capsys.readouterr().err == "longwave: /somewhere/x.work: Permission denied\n"


def test_one_is_not_many(tmp_path):
    np.save(tmp_path / "v.npy", np.ones((1, 3)))
    code, out, err = run("build", "v.npy", "-o", "i", "--spectrum", "none", cwd=tmp_path)
    assert code == 0, err
    assert "1 item," in out
    _, out, _ = run("search", "i", "v.npy", "-k", 1, "--solver", "cg", "-o", "h.csv", cwd=tmp_path)
    assert "1 query × 1 hit\n" in out
