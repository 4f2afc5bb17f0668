"""The iterative methods with blocks of rows on a cluster: the same pairs."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from longwave import Chebyshev, Simultaneous
from longwave.cluster import InProcess, operations
from longwave.cluster.operations import Distributed
from longwave.cluster.pieces import Kept
from longwave.cluster.sparse import spread
from longwave.spectrum import chebyshev
from longwave.spectrum.density import density_of_states
from longwave.spectrum.method import Run
from longwave.spectrum.operations import Local

STARTS = np.array([0, 400, 900, 1100, 1597])


@pytest.fixture(scope="module")
def matrix(digits_split):
    """𝒲 of the largest component of the digits, k = 20."""
    from longwave.graph import mutual
    from longwave.graph.lists import nearest_others
    from longwave.graph.weights import Power
    from longwave.rows.vectors import normalize

    graph = mutual.build(nearest_others(normalize(digits_split[0]), k=20), kernel=Power(3.0))
    giant = np.flatnonzero(graph.labels == 0)
    return sp.csr_array(graph.normalized[giant][:, giant])


def distributed(cluster, matrix, kept=None):
    starts = np.minimum(STARTS, matrix.shape[0])
    rows = [cluster.put(sp.csr_array(matrix[a:b])) for a, b in pairwise(starts)]
    return Distributed(spread(cluster, rows, starts), kept)


def whole(block):
    return np.vstack(block.cluster.gather(block.rows))


def test_what_an_engine_does(engine):
    value = engine.put(np.arange(3))
    assert engine.gather([engine.submit(np.sum, value), engine.submit(np.add, value, 1)])[0] == 3
    for count in (1, 2, 3):
        parts = engine.submit(np.array_split, value, count, parts=count)
        assert [part.tolist() for part in engine.gather(parts)] == [
            p.tolist() for p in np.array_split(np.arange(3), count)
        ]
    with pytest.raises(ValueError, match="cannot reshape"):
        engine.gather([engine.submit(np.reshape, value, (2, 2))])


@pytest.mark.parametrize("panel", [7, 128])
def test_every_operation_is_that_of_one_process(matrix, panel, monkeypatch):
    monkeypatch.setattr(operations, "PANEL", panel)
    there, here = distributed(InProcess(), matrix), Local(matrix)
    block, _ = there.start(30, 1)
    same = whole(block)
    np.testing.assert_allclose(whole(there.multiply(block)), here.multiply(same), atol=1e-5)
    told = []
    polynomial = {"lower": -0.6, "cut": 0.7, "degree": 9}
    filtered = there.filter(block, locked=4, progress=told.append, **polynomial)
    expected = here.filter(same.copy(), locked=4, progress=lambda share: None, **polynomial)
    np.testing.assert_allclose(whole(filtered), expected, atol=1e-5)
    assert told[-1] == 1
    q, products = there.orthonormalize(block, locked=0)
    q, products = there.orthonormalize(there.filter(q, locked=5, progress=told.append, **polynomial), locked=5)
    unit = whole(q).astype(np.float64)
    np.testing.assert_allclose(unit.T @ unit, np.eye(30), atol=1e-5)
    np.testing.assert_allclose(products, np.eye(25), atol=1e-5)
    expected, values, residuals = here.rayleigh_ritz(whole(q).copy(), products.copy(), locked=5)
    turned, got, left = there.rayleigh_ritz(q, products, locked=5)
    np.testing.assert_allclose(got, values, atol=1e-6)
    np.testing.assert_allclose(left, residuals, atol=1e-5)
    np.testing.assert_allclose(np.abs(np.sum(whole(turned) * expected, axis=0)), 1, atol=1e-3)
    np.testing.assert_array_equal(whole(there.take(q, np.array([3, 1]))), whole(q)[:, [3, 1]])


def test_columns_that_depend_on_others_get_a_direction_of_their_own(matrix):
    there = distributed(InProcess(), matrix)
    block, _ = there.start(6, 0)
    twice = there.take(block, np.array([0, 1, 2, 0, 1, 2]))
    block, products = there.orthonormalize(twice, locked=0)
    unit = whole(block).astype(np.float64)
    np.testing.assert_allclose(unit.T @ unit, products, atol=1e-4)
    assert np.linalg.eigvalsh(products)[0] > 0.8


def test_density(matrix):
    one, other = (density_of_states(make(matrix), seed=3) for make in (Local, lambda m: distributed(InProcess(), m)))
    assert other.eigenvalue(100) == pytest.approx(one.eigenvalue(100), abs=0.01)


METHODS = [Chebyshev(40, tolerance=1e-5), Simultaneous(10, oversampling=50, rounds=60)]


@pytest.mark.slow  # thousands of small calls; `test_cluster_build` has a whole build on every engine
@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_methods_find_the_same_pairs_on_workers(method, matrix, workers, monkeypatch):
    find_the_same(method, matrix, workers, monkeypatch)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_methods_find_the_same_pairs(method, matrix, monkeypatch):
    find_the_same(method, matrix, InProcess(), monkeypatch)


def find_the_same(method, matrix, engine, monkeypatch):
    monkeypatch.setattr(chebyshev, "_DENSE_VERTICES", 0)
    here, there = method(matrix), method.iterate(distributed(engine, matrix))
    kept = 40 if isinstance(method, Chebyshev) else 3
    np.testing.assert_allclose(there.eigenvalues[:kept], here.eigenvalues[:kept], atol=1e-5)
    tall = there.eigenvectors.parts[0].values
    u, v = here.eigenvectors.toarray()[:, :kept].astype(np.float64), whole(tall)[:, :kept].astype(np.float64)
    gains = 0.01 / (1 - 0.99 * here.eigenvalues[:kept])
    assert np.linalg.norm(u * gains @ u.T - v * gains @ v.T) < 1e-3 * np.linalg.norm(gains)
    np.testing.assert_allclose(there.row_norms, np.linalg.norm(whole(tall), axis=1), atol=1e-5)


@pytest.mark.filterwarnings("ignore::longwave.errors.ConvergenceWarning")
def test_rounds_are_kept_by_the_workers_and_go_on(matrix, tmp_path, monkeypatch):
    from longwave.storage.checkpoints import Checkpoint

    monkeypatch.setattr(chebyshev, "_DENSE_VERTICES", 0)
    (tmp_path / "rounds").mkdir()
    there = distributed(InProcess(), matrix, Kept(InProcess(), tmp_path / "rounds"))
    run = Run(checkpoint=Checkpoint(tmp_path))
    Chebyshev(40, tolerance=1e-6, max_rounds=1).iterate(there, run)
    assert len(list((tmp_path / "rounds").glob("*.npy"))) == 4
    assert max(path.stat().st_size for path in tmp_path.glob("*.npy")) < 2000  # this process has written names alone
    resumed = Chebyshev(40, tolerance=1e-6).iterate(there, run)
    straight = Chebyshev(40, tolerance=1e-6).iterate(there)
    np.testing.assert_array_equal(resumed.eigenvalues, straight.eigenvalues)
