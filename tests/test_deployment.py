"""Where an index is used: threads, forked workers, containers, busy machines. Each in a process of its own."""

import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

import longwave
from longwave import Chebyshev, Index
from longwave.rows.encoded import Quantized

PACKAGE = Path(longwave.__file__).parent
# Seconds after which a process is taken to hang: ten times what the slowest takes where ten others want the cores too.
PATIENCE = 300
KINDS = ["exact", "fast"]
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
FORKS = pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")


def collection():
    """Vectors around 40 points, so many that BLAS takes threads for one query, and queries. (5000, 128), (500, 128)"""
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((40, 8))
    points = (centres[rng.integers(40, size=5500)] + rng.standard_normal((5500, 8))) @ rng.standard_normal((8, 128))
    return points[:5000], points[5000:]


def built(vectors, kind):
    index = Index.build(vectors, k=10, spectrum=Chebyshev(100), fast=False)
    return index.accelerate() if kind == "fast" else index


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Indexes of both kinds, queries, and the answers to a batch and to single queries."""
    folder = tmp_path_factory.mktemp("deployed")
    vectors, queries = collection()
    np.savez(folder / "data.npz", vectors=vectors, queries=queries)
    for kind in KINDS:
        index = built(vectors, kind)
        index.save(folder / kind)
        single = np.vstack([index.search(query).ids for query in queries[:40]])
        np.savez(folder / f"{kind}.npz", batch=index.search(queries).ids, single=single)
    return folder


PRELUDE = """
import os, sys, time
import numpy as np
import longwave as lw
from longwave.rows import compiled
from longwave.spectrum import advised
from pathlib import Path

compiled.Loop.alone = 1 << 19  # or so small a collection would wake no threads
advised._COMPLETE = 1500  # nor be walked
folder, kind = Path(sys.argv[1]), sys.argv[2]
data, truth = (dict(np.load(folder / f"{name}.npz")) for name in ("data", kind))  # workers share no open file
vectors, queries = data["vectors"], data["queries"]

def check(index, equal=1.0):
    single = np.vstack([index.search(query).ids for query in queries[:40]])
    for found, right in ((index.search(queries).ids, truth["batch"]), (single, truth["single"])):
        assert np.mean(found == right) >= equal, np.mean(found == right)
"""


def run(code, *arguments, environment=None, path=PACKAGE.parent, before=(), **options):
    """Run code after the prelude; fails if it does, or hangs. Gives what it printed, stdout then stderr."""
    unset = ("OMP_WAIT_POLICY", "NUMBA_THREADING_LAYER")
    known = {name: value for name, value in os.environ.items() if name not in unset}
    process = subprocess.Popen(
        [*before, sys.executable, "-c", PRELUDE + code, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**known, "PYTHONPATH": str(path), **(environment or {})},
        start_new_session=True,
        **options,
    )
    try:
        printed = "".join(process.communicate(timeout=PATIENCE))
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # its workers too
        process.communicate()
        pytest.fail(f"hung for {PATIENCE} seconds")
    assert process.returncode == 0, f"exit code {process.returncode}\n{printed}"
    return printed


# Busy machines


@LINUX
@pytest.mark.parametrize(("given", "rounds"), [({}, "0"), ({"OMP_WAIT_POLICY": "ACTIVE"}, "30000000000")])
def test_waiting_threads_sleep_unless_told_otherwise(folder, given, rounds):
    """How often they look again first, as OpenMP itself says when faiss loads it, before the compiled loops."""
    printed = run("import faiss", folder, "fast", environment={**given, "OMP_DISPLAY_ENV": "VERBOSE"})
    if "GOMP_SPINCOUNT" not in printed:
        pytest.skip("not GNU OpenMP")
    assert f"GOMP_SPINCOUNT = '{rounds}'" in printed


# Threads that did nothing have not been switched to. Those of BLAS spin for a while after their last work.
SWITCHES = """
def switches():
    found = {}
    for task in Path("/proc/self/task").iterdir():
        if int(task.name) != os.getpid():
            lines = (task / "status").read_text().splitlines()
            found[task.name] = [line for line in lines if "ctxt_switches" in line]
    return found

def settled():
    before = None
    while before != (now := switches()):
        before = now
        time.sleep(0.5)
    return before

for query in queries[:5]:
    search(query)
before = settled()
for query in queries[:20]:
    search(query)
assert switches() == before, (before, switches())
"""


@LINUX
@pytest.mark.parametrize(
    ("kind", "change", "options"),
    [
        ("exact", "", ""),
        ("exact", "", ", tolerance=1e-3"),
        ("fast", "", ""),
        ("exact", ".compress(vectors='int8', basis='float16')", ""),
        ("exact", ".compress(vectors='SQ8')", ""),
    ],
)
@pytest.mark.parametrize("first", ["", "import faiss\n"], ids=["", "faiss first"])
def test_one_query_takes_one_thread(folder, kind, change, options, first):
    threads = {"OMP_NUM_THREADS": "2", "NUMBA_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"}
    search = f"index = lw.Index.load(folder / kind){change}\nsearch = lambda query: index.search(query{options})\n"
    run(first + search + SWITCHES, folder, kind, environment=threads)


# Forks


WORKERS = """
import multiprocessing

def work(_):
    check({worker}, {equal})
    return True

with multiprocessing.get_context("fork").Pool(2) as pool:
    assert pool.map(work, range(2), chunksize=1) == [True] * 2
check({parent}, {equal})
"""


TURNS = """
import os, signal, threading
import longwave
from longwave.threads import turn, turns
for _ in range(turns()):
    turn().__enter__()
one_more = threading.Thread(target=turn().__enter__, daemon=True)
one_more.start()
one_more.join(0.2)
assert one_more.is_alive()
child = os.fork()
if child == 0:
    signal.alarm(60)
    with turn():
        os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""


@FORKS
@LINUX
def test_a_fork_while_all_have_their_turn_does_not_wait_for_them():
    subprocess.run([sys.executable, "-c", TURNS], check=True, timeout=PATIENCE)


@FORKS
@pytest.mark.parametrize("kind", KINDS)
def test_forked_workers_search_the_index_of_the_parent(folder, kind):
    run(
        "index = lw.Index.load(folder / kind)\ncheck(index)\n"
        + WORKERS.format(worker="index", parent="index", equal=1),
        folder,
        kind,
    )


@FORKS
@pytest.mark.parametrize("kind", KINDS)
def test_forked_workers_load_an_index(folder, kind):
    loaded = "lw.Index.load(folder / kind)"
    run(f"check({loaded})\n" + WORKERS.format(worker=loaded, parent=loaded, equal=1), folder, kind)


BUILD = """
def built():
    index = lw.Index.build(vectors, k=10, spectrum=lw.Chebyshev(100), fast=False)
    return index.accelerate() if kind == "fast" else index
check(built(), 0.95)  # the last bits depend on the number of threads, and with them ties
"""


@FORKS
@pytest.mark.parametrize("kind", KINDS)
def test_forked_workers_build_an_index(folder, kind):
    run(BUILD + WORKERS.format(worker="built()", parent="built()", equal=0.95), folder, kind)


@FORKS
def test_threads_of_a_child_of_a_child(folder):
    code = """
from concurrent.futures import ThreadPoolExecutor
index = lw.Index.load(folder / kind)
check(index)
for generation in range(2):
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        os._exit(status != 0)
    check(index)
with ThreadPoolExecutor(4) as pool:
    list(pool.map(lambda _: check(index), range(8)))
os._exit(0)
"""
    run(code, folder, "fast")


# Threads


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("layer", ["workqueue", "omp"])
def test_searches_from_several_threads(folder, kind, layer):
    code = """
from concurrent.futures import ThreadPoolExecutor
index = lw.Index.load(folder / kind)
with ThreadPoolExecutor(8) as pool:
    list(pool.map(lambda _: check(index), range(24)))
import numba
print("used:", numba.threading_layer())
"""
    if layer == "omp":
        pytest.importorskip("numba.np.ufunc.omppool", reason="numba finds no OpenMP here")
    assert f"used: {layer}" in run(code, folder, kind, environment={"NUMBA_THREADING_LAYER": layer})


# Containers


@pytest.fixture
def sealed(folder):
    """The package and the indexes, readable by all and writable by nobody."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        shutil.copytree(PACKAGE, root / "longwave", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copytree(folder, root / "indexes")
        everything = [root, *root.rglob("*")]
        for path in everything:
            path.chmod(0o555 if path.is_dir() else 0o444)
        yield root
        for path in everything:
            path.chmod(path.stat().st_mode | stat.S_IWUSR)


# A user who may read everything, as Python itself may lie in root's home, and write nothing of root's.
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
NOBODY += ["--inh-caps=-all,+dac_read_search", "--ambient-caps=-all,+dac_read_search"]


@pytest.fixture
def as_nobody():
    """What stands before a command; nothing for users who may not write to what is sealed anyway."""
    if not hasattr(os, "geteuid"):
        pytest.skip("folders are sealed by POSIX modes")
    if os.geteuid():
        return []
    if not shutil.which("setpriv"):
        pytest.skip("root may write anywhere, and there is no setpriv to become another user")
    return NOBODY


def test_without_a_folder_to_write_to(sealed, as_nobody):
    nowhere = {"HOME": "/", "NUMBA_CACHE_DIR": "", "XDG_CACHE_HOME": ""}
    code = BUILD + "check(lw.Index.load(folder / kind))"
    run(code, sealed / "indexes", "fast", environment=nowhere, path=sealed, before=as_nobody, cwd="/")


def test_the_folder_for_compiled_code_that_a_user_names_is_used(sealed, as_nobody):
    with tempfile.TemporaryDirectory() as cache:
        if as_nobody:
            os.chown(cache, 65534, 65534)
        named = {"HOME": "/", "NUMBA_CACHE_DIR": cache}
        code = "check(lw.Index.load(folder / kind))"
        run(code, sealed / "indexes", "exact", environment=named, path=sealed, before=as_nobody, cwd="/")
        kept = {path.name.split("-")[0] for path in Path(cache).rglob("*.nbi")}
    # Both ways to compile a loop, under names of their own.
    assert {"compiled.update_heaps", "compiled.update_heaps_serial"} <= kept


# Large collections


def test_some_rows_of_a_quantised_collection_cost_no_list_of_all():
    class Endless:
        ntotal, d = 10**15, 2

        def reconstruct_batch(self, rows):
            return np.stack([rows, rows], axis=1)

    rows = Quantized(Endless(), "PQ1")
    np.testing.assert_array_equal(rows[[3, -1]][:, 0], [3, 10**15 - 1])
    np.testing.assert_array_equal(rows[np.array([[5], [7]])].shape, (2, 1, 2))
    np.testing.assert_array_equal(rows[10:16:2][:, 0], [10, 12, 14])
    np.testing.assert_array_equal(rows[4], [4, 4])
    for wrong in (10**15, [0, -(10**15) - 1]):
        with pytest.raises(IndexError, match="out of bounds"):
            rows[wrong]


def test_masks_and_nothing_choose_rows_of_a_quantised_collection():
    vectors = np.random.default_rng(0).standard_normal((300, 8)).astype(np.float32)
    rows = longwave.rows.encoded.compress(vectors, "SQ8")
    np.testing.assert_array_equal(rows[np.arange(300) % 3 == 0], rows[::3])
    assert rows[[]].shape == (0, 8)
