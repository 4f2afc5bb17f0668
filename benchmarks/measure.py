"""Run one competitor in a process of its own: time, peak memory, and its answer in a file.

python -m benchmarks.measure COMPETITOR INPUT.npz NUMBER OUTPUT.npz
"""

import importlib
import json
import os
import platform
import subprocess
import sys
import time
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import scipy.sparse as sp

RESULTS = Path(__file__).parent / "results"


def run(competitor, source, number, target, **environment):
    """Measure in a fresh process: seconds, those of all processors, the peak of memory beyond the input, in MiB."""
    command = [sys.executable, "-m", "benchmarks.measure", competitor, str(source), str(number), str(target)]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **environment},
        cwd=Path(__file__).parents[1],
    )
    return json.loads(done.stdout.splitlines()[-1])


def recorder(name, **facts):
    """A function that prints and keeps a row of results; results/NAME.json has all of them after every row."""
    rows = []

    def add(part, **figures):
        rows.append({"part": part, **figures})
        print(json.dumps(rows[-1]), flush=True)
        save(name, {**facts, "rows": rows})

    return add


def summed(vectors, owner):
    """Global descriptors of pictures: sums of their regions. (m, d), (m,) -> (pictures, d)"""
    total = np.zeros((int(owner.max()) + 1, vectors.shape[1]), dtype=np.float32)
    np.add.at(total, owner, vectors)
    return total


def machine():
    """What the figures were measured on."""
    packages = ("numpy", "scipy", "numba", "faiss-cpu", "hnswlib", "pynndescent", "primme", "longwave")
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    model = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "cpu": model[0].split(": ")[1] if model else platform.processor(),
        "cores": os.cpu_count(),
        "load": os.getloadavg(),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in packages if find_spec(name.replace("-cpu", "").replace("-", "_"))},
        "commit": commit.stdout.strip(),
    }


def save(name, results):
    """Write results/NAME.json."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps({"machine": machine(), **results}, indent=1) + "\n")
    print(f"wrote {path.name}")


def milliseconds(function, queries):
    """Median over the queries, one at a time, after a warm-up. function: of one query (1, d)."""
    for query in queries[:5]:
        function(query[None, :])
    times = []
    for query in queries:
        start = time.perf_counter()
        function(query[None, :])
        times.append(1000 * (time.perf_counter() - start))
    return float(np.median(times))


def peak_mib():
    """The peak of this process's memory (VmHWM; getrusage's is inherited from the parent)."""
    return _status("VmHWM")


def resident_mib():
    """What this process holds of its own now, files that are memory-mapped left out."""
    return _status("RssAnon")


def _status(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(name))


def main(competitor, source, number, target):
    module = importlib.import_module(f"benchmarks.competitors.{competitor}")
    if hasattr(module, "decompose"):
        argument = sp.csr_array(sp.load_npz(source))
        function = module.decompose
        function(sp.csr_array(argument[:2000, :2000]), 5)  # compile outside of the time
    else:
        argument = np.load(source)
        function = module.lists
        function(argument[:20_000], 5)
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    before = peak_mib()
    start, processor = time.perf_counter(), time.process_time()
    first, second = function(argument, int(number))
    seconds, processor = time.perf_counter() - start, time.process_time() - processor
    peak = peak_mib()
    if first is not None:
        np.savez(target, first=first, second=second)
    figures = {"seconds": seconds, "cpu_seconds": processor, "peak_mib": peak - before, "load": os.getloadavg()[0]}
    print(json.dumps(figures))


if __name__ == "__main__":
    main(*sys.argv[1:])
