"""embed and kernel write what the library computes."""

import numpy as np
import pytest

import longwave as lw
from commands import run


@pytest.fixture(scope="module")
def folder(tmp_path_factory, digits_split):
    place = tmp_path_factory.mktemp("embedding")
    index = lw.Index.build(digits_split[0][:300], k=10, spectrum=lw.Exact(40), progress=False)
    index.save(place / "d.longwave")
    np.save(place / "q.npy", digits_split[2][:7])
    return place


def test_embed(folder):
    index = lw.Index.load(folder / "d.longwave")
    code, out, err = run("embed", "d.longwave", "-o", "items.npy", "--filter", "heat:5", cwd=folder)
    assert (code, err) == (0, "")
    assert out == f"items.npy: 300 × {index.spectrum.rank} numbers\n"
    np.testing.assert_array_equal(np.load(folder / "items.npy"), index.embedding(filter=lw.Heat(5)))
    code, _, err = run("embed", "d.longwave", "q.npy", "-o", "q.csv", "--neighbors", 3, cwd=folder)
    assert (code, err) == (0, "")
    ours = np.loadtxt(folder / "q.csv", delimiter=",")
    np.testing.assert_allclose(ours, index.embed(np.load(folder / "q.npy"), neighbors=3), rtol=1e-6)


def test_kernel(folder):
    index, queries = lw.Index.load(folder / "d.longwave"), np.load(folder / "q.npy")
    code, _, err = run("kernel", "d.longwave", "q.npy", "q.npy", "-o", "k.npy", cwd=folder)
    assert (code, err) == (0, "")
    np.testing.assert_array_equal(np.load(folder / "k.npy"), index.kernel(queries, queries))


def test_refusals(folder):
    code, _, err = run("embed", "d.longwave", "-o", "items.json", cwd=folder)
    assert code == 1
    assert "the suffix must be one of .npy, .csv" in err
    code, _, err = run("embed", "d.longwave", "-o", "a.npy", "--neighbors", 3, cwd=folder)
    assert code == 1
    assert "--neighbors is for VECTORS" in err
