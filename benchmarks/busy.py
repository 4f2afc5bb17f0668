"""One query at a time while other work keeps the cores busy, against the same with nothing else to do.

    python -m benchmarks.busy [FOLDER]        indexes are kept in FOLDER, and taken from there the next time

Two processes that count for ever stand for the other work. Every row is a process of its own, which measures rounds
of both in turn. `idle` and `busy` are medians over the rounds of a round's p50, in milliseconds; `ratio` is the median
of the rounds' ratios; `cpu` is the processor time of a query, all threads together, which shows threads that spin.

`control` is a plain loop in one thread that takes about as much processor time as a query of this index: what becomes
of it is the scheduler's doing. `woken` counts the switches to other threads of the process and the times that the
calling one waited, over all busy rounds: 0 if a query needs nobody else.

others: "apart" if the other work runs in sessions of its own, as other services do, "together" if in that of the
search, with which Linux then makes it share (autogroups). first: "faiss" if the user has imported it before Longwave,
so that its threads wait by spinning. The load of the machine before each row stands beside it.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks import measure

QUERIES, HITS, ROUNDS, OTHERS = 100, 100, 5, 2
CASES = [
    ("fashion", "longwave", "apart"),
    ("fashion", "faiss", "apart"),
    ("fashion", "longwave", "together"),
    ("fashion, exact", "longwave", "apart"),
    ("digits", "longwave", "apart"),
    ("digits", "longwave", "together"),
]


def indexes(folder):
    """Build what is not there: Fashion-MNIST and digits."""
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


def timed(function, queries):
    """One query at a time, in milliseconds: p50, p90, and mean processor time."""
    times, before = [], time.process_time()
    for query in queries:
        start = time.perf_counter()
        function(query)
        times.append(1000 * (time.perf_counter() - start))
    return [*np.quantile(times, [0.5, 0.9]), 1000 * (time.process_time() - before) / len(queries)]


def count(steps):
    """The control: one thread, no library."""
    total = 0
    for step in range(steps):
        total += step
    return total


def waits():
    """Switches to other threads of this process, and times that the calling one has waited."""
    found = 0
    for task in Path("/proc/self/task").iterdir():
        lines = dict(line.split(":") for line in (task / "status").read_text().splitlines() if "ctxt" in line)
        found += int(lines["voluntary_ctxt_switches"])
        found += int(lines["nonvoluntary_ctxt_switches"]) if int(task.name) != os.getpid() else 0
    return found


def rounds(folder, name, first, others):
    """Measure one index in this process, idle and busy in turn."""
    if first == "faiss":
        import faiss  # noqa: F401
    from longwave import Index

    collection, _, variant = name.partition(", ")
    index = Index.load(folder / (name if variant == "auto" else collection))
    if variant == "exact":
        index = index.accelerate(first=None, second=None)
    queries = np.load(folder / f"{collection}.npy")

    def search(query):
        return index.search(query, HITS)

    timed(search, queries)
    steps = round(100_000 * timed(search, queries)[2] / timed(lambda _: count(100_000), queries)[2])

    def control(_):
        return count(steps)

    found, woken = [], 0
    for _ in range(ROUNDS):
        idle = timed(search, queries) + timed(control, queries)
        command = [sys.executable, "-c", "while True: pass"]
        working = [subprocess.Popen(command, start_new_session=others == "apart") for _ in range(OTHERS)]
        time.sleep(0.5)
        before = waits()
        busy = timed(search, queries)
        woken += waits() - before
        busy += timed(control, queries)
        for process in working:
            process.kill()
            process.wait()
        time.sleep(0.5)
        found.append(idle + busy)
    return {"woken": woken, "rounds": np.round(found, 3).tolist()}


def main(folder):
    indexes(folder)
    add = measure.recorder("busy", queries=QUERIES, hits=HITS, rounds=ROUNDS, other_processes=OTHERS)
    for name, first, others in CASES:
        load = round(os.getloadavg()[0], 2)
        command = [sys.executable, "-m", "benchmarks.busy", str(folder), name, first, others]
        measured = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        figures = np.array(measured["rounds"]).reshape(-1, 2, 2, 3)  # round, idle or busy, search or control, figure
        middle = np.median(figures, axis=0).round(3)
        ratios = np.median(figures[:, 1, :, 0] / figures[:, 0, :, 0], axis=0).round(2)
        row = {"first": first, "others": others, "woken": measured["woken"]}
        for place, what in enumerate(("search", "control")):
            idle, busy = middle[:, place]
            row[what] = {"idle": idle[0], "busy": busy[0], "ratio": ratios[place], "busy_p90": busy[1]}
            row[what] |= {"idle_cpu": idle[2], "busy_cpu": busy[2]}
        add(name, **row, load_before=load, rounds=measured["rounds"])


if __name__ == "__main__":
    if len(sys.argv) == 5:
        print(json.dumps(rounds(Path(sys.argv[1]), *sys.argv[2:])))
    elif len(sys.argv) == 2:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(Path(temporary))
