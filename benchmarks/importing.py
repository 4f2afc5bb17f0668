"""How long `import longwave` takes, and what in it takes longest; also the first name, and `longwave --help`.

    python -m benchmarks.importing [runs]

Every run is a new process. Seconds of the clock and of the processor, medians; `results/importing.json`.
"""

import os
import re
import statistics
import subprocess
import sys
import time

from benchmarks import measure

WAYS = {
    "python alone": ["-c", "pass"],
    "import longwave": ["-c", "import longwave"],
    "longwave.Index": ["-c", "import longwave; longwave.Index"],
    "longwave --help": ["-m", "longwave", "--help"],
}


def timed(arguments, runs):
    """Median seconds of the clock and of the processor of a new process."""
    clock, processor = [], []
    for _ in range(runs):
        before, start = os.times(), time.perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
        clock.append(time.perf_counter() - start)
        after = os.times()
        spent = (after.children_user - before.children_user) + (after.children_system - before.children_system)
        processor.append(spent)
    return {"seconds": statistics.median(clock), "processor_seconds": statistics.median(processor)}


def slowest(count=5):
    """What `-X importtime` says takes longest of `import longwave`, with all that it imports: milliseconds by name."""
    command = [sys.executable, "-X", "importtime", "-c", "import longwave"]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    rows = [(int(own) / 1000, name) for own, name in re.findall(r"\|\s+(\d+) \|\s+(\S+)$", told, re.MULTILINE)]
    return {name: own for own, name in sorted(rows, reverse=True)[:count]}


def main(runs=15):
    add = measure.recorder("importing", runs=runs)
    for name, arguments in WAYS.items():
        add(name, **timed(arguments, runs))
    add("slowest of import longwave, milliseconds", **slowest())


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
