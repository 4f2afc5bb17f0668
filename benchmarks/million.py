"""From ten thousand vectors to a million: build, one query, and a cold start from the disk.

    python -m benchmarks.million [FOLDER [N ...]]       default: million-indexes, and 10,000 100,000 1,000,000

Vectors of fruits360, a random order of them; beyond 180,079 copies under a small random rotation with noise of a tenth
of the length. 200 of them with other noise are the queries. `Index.build` as it is, kept in FOLDER with its work, so
that a run that was stopped goes on; faiss's HNSW beside it at a recall of .98 for 100 neighbours. Then, with
the files dropped from memory, a new process loads the index and answers (`cold`). BLAS, faiss and numba have one thread
for queries.
"""

import gc
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks import measure
from longwave.datasets import shared
from longwave.rows.vectors import normalize

HITS, QUERIES = 100, 200


def small_rotation(d, rng, angle=0.3):
    skew = rng.standard_normal((d, d)) / np.sqrt(2 * d)
    skew = (skew - skew.T) * np.tan(angle) / 2
    return np.linalg.solve(np.eye(d) + skew, np.eye(d) - skew).astype(np.float32)


def collection(n, seed=0):
    """Vectors (n, d) and queries (200, d)."""
    rng = np.random.default_rng(seed)
    own = normalize(np.load(shared.data_folder() / "fruits360/vectors.npy").astype(np.float32))
    own = own[rng.permutation(len(own))]
    d = own.shape[1]

    def noisy(rows):
        return rows + rng.standard_normal(rows.shape, dtype=np.float32) * np.float32(0.1 / np.sqrt(d))

    parts = [own[:n]]
    while sum(map(len, parts)) < n:
        parts.append(noisy(own @ small_rotation(d, rng))[: n - sum(map(len, parts))])
    vectors = normalize(np.concatenate(parts))
    return vectors, normalize(noisy(vectors[rng.choice(n, QUERIES, replace=False)]))


def cold(folder, queries):
    """In a process of its own: seconds until the first answer, and milliseconds of the next ones."""
    from longwave import Index  # its import is not the index's

    asked, read = np.load(queries), read_mib()
    began = time.perf_counter()
    index = Index.load(folder)
    loaded = time.perf_counter()
    index.search(asked[0], HITS)
    first, read = time.perf_counter(), read_mib() - read
    times = []
    for query in asked[1:]:
        start = time.perf_counter()
        index.search(query, HITS)
        times.append(1000 * (time.perf_counter() - start))
    told = {"load_seconds": loaded - began, "first_answer_seconds": first - loaded, "next_ms": float(np.median(times))}
    print(json.dumps({**told, "read_mib": read, "resident_mib": measure.resident_mib()}))


def read_mib():
    """What this process has read from the disk: shows that a cold start was one."""
    lines = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(lines["read_bytes"]) / 2**20


def dropped(folder):
    """No byte of these files is in memory; those that some process has mapped would stay."""
    gc.collect()
    size = 0
    for file in Path(folder).rglob("*"):
        if file.is_file():
            with file.open("rb") as opened:
                os.fsync(opened.fileno())
                os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            size += file.stat().st_size
    return size


def measured(add, folder, n):
    import faiss
    from threadpoolctl import threadpool_limits

    from benchmarks.walk import hnsw_search
    from longwave import Index

    vectors, queries = collection(n)
    path, asked = folder / f"{n}.longwave", folder / f"{n}.npy"
    np.save(asked, queries)
    built = folder / f"{n}.json"  # what a build that is kept has taken
    if not path.exists():
        began = time.perf_counter()
        Index.build(vectors, workdir=folder / f"{n}.work", progress=False).save(path)
        built.write_text(json.dumps({"seconds": time.perf_counter() - began, "peak_mib": measure.peak_mib()}))
    add("build", n=n, d=vectors.shape[1], **json.loads(built.read_text()))
    index = Index.load(path)
    facts = {"rank": index.spectrum.rank, "memory": index.memory(), "plan": str(index.settings.plan.vectors)}
    rival, known = hnsw_search(vectors, queries, HITS)
    for row in queries:  # an index that was built by an earlier run is not in memory yet
        index.search(row, HITS)
    faiss.omp_set_num_threads(1)
    with threadpool_limits(1):
        one = measure.milliseconds(lambda row: index.search(row, HITS), queries)
        other = measure.milliseconds(lambda row: rival(row[0]), queries)
    faiss.omp_set_num_threads(2)
    add("one query", n=n, one_ms=one, hnsw_ms=other, hnsw=known, **facts)


def main(folder="million-indexes", *sizes):
    folder = Path(folder)
    folder.mkdir(exist_ok=True)
    add = measure.recorder("million", hits=HITS)
    for n in [int(size) for size in sizes] or [10_000, 100_000, 1_000_000]:
        measured(add, folder, n)
        path = folder / f"{n}.longwave"
        size = dropped(path)
        command = [sys.executable, "-m", "benchmarks.million", "--cold", str(path), str(folder / f"{n}.npy")]
        answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        add("cold", n=n, bytes=size, **answer)


if __name__ == "__main__":
    cold(*sys.argv[2:]) if sys.argv[1:2] == ["--cold"] else main(*sys.argv[1:])
