"""The walk on the graph against dense matrices, all rows of the basis, and the exact solution."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import longwave as lw
import oracle
from longwave.search.queries import Queries
from longwave.solvers import System
from longwave.solvers.graph_walk import Ground, Walking, walk
from longwave.spectrum import Spectrum
from longwave.spectrum.basis import Basis
from settings import paper_index

FILTER, SPECTRAL = lw.LowPass(0.95), lw.Spectral()
# Everything that y can reach is expanded.
EVERYWHERE = Walking(least=1e9, most=1e9, local=0)
EXACT = replace(EVERYWHERE, local=1, sweeps=5000, tolerance=1e-7)


@pytest.fixture(scope="module")
def index(digits_split):
    return lw.Index.build(digits_split[0], k=10, spectrum=lw.Chebyshev(60), fast=False, progress=False)


@pytest.fixture(scope="module")
def observed(index, digits_split):
    return index.observe(Queries.make(digits_split[2][:40], dimension=64))


@pytest.fixture(scope="module")
def apart(hard_vectors):
    """Components large and small, isolated vertices; a dense part and sparse columns."""
    most = np.r_[0:60, 95 : len(hard_vectors) - 1]
    built = paper_index(hard_vectors[most], k=8, spectrum=lw.Exact(20), balanced=True)
    assert built.spectrum.eigenvectors.n_dense
    assert built.spectrum.eigenvectors.sparse.shape[1]
    assert built.spectrum.kinds.any()
    return built


def one(observed, query):
    span = slice(observed.indptr[query], observed.indptr[query + 1])
    return observed.indices[span], observed.data[span]


def as_row(vertices, y, n):
    return sp.csr_array((np.asarray(y, dtype=np.float32), (np.zeros(len(vertices), dtype=int), vertices)), shape=(1, n))


def close(got, want, scale=None, tolerance=2e-5):
    np.testing.assert_allclose(got, want, rtol=0, atol=tolerance * (np.abs(want).max() if scale is None else scale))


@pytest.mark.parametrize("filter", [FILTER, lw.Heat(5.0)], ids=str)
@pytest.mark.parametrize("solver", [SPECTRAL, lw.Spectral(complement=False)], ids=str)
def test_expanding_all_gives_the_spectral_scores(index, observed, filter, solver):
    ground, want = Ground(index.system), solver(index.system, observed, filter).scores
    for query in range(5):
        found = walk(ground, *one(observed, query), filter, solver, count=len(index), walking=EVERYWHERE)
        reached = np.flatnonzero(want[query])
        assert np.all(np.diff(found.targets) > 0)
        assert set(reached) <= set(found.targets)
        close(found.scores, want[query][found.targets], np.abs(want[query]).max())


def test_it_is_a_stand_in_for_a_search_over_the_basis(index, observed):
    near = np.arange(0, len(index), 50)
    dense = SPECTRAL(index.system, observed, FILTER).scores
    searched = replace(index, searches=(None,) * len(index.spectrum.eigenvectors.parts)).system
    for query in range(10):
        targets, scores = SPECTRAL.candidates(searched, observed[[query]], FILTER, count=30, more=near)
        found = walk(
            Ground(index.system), *one(observed, query), FILTER, SPECTRAL, count=30, more=near, walking=EVERYWHERE
        )
        assert set(near) <= set(found.targets)
        assert set(np.argsort(-dense[query])[:30]) <= set(found.targets)
        close(found.scores[np.isin(found.targets, targets)], scores[np.isin(targets, found.targets)])


def test_solving_on_all_gives_the_exact_solution(index, observed):
    """Against dense matrices, balanced; for other filters the scores stay those of the basis."""
    ground, dense = Ground(index.system), index.graph.normalized.toarray().astype(np.float64)
    want = oracle.linear_system(dense, observed[:5].toarray().astype(np.float64), 0.95) * index.system.gains
    for query in range(5):
        found = walk(ground, *one(observed, query), FILTER, SPECTRAL, count=len(index), walking=EXACT)
        assert found.expanded == found.seen
        close(found.scores, want[query][found.targets], np.abs(want[query]).max())
        assert set(np.flatnonzero(want[query] > 1e-12)) <= set(found.targets)
    heat = lw.Heat(5.0)
    found = walk(ground, *one(observed, 0), heat, SPECTRAL, count=20, walking=Walking(margin=0.5))
    close(found.scores, SPECTRAL(index.system, observed[:1], heat).scores[0][found.targets])
    assert found.sweeps == 0


def test_a_short_walk_is_nearer_to_the_exact_solution_than_the_basis(index, observed):
    exact = lw.ConjugateGradient(1e-8)(index.system, observed, lw.LowPass(0.99)).scores
    spectral = SPECTRAL(index.system, observed, lw.LowPass(0.99)).scores
    shared = {"basis": [], "walk": []}
    seen = 0
    for query in range(observed.shape[0]):
        best = np.argsort(-exact[query])[:20]
        found = walk(Ground(index.system), *one(observed, query), lw.LowPass(0.99), SPECTRAL, count=20)
        own = found.targets[np.argsort(-found.scores)[:20]]
        shared["walk"].append(len(np.intersect1d(own, best)))
        shared["basis"].append(len(np.intersect1d(np.argsort(-spectral[query])[:20], best)))
        seen += found.seen
    assert np.mean(shared["walk"]) > np.mean(shared["basis"]) + 1
    assert seen < 0.4 * len(index) * observed.shape[0]


def test_the_margin_and_the_bounds_say_how_far_it_goes(index, observed):
    ground = Ground(index.system)

    def expanded(**how):
        found = walk(ground, *one(observed, 7), FILTER, SPECTRAL, count=40, walking=Walking(**how))
        return found.expanded

    assert 40 <= expanded(margin=1.0) <= expanded(margin=0.7) <= expanded(margin=0.3, most=1e9)
    assert 200 <= expanded(margin=1.0, least=5) < 400
    assert expanded(margin=0.0, most=5) == 200 < expanded(margin=0.0, most=10) <= 400


@pytest.mark.parametrize("kind", ["float16", "int8"])
def test_rows_in_fewer_bytes(index, observed, kind):
    """The scores are those of the decoded rows; a large y does not overflow."""
    packed = index.compress(basis=kind).system
    want = SPECTRAL(packed, observed, FILTER).scores
    for query, factor in ((0, 1.0), (1, 1e6), (2, 1e-6)):
        vertices, y = one(observed, query)
        found = walk(Ground(packed), vertices, factor * y, FILTER, SPECTRAL, count=2000, walking=EVERYWHERE)
        close(found.scores / factor, want[query][found.targets], tolerance=1e-4)


def test_components_apart(apart):
    """y in one component, in several, on isolated vertices, and in all at once."""
    system, ground, n = apart.system, Ground(apart.system), len(apart.vectors)
    dense = apart.graph.normalized.toarray().astype(np.float64)
    firsts = [np.flatnonzero(apart.graph.labels == label)[0] for label in range(len(apart.graph.component_sizes))]
    starts = [[v] for v in firsts] + [firsts, firsts[::2]]
    for vertices in map(np.sort, starts):
        y = np.linspace(1, 2, len(vertices)).astype(np.float32)
        row = as_row(vertices, y, n)
        near = np.array([0, n - 1, *vertices[:1]])  # some of what y touches, some that nothing reaches
        want = SPECTRAL(system, row, FILTER).scores[0]
        found = walk(ground, vertices, y, FILTER, SPECTRAL, count=n, more=np.unique(near), walking=EVERYWHERE)
        close(found.scores, want[found.targets], np.abs(want).max())
        assert {*np.flatnonzero(want), *vertices, 0, n - 1} <= set(found.targets)
        assert len(np.unique(found.targets)) == len(found.targets)
        solved = walk(ground, vertices, y, FILTER, SPECTRAL, count=n, walking=EXACT)
        exact = oracle.linear_system(dense, row.toarray().astype(np.float64), 0.95)[0] * system.gains
        close(solved.scores, exact[solved.targets], np.abs(exact).max())
    assert not any(scratch.waves.any() for scratch in ground._free)  # ready for the next


def test_the_largest_component_alone(hard_vectors):
    """What lies outside of the basis is copied (§8.1)."""
    index = paper_index(hard_vectors[:60], k=4, spectrum=lw.Exact(20), components="giant")
    copied = np.flatnonzero(index.spectrum.kinds == 2)
    ground = Ground(index.system)
    for vertices in (np.arange(3), *(copied[:1],) * bool(len(copied))):
        y = np.ones(len(vertices), dtype=np.float32)
        want = SPECTRAL(index.system, as_row(vertices, y, len(index.vectors)), FILTER).scores[0]
        found = walk(ground, vertices, y, FILTER, SPECTRAL, count=60, walking=EVERYWHERE)
        close(found.scores, want[found.targets])


def test_a_sparse_basis(digits_split, observed):
    """No dense part at all: the walk reads sparse rows."""
    index = paper_index(digits_split[0], k=10, spectrum=lw.Chebyshev(60), sparsity=0.5)
    assert not index.spectrum.eigenvectors.parts
    want = SPECTRAL(index.system, observed, FILTER).scores
    found = walk(Ground(index.system), *one(observed, 3), FILTER, SPECTRAL, count=2000, walking=EVERYWHERE)
    close(found.scores, want[3][found.targets])


def test_items_outside_of_the_graph(index, digits_split):
    """All that hang on what was found are found; with the solve their scores are combinations of solved ones."""
    grown = index.extend(digits_split[2][100:130])
    y = grown.observe(Queries.make(digits_split[2][:3], dimension=64))
    ground, n = Ground(grown.system), index.graph.n_vertices
    exact = lw.ConjugateGradient(1e-9)(grown.system, y, FILTER).scores
    spectral = SPECTRAL(grown.system, y, FILTER).scores
    for query in range(3):
        for how, want in ((EVERYWHERE, spectral[query]), (EXACT, exact[query])):
            found = walk(ground, *one(y, query), FILTER, SPECTRAL, count=2000, walking=how)
            inside = found.targets[found.targets < n]
            hanging = n + np.flatnonzero(np.diff(grown.added.psi[:, inside].indptr))
            assert set(hanging) == set(found.targets[found.targets >= n])
            assert len(hanging) > 10
            assert np.all(np.delete(want[n:], hanging - n) <= 1e-6)
            close(found.scores, want[found.targets], np.abs(want).max())
        mask = np.arange(n + 30) % 2 == 0
        found = walk(ground, *one(y, query), FILTER, SPECTRAL, count=20, allowed=mask)
        assert mask[found.targets].all()


def test_only_the_best_outside_of_the_graph_are_scored(index, digits_split):
    """Where many hang on what was found, those that may be among the best are taken, and those asked for."""
    grown = index.extend(digits_split[2][20:180])
    y = grown.observe(Queries.make(digits_split[2][:20], dimension=64))
    ground, n = Ground(grown.system), index.graph.n_vertices
    spectral = SPECTRAL(grown.system, y, FILTER).scores
    some = 0
    for query in range(20):
        found = walk(ground, *one(y, query), FILTER, SPECTRAL, count=10, more=np.array([n + 7]), walking=EVERYWHERE)
        assert n + 7 in found.targets
        assert np.count_nonzero(found.targets >= n) <= 21
        best = np.argsort(-spectral[query])[:10]
        assert set(best) <= set(found.targets)
        some += np.count_nonzero(best >= n)
    assert some > 5


def test_a_mask_is_walked_through(index, observed):
    """What is not allowed leads to what is, and is not returned, also where y has it."""
    ground = Ground(index.system)
    want = SPECTRAL(index.system, observed, FILTER).scores
    for query in range(6):
        vertices, y = one(observed, query)
        mask = np.arange(len(index)) % 4 == 0
        mask[vertices] = False
        far = Walking(margin=1.0, most=1e9, local=0)
        found = walk(ground, vertices, y, FILTER, SPECTRAL, count=20, allowed=mask, more=vertices, walking=far)
        assert mask[found.targets].all()
        allowed = np.flatnonzero(mask)
        best = allowed[np.argsort(-want[query][allowed])[:20]]
        assert len(np.intersect1d(best, found.targets)) >= 18
        close(found.scores, want[query][found.targets], np.abs(want[query]).max())
    nothing = walk(ground, vertices, y, FILTER, SPECTRAL, count=5, allowed=np.zeros(len(index), dtype=bool))
    assert not len(nothing.targets)


def test_examples_that_are_not_wanted(index, observed):
    """y below 0: the scores are those of the basis, and of the exact solution, and the best are found."""
    vertices, y = one(observed, 4)
    away = np.setdiff1d(one(observed, 5)[0], vertices)[:3]
    both = np.concatenate([vertices, away])
    order = np.argsort(both)
    signed = np.concatenate([y, -np.ones(len(away), dtype=np.float32)])[order]
    row = as_row(both[order], signed, index.graph.n_vertices)
    for how, solver in ((EVERYWHERE, SPECTRAL), (EXACT, lw.ConjugateGradient(1e-9))):
        want = solver(index.system, row, FILTER).scores[0]
        found = walk(Ground(index.system), both[order], signed, FILTER, SPECTRAL, count=2000, walking=how)
        close(found.scores, want[found.targets])
    only = walk(Ground(index.system), away, -np.ones(len(away), dtype=np.float32), FILTER, SPECTRAL, count=10)
    assert len(only.targets) >= 10
    assert np.isfinite(only.scores).all()


def test_no_observation_at_all(index):
    nobody = np.zeros(0, dtype=np.int64)
    found = walk(Ground(index.system), nobody, np.zeros(0, dtype=np.float32), FILTER, SPECTRAL, count=10)
    assert not len(found.targets)
    found = walk(Ground(index.system), nobody, np.zeros(0), FILTER, SPECTRAL, count=10, more=np.array([3, 9]))
    assert found.targets.tolist() == [3, 9]
    assert not found.scores.any()


def test_threads_give_the_serial_answers(index, apart, observed):
    for place, y in (
        (index, observed),
        (apart, apart.observe(Queries.make(apart.vectors.rows(slice(40)), dimension=12))),
    ):
        ground = Ground(place.system)

        def answer(query, ground=ground, y=y):
            return walk(ground, *one(y, query % y.shape[0]), FILTER, SPECTRAL, count=10)

        serial = [answer(query) for query in range(40)]
        with ThreadPoolExecutor(8) as pool:
            together = list(pool.map(answer, range(400)))
        for query, found in enumerate(together):
            np.testing.assert_array_equal(found.targets, serial[query % 40].targets)
            np.testing.assert_array_equal(found.scores, serial[query % 40].scores)
        assert 1 <= len(ground._free) <= 8


def test_stamps_start_again(index, observed):
    ground = Ground(index.system)
    before = walk(ground, *one(observed, 0), FILTER, SPECTRAL, count=10)
    ground._free[0].walks = (1 << 31) - 2
    for _ in range(3):
        again = walk(ground, *one(observed, 0), FILTER, SPECTRAL, count=10)
        np.testing.assert_array_equal(again.scores, before.scores)
    assert ground._free[0].walks == 2


def test_a_share_of_the_short_waves(index, observed):
    """local=0.5 lies half way between the basis and the exact solution, for everything that was seen."""
    ground, own = Ground(index.system), one(observed, 3)
    basis, exact, half = (
        walk(ground, *own, FILTER, SPECTRAL, count=len(index), walking=replace(EXACT, local=local))
        for local in (0, 1, 0.5)
    )
    assert np.array_equal(basis.targets, exact.targets)
    assert np.array_equal(basis.targets, half.targets)
    assert np.abs(basis.scores - exact.scores).max() > 1e-2 * exact.peak
    close(half.scores, (basis.scores + exact.scores) / 2)
    with pytest.raises(lw.errors.InputError, match="local must be from 0"):
        lw.BestFirst(local=1.5)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 40), st.floats(0.0, 0.4), st.booleans(), st.floats(0.0, 0.99))
def test_any_graph(seed, n, density, balanced, alpha):
    """Random graphs, with whatever components and isolated vertices they have, y of any sign."""
    rng = np.random.default_rng(seed)
    weights = np.triu(rng.random((n, n)) * (rng.random((n, n)) < density), 1)
    matrix = oracle.normalized(weights + weights.T)
    values, basis = np.linalg.eigh(matrix)
    spectrum = Spectrum(
        values,
        Basis.from_dense(basis),
        np.zeros(n),
        np.ones(n, dtype=np.float32),
        None,
        np.zeros(n, dtype=np.uint8),
    )
    gains = rng.uniform(0.5, 2, n).astype(np.float32) if balanced else None
    system = System(sp.csr_array(matrix.astype(np.float32)), spectrum, gains=gains)
    vertices = np.sort(rng.choice(n, size=rng.integers(1, n + 1), replace=False))
    y = rng.normal(size=len(vertices)).astype(np.float32)
    dense = np.zeros((1, n))
    dense[0, vertices] = y
    want = oracle.linear_system(matrix, dense, alpha)[0] * (1 if gains is None else gains)
    for how in (EVERYWHERE, EXACT, Walking()):
        found = walk(Ground(system), vertices, y, lw.LowPass(alpha), SPECTRAL, count=n, walking=how)
        np.testing.assert_allclose(found.scores, want[found.targets], atol=2e-4)
        assert set(vertices) <= set(found.targets)
        missed = np.setdiff1d(np.arange(n), found.targets)
        assert how == Walking() or not np.abs(want[missed]).max(initial=0) > 1e-9


def test_a_chain_where_every_round_finds_two_more():
    """Points on a circle, each joined with the next. Far from the query, scores are less than errors of the basis."""
    angles = np.arange(4000) * 2 * np.pi / 4000
    index = lw.Index.build(np.stack([np.cos(angles), np.sin(angles)], axis=1), k=2, progress=False)
    hits = index.search(np.array([1.0, 0.0]), 500)
    assert hits.route == "sublinear"
    away = np.minimum(hits.ids[0], 4000 - hits.ids[0])
    assert away[:60].max() <= 30
    assert len(np.unique(hits.ids[0])) == 500
