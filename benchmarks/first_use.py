"""A fresh install: how long do the first build and the first search take, and how long once loops are compiled?

    python -m benchmarks.first_use

1,797 digits, of which all pairs are kept, and 5,000 pictures of Fashion-MNIST, which are walked. Each run is a process
of its own: with an empty folder for compiled code, then again with what the first has left there. And a process that
only loads the index and asks it, with an empty folder again. Imports are not counted.
"""

import json
import os
import subprocess
import sys
import tempfile
import time

from benchmarks import measure

COLLECTIONS = ("digits", "fashion")


def vectors_of(name):
    from longwave.datasets import digits, fashion_mnist

    return digits().vectors if name == "digits" else fashion_mnist().vectors[:5000]


def timed(work):
    began = time.perf_counter()
    made = work()
    return made, time.perf_counter() - began


def run(name, path, kind):
    """In a process of its own: seconds of the first build or load, of the first search, and of the next one."""
    from longwave import Index

    vectors, told = vectors_of(name).astype("float32"), {}
    if kind == "load":
        index, told["load"] = timed(lambda: Index.load(path))
    else:
        index, told["build"] = timed(lambda: Index.build(vectors, progress=False))
    for search in ("first_search", "next_search"):
        _, told[search] = timed(lambda: index.search(vectors[0] + 0.1, 10))
    if kind != "load":
        index.save(path, force=True)
    print(json.dumps(told))


def main():
    add = measure.recorder("first-use", load_before=os.getloadavg())
    for name in COLLECTIONS:
        with tempfile.TemporaryDirectory() as folder:
            for number, (title, kind) in enumerate({"fresh": "build", "again": "build", "fresh, load": "load"}.items()):
                cache = f"{folder}/{'kept' if kind == 'build' else number}"
                command = [sys.executable, "-m", "benchmarks.first_use", name, f"{folder}/index", kind]
                done = subprocess.run(
                    command, check=True, capture_output=True, text=True, env={**os.environ, "NUMBA_CACHE_DIR": cache}
                )
                add(f"{name}, {title}", **json.loads(done.stdout.splitlines()[-1]))


if __name__ == "__main__":
    run(*sys.argv[1:]) if sys.argv[1:] else main()
