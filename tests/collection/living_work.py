"""A collection that is changed in every way, one step after the other, by number: any process can repeat it.

    python living_work.py write FOLDER SECONDS SEED       changes it, and prints a line for each step: version, answer
    python living_work.py read FOLDER SECONDS             follows the writer, and prints what it has seen

An answer stands for the whole state: the ids, and the hits of a query with their scores.
"""

import sys
import time
import zlib
from pathlib import Path

import numpy as np

import longwave as lw

sys.path.insert(0, str(Path(__file__).parent))

from living_samples import vectors

QUERY = vectors(1, 99)


def answer(living):
    """One number for all that a reader can see."""
    index = living.index
    hits = index.search(QUERY, 10)
    seen = np.sort(index.ids).tobytes() + hits.ids.tobytes() + np.round(hits.scores, 4).tobytes()
    return zlib.crc32(seen)


def step(living, number):
    """The change of this number; every kind has its turn."""
    kinds = ("add", "remove", "replace", "change", "add", "compact", "refresh")
    ids, kind = np.sort(living.index.ids), kinds[number % len(kinds)]
    if kind == "add":
        living.add(vectors(3, number), metadata={"n": np.arange(3)})
    elif kind == "remove":
        living.remove(ids[:2] if len(ids) > 45 else ids[:1])
    elif kind == "replace":
        living.replace(vectors(2, number), ids=ids[-2:])
    elif kind == "change":  # some are called otherwise, one of them as the one that goes
        living.change(vectors(1, number), remove=ids[5:6], rename={ids[6]: ids[5], ids[-2]: ids[-1] + 50})
    elif kind == "compact":
        living.compact(keep=2, grace=1.0)
    else:
        living.refresh(progress=False)
    return kind


def write(path, seconds, seed):
    until, number = time.monotonic() + seconds, seed
    with lw.open(path) as living:
        print(living.version, answer(living), "open", flush=True)
        while number < seed + 8 or time.monotonic() < until:
            number += 1
            kind = step(living, number)
            print(living.version, answer(living), kind, flush=True)


def read(path, seconds):
    until, asked = time.monotonic() + seconds, 0
    with lw.open(path) as living:
        while asked < 5 or time.monotonic() < until:
            asked += 1
            print(living.version, answer(living), flush=True)
            living.reload()
            if asked % 10 == 0:  # as another process would find it
                with lw.open(path, verify=True) as other:
                    print(other.version, answer(other), flush=True)


if __name__ == "__main__":
    what, folder, *numbers = sys.argv[1:]
    {"write": write, "read": read}[what](Path(folder), *(float(n) if i == 0 else int(n) for i, n in enumerate(numbers)))
