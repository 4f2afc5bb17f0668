"""A build on a cluster is the build of one process, whatever carries it and whoever dies."""

import subprocess
import sys

import numpy as np
import pytest

from commands import run
from deadly import Deadly, Stopped, Stopping
from longwave import Chebyshev, Index, Lanczos
from longwave.building.options import Options
from longwave.cluster import InProcess, basis, opened
from longwave.cluster.build import build
from longwave.errors import InputError, MissingExtraError, StorageError
from longwave.spectrum import advised

OPTIONS = {"k": 10, "spectrum": Chebyshev(30, tolerance=1e-5)}


@pytest.fixture(autouse=True)
def large_from_five_hundred(monkeypatch):
    """Components of more than 500 vertices are large, and there are four blocks."""
    monkeypatch.setattr(basis, "GATHERED", 500)
    monkeypatch.setattr("longwave.cluster.build._SMALL_ROWS", 100)


@pytest.fixture(scope="module")
def here(digits_split):
    return Index.build(digits_split[0], **OPTIONS, progress=False)


def same(there, here, queries):
    sizes = there.graph.component_sizes, here.graph.component_sizes
    np.testing.assert_array_equal(*sizes)
    np.testing.assert_allclose(
        np.sort(there.spectrum.eigenvalues), np.sort(here.spectrum.eigenvalues), atol=1e-5, rtol=0
    )
    one, other = there.search(queries, 20, plan="basis"), here.search(queries, 20, plan="basis")
    np.testing.assert_array_equal(one.ids, other.ids)
    np.testing.assert_allclose(one.scores, other.scores, atol=1e-4)


def test_the_same_index_on_every_engine(engine, here, digits_split, tmp_path):
    there = Index.build(digits_split[0], **OPTIONS, cluster=engine, workdir=tmp_path, progress=False)
    same(there, here, digits_split[2])
    assert there.settings == here.settings or there.settings.fidelity is None
    Index.load(tmp_path / "index.longwave", verify=True)  # checksums of what the workers wrote


SLOW = pytest.mark.slow
DEATHS = [("ray", "term"), pytest.param("dask", "term", marks=SLOW)]
DEATHS += [pytest.param(kind, function, marks=SLOW) for kind in ("ray", "dask") for function in ("searched", "written")]


@pytest.mark.parametrize(("kind", "function"), DEATHS)
def test_a_killed_worker_costs_its_call_and_not_the_build(kind, function, request, here, digits_split, tmp_path):
    cluster = Deadly(request.getfixturevalue(f"{kind}_engine"), function, tmp_path, after=2)
    there = Index.build(digits_split[0], **OPTIONS, cluster=cluster, workdir=tmp_path / "work", progress=False)
    assert cluster.killed
    same(there, here, digits_split[2])


def test_what_is_left_to_the_graph_is_chosen_alike(digits_split, monkeypatch):
    monkeypatch.setattr(basis, "GATHERED", 20_000)
    monkeypatch.setattr(advised, "_COMPLETE", 300)
    vectors = digits_split[0][:900]
    here, there = (Index.build(vectors, progress=False, cluster=own) for own in (None, "local"))
    assert (there.settings.kernel, there.settings.rank) == (here.settings.kernel, here.settings.rank)
    assert there.settings.plan == here.settings.plan
    hits = [index.search(digits_split[2], 20).ids for index in (here, there)]
    assert (hits[0] == hits[1]).mean() > 0.98  # two bases to a tolerance of 1e-3


def test_everything_that_breaks_graphs(hard_vectors, monkeypatch):
    monkeypatch.setattr(basis, "GATHERED", 20)
    options = {"k": 5, "spectrum": Chebyshev(6)}
    with pytest.warns(match="all zero"):
        here = Index.build(hard_vectors, **options, progress=False)
    there = Index.build(hard_vectors, **options, cluster="local", progress=False)
    assert there.n_vertices == here.n_vertices < len(hard_vectors)  # copies are one vertex
    np.testing.assert_array_equal(there.graph.component_sizes, here.graph.component_sizes)
    np.testing.assert_allclose(np.sort(there.spectrum.eigenvalues), np.sort(here.spectrum.eigenvalues), atol=1e-5)
    np.testing.assert_allclose(
        there.search(hard_vectors[:9], 10).scores, here.search(hard_vectors[:9], 10).scores, atol=1e-4
    )


def test_a_folder_of_shards_of_several_kinds(digits_split, here, tmp_path):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    vectors, folder = digits_split[0], tmp_path / "shards"
    folder.mkdir()
    np.save(folder / "a.npy", vectors[:700])
    parquet.write_table(arrow.table({"vector": list(vectors[700:1000])}), folder / "b.parquet")
    np.save(folder / "c.npy", vectors[1000:].astype(np.float64))
    (folder / "notes.md").write_text("not a shard")
    names = [f"n{number}" for number in range(len(vectors))]
    there = Index.build(folder, **OPTIONS, ids=names, cluster="local", progress=False)
    hits, expected = (index.search(digits_split[2][:20], 10, plan="basis").ids for index in (there, here))
    assert hits.tolist() == [[f"n{number}" for number in row] for row in expected]


@pytest.mark.parametrize(
    ("function", "after", "not_again"), [("searched", 1, "collected"), ("solved", 9, "mutual_rows")]
)
def test_a_build_that_was_stopped_goes_on(function, after, not_again, here, digits_split, tmp_path):
    options, work = Options.parse(OPTIONS), {"workdir": tmp_path / "work", "progress": False}
    np.save(tmp_path / "v.npy", digits_split[0])
    stopped = Stopping(InProcess(), function, after)
    with pytest.raises(Stopped):
        build(tmp_path / "v.npy", tmp_path / "i.longwave", options, cluster=stopped, **work)
    assert not_again in stopped.calls
    assert not (tmp_path / "i.longwave").exists()
    again = Stopping(InProcess(), "nothing of this name")
    build(tmp_path / "v.npy", tmp_path / "i.longwave", options, cluster=again, **work)
    assert not_again not in again.calls
    same(Index.load(tmp_path / "i.longwave"), here, digits_split[2])
    other = Options.parse({**OPTIONS, "k": 11})
    with pytest.raises(StorageError, match="another build"):
        build(tmp_path / "v.npy", tmp_path / "j.longwave", other, cluster="local", **work)


def test_approximate_lists_say_their_recall(digits_split, monkeypatch):
    from longwave.cluster import lists, partition, rounds

    monkeypatch.setattr(partition, "_CELL", 20)
    for module in (lists, rounds):
        monkeypatch.setattr(module, "reach_of", lambda number, width: 300)
    told = []
    options = {**OPTIONS, "recall": 0.98, "spectrum": None}
    index = Index.build(
        digits_split[0], **options, cluster="local", progress=lambda stage, done, total: told.append(stage)
    )
    assert 0.98 <= index.settings.recall < 1
    assert {"neighbours: cells", "neighbours: round 1"} <= set(told)
    exact = Index.build(digits_split[0], **{**options, "recall": 1}, progress=False).graph.normalized
    assert 0.9 < index.graph.normalized.nnz / exact.nnz <= 1.05


def test_rounds_of_lists_go_on(digits_split, tmp_path, monkeypatch):
    from longwave.cluster import lists, partition, rounds

    monkeypatch.setattr(partition, "_CELL", 20)
    for module in (lists, rounds):
        monkeypatch.setattr(module, "reach_of", lambda number, width: 150)
    monkeypatch.setattr(lists, "_FIRST_CELLS", 2)
    options = Options.parse({**OPTIONS, "recall": 0.995, "spectrum": None})
    work = {"workdir": tmp_path / "work", "progress": False}
    np.save(tmp_path / "v.npy", digits_split[0])
    stopped = Stopping(InProcess(), "improved", 6)  # in the second round of four blocks
    with pytest.raises(Stopped):
        build(tmp_path / "v.npy", tmp_path / "i.longwave", options, cluster=stopped, **work)
    again = Stopping(InProcess(), "nothing of this name")
    build(tmp_path / "v.npy", tmp_path / "i.longwave", options, cluster=again, **work)
    assert "first_round" not in again.calls
    build(tmp_path / "v.npy", tmp_path / "straight.longwave", options, cluster="local", progress=False)
    one, other = (Index.load(tmp_path / name).graph.normalized for name in ("i.longwave", "straight.longwave"))
    assert (one != other).nnz == 0
    assert not list((tmp_path / "work/pieces").glob("round-*"))


def test_rounds_begin_with_the_cells_around_every_vector_and_serve_both_sides(digits_split, tmp_path, monkeypatch):
    from longwave.cluster import lists, partition, rounds
    from longwave.cluster.source import read_source
    from longwave.graph.lists.exact import nearest

    monkeypatch.setattr(partition, "_CELL", 20)
    np.save(tmp_path / "v.npy", digits_split[0])
    own, rule = InProcess(), {"merge_copies": True, "seed": 0, "progress": lambda *told: None}
    parts = partition.partition(own, read_source(own, [str(tmp_path / "v.npy")]), tmp_path, blocks=4, **rule)
    vectors = np.concatenate([np.load(parts.vectors(block)) for block in range(4)])
    means = np.load(parts.means)
    order, ends = lists.by_cell(vectors, means, 3)
    found = np.zeros((len(vectors), len(means)), dtype=bool)
    for cell in range(len(means)):
        found[order[ends[cell] : ends[cell + 1]], cell] = True
    truth = np.argsort(-(vectors @ means.T), axis=1, kind="stable")[:, :3]
    assert found.sum(axis=1).tolist() == [3] * len(vectors)
    assert np.take_along_axis(found, truth, axis=1).mean() > 0.999  # but for ties

    def share(number):
        exact = nearest(vectors, vectors, k=33).similarities[:, -1:] - 1e-6
        return (np.load(rounds.round_file(tmp_path, number, "similarities")) >= exact).mean()

    rounds.make_files(parts, 0, 32)
    for block in range(4):
        lists.first_round(parts, block)
    before = share(0)
    assert before > 0.7
    rounds._mirror(own, parts, 0)
    assert share(0) > before
    ids, similar = (np.load(rounds.round_file(tmp_path, 0, what)) for what in ("ids", "similarities"))
    one, other = np.repeat(np.arange(len(ids)), 32)[ids.ravel() >= 0], ids.ravel()[ids.ravel() >= 0]
    missing = ~(ids[other] == one[:, None]).any(axis=1)
    assert (similar.ravel()[ids.ravel() >= 0][missing] <= similar[other[missing], -1] + 1e-6).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"groups": [0]}, "leave out groups"),
        ({"components": "giant"}, "components must be 'blocks'"),
        ({"sparsity": 0.5}, "Index.sparsify"),
        ({"spectrum": Lanczos(20)}, "Chebyshev or Simultaneous, not by Lanczos"),
        ({"cluster": "spark://a:1"}, "ray:local"),
        ({"cluster": "ray:local[0]"}, "ray:local"),
        ({"cluster": 3}, "put, submit, gather"),
    ],
)
def test_what_a_cluster_cannot_do_is_said_before_the_work(options, message, digits_split):
    with pytest.raises(InputError, match=message):
        Index.build(digits_split[0], **{"cluster": "local", "k": 10, "progress": False, **options})


def test_a_bad_shard_is_named(tmp_path, digits_split):
    np.save(tmp_path / "a.npy", digits_split[0])
    np.save(tmp_path / "b.npy", digits_split[0][:, :9])
    with pytest.raises(InputError, match=r"b\.npy has 9 dimensions"):
        Index.build(tmp_path, cluster="local", progress=False)
    bad = digits_split[0].astype(np.float32)
    bad[3, 4] = np.nan
    np.save(tmp_path / "b.npy", bad)
    with pytest.raises(InputError, match=r"b\.npy.*nan"):
        Index.build(tmp_path, cluster="local", progress=False)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no file of vectors"):
        Index.build(tmp_path / "empty", cluster="local", progress=False)


@pytest.mark.parametrize(("engine", "module"), [("ray", "ray"), ("dask", "distributed")])
def test_a_missing_extra_says_its_install_line(engine, module, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=rf"pip install 'longwave\[{engine}\]'"), opened(f"{engine}:local[2]"):
        pass


def test_no_engine_is_imported_before_it_is_used():
    code = "import sys, longwave.index, longwave.cluster.build; print({'ray', 'dask', 'distributed'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_the_command_line(digits_split, tmp_path, here):
    np.save(tmp_path / "v.npy", digits_split[0])
    options = ["--k", "10", "--rank", "30", "--cluster", "local"]
    code, out, err = run("build", tmp_path / "v.npy", "-o", tmp_path / "i.longwave", *options)
    assert (code, err) == (0, "")
    assert "built on local" in out
    assert len(Index.load(tmp_path / "i.longwave")) == len(here)
    assert [path.name for path in tmp_path.iterdir() if "work" in path.name or path.name.startswith(".")] == []
