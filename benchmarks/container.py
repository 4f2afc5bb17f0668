"""What a worker in a container does: build, search, search from 8 threads, search from forked workers.

    python -m benchmarks.container > container.json

Nothing is written but the index, into a temporary folder, and the figures, to stdout. docs/deployment.md has the
command that runs it as another user, without a home, on a file system that is read-only but for one folder.
"""

import json
import multiprocessing
import os
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

import longwave
from benchmarks import measure
from longwave import Chebyshev, Index
from longwave.datasets import fashion_mnist

N, QUERIES, THREADS, WORKERS = 10_000, 400, 8, 4
STATE = {}  # what forked workers find


def each(queries):
    return np.vstack([STATE["index"].search(query).ids for query in queries])


def first_answer(folder):
    """In a new process."""
    STATE["index"] = Index.load(folder)
    each(fashion_mnist().vectors[:1])


def writable(folder):
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


def main():
    figures = {}

    def clock(name, function):
        start = time.perf_counter()
        result = function()
        figures[name] = round(time.perf_counter() - start, 2)
        return result

    images = fashion_mnist().vectors
    vectors, queries = images[:N], images[-QUERIES:]
    index = clock("build", lambda: Index.build(vectors, spectrum=Chebyshev(200), fast=False).accelerate())
    with tempfile.TemporaryDirectory() as folder:
        clock("save", lambda: index.save(Path(folder) / "index"))
        STATE["index"] = clock("load", lambda: Index.load(Path(folder) / "index"))
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            clock("first answer of a new process", lambda: pool.map(first_answer, [Path(folder) / "index"]))
        truth = clock("one thread", lambda: each(queries))
        parts = np.array_split(queries, THREADS)
        with ThreadPoolExecutor(THREADS) as pool:
            threads = clock(f"{THREADS} threads", lambda: np.vstack(list(pool.map(each, parts))))
        with multiprocessing.get_context("fork").Pool(WORKERS) as pool:
            workers = clock(f"{WORKERS} forked workers", lambda: np.vstack(pool.map(each, parts)))
    facts = {
        "user": os.getuid(),
        "home": os.environ.get("HOME"),
        "writable": {
            "/": writable("/"),
            "home": writable(Path.home()),
            "site-packages": writable(Path(np.__file__).parents[1]),
            "longwave": writable(Path(longwave.__file__).parent),
            "temporary": writable(tempfile.gettempdir()),
        },
        "compiled_code_kept": "NUMBA_CACHE_DIR" in os.environ,
        "same_answers": {"threads": bool((threads == truth).all()), "workers": bool((workers == truth).all())},
    }
    print(json.dumps({"machine": measure.machine(), **facts, "seconds": figures}, indent=1))


if __name__ == "__main__":
    main()
