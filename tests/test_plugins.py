"""A filter, solver, eigen-solver, kernel and blend from outside the package, one file each (tests/plugins)."""

import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

import longwave as lw
from longwave import registry
from longwave.errors import InputError
from longwave.evaluation import label_judgements, mean_average_precision

PLUGINS = Path(__file__).parent / "plugins"
PAGE = Path(__file__).parents[1] / "docs" / "contributing.md"
NAMES = ["twice", "dense", "subspace", "gauss", "total", "plain"]


@pytest.fixture(scope="module")
def parts():
    """What the files define, registered for the tests of this module alone."""
    before = {kind: dict(table) for kind, table in registry._TABLES.items()}
    for name in NAMES:
        sys.modules.pop(f"plugins.{name}", None)
    modules = {name: import_module(f"plugins.{name}") for name in NAMES}
    yield SimpleNamespace(
        **{name: getattr(module, "dense", None) or getattr(module, name.title()) for name, module in modules.items()}
    )
    registry._TABLES.update(before)


@pytest.fixture
def forgotten(monkeypatch, parts):
    """Calls that make the registry what it is where nobody imported the files."""

    def forget():
        for kind, table in registry._TABLES.items():
            left = {name: part for name, part in table.items() if name not in NAMES}
            monkeypatch.setitem(registry._TABLES, kind, left)

    return forget


@pytest.fixture(scope="module")
def small(digits_split):
    return digits_split[0][:500], digits_split[2][:20]


def test_the_page_shows_these_files_whole():
    shown = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), flags=re.DOTALL)
    assert shown == [(PLUGINS / f"{name}.py").read_text("utf-8") for name in NAMES]
    for text in shown:
        assert len([line for line in text.splitlines() if line]) <= 20


def test_filter(parts, digits_split, tmp_path, forgotten):
    vectors, labels, queries, query_labels = digits_split
    index = lw.Index.build(vectors, filter=parts.twice(0.9), progress=False)
    assert index.settings.search.filter == "twice:0.9"
    hits = index.search(queries, len(index))
    judged = label_judgements(query_labels, labels, np.arange(len(vectors)))
    assert 100 * mean_average_precision(hits.ids, judged) > 85  # Euclidean: 65.8
    index.save(tmp_path / "i.longwave")
    again = lw.Index.load(tmp_path / "i.longwave")
    np.testing.assert_array_equal(again.search(queries[:9], 20).ids, hits.ids[:9, :20])
    forgotten()
    with pytest.raises(InputError, match=r"unknown filter 'twice:0.9'.* import the module that registers it first"):
        lw.Index.load(tmp_path / "i.longwave").search(queries[:9])


def test_solver(parts, small):
    vectors, queries = small
    index = lw.Index.build(vectors, spectrum=None, blend=0, progress=False)
    hits = index.search(queries, 500, solver=parts.dense)
    exact = index.search(queries, 500, solver=lw.ConjugateGradient(1e-8))
    np.testing.assert_allclose(hits.scores, exact.scores, atol=1e-5 * exact.scores.max())
    twice = index.search(queries, 20, solver=parts.dense, filter=parts.twice(0.9))
    smooth = index.search(queries, 20, solver=lw.ChebyshevFilter(), filter=parts.twice(0.9))
    np.testing.assert_allclose(twice.scores, smooth.scores, rtol=1e-3)


def test_eigen_solver(parts, small, tmp_path):
    vectors, queries = small
    index = lw.Index.build(vectors, spectrum=parts.subspace(rank=40, rounds=400), progress=False)
    exact = lw.Index.build(vectors, spectrum=lw.Exact(40), progress=False)
    np.testing.assert_allclose(index.spectrum.eigenvalues[:30], exact.spectrum.eigenvalues[:30], atol=1e-3)
    hits = index.search(queries, 10)
    np.testing.assert_allclose(hits.scores, exact.search(queries, 10).scores, rtol=0.02)
    index.save(tmp_path / "i.longwave")
    np.testing.assert_array_equal(lw.Index.load(tmp_path / "i.longwave").search(queries, 10).ids, hits.ids)


def test_kernel(parts, small, tmp_path, forgotten):
    vectors, queries = small
    index = lw.Index.build(vectors, kernel=parts.gauss(0.25), progress=False)
    assert index.settings.kernel == "gauss:0.25"
    rows = index.vectors.rows(slice(None)).astype(np.float64)
    products = rows @ rows.T
    weights = index.graph.adjacency().tocoo()
    expected = np.exp(-(2 - 2 * products[weights.coords]) / (2 * 0.25**2))
    np.testing.assert_allclose(weights.data, expected, rtol=1e-3)
    hits = index.search(queries, 20)
    index.save(tmp_path / "i.longwave")
    again = lw.Index.load(tmp_path / "i.longwave")
    assert again.similarity == parts.gauss(0.25)
    np.testing.assert_array_equal(again.search(queries, 20).ids, hits.ids)
    forgotten()
    with pytest.raises(InputError, match=r"unknown kernel 'gauss:0.25'.* import the module that registers it first"):
        lw.Index.load(tmp_path / "i.longwave")


@pytest.mark.parametrize("given", ["value", "text"])
def test_blend(parts, small, tmp_path, forgotten, given):
    vectors, queries = small
    index = lw.Index.build(vectors, blend=parts.total(0.25) if given == "value" else "total:0.25", progress=False)
    assert index.settings.search.blend == "total:0.25"
    hits, raw = index.search(queries, 500), index.search(queries, 500, blend=0)
    similar = lw.Index.build(vectors, spectrum=None, progress=False).search(queries, 500, solver=lw.Euclidean())
    total = np.zeros((20, 500))
    for found, weight in ((raw, 1 / raw.scores.max(axis=1, keepdims=True)), (similar, 0.25)):
        known = np.zeros((20, 500))
        np.put_along_axis(known, found.ids, found.scores * weight, axis=1)
        total += known
    np.testing.assert_allclose(hits.scores, np.take_along_axis(total, hits.ids, axis=1), atol=1e-4)
    index.save(tmp_path / "i.longwave")
    np.testing.assert_array_equal(lw.Index.load(tmp_path / "i.longwave").search(queries, 500).ids, hits.ids)
    forgotten()
    with pytest.raises(InputError, match=r"unknown blend 'total:0.25'.* import the module that registers it first"):
        lw.Index.load(tmp_path / "i.longwave").search(queries, 10)


def test_store(parts, small):
    vectors, queries = small
    store = registry.find("store", "plain")(vectors)
    found = store.search(queries.astype(np.float32), 3)
    assert found.ids.shape == (20, 3)
    assert len(store) == 500
    np.testing.assert_allclose((store.rows(found.ids[0]) * queries[0]).sum(axis=1), found.similarities[0], rtol=1e-5)


def test_every_option_of_the_command_line(parts, small, tmp_path, monkeypatch):
    from longwave.cli.commands import app

    def run(*arguments):
        done = CliRunner().invoke(app, [str(argument) for argument in arguments])
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done.output

    monkeypatch.chdir(tmp_path)
    np.save("v.npy", small[0])
    np.save("q.npy", small[1])
    chosen = ["--filter", "twice:0.9", "--kernel", "gauss:0.25", "--blend", "total"]
    run("build", "v.npy", "-o", "i", "--spectrum", "subspace", "--rank", 30, *chosen)
    index = lw.Index.load("i")
    kept = index.settings
    assert (kept.search.filter, kept.kernel, kept.search.blend) == ("twice:0.9", "gauss:0.25", "total:0.5")
    assert kept.spectrum == "Subspace(rank=30, rounds=100)"
    told = " ".join(run("info", "i", "--details").split())
    assert "weigh by the kernel gauss:0.25" in told
    assert "count by the blend total:0.5" in told
    run("search", "i", "q.npy", "--solver", "dense", "--filter", "twice:0.8", "--blend", "total:1", "-o", "h.npz")
    hits = index.search(small[1], solver=parts.dense, filter=parts.twice(0.8), blend=parts.total(1.0))
    np.testing.assert_array_equal(np.load("h.npz")["ids"], hits.ids)
    with pytest.raises(InputError, match="--spectrum subspace has no --oversampling"):
        run("build", "v.npy", "-o", "j", "--spectrum", "subspace", "--oversampling", 3)
    with pytest.raises(InputError, match="solver 'dense' has no --steps"):
        run("search", "i", "q.npy", "--solver", "dense", "--steps", 3)
    with pytest.raises(InputError, match="need --blend W"):
        run("search", "i", "q.npy", "--blend", "total", "--blend-everywhere")
    with pytest.raises(InputError, match="unknown solver 'dence', did you mean dense"):
        run("search", "i", "q.npy", "--solver", "dence")


@pytest.mark.parametrize("way", ["installed", "broken", "by hand"])
def test_the_command_line_imports_plug_ins(small, tmp_path, way):
    """Installed ones by itself, where a name is not known; others as the page says."""
    site = tmp_path / "site"
    site.mkdir()
    (site / "twice.py").write_text((PLUGINS / "twice.py").read_text("utf-8"), "utf-8")
    if way != "by hand":
        facts = site / "twice-1.0.dist-info"
        facts.mkdir()
        (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: twice\nVersion: 1.0\n")
        (facts / "entry_points.txt").write_text(f"[longwave]\ntwice = {'twice' if way == 'installed' else 'missing'}\n")
    lw.Index.build(small[0], progress=False).save(tmp_path / "i.longwave")
    np.save(tmp_path / "q.npy", small[1])
    said = re.search(r"python (-c) '(.*)' search", PAGE.read_text("utf-8")).groups()
    start = said if way == "by hand" else ("-m", "longwave")
    command = [sys.executable, *start, "search", "i.longwave", "q.npy", "--filter", "twice:0.9"]
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(site), *sys.path])}
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=env, check=False)
    if way == "broken":
        assert done.stderr == "longwave: the plug-in twice (missing) cannot be imported: No module named 'missing'\n"
    else:
        assert done.returncode == 0, done.stderr
        assert len(done.stdout.splitlines()) == 201
