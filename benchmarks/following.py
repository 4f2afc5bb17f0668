"""An index of pictures follows its folder: 1,000 photographs of the Oxford buildings, and what `longwave add` costs.

    python -m benchmarks.following WORKDIR

A copy of the photographs is built once, without three of them. Then the command, each time in a process of its own:
with nothing new, with one new picture, with ten renamed, with every file read, and with all of them moved to another
place in the folder. Seconds of the clock and of the processors (of all processes); medians of three where there are
three. `info` tells what a command takes that does nothing.
"""

import os
import re
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks import measure
from benchmarks.pictures import PICTURES


def timed(*arguments):
    """Run a command of Longwave: its last line, seconds, seconds of processors."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-m", "longwave", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = sum(getattr(after, name) - getattr(before, name) for name in ("ru_utime", "ru_stime"))
    told = done.stdout.splitlines()[-1]
    return re.sub(r"^.*?: |, [\d.]+ s$", "", told), time.perf_counter() - start, busy


def main(workdir):
    folder = Path(workdir)
    photos, index, encoder = folder / "photos", folder / "oxford.longwave", folder / "lite0.onnx"
    shutil.rmtree(folder, ignore_errors=True)
    photos.mkdir(parents=True)
    names = sorted(path.name for path in PICTURES.iterdir())
    later = names[100::300][:3]
    for name in names:
        if name not in later:
            shutil.copy2(PICTURES / name, photos)
    add = measure.recorder("following-oxford", pictures=len(names))

    def record(part, runs):
        times = {"seconds": [run[1] for run in runs], "processor_seconds": [run[2] for run in runs]}
        medians = {name: round(float(np.median(values)), 2) for name, values in times.items()}
        add(part, told=runs[-1][0], **medians, load=round(os.getloadavg()[0], 1))

    timed("encoder", "-o", encoder)
    record("build", [timed("build", "--images", photos, "--encoder", encoder, "-o", index)])
    record("nothing new", [timed("add", index) for _ in range(3)])
    runs = []
    for name in later:
        shutil.copy2(PICTURES / name, photos)
        runs.append(timed("add", index))
    record("one new", runs)
    runs = []
    for turn in range(3):
        for path in sorted(photos.iterdir())[100 * turn : 100 * turn + 10]:
            path.rename(photos / f"renamed-{turn}-{path.name}")
        runs.append(timed("add", index))
    record("ten renamed", runs)
    record("nothing new, all files read", [timed("add", index, "--by-content")])
    photos.rename(folder / "all")
    photos.mkdir()
    (folder / "all").rename(photos / "all")
    record("all moved", [timed("add", index, "--sync")])
    record("info", [timed("info", index) for _ in range(3)])


if __name__ == "__main__":
    main(sys.argv[1])
