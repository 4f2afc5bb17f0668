"""Small collections for tests, built once and copied."""

import shutil
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import numpy as np

import longwave as lw

DIMENSION = 8


def vectors(count, seed):
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(0).standard_normal((4, DIMENSION))
    return (centres[rng.integers(4, size=count)] + 0.5 * rng.standard_normal((count, DIMENSION))).astype(np.float32)


@cache
def _folder(kind):
    path = Path(mkdtemp()) / f"{kind}.longwave"
    options = {"k": 6, "spectrum": lw.Exact(), "progress": False}
    if kind == "regional":
        groups = np.repeat(np.arange(20), 2)
        lw.create(path, vectors(40, 1), groups=groups, metadata={"n": np.arange(20)}, **options).close()
    elif kind == "strings":
        names = [f"item {i}" for i in range(40)]
        lw.create(path, vectors(40, 1), ids=names, metadata={"n": np.arange(40)}, **options).close()
    elif kind == "copies":  # some vectors twice: one vertex for both
        rows = vectors(40, 1)
        rows[30:] = rows[:10]
        lw.create(path, rows, metadata={"n": np.arange(40)}, **options).close()
    else:
        lw.create(path, vectors(40, 1), metadata={"n": np.arange(40)}, **options).close()
    return path


def copy(kind, folder):
    """A fresh copy of a small collection of this kind."""
    return Path(shutil.copytree(_folder(kind), Path(folder) / "c.longwave"))


def start(kind):
    """The model of the same: the rows of every id, and its metadata."""
    rows = vectors(40, 1)
    if kind == "regional":
        return {i: (rows[2 * i : 2 * i + 2], i) for i in range(20)}
    if kind == "copies":
        rows[30:] = rows[:10]
    name = (lambda i: f"item {i}") if kind == "strings" else int
    return {name(i): (rows[i : i + 1], i) for i in range(40)}
