"""The second search by a walk on the graph: best first from the vertices of y, then a solve where the walk has been.

Scores are smooth along the edges. Divided by the root of the degree, f = D^{−1/2} x, they are more than that: outside
of y, (I − α𝒲) x = (1 − α) y says f_i = α Σ_j w_ij f_j / d_i, α times a mean of its neighbours. So f has no peak that is
not in y, everything above a level hangs together with y, and a walk that always goes on from the best vertex seen finds
the best ones first. It reads some hundred rows of U, however many there are, and needs no structure but the graph.
(An index divides by a little more than the root of the degree, `Snapshot.gains`. That changes what hangs by a thread.)

A cut basis has the long waves of x. What it leaves out is of short waves, which a few sweeps of relaxation over the
vertices that were expanded put back, with the spectral values of those around them as given: the answer is nearer to
the solution of 𝓛_α x = y than the spectral one of all n vertices. This is done while the walk goes on, so that it goes
where the solution is large and not where the cut basis is. How much of the short waves the scores keep in the end is a
choice (`Walking.local`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longwave.errors import InputError
from longwave.filters import LowPass
from longwave.rows.encoded import plain, stored_rows
from longwave.solvers.spectral import Spectral, direct_gains
from longwave.solvers.system import System
from longwave.spectrum.spectrum import IN_BASIS, Spectrum
from longwave.types import Array, Filter, Sparse

# No part of U: what y has there is passed on as it is.
_NOWHERE = -1
_NO_NUMBERS: NDArray[np.float32] = np.zeros(0, dtype=np.float32)
_NO_VERTICES: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
#: Instead of a mask: all may be found.
ALL: NDArray[np.bool_] = plain(np.zeros(0, dtype=bool))
#: Numbers that the loops of a walk take: h(0) where y passes on itself, hits, vertices to expand at least and at most,
#: margin, α of the linear system or −1, sweeps, tolerance, how much of the solve is kept.
Limits: TypeAlias = tuple[float, int, int, int, float, float, int, float, float]
# Vertices that are expanded for however few hits: the solve wants some around them.
_LEAST = 32
_KEPT_FILTERS = 8
# Where some targets are not allowed, a walk may go farther than `most`: to so many times the vertices that it would
# expand if the others lay evenly, and so many times the hits at the most. Then it gives up.
_FARTHER, _FARTHEST = 2, 20
#: Bytes for each vertex that walks and the search along links take beside what is stored: part, row, balance, stamps.
WALK_BYTES = 2 + 4 + 4 + 2 * 8
# Walks are counted in the upper half of a stamp.
_LAST_WALK = (1 << 31) - 1


@dataclass(frozen=True)
class Walking:
    """How far a walk goes, and how well it solves.

    margin: it ends when no score at the rim is above margin · that of the last hit. At 1 hardly anything better lies
    beyond, as far as the scores are right; below 1 there is room for their errors. With 100,000 × 512 vectors and 100
    hits, the walk finds .968 of what the same scores of all vertices have at 1, .977 at 0.9 and .983 at 0.8, in 1, 1.14
    and 1.32 times the time; the mAP of five collections is the same to 0.02 points.
    least, most: vertices that are expanded for each hit, at least and at most; on a plateau of equal scores the rule
    alone would go on for ever. local: how much is kept of the short waves, which the basis leaves out and the solve
    of 𝓛_α x = y on the expanded ones puts back, for `LowPass`. At 1 the scores are those of the exact solution, at 0
    those of `Spectral`. The half is better than both, or behind the better one by .02 points of mAP at most, on six
    collections whose basis is cut (`python -m benchmarks.short_waves`): short waves are neighbours, but noise as well.
    sweeps: of relaxation at the end, at most; they stop when no score changes by more than `tolerance` of itself.
    """

    margin: float = 1.0
    least: float = 1.0
    most: float = 10.0
    local: float = 0.5
    sweeps: int = 3
    tolerance: float = 1e-3

    def __post_init__(self) -> None:
        if not 0 <= self.local <= 1:
            raise InputError(f"local must be from 0, scores of the basis, to 1, the exact solution, got {self.local}")
        if not (self.margin >= 0 and 0 <= self.least <= self.most and self.sweeps >= 0 and self.tolerance >= 0):
            raise InputError(f"all numbers of a walk must be at least 0, and `most` at least `least`, got {self!r}")


_DEFAULT = Walking()


@dataclass(frozen=True, eq=False)
class Walked:
    """What a walk found.

    targets: (c,) that may be among the best, ascending. scores: (c,). seen, expanded: vertices that were scored, and
    those whose neighbours were. sweeps: of the solve. peak: the largest score, whether it is allowed or not.
    """

    targets: NDArray[np.int64]
    scores: NDArray[np.float32]
    seen: int
    expanded: int
    sweeps: int
    peak: float


@dataclass(eq=False)
class _Scratch:
    """What a walk writes to, one at a time. stamps: (n,). waves: of the sparse columns, 0 between walks."""

    stamps: NDArray[np.int64]
    waves: NDArray[np.float32]
    walks: int = 0

    def next_walk(self) -> int:
        """The number that this walk stamps vertices with."""
        if self.walks == _LAST_WALK:
            self.stamps[:] = 0
            self.walks = 0
        self.walks += 1
        return self.walks


@dataclass(frozen=True, eq=False)
class Ground:
    """A system as the walk reads it: plain arrays, made once. For systems whose targets are vertices (no pooling).

    Any number of threads may walk at a time. Beside the system it takes 6 bytes for each vertex, and 8 more for every
    thread that has walked while others did.
    """

    system: System
    _free: list[_Scratch] = field(default_factory=list, repr=False)
    _gains: dict[tuple[LowPass, Spectral], tuple[NDArray[np.float32], float]] = field(default_factory=dict, repr=False)

    @cached_property
    def spectrum(self) -> Spectrum:
        """The basis of the system."""
        return self.system.require_spectrum("the walk on the graph")

    @cached_property
    def n(self) -> int:
        """Vertices."""
        return self.spectrum.eigenvectors.n

    @cached_property
    def graph(self) -> tuple[Array, Array, Array]:
        """𝒲 as CSR: ends, columns, weights."""
        matrix = self.system.normalized
        return plain(matrix.indptr), plain(matrix.indices), plain(matrix.data, np.float32)

    @cached_property
    def part_of(self) -> NDArray[np.int16]:
        """The part of U that each vertex is in; the number of parts for the sparse columns, −1 for none. (n,)"""
        basis = self.spectrum.eigenvectors
        out = np.where(self.spectrum.kinds == IN_BASIS, len(basis.parts), _NOWHERE).astype(np.int16)
        for number, part in enumerate(basis.parts):
            out[part.rows] = number
        return out

    @cached_property
    def rows(self) -> list[tuple[Array, Array, Array]]:
        """Every part of U as the loops take it, and the sparse columns. Components of the graph lie within one part."""
        basis = self.spectrum.eigenvectors
        row_of = np.zeros(basis.n, dtype=np.int32)
        for part in basis.parts:
            row_of[part.rows] = np.arange(len(part.rows))
        row_of = plain(row_of)
        parts = []
        for part in basis.parts:
            parts.append((*stored_rows(part.values), row_of))
        sparse = basis.sparse
        return [*parts, (plain(sparse.indptr), plain(sparse.indices), plain(sparse.data, np.float32))]

    @cached_property
    def columns(self) -> list[slice]:
        """The columns of every part in U, those of the sparse ones last."""
        basis = self.spectrum.eigenvectors
        return [*(span for _, span in basis.spans()), slice(basis.n_dense, basis.shape[1])]

    @cached_property
    def balance(self) -> NDArray[np.float32]:
        """What the score of each vertex is multiplied with; (0,) for nothing."""
        return plain(_NO_NUMBERS if self.system.gains is None else self.system.gains)

    @cached_property
    def shares(self) -> Sparse:
        """ψ: the targets outside of the graph as combinations of balanced scores. CSR (a, n)"""
        added = self.system.added
        assert added is not None
        if not len(self.balance):
            return added
        return sp.csr_array((added.data / self.balance[added.indices], added.indices, added.indptr), added.shape)

    @cached_property
    def attached(self) -> tuple[tuple[Array, Array, Array], NDArray[np.float32]]:
        """ψᵀ: the targets that consist of each vertex, CSR (n, a); and the sum of ψ of each target, (a,)."""
        return plain_csr(sp.csr_array(self.shares.T)), plain(np.asarray(self.shares.sum(axis=1)).ravel(), np.float32)

    def gains(self, filter: Filter, solver: Spectral) -> tuple[NDArray[np.float32], float]:
        """What every wave is multiplied with, and h(0). Kept for some filters: it is a tenth of a short walk. (r,)"""
        if not isinstance(filter, LowPass):
            return solver.gains(self.spectrum, filter)
        key = filter, solver
        found = self._gains.get(key)
        if found is None:
            if len(self._gains) >= _KEPT_FILTERS:
                self._gains.clear()
            # What a cut basis lacks is solved for on the way: at a million vectors, where a gap of 1e-5 is all that is
            # left, the first 100 are .93 of the exact ones, and .63 by the basis alone.
            found = self._gains[key] = solver.gains(self.spectrum, filter, warn=False)
        return found

    @cached_property
    def n_dense(self) -> int:
        """Dense parts of U; the sparse columns come behind them."""
        return len(self.rows) - 1

    def borrow(self) -> _Scratch:
        """Something to write to that no other walk has."""
        try:
            return self._free.pop()  # one step of the interpreter: threads need no lock
        except IndexError:
            width = self.spectrum.eigenvectors.sparse.shape[1]
            return _Scratch(np.zeros(self.n, dtype=np.int64), np.zeros(width, dtype=np.float32))

    def give_back(self, scratch: _Scratch) -> None:
        """For the next walk."""
        self._free.append(scratch)


@dataclass(frozen=True, eq=False)
class _Task:
    """What is asked of every part. gains: (r,) of the waves. at_zero: h(0). limits: of the walk."""

    gains: NDArray[np.float32]
    at_zero: float
    complement: bool
    count: int
    allowed: NDArray[np.bool_]
    limits: Limits


@dataclass(frozen=True, eq=False)
class _Piece:
    """What was found in one part. seen: all vertices that were scored, and the score of each."""

    targets: NDArray[np.int64]
    scores: NDArray[np.float32]
    seen: tuple[Array, Array] = (_NO_VERTICES, _NO_NUMBERS)
    expanded: int = 0
    sweeps: int = 0


def limits(ground: Ground, at_zero: float, filter: Filter, count: int, walking: Walking, share: float = 1.0) -> Limits:
    """How far a walk for so many hits goes, as the loops take it. at_zero: what y passes on itself.

    share: of the targets, that are allowed; the fewer, the farther a walk may go. Numbers of one kind, whatever the
    user gave: the loops would be compiled again for each other kind.
    """
    far = max(walking.most, min(_FARTHER * (1 / share - 1), _FARTHEST))
    least, most = (int(min(max(_LEAST, times * count), ground.n)) for times in (walking.least, far))
    alpha = float(filter.alpha) if walking.local > 0 and isinstance(filter, LowPass) else -1.0
    counts = int(min(count, ground.n)), least, max(least, most)
    ending = int(walking.sweeps), float(walking.tolerance), float(walking.local)
    return float(at_zero), *counts, float(walking.margin), alpha, *ending


def plain_csr(matrix: Sparse) -> tuple[Array, Array, Array]:
    """A matrix as the loops take it: ends, columns, entries."""
    return plain(matrix.indptr, np.int64), plain(matrix.indices, np.int64), plain(matrix.data, np.float32)


def ground_of(system: System) -> Ground:
    """The system as walks read it, made once. It has a system that keeps nothing: two that hold each other stay."""
    ground: Ground | None = system.kept.get("ground")
    if ground is None:
        ground = system.kept.setdefault("ground", Ground(replace(system, kept={})))
    return ground


def walk(
    ground: Ground,
    vertices: Array,
    y: Array,
    filter: Filter,
    solver: Spectral,
    *,
    count: int,
    more: NDArray[np.int64] | None = None,
    allowed: NDArray[np.bool_] | None = None,
    share: float = 1.0,
    walking: Walking = _DEFAULT,
) -> Walked:
    """About the best targets, and their scores: the second search.

    vertices, y: (m,) where the observation is not zero, and its values there. Found are about the `count` best of every
    component that y touches and of what was added to the graph, all targets that y touches itself, and `more`.
    allowed: (targets,) mask, and the share that it has; the walk passes through what is not allowed, and returns what
    is. Where few are, it goes far: the caller had better score those alone. Time O(s r) for s vertices seen, whatever n
    is.
    """
    gains, at_zero = ground.gains(filter, solver)
    task = _Task(
        gains,
        at_zero,
        solver.complement,
        count,
        ALL if allowed is None else plain(allowed),
        limits(ground, at_zero if solver.complement else 0.0, filter, count, walking, share),
    )
    values = np.asarray(y, dtype=np.float32)
    near = _NO_VERTICES if more is None else more[more < ground.n]
    part_of, near_part = ground.part_of[vertices], ground.part_of[near]
    parts = sorted({*part_of.tolist(), *near_part.tolist()})
    if len(parts) == 1:  # nearly always
        pieces = [_in_part(ground, task, parts[0], vertices, values, near)]
    else:
        own = [part_of == part for part in parts]
        pieces = [
            _in_part(ground, task, part, vertices[here], values[here], near[near_part == part])
            for part, here in zip(parts, own, strict=True)
        ]
    targets = np.concatenate([_NO_VERTICES, *(piece.targets for piece in pieces)])
    scores = np.concatenate([_NO_NUMBERS, *(piece.scores for piece in pieces)])
    order = np.argsort(targets)
    targets, scores = targets[order], scores[order]
    if ground.system.added is not None:
        behind, outside = _outside(ground, task, vertices, values, pieces, targets, scores, more)
        targets, scores = np.concatenate([targets, behind]), np.concatenate([scores, outside])
    return Walked(
        targets,
        scores,
        sum(len(piece.seen[0]) for piece in pieces),
        sum(piece.expanded for piece in pieces),
        max((piece.sweeps for piece in pieces), default=0),
        max((float(np.abs(known).max(initial=0)) for p in pieces for known in (p.scores, p.seen[1])), default=0.0),
    )


def _in_part(ground: Ground, task: _Task, part: int, vertices: Array, y: Array, near: NDArray[np.int64]) -> _Piece:
    """The best targets of one part of U. vertices, y: (m,), and near: those that are in it."""
    if part == _NOWHERE or not len(vertices):  # isolated, or copied; or nothing reaches the part
        direct = direct_gains(ground.spectrum.kinds[vertices], task.at_zero, complement=task.complement)
        targets = np.concatenate([vertices, np.setdiff1d(near, vertices)]).astype(np.int64)
        scores = np.zeros(len(targets), dtype=np.float32)
        scores[: len(vertices)] = direct * y
        if len(ground.balance):
            scores *= ground.balance[targets]
        kept = task.allowed[targets] if len(task.allowed) else slice(None)
        return _Piece(targets[kept], scores[kept], (targets, scores))
    from longwave.rows import walk_loops

    columns, scratch = ground.columns[part], ground.borrow()
    try:
        targets, scores, seen, values, expanded, sweeps = walk_loops.search_part(
            *ground.graph,
            ground.rows[part],
            np.concatenate([vertices, near]),
            y,
            task.limits,
            task.gains[columns],
            ground.balance,
            task.allowed,
            np.zeros(columns.stop - columns.start, dtype=np.float32) if part < ground.n_dense else scratch.waves,
            scratch.stamps,
            scratch.next_walk(),
        )
    finally:
        ground.give_back(scratch)
    return _Piece(targets, scores, (seen, values), expanded, sweeps)


def _outside(
    ground: Ground,
    task: _Task,
    vertices: Array,
    y: Array,
    pieces: list[_Piece],
    targets: NDArray[np.int64],
    scores: NDArray[np.float32],
    more: NDArray[np.int64] | None,
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The best targets outside of the graph, those of `more` among them, and their scores, ψ f. (c,), (c,)

    targets, scores: what was found of the graph. f is as the walk left it where it has been, and elsewhere spectral.
    """
    from longwave.rows import outside_loops

    near = _NO_VERTICES if more is None else more.astype(np.int64)
    attached, total = ground.attached
    chosen = outside_loops.hanging_on(targets, scores, near, ground.n, task.allowed, attached, total, task.count)
    chosen = np.sort(chosen) - ground.n
    part = sp.csr_array(ground.shares[chosen])  # (c, n)
    places, where = np.unique(part.indices, return_inverse=True)
    if not len(places):
        return chosen + ground.n, np.zeros(len(chosen), dtype=np.float32)
    one = sp.csr_array((y, vertices, [0, len(vertices)]), shape=(1, ground.n))
    waves = ground.spectrum.eigenvectors.project(one) * task.gains
    values = ground.spectrum.eigenvectors.synthesize(waves, places)[0]
    if len(ground.balance):
        values *= ground.balance[places]
    for seen, known in [*(piece.seen for piece in pieces), (targets, scores)]:
        own, of_seen = np.intersect1d(places, seen, assume_unique=True, return_indices=True)[1:]
        values[own] = known[of_seen]
    rows = np.repeat(np.arange(len(chosen)), np.diff(part.indptr))
    summed = np.bincount(rows, weights=part.data * values[where], minlength=len(chosen))
    return chosen + ground.n, summed.astype(np.float32)
