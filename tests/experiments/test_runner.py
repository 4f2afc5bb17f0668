"""The experiments: framework on made-up ones, the real ones in their quick form, the page from their JSON."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import longwave as lw
from commands import instead_of
from commands import run as command
from longwave.datasets import Benchmark, shared
from longwave.errors import FileError, InputError
from longwave.evaluation import Judgement, mean_over_queries
from longwave.experiments import REGISTRY, Session, find
from longwave.experiments.experiment import Check, Experiment, Table
from longwave.experiments.measure import EUCLIDEAN, PRINTED, cut_rank, mean_ap, subset_of_items
from longwave.experiments.report import page
from longwave.experiments.runner import done, read, run, run_all


def small(calls, value=1.5):
    def body(session):
        calls.append(session.seed)
        session.times["slow, ms"] = 12.0 + len(calls)
        return {"value": value, "seed": session.seed}

    return Experiment(
        "impulse",
        "A <small> one",
        "Figure 0",
        "It says so.",
        body,
        checks=lambda results, times: [Check("holds", f"{results['value']}", True), Check("fails", "0", False)],
        tables=lambda results, times: [Table("A table", ("a", "b"), [["x & y", times["slow, ms"]]], "note")],
    )


def test_a_second_run_differs_in_times_only(tmp_path):
    calls = []
    first = run(small(calls), Session(seed=3), tmp_path)
    second = run(small(calls), Session(seed=3), tmp_path)
    assert first["times"] != second["times"]
    for one in (first, second):
        del one["times"], one["run"]
    assert first == second
    assert first["settings"] == {"quick": False, "seed": 3}
    assert {"cpu", "cores", "python"} <= set(first["machine"])
    assert "numpy" in first["versions"]


def test_what_is_done_is_not_run_again(tmp_path):
    calls, lines = [], []
    for session, force in ((Session(), False), (Session(), False), (Session(seed=1), False), (Session(seed=1), True)):
        run_all([small(calls)], session, tmp_path, force=force, report=lines.append)
    assert calls == [0, 1, 1]
    assert [line.split()[1:3] == ["done", "before"] for line in lines] == [False, True, False, False]
    assert done(small(calls), Session(quick=True), tmp_path) is None


def test_the_page_is_one_file_and_escapes(tmp_path):
    run_all([small([])], Session(), tmp_path)
    text = page(tmp_path)
    assert "http" not in text
    assert "<script" not in text
    assert "viewport" in text
    assert find("impulse").title in text  # titles, figures and checks are those of the registry


def test_bad_runs(tmp_path):
    with pytest.raises(FileError, match="holds no runs"):
        page(tmp_path)
    (tmp_path / "rank.json").write_text("{}")
    with pytest.raises(FileError, match="not a run of an experiment"):
        page(tmp_path)
    with pytest.raises(FileError, match="not a run"):
        read(tmp_path / "absent.json")
    (tmp_path / "rank.json").unlink()
    run(replace(small([]), name="approx"), Session(), tmp_path)
    with pytest.raises(FileError, match=r"'approx' was written by another version .* experiment approx -o \S+ --force"):
        page(tmp_path)
    with pytest.raises(InputError, match="no experiment 'x'; there are impulse, responses"):
        find("x")


def test_every_experiment_is_found():
    names = [find(name).name for name in REGISTRY]
    assert names == list(REGISTRY)


def test_cut_rank_is_the_index_of_that_rank(digits_split):
    vectors, _, queries, _ = digits_split
    whole = lw.Index.build(vectors, k=20, spectrum=lw.Exact(), components="giant")
    direct = lw.Index.build(vectors, k=20, spectrum=lw.Exact(30), components="giant")
    cut = cut_rank(whole, 30)
    assert cut.spectrum.next_eigenvalue == pytest.approx(direct.spectrum.next_eigenvalue)
    for options in ({}, {"blend": 0.5}):
        ours, theirs = (i.search(queries, 50, **options) for i in (cut, direct))
        np.testing.assert_allclose(ours.scores, theirs.scores, rtol=1e-3, atol=1e-6)
    assert cut_rank(whole, 10**6) is whole


def test_subset_of_items():
    data = Benchmark(
        "x", np.eye(5), np.eye(5)[:1], [Judgement([1, 4], [0, 2])], groups=np.array([0, 1, 2, 3, 4]), classes=["c"]
    )
    part = subset_of_items(data, [4, 2, 3], "part")
    assert part.n_items == 3
    assert part.judgements == [Judgement([2], [0])]
    np.testing.assert_array_equal(part.vectors, np.eye(5)[2:])


def test_mean_ap_leaves_out_queries_without_positives():
    vectors, query = lw.datasets.arcs()
    index = lw.Index.build(vectors, k=2, spectrum=lw.Exact())
    data = Benchmark("arcs", vectors, np.vstack([query, query]), [Judgement([0, 1]), Judgement([])])
    assert mean_ap(EUCLIDEAN, index, data) == 100.0
    assert mean_ap(PRINTED, index, data) > 0


LIGHT = ("impulse", "responses", "fields", "failures", "landmarks", "texts")


@pytest.mark.parametrize("which", ["light", pytest.param("all", marks=pytest.mark.slow)])
def test_quick_form_report_and_repetition(shared_data, tmp_path, which):
    """Experiments in their quick form through the command line, the page from them, and some of them again."""
    ran = [name for name in REGISTRY if not find(name).lacks(Session(quick=True, data=shared_data))]
    assert set(REGISTRY) - set(ran) <= {"official"}
    ran = ran if which == "all" else [name for name in ran if name in LIGHT]
    out = ""
    for name in ["all"] if which == "all" else ran:
        code, said, err = command("experiment", name, "--quick", "-o", tmp_path, "--data", shared_data)
        assert (code, err) == (0, "")
        out += said
    told = [line.split()[0] for line in out.splitlines()]
    assert [name for name in told if name in ran] == ran
    for name in ran:
        found, made = read(tmp_path / f"{name}.json"), find(name)
        assert (made.draw is not None) == (tmp_path / f"{name}.png").is_file()
        for check in made.checks(found["results"], found["times"]):
            assert check.measured
        # What the quick form is large enough to show, whatever the machine.
        if name in ("landmarks", "error", "texts"):
            wrong = [c for c in made.checks(found["results"], found["times"]) if not c.reproduced]
            assert not wrong
    assert (tmp_path / "pictures" / "failures.png").is_file()

    code, out, err = command("report", tmp_path)
    assert (code, err) == (0, "")
    text = (tmp_path / "index.html").read_text("utf-8")
    assert text.count("data:image/png;base64,") == sum(find(name).draw is not None for name in ran)
    assert "http" not in text
    assert all(f"id={name}>" in text for name in ran)

    for name in ("impulse", "landmarks", "texts"):
        earlier = read(tmp_path / f"{name}.json")
        again = run(find(name), Session(quick=True, data=shared_data), tmp_path)
        assert again["results"] == earlier["results"]


def test_commands(tmp_path):
    code, out, _ = command("experiment", "list")
    assert code == 0
    assert [line.split("\t")[0] for line in out.splitlines()] == list(REGISTRY)
    code, _, err = command("experiment", "nothing", "--data", tmp_path)
    assert code == 1
    assert "there is no experiment 'nothing'" in err
    code, _, err = command("experiment", "rank", "--data", tmp_path / "absent")
    assert code == 1
    assert "LONGWAVE_DATA" in err
    code, _, err = command("report", tmp_path / "absent")
    assert code == 1
    assert "there is no folder" in err


def test_what_can_run_runs_and_the_rest_is_named(tmp_path):
    """As after `pip install`: no data but one small set."""
    (tmp_path / "data" / "orl").mkdir(parents=True)
    for name in ("impulse", "responses", "failures", "sets"):
        code, _, err = command("experiment", name, "--quick", "--data", tmp_path / "data", "-o", tmp_path / "one")
        assert (code == 0) == (name in ("impulse", "responses")), err
        if code:
            assert ("needs oxford5k/global.npy and 3 more files" if name == "failures" else "jaffe/vectors.npy") in err
            assert f"looked for in {tmp_path / 'data'}" in err
            assert "--data FOLDER" in err
            assert err.count("\n") == 1
    lines = []
    chosen = [find(name) for name in ("failures", "impulse", "texts", "responses")]
    made = run_all(chosen, Session(quick=True, data=tmp_path / "data"), tmp_path / "two", report=lines.append)
    assert [found["name"] for found in made] == ["impulse", "responses"]
    assert [line.split()[:2] for line in lines[2:4]] == [["failures", "skipped"], ["texts", "skipped"]]
    assert "text_cran/vectors.npy and 5 more files" in lines[3]
    assert "LONGWAVE_DATA" in lines[4]


def test_a_data_folder_is_not_needed_but_one_that_is_named_must_be_there(tmp_path):
    assert command("experiment", "impulse", "-o", tmp_path / "r", LONGWAVE_DATA="")[0] == 0
    code, _, err = command("experiment", "impulse", "-o", tmp_path / "r", LONGWAVE_DATA=tmp_path / "gone")
    assert (code, "there is no data folder" in err) == (1, True)


def test_the_commands_to_run_it_again_are_complete(tmp_path):
    folder, data = tmp_path / "my runs", tmp_path / "data"
    data.mkdir()
    run_all([find("impulse")], Session(quick=True, seed=3, data=data), folder)
    options = f"--quick --seed 3 --data {data} -o '{folder}'"
    text = page(folder).replace("&#x27;", "'")
    assert f"<code>longwave experiment impulse {options} --force</code>" in text
    assert f"<code>longwave experiment all {options}</code>" in text
    assert f"<code>longwave report '{folder}'</code>" in text
    run_all([find("impulse")], Session(), folder)
    assert f"<code>longwave experiment impulse -o '{folder}' --force</code>" in page(folder).replace("&#x27;", "'")


def test_without_the_extra_the_figures_are_there_and_pictures_are_not(tmp_path):
    without = instead_of("matplotlib", "raise ImportError", tmp_path)
    code, out, err = command("experiment", "impulse", "-o", tmp_path / "r", **without)
    assert code == 0, err
    assert "No pictures were drawn: drawing needs the extra 'plots'" in out
    assert [path.name for path in (tmp_path / "r").iterdir()] == ["impulse.json"]


def test_the_page_on_data_names_every_need():
    """docs/experiments.md says what each experiment reads, and every file of the folder."""
    document = (Path(__file__).parents[2] / "docs" / "experiments.md").read_text("utf-8")

    def cell(names):
        return ", ".join(f"`{name}`" for name in names) or "nothing"

    for made in map(find, REGISTRY):
        quick = made.needs if made.quick_needs is None else made.quick_needs
        assert f"| `{made.name}` | {made.paper} | {cell(made.needs)} | {cell(quick)} |" in document
    for name, files in shared.FILES.items():
        assert f"| `{name}` |" in document
        folders = {Path(file).parts[0] for file in files if name != "official"}
        assert all(f"{folder}/" in document for folder in folders)
        assert name == "official" or all(Path(file).name.lstrip("*") in document for file in files)


def test_what_an_experiment_reads_is_what_it_says(shared_data, tmp_path):
    """With the files of its needs alone, the quick form of one that reads several collections gets through."""
    quick = find("sets")
    for name in quick.quick_needs:
        (tmp_path / name).symlink_to(shared_data / name)
    assert quick.lacks(Session(quick=True, data=tmp_path)) == []
    assert quick.lacks(Session(data=tmp_path))[0] == "coil20/vectors.npy"
    assert quick.run(Session(quick=True, data=tmp_path))


@pytest.mark.parametrize("name", ["responses", "error"])
def test_legends_do_not_cover_curves(name):
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    found = read(Path(__file__).parents[2] / "docs" / "results" / f"{name}.json")
    figure = find(name).draw(found["results"], found["times"])
    FigureCanvasAgg(figure).draw()
    for axes in figure.axes:
        assert not axes.get_legend().get_window_extent().overlaps(axes.bbox)


def test_official_files_in_their_layout(tmp_path):
    """Descriptors and ground truth of the authors, written small in the same layout, give the table of the paper."""
    import scipy.io

    data = shared.labelled("digits")
    chosen = np.arange(300)
    truth = [[i for i in j.positive if i < 300] for j in data.judgements[:4]]

    def cell(values):
        made = np.empty((1, len(values)), dtype=object)
        for place, value in enumerate(values):
            made[0, place] = value
        return made

    columns = [data.vectors[[i]].T for i in chosen]
    queries = [data.queries[[i]].T for i in range(4)]
    part = {"V": cell(columns), "Q": cell(queries)}
    scipy.io.savemat(tmp_path / "oxford5k_resnet.mat", {"glob": part, "reg": part})
    gnd = np.array([(np.array(t) + 1, np.zeros((0, 0))) for t in truth], dtype=[("ok", object), ("junk", object)])
    names = [f"i{i}" for i in chosen]
    scipy.io.savemat(
        tmp_path / "gnd_oxford5k.mat", {"gnd": gnd[None, :], "imlist": cell(names), "qimlist": cell(names[:4])}
    )
    code, _, err = command("experiment", "official", "--quick", "--data", tmp_path, "-o", tmp_path / "out")
    assert code == 0, err
    results = read(tmp_path / "out" / "official.json")["results"]
    values = results["oxford5k resnet"]
    assert list(values) == ["letter", "ours"]
    for own in values.values():
        assert len(own) == 8
        assert own["Euclidean"] == pytest.approx(own["R-match"], abs=0.01)  # one region per image
    # FSR to the letter: y of the 50 nearest, the giant component alone, eq. (4).
    by_hand = lw.Index.build(
        data.vectors[:300], **{**lw.PAPER, "spectrum": lw.Chebyshev(50), "components": "giant", "progress": False}
    )
    letter = {"neighbors": 50, "cut": 50, "solver": lw.Spectral(complement=False)}
    hits = by_hand.search(data.queries[:4], 300, **letter)
    expected = 100 * mean_over_queries(hits.ids, [Judgement(t) for t in truth]).value
    assert values["letter"]["FSR"] == pytest.approx(expected, abs=0.02)
    (table,) = find("official").tables(results, {})
    assert table.rows[2][1:] == [83.9, 87.1, 87.5, 88.1, 95.0, 95.1, 95.8, 95.8]
    assert [row[0].rsplit(", ", 1)[1] for row in table.rows] == ["to the letter", "our settings", "paper"]


def test_the_shift_and_its_transform():
    """§5.1: h(C_n) by a dense inverse; fields, paths and projections say what they are for."""
    made = find("impulse")
    results = made.run(Session(quick=True))
    n, alpha = len(results["line"]["input"]), results["circle"]["alpha"]
    shift = np.zeros((n, n))
    shift[(np.arange(n) + 1) % n, np.arange(n)] = 1
    dense = (1 - alpha) * np.linalg.solve(np.eye(n) - alpha * shift, results["line"]["input"])
    np.testing.assert_allclose(results["circle"]["output"], dense, atol=1e-6)
    assert all(check.reproduced for check in made.checks(results, {}))


@pytest.mark.parametrize("name", ["fields", "paths", "projections"])
def test_interpretations_in_their_quick_form(name):
    made = find(name)
    results = made.run(Session(quick=True))
    found = {check.claim: check.reproduced for check in made.checks(results, {})}
    assert made.draw(results, {}).axes
    # What does not hold on real graphs is said in docs/paper.md.
    wrong = {claim for claim, holds in found.items() if not holds}
    assert all("removed" in claim or "single iteration" in claim for claim in wrong)
    assert len(wrong) < len(found)


def test_a_constant_of_ours_is_not_a_reproduction(tmp_path):
    from longwave.experiments import report

    assert "reproduced with our constant" in report._check(Check("b", "2", True, fitted=True))
    assert "<b>not reproduced</b>" in report._check(Check("b", "2", False, fitted=True))
    calls = []
    fitted = [Check("a", "1", True, fitted=True), Check("b", "2", False)]
    run(replace(small(calls), name="landmarks"), Session(), tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            report, "find", lambda name: replace(small(calls), name=name, checks=lambda results, times: fitted)
        )
        assert "Claims: 0 of 2 reproduced, 1 more with a constant of ours" in page(tmp_path)


def test_five_regions_each(shared_data):
    """At most five vectors a photograph, all of its judgements kept."""
    from longwave.experiments.sets import few_regions, regions

    session = Session(quick=True, data=shared_data)
    whole, few = regions(session), few_regions(session)
    assert np.bincount(few.groups).max() == 5
    assert few.n_items == whole.n_items
    assert few.judgements == whole.judgements
    np.testing.assert_allclose(np.linalg.norm(few.vectors, axis=1), 1, atol=1e-5)
