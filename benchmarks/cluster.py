"""The offline stage on a cluster: stages with one worker and with two beside the local build; a million vectors.

    python -m benchmarks.cluster [N]                      stages, workers, engines; 20,000 by default
    python -m benchmarks.cluster costs [N ...]            core-seconds of every kind of work, for advice.scale
    python -m benchmarks.cluster lists [N]                recall and core-seconds after every round, local and in blocks
    python -m benchmarks.cluster million WORKDIR [N [RANK]]     by Ray, workers of 6 GiB at most; 1,000,000 and 200
    python -m benchmarks.cluster queries WORKDIR          after it: one query at 100,000 and at a million, a cold start

The vectors are real ones enlarged as in `benchmarks.regional`, in 128 dimensions: the Oxford regional descriptors and
Fashion-MNIST (its first 128 principal directions), every copy under a small rotation and with noise. The second command
goes on from WORKDIR after a crash; seconds of all its processes add up in WORKDIR-log.json.
"""

import json
import os
import resource
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import numpy as np

from benchmarks import measure, regional
from longwave import PAPER, Chebyshev, Index
from longwave.building.options import Options
from longwave.cluster.build import build
from longwave.cluster.engine import InProcess
from longwave.datasets import fashion_mnist
from longwave.rows.vectors import normalize, row_blocks

DIMENSIONS, SHARD = 128, 100_000
CAP = 6 << 30
RANK, K = 100, 30


def enlarged(n, seed=0):
    """(n, 128) float32, a part at a time: 177,217 real vectors again and again, rotated a little and noisy."""
    rng = np.random.default_rng(seed)
    pixels = normalize(fashion_mnist().vectors)
    _, directions = np.linalg.eigh(pixels.T @ pixels)
    sources = [normalize(np.load(regional.OXFORD)), pixels @ directions[:, ::-1][:, :DIMENSIONS]]
    regional.DIMENSIONS = DIMENSIONS
    filled = 0
    while filled < n:
        for source in sources:
            copy = (source @ regional.small_rotation(rng))[: n - filled]
            for rows in row_blocks(*copy.shape):
                copy[rows] += rng.standard_normal(copy[rows].shape, dtype=np.float32) * (0.1 / np.sqrt(DIMENSIONS))
            filled += len(copy)
            if len(copy):
                yield copy


def shards(folder, n):
    """Write the collection as .npy files, once."""
    if not (folder / "done").exists():
        folder.mkdir(parents=True, exist_ok=True)
        number = 0
        for copy in enlarged(n):
            for start in range(0, len(copy), SHARD):
                np.save(folder / f"{number:04}.npy", copy[start : start + SHARD].astype(np.float16))
                number += 1
        (folder / "done").touch()
    return sorted(str(path) for path in folder.glob("*.npy"))


def cap():
    """Runs in every worker as it starts: memory of its own beyond 6 GiB is refused (what is shared does not count)."""
    resource.setrlimit(resource.RLIMIT_DATA, (CAP, CAP))


class Watch:
    """The largest memory of every process below this one, and of this one, in MiB; the object store apart."""

    def __init__(self):
        self.peaks, self._stop = {}, threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        while not self._stop.wait(0.5):
            for process in _below(os.getpid()):
                try:
                    text = Path(f"/proc/{process}/status").read_text()
                    name = Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")[0].decode()
                except OSError:
                    continue
                values = {line.split(":")[0]: line.split()[1] for line in text.splitlines() if line.endswith("kB")}
                own = int(values.get("RssAnon", 0)) / 1024
                kind = "driver" if process == os.getpid() else "worker" if "ray::" in name else Path(name).name
                known = self.peaks.setdefault(process, {"kind": kind, "private": 0.0, "resident": 0.0})
                known["kind"] = "worker" if kind == "worker" else known["kind"]
                known["private"] = max(known["private"], own)
                known["resident"] = max(known["resident"], int(values.get("VmRSS", 0)) / 1024)

    def stop(self):
        """Figures by kind of process, largest first."""
        self._stop.set()
        self._thread.join()
        return sorted(self.peaks.values(), key=lambda own: -own["resident"])[:12]


def _below(root):
    """A process and all below it."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents.setdefault(int(path.read_text().rpartition(")")[2].split()[1]), []).append(int(path.parent.name))
        except OSError:
            continue
    found, waiting = [], [root]
    while waiting:
        own = waiting.pop()
        found.append(own)
        waiting += parents.get(own, [])
    return found


def cores(root):
    """Core-seconds of a process and of all below it that are there."""
    spent = 0
    for process in _below(root):
        try:
            own = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        spent += int(own[11]) + int(own[12])
    return spent / os.sysconf("SC_CLK_TCK")


class Stages:
    """When each stage began and ended: a `Progress`. The part before the colon is the stage."""

    def __init__(self):
        self.begin, self.last, self.seconds = time.perf_counter(), time.perf_counter(), {}

    def __call__(self, stage, done, total):
        now, name = time.perf_counter(), stage.partition(":")[0]
        self.seconds[name] = self.seconds.get(name, 0.0) + now - self.last
        self.last = now

    def figures(self):
        """Seconds by stage, and all."""
        return {name: round(own, 2) for name, own in self.seconds.items()} | {
            "all": round(time.perf_counter() - self.begin, 2)
        }


@contextmanager
def engine(name, workers):
    if name == "local":
        yield InProcess()
        return
    if name == "ray":
        from longwave.cluster.on_ray import Ray as Engine
    else:
        from longwave.cluster.on_dask import Dask as Engine
    own = Engine(workers=workers, **({"store": 2 << 30} if name == "ray" else {}))
    own.gather([own.submit(np.linalg.qr, np.eye(50)) for _ in range(4 * workers)])  # the workers are there
    try:
        yield own
    finally:
        own.close()


def compare(n=20_000):
    add = measure.recorder(f"cluster-{n}", n=n, rank=RANK, k=K)
    from longwave.cluster import basis

    basis.GATHERED = 2000  # so that the workers decompose components of this size too
    options = {"k": K, "spectrum": Chebyshev(RANK, tolerance=1e-5), "recall": 1.0}
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        files = shards(home / "shards", n)
        vectors = np.concatenate([np.load(path) for path in files])
        Index.build(vectors[:3000], **options, progress=False)  # compiled
        told = Stages()
        here = Index.build(vectors, **options, fast=False, progress=told)
        add("local build", workers=None, seconds=told.figures(), load=os.getloadavg()[0])
        for name, workers in (("local", 1), ("ray", 1), ("ray", 2), ("dask", 1), ("dask", 2)):
            with engine(name, workers) as cluster:
                for turn in ("warm", "measured"):
                    told, output, begin = Stages(), home / f"{name}-{workers}-{turn}.longwave", cores(os.getpid())
                    some = files if turn == "measured" else files[:1]
                    build(some, output, Options.parse(options), cluster=cluster, progress=told)
                spent = round(cores(os.getpid()) - begin, 1)
            there = Index.load(output)
            difference = np.abs(np.sort(there.spectrum.eigenvalues) - np.sort(here.spectrum.eigenvalues)).max()
            facts = {
                "workers": workers,
                "seconds": told.figures(),
                "core_seconds": spent,
                "eigenvalues_differ": float(difference),
            }
            add(name, **facts, load=os.getloadavg()[0])


# Which kind of work a function is, as `advice.scale` counts it.
KINDS = {
    "cells": ("sampled", "counted", "scattered", "collected"),
    "neighbours": ("searched",),
    "rounds": ("first_round", "pointing", "improved", "mirrored", "last_round"),
    "graph": ("scales_and_reach", "directed", "mutual_rows", "normalized", "restricted", "localized"),
    "sparse": ("term", "product", "projected", "squared_residuals", "chosen", "panel_of", "side_by_side", "minus"),
    "dense": ("gram", "inner", "removed", "solved", "transformed", "columns_of", "row_norms", "peaks", "scaled"),
    "writing": ("written",),
}


class Timed(InProcess):
    """Core-seconds and calls of every function."""

    def __init__(self):
        self.seconds, self.calls = {}, {}

    def submit(self, function, *arguments, parts=None):
        name, begin = function.__name__, time.process_time()
        try:
            return super().submit(function, *arguments, parts=parts)
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.process_time() - begin
            self.calls[name] = self.calls.get(name, 0) + 1


def costs(*sizes):
    """Run with OMP_NUM_THREADS=1 NUMBA_NUM_THREADS=1. Some runs are fitted, others are left out: see docs/scale.md."""
    from longwave.advice import scale
    from longwave.cluster import basis, operations

    add = measure.recorder("cluster-costs", k=K, dimensions=DIMENSIONS)
    for n in sizes or (10_000, 20_000, 50_000, 100_000):
        for rank in (50, 200):
            with tempfile.TemporaryDirectory() as folder:
                home = Path(folder)
                cluster = Timed()
                basis.GATHERED = 2000
                options = Options.parse({"k": K, "spectrum": Chebyshev(rank), "recall": 1.0 if n < 30_000 else 0.98})
                files = shards(home / "shards", n)
                begin = time.process_time()
                build(files, home / "i.longwave", options, cluster=cluster, workdir=home / "work", progress=False)
                whole = time.process_time() - begin
                index, starts = Index.load(home / "i.longwave"), np.load(home / "work/blocks-starts.npy")
            work = scale.Collection(n, DIMENSIONS, K, rank)
            panels = len(operations.panels(0, work.width)) * (len(starts) - 1)
            figures = {kind: sum(cluster.seconds.get(name, 0.0) for name in own) for kind, own in KINDS.items()}
            add(
                f"{n}-{rank}",
                n=n,
                rank=rank,
                seconds=figures,
                all_seconds=whole,
                degrees=cluster.calls.get("term", 0) / panels,
                recall=index.settings.recall,
                rounds=cluster.calls.get("improved", 0) / (len(starts) - 1),
                nonzeros=int(index.graph.normalized.nnz),
                halo=_halo(index.graph.normalized, starts),
                calls=sum(cluster.calls.values()),
            )


def lists(n=100_000, k=50, target=0.99):
    """Recall and core-seconds after every round of lists, local and in blocks. Run as `costs`."""
    from longwave.cluster import lists as spread
    from longwave.graph.lists import approximate as local

    add = measure.recorder(f"cluster-lists-{n}", n=n, k=k, target=target, dimensions=DIMENSIONS)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        files = shards(home / "shards", n)
        vectors = normalize(np.concatenate([np.load(path) for path in files]).astype(np.float32))
        local.nearest_others(vectors[:20_000], k=k, target=0.5)  # compiled

        def told(part, module, name):
            """Let a module's measure of recall note what it finds, and when."""
            own, begin = getattr(module, name), time.process_time()

            def noted(*given):
                found = own(*given)
                add(part, recall=round(found, 4), seconds=round(time.process_time() - begin, 1))
                return found

            setattr(module, name, noted)

        told("local", local, "recall")
        local.nearest_others(vectors, k=k, target=target)
        told("cluster, with cells and blocks", spread, "share_found")
        options = Options.parse({"k": k, "spectrum": None, "recall": target})
        build(files, home / "i.longwave", options, cluster=InProcess(), progress=False)


def _halo(matrix, starts):
    """Rows that blocks ask of others in a product, for each row."""
    asked = 0
    for first, last in pairwise(starts):
        columns = np.unique(matrix.indices[matrix.indptr[first] : matrix.indptr[last]])
        asked += np.count_nonzero((columns < first) | (columns >= last))
    return asked / int(starts[-1])


def million(workdir, n=1_000_000, rank=200):
    """Through Ray: time, memory of every process, residuals; the driver never holds U."""
    import ray

    home = Path(workdir)
    log = Path(f"{workdir}-log.json")
    runs = json.loads(log.read_text()) if log.exists() else []
    files = shards(home / "shards", n)
    store = 6 << 30
    os.environ.setdefault("RAY_worker_niceness", "0")  # that of this process, not 15
    ray.init(
        num_cpus=2,
        object_store_memory=store,
        include_dashboard=False,
        log_to_driver=False,
        runtime_env={"worker_process_setup_hook": cap},
    )
    from longwave.cluster.on_ray import Ray

    watch, told = Watch(), Stages()
    runs.append(told.seconds)

    def report(stage, done, total):
        told(stage, done, total)
        log.write_text(json.dumps(runs, indent=1))
        print(f"{time.perf_counter() - told.begin:9.1f} s  {stage} {done}/{total}", flush=True)

    output = home / "index.longwave"
    options = Options.parse({**PAPER, "recall": 0.95, "spectrum": Chebyshev(rank)})  # else as `benchmarks.regional`
    build(files, output, options, cluster=Ray(), workdir=home / "work", progress=report, force=True)
    report("built", 1, 1)
    peaks = watch.stop()
    ray.shutdown()
    index = Index.load(output)
    spectrum, basis = index.spectrum, index.spectrum.eigenvectors
    driver = max(own["resident"] for own in peaks if own["kind"] == "driver")
    measure.save(
        f"cluster-million-{n}-{rank}",
        {
            "vectors": [n, DIMENSIONS],
            "vertices": index.n_vertices,
            "k": index.settings.k,
            "rank": spectrum.rank,
            "recall": index.settings.recall,
            "edges": index.graph.normalized.nnz // 2,
            "components": len(index.graph.component_sizes),
            "largest": index.graph.component_sizes[:5].tolist(),
            "eigenvalues": [float(spectrum.eigenvalues.max()), float(spectrum.eigenvalues.min())],
            "residuals": np.quantile(spectrum.residuals, (0.5, 0.9, 1.0)).tolist(),
            "bytes_of_basis": basis.nbytes,
            "driver_peak_mib": driver,
            "worker_cap_mib": CAP >> 20,
            "object_store_mib": store >> 20,
            "peaks_mib": peaks,
            "seconds_of_processes": runs,
        },
    )


def queries(workdir):
    """The first search along links and the walk, over the million and over its first 100,000 in the same setting."""
    import subprocess

    import faiss
    from threadpoolctl import threadpool_limits

    from benchmarks.million import HITS, QUERIES, dropped
    from benchmarks.walk import hnsw_search
    from longwave import BestFirst

    home = Path(workdir)
    add = measure.recorder("cluster-queries", hits=HITS)
    whole = np.concatenate([np.load(path) for path in sorted((home / "shards").glob("*.npy"))]).astype(np.float32)
    rng = np.random.default_rng(1)
    order = rng.permutation(len(whole))
    for n in (100_000, len(whole)):
        vectors = normalize(whole[order[:n]] if n < len(whole) else whole)
        path, asked = home / f"{n}.longwave", home / f"{n}.npy"
        if not path.exists():
            if n < len(whole):
                index = Index.build(vectors, **{**PAPER, "spectrum": Chebyshev(200)}, fast=False, progress=False)
            else:
                index = Index.load(home / "index.longwave")
            begin = time.perf_counter()
            index.accelerate(second="walk").save(path)
            add("links", n=n, seconds=time.perf_counter() - begin)
        chosen = normalize(vectors[rng.choice(n, QUERIES, replace=False)])
        chosen = normalize(chosen + rng.standard_normal(chosen.shape, dtype=np.float32) * (0.1 / np.sqrt(DIMENSIONS)))
        np.save(asked, chosen)
        index = Index.load(path)
        rival, known = hnsw_search(vectors, chosen, HITS)
        faiss.omp_set_num_threads(1)
        with threadpool_limits(1):
            one = measure.milliseconds(lambda row, index=index: index.search(row, HITS, solver=BestFirst()), chosen)
            other = measure.milliseconds(lambda row, rival=rival: rival(row[0]), chosen)
        faiss.omp_set_num_threads(2)
        add("one query", n=n, one_ms=one, hnsw_ms=other, hnsw=known, plan=str(index.settings.plan.vectors))
        del index, rival
        size = dropped(path)
        command = [sys.executable, "-m", "benchmarks.million", "--cold", str(path), str(asked)]
        answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        add("cold", n=n, bytes=size, **answer)


if __name__ == "__main__":
    if sys.argv[1:2] == ["million"]:
        million(sys.argv[2], *map(int, sys.argv[3:5]))
    elif sys.argv[1:2] == ["queries"]:
        queries(sys.argv[2])
    elif sys.argv[1:2] == ["lists"]:
        lists(*map(int, sys.argv[2:3]))
    elif sys.argv[1:2] == ["costs"]:
        costs(*map(int, sys.argv[2:]))
    else:
        compare(*map(int, sys.argv[1:2]))
