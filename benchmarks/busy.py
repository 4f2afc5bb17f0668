"""One query at a time while other work keeps the cores busy, against the same with nothing else to do.

    python -m benchmarks.busy [FOLDER]        indexes are kept in FOLDER, and taken from there the next time

Two processes that count for ever stand for the other work. Every row is a process of its own, which measures rounds
of both in turn: `idle` and `busy` are the medians over the rounds of a round's p50, in milliseconds, `ratio` that of
the rounds' ratios. `cpu` is the processor time of a query, all threads together, which shows threads that spin and does
not depend on who else uses the machine. Where faiss is first, the user has imported it before Longwave, so that its
threads wait by spinning. The load of the machine before each row stands beside it.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks import measure

QUERIES, HITS, ROUNDS, OTHERS = 100, 100, 5, 2


def indexes(folder):
    """Build what is not there: Fashion-MNIST, digits, and digits tuned."""
    from longwave import Index
    from longwave.datasets import digits, fashion_mnist, held_out

    images, small = fashion_mnist().vectors, digits().vectors
    asked, rest = held_out(len(small), n_queries=QUERIES)
    np.save(folder / "fashion.npy", images[60_000 : 60_000 + QUERIES])
    np.save(folder / "digits.npy", small[asked])
    if not (folder / "fashion").exists():
        Index.build(images[:60_000]).save(folder / "fashion")
    if not (folder / "digits").exists():
        Index.build(small[rest]).save(folder / "digits")
    if not (folder / "digits, auto").exists():
        Index.build(small[rest], auto=True).save(folder / "digits, auto")


def timed(index, queries):
    """One query at a time, in milliseconds: p50, p90, and mean processor time."""
    times, before = [], time.process_time()
    for query in queries:
        start = time.perf_counter()
        index.search(query, HITS)
        times.append(1000 * (time.perf_counter() - start))
    return *np.quantile(times, [0.5, 0.9]), 1000 * (time.process_time() - before) / len(queries)


def rounds(folder, name, first):
    """Measure one index in this process, idle and busy in turn."""
    if first == "faiss":
        import faiss  # noqa: F401
    from longwave import Index

    collection, _, variant = name.partition(", ")
    index = Index.load(folder / (name if variant == "auto" else collection))
    if variant == "exact":
        index = replace(index, first=None, second=None)
    queries = np.load(folder / f"{collection}.npy")
    timed(index, queries)
    found = []
    for _ in range(ROUNDS):
        idle = timed(index, queries)
        others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(OTHERS)]
        time.sleep(0.5)
        busy = timed(index, queries)
        for other in others:
            other.kill()
            other.wait()
        time.sleep(0.5)
        found.append([*idle, *busy])
    return np.array(found)


def main(folder):
    indexes(folder)
    add = measure.recorder("busy", queries=QUERIES, hits=HITS, rounds=ROUNDS, other_processes=OTHERS)
    for name in ("fashion", "fashion, exact", "digits", "digits, auto"):
        for first in ("longwave", "faiss"):
            load = os.getloadavg()[0]
            command = [sys.executable, "-m", "benchmarks.busy", str(folder), name, first]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            figures = np.array(json.loads(done.stdout))
            idle, idle_p90, idle_cpu, busy, busy_p90, busy_cpu = np.median(figures, axis=0).round(3).tolist()
            ratio = round(float(np.median(figures[:, 3] / figures[:, 0])), 2)
            add(
                name,
                first=first,
                idle=idle,
                busy=busy,
                ratio=ratio,
                idle_p90=idle_p90,
                busy_p90=busy_p90,
                idle_cpu=idle_cpu,
                busy_cpu=busy_cpu,
                load_before=round(load, 2),
                rounds=figures.round(3).tolist(),
            )


if __name__ == "__main__":
    if len(sys.argv) == 4:
        print(json.dumps(rounds(Path(sys.argv[1]), *sys.argv[2:]).tolist()))
    elif len(sys.argv) == 2:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(Path(temporary))
