"""The summary of an index: plain words that say what is so, and a remedy where something is not well."""

from dataclasses import replace

import numpy as np
import pytest

import longwave as lw
from longwave.inspection import summarize

# Words that only those know who have read the paper.
EXPERT = ("eigen", "residual", "component", "vertex", "vertices", "truncat", "‖", "rank ", "λ", "sublinear", "isolated")


def told(index, path):
    index.save(path)
    with lw.open(path) as collection:
        return summarize(collection)


@pytest.fixture(scope="module")
def index(digits_split):
    return lw.Index.build(digits_split[0][:600], progress=False)


def test_all_is_well(index, tmp_path):
    found = told(index, tmp_path / "i")
    assert found["content"] == "600 items, each described by a vector of 64 numbers."
    assert "connected" in found["connections"]
    assert "begins at the 5 vectors nearest to the query" in found["search"]
    assert found["quality"].startswith("The neighbours of each vector are its true nearest ones.")
    assert "searches find 100 % (measured): as good as exact" in found["quality"]
    assert found["what to do"] == f"Nothing: all is well. Search it: longwave search {tmp_path / 'i'} queries.npy"
    assert not [word for word in EXPERT for text in found.values() if word in text]


def test_what_is_not_well_has_a_remedy(index, digits_split, tmp_path):
    worse = replace(index, settings=replace(index.settings, fidelity=0.8, recall=0.9))
    found = told(worse, tmp_path / "worse")
    assert "searches find 80 % (measured): too few" in found["quality"]
    assert "Of the true neighbours of a vector, 90 % are known (measured)." in found["quality"]
    assert f"--rank {2 * index.spectrum.rank}" in found["what to do"]
    assert "--recall 0.99" in found["what to do"]
    bare = told(lw.Index.build(digits_split[0][:300], spectrum=None, progress=False), tmp_path / "bare")
    assert "without --spectrum none" in bare["what to do"]


def test_islands_and_what_stands_alone(tmp_path):
    rng = np.random.default_rng(0)
    one = rng.normal(size=(60, 8)) * 0.1 + np.eye(8)[0]
    two = rng.normal(size=(9, 8)) * 0.1 - np.eye(8)[0]
    found = told(lw.Index.build(np.vstack([one, two]), k=8, progress=False), tmp_path / "i")
    assert found["connections"].startswith("84 % of the vectors are connected with each other")
    assert "Others form 1 island of their own" in found["connections"]
    assert "2 vectors stand alone" in found["connections"]
    alone = told(lw.Index.build(np.eye(12), k=1, progress=False), tmp_path / "alone")
    assert "the largest group of connected vectors has 17 % of them" in alone["connections"]
    assert "more neighbours: --k 2" in alone["what to do"]


def test_a_collection_that_outgrew_its_graph(index, digits_split, tmp_path):
    index.save(tmp_path / "i")
    with lw.open(tmp_path / "i") as collection:
        with pytest.warns(lw.errors.DataWarning, match="outside of the graph"):
            collection.add(digits_split[0][600:1500])
        collection.remove([3])
        found = summarize(collection)
    assert found["changes"].startswith("This is version 3. 60 % of the items came after the graph was made")
    assert "removed" in found["changes"]
    assert f"longwave refresh {tmp_path / 'i'}" in found["what to do"]


def test_a_graph_of_your_own(tmp_path):
    ring = lw.Index.build(graph=[(i, (i + 1) % 30) for i in range(30)], progress=False)
    found = told(ring, tmp_path / "i")
    assert found["content"] == "30 items of a graph of your own, without vectors."
    assert found["connections"].startswith("Every item is connected with every other")
    assert "longwave pagerank" in found["what to do"]
