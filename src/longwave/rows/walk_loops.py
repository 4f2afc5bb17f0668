"""The compiled loops of the walk on the graph (numba), imported late like `compiled`.

One call is one query in one component, in the calling thread alone and without the interpreter lock. What is allocated
grows with the vertices that the walk sees, never with n; the one array of length n, the stamps, is the caller's, who
uses it again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import overload

from longwave.rows.compiled import Array, _serial, _sift_down, jit
from longwave.rows.row_loops import fetch, scale_of, score_rows, stored_bias, stored_number

# A stamp holds the number of the walk above, and the place of the vertex in that walk's list below.
_PLACE_BITS = 32
_PLACE = (1 << _PLACE_BITS) - 1
# Vertices that the first round expands. Rounds double until the least number is reached, then add half.
_FIRST = 16
# All that is expanded is solved for again when it has grown by this factor; between, only what has come.
_AGAIN = 1.5
# Over-relaxation: each step goes so many times as far as Gauss–Seidel. Converges below 2, as 𝓛_α is positive definite.
_OVER = np.float32(1.3)
# What the last hit has is looked up again when as much more is expanded; until then the old bound is low enough.
_SOON = 1.05
# A change of a score by less than this share of it is not passed on to the rim.
_HEARD = np.float32(1e-3)


@jit
def _score_sparse(rows: Any, waves: Array, seen: Array, x: Array, start: int, stop: int) -> None:
    ends, columns, entries = rows
    for place in range(start, stop):
        vertex, total = seen[place], np.float32(0)
        for e in range(ends[vertex], ends[vertex + 1]):
            total += entries[e] * waves[columns[e]]
        x[place] = total


@jit
def _waves_dense(rows: Any, vertices: Array, y: Array, gains: Array, waves: Array) -> None:
    values, scales, row_of = rows
    bias = stored_bias(values)
    for j in range(y.shape[0]):
        row = values[row_of[vertices[j]]]
        weight = y[j] * scale_of(scales, row_of[vertices[j]]) * bias
        for c in range(waves.shape[0]):
            waves[c] += stored_number(row[c]) * weight
    for c in range(waves.shape[0]):
        waves[c] *= gains[c] * bias


@jit
def _waves_sparse(rows: Any, vertices: Array, y: Array, gains: Array, waves: Array) -> None:
    ends, columns, entries = rows
    for j in range(y.shape[0]):
        for e in range(ends[vertices[j]], ends[vertices[j] + 1]):
            waves[columns[e]] += entries[e] * y[j] * gains[columns[e]]


def _score(rows: Any, waves: Array, seen: Array, x: Array, start: Any, stop: Any) -> None:
    """x = U z for the vertices from start to stop. seen, x: by place"""
    raise NotImplementedError


def _add_waves(rows: Any, vertices: Array, y: Array, gains: Array, waves: Array) -> None:
    """waves += h(Λ) Uᵀ y, eq. (4), times what `stored_number` leaves out; they come in as 0. y: (m,) of the first."""
    raise NotImplementedError


# U has dense parts and sparse columns: rows are (values, scales, row of each vertex), or CSR (ends, columns, entries).
@overload(_score, strict=False, inline="always")
def _compiled_score(rows: Any, waves: Any, seen: Any, x: Any, start: Any, stop: Any) -> Any:
    if rows[0].ndim == 2:
        return lambda rows, waves, seen, x, start, stop: score_rows(*rows, seen, waves, x, start, stop)
    return lambda rows, waves, seen, x, start, stop: _score_sparse(rows, waves, seen, x, start, stop)


@overload(_add_waves, strict=False, inline="always")
def _compiled_waves(rows: Any, vertices: Any, y: Any, gains: Any, waves: Any) -> Any:
    if rows[0].ndim == 2:
        return lambda rows, vertices, y, gains, waves: _waves_dense(rows, vertices, y, gains, waves)
    return lambda rows, vertices, y, gains, waves: _waves_sparse(rows, vertices, y, gains, waves)


@jit
def _clear_sparse(rows: Any, vertices: Array, y: Array, waves: Array) -> None:
    for j in range(y.shape[0]):
        for e in range(rows[0][vertices[j]], rows[0][vertices[j] + 1]):
            waves[rows[1][e]] = 0


def _clear_waves(rows: Any, vertices: Array, y: Array, waves: Array) -> None:
    """Leave the waves of the sparse columns as they were, 0; there may be many, of which few were touched."""
    raise NotImplementedError


@overload(_clear_waves, strict=False, inline="always")
def _compiled_clear(rows: Any, vertices: Any, y: Any, waves: Any) -> Any:
    if rows[0].ndim == 2:
        return lambda rows, vertices, y, waves: None
    return lambda rows, vertices, y, waves: _clear_sparse(rows, vertices, y, waves)


@jit
def _take_best(values: Array, places: Array, size: int, count: int) -> None:
    """Put the `count` largest of the first `size` values in front, in no order (quickselect); places go along."""
    low, high = np.int64(0), size - 1
    while low < high:
        pivot = values[(low + high) >> 1]
        i, j = low, high
        while i <= j:
            while values[i] > pivot:
                i += 1
            while values[j] < pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                places[i], places[j] = places[j], places[i]
                i += 1
                j -= 1
        if count <= j + 1:
            high = j
        elif count > i:
            low = i
        else:
            break


@jit
def offer(values: Array, ids: Array, size: int, value: float, hit: int) -> int:
    """Keep a hit if it is among the best. values, ids: a heap with the worst at the root -> how many it holds"""
    if size < values.shape[0]:
        i = size  # sift up: the heap of `_sift_down`, filled one by one
        while i > 0:
            parent = (i - 1) >> 1
            if values[parent] < value or (values[parent] == value and ids[parent] > hit):
                break
            values[i], ids[i] = values[parent], ids[parent]
            i = parent
        values[i], ids[i] = value, hit
        return size + 1
    if value > values[0] or (value == values[0] and hit < ids[0]):
        values[0], ids[0] = value, hit
        _sift_down(values, ids, np.int64(0), size)
    return size


@jit
def _wider(block: Array, size: int) -> Array:
    """The same rows with room for so many numbers each."""
    out = np.empty((block.shape[0], size), dtype=block.dtype)
    for i in range(block.shape[0]):
        for j in range(block.shape[1]):
            out[i, j] = block[i, j]
    return out


@jit
def _sweep(
    weights: Array,
    own: Array,
    order: Array,
    first: int,
    expanded: int,
    edges: Array,
    ends: Array,
    sweeps: int,
    tolerance: float,
    x: Array,
) -> int:
    """Successive over-relaxation of the expanded vertices from the first on, the rim as it is. -> sweeps made

    x_i = (1 − α) y_i + α Σ_j 𝒲_ij x_j, eq. (1) row by row. weights: α𝒲. own: (1 − α) y. What the basis leaves out is of
    short waves, which every sweep makes smaller by the eigenvalues left out: few are enough.
    """
    for made in range(sweeps):
        going = False
        for i in range(first, expanded):
            j, last = ends[i], ends[i + 1]
            a, b, c, d = own[i], np.float32(0), np.float32(0), np.float32(0)
            while j + 3 < last:  # four sums: none waits for another. Gathers in vector registers are slower here.
                a += weights[j] * x[edges[j]]
                b += weights[j + 1] * x[edges[j + 1]]
                c += weights[j + 2] * x[edges[j + 2]]
                d += weights[j + 3] * x[edges[j + 3]]
                j += 4
            while j < last:
                a += weights[j] * x[edges[j]]
                j += 1
            place = order[i]
            change = (a + b) + (c + d) - x[place]
            change *= _OVER
            if abs(change) > tolerance * abs(x[place]):
                going = True
            x[place] += change
        if not going:
            return made + 1
    return sweeps


@jit
def _tell_rim(
    weights: Array,
    order: Array,
    first: int,
    expanded: int,
    edges: Array,
    ends: Array,
    outer: Array,
    told: Array,
    x: Array,
) -> None:
    """What the solve has changed within is passed on to the rim, as one row of 𝒲 has it.

    told: the score of each place that the rim knows of. outer: 1 at the rim, 0 within; a product with it is quicker
    than a branch that nobody can foresee.
    """
    for i in range(first, expanded):
        place = order[i]
        change = x[place] - told[place]
        if abs(change) > _HEARD * abs(x[place]):
            told[place] = x[place]
            for j in range(ends[i], ends[i + 1]):
                x[edges[j]] += outer[edges[j]] * weights[j] * change


@jit
def _walk(
    indptr: Array,
    indices: Array,
    data: Array,
    rows: Any,
    seeds: Array,
    y: Array,
    at_zero: float,
    waves: Array,
    balance: Array,
    allowed: Array,
    count: int,
    least: int,
    most: int,
    margin: float,
    alpha: float,
    sweeps: int,
    tolerance: float,
    local: float,
    stamps: Array,
    stamp: int,
) -> Any:
    """Best first along the edges, in rounds. -> seen, x, balance, expanded places, seeds, sweeps

    A round expands the best vertices of the rim. Then the expanded ones are solved for, and the rim is told what that
    has changed: what the basis leaves out would lead the walk astray, more than it errs in the end. It ends when the
    best of the rim is behind the `count` best of the expanded ones by the margin. In the end `local` of what the solve
    has changed is kept.
    """
    room = min(max(4096, 16 * least), stamps.shape[0]) + seeds.shape[0]
    # By place: x, x of the basis, what the rim was told of it, the balance, 1 at the rim and 0 within; values to choose
    # from.
    floats, numbers = np.empty((7, room), np.float32), np.empty((5, room + 1), np.int32)
    x, told, gain, outer, values, own = floats[0], floats[1], floats[2], floats[3], floats[4], floats[5]
    basis = floats[6]
    seen, places, border, order, ends = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]
    # Rows of α𝒲 for what is expanded, each up to its end: columns as places; `own` has (1 − α) y of these.
    edges, weights = np.empty((1, 8 * room), np.int32), np.empty((1, 8 * room), np.float32)
    ends[0] = 0
    mark = np.int64(stamp) << _PLACE_BITS
    factor = np.float32(alpha)
    seeing: Any = np.int64(0)
    fresh, solved, swept, expanded, rim = seeing, seeing, seeing, seeing, seeing
    for vertex in seeds:
        if stamps[vertex] >> _PLACE_BITS != stamp:
            stamps[vertex] = mark | seeing
            seen[seeing] = vertex
            seeing += 1
    given = seeing
    start = np.int64(max(_FIRST, 2 * y.shape[0]))
    bound, bounded = np.float32(-np.inf), np.int64(0)
    while True:
        _score(rows, waves, seen, x, fresh, seeing)
        for place in range(fresh, seeing):
            x[place] += np.float32(at_zero) * y[place] if place < y.shape[0] else np.float32(0)
            told[place], basis[place], outer[place] = x[place], x[place], np.float32(1)
            gain[place] = balance[seen[place]] if balance.shape[0] else np.float32(1)
            border[rim] = place
            rim += 1
        if alpha >= 0 and expanded > 0:
            _sweep(weights[0], own, order, solved, expanded, edges[0], ends, np.int64(1), 0.0, x)
            if expanded >= _AGAIN * swept:
                solved, swept = np.int64(0), expanded
                _sweep(weights[0], own, order, solved, expanded, edges[0], ends, np.int64(1), 0.0, x)
            _tell_rim(weights[0], order, solved, expanded, edges[0], ends, outer, told, x)
        if expanded >= least:
            if expanded >= most:
                break
            if expanded >= _SOON * bounded:
                bound, bounded = np.float32(-np.inf), expanded
                held = np.int64(0)
                for i in range(expanded):
                    place = order[i]
                    values[held], places[held] = x[place] * gain[place], place
                    held += int(allowed.shape[0] == 0 or allowed[seen[place]])
                if held >= count:
                    _take_best(values, places, held, count)
                    bound = values[0]
                    for i in range(1, count):
                        bound = min(bound, values[i])
                    bound -= np.float32(1 - margin) * abs(bound)
        wanted = np.int64(0)
        for i in range(rim):  # those above the bound come first
            place = border[i]
            value = x[place] * gain[place]
            if value > bound:
                border[i], border[wanted], values[wanted] = border[wanted], place, value
                wanted += 1
        if wanted == 0:
            break
        goal = min(2 * expanded, least) if expanded < least else expanded + max(_FIRST, expanded // 2)
        chosen = min(wanted, min(max(goal, start), most) - expanded)
        if chosen < wanted:
            _take_best(values, border, wanted, chosen)
        degrees = np.int64(0)
        for i in range(chosen):
            vertex = seen[border[i]]
            first, last = indptr[vertex], indptr[vertex + 1]
            degrees += last - first
            for e in range(first, last, 16):
                fetch(indices, e)
                fetch(data, e)
        if seeing + degrees > room:
            room = 2 * room + degrees
            floats, numbers = _wider(floats, room), _wider(numbers, room + 1)
            x, told, gain, outer, values, own = floats[0], floats[1], floats[2], floats[3], floats[4], floats[5]
            basis = floats[6]
            seen, places, border, order, ends = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]
        filled = np.int64(ends[expanded])
        if filled + degrees > edges.shape[1]:
            weights = _wider(weights, 2 * edges.shape[1] + degrees)
            edges = _wider(edges, 2 * edges.shape[1] + degrees)
        fresh, solved = seeing, expanded
        for i in range(chosen):
            here = border[i]
            vertex = seen[here]
            if i + 1 < chosen:
                follower = seen[border[i + 1]]
                for e in range(indptr[follower], indptr[follower + 1]):
                    fetch(stamps, indices[e])
            for e in range(indptr[vertex], indptr[vertex + 1]):
                other = indices[e]
                if stamps[other] >> _PLACE_BITS != stamp:
                    stamps[other] = mark | seeing
                    seen[seeing] = other
                    seeing += 1
                edges[0, filled], weights[0, filled] = stamps[other] & _PLACE, factor * data[e]
                filled += 1
            own[expanded] = np.float32(1 - alpha) * y[here] if here < y.shape[0] else np.float32(0)
            order[expanded] = here
            outer[here] = 0
            expanded += 1
            ends[expanded] = filled
        for i in range(chosen, rim):
            border[i - chosen] = border[i]
        rim -= chosen
    made = 0
    if alpha >= 0:
        made = _sweep(weights[0], own, order, np.int64(0), expanded, edges[0], ends, sweeps, tolerance, x)
        for place in range(seeing):
            x[place] = basis[place] + np.float32(local) * (x[place] - basis[place])
    return seen[:seeing], x[:seeing], gain[:seeing], order[:expanded], given, made


@_serial(nogil=True)
def search_part(
    indptr: Array,
    indices: Array,
    data: Array,
    rows: Any,
    seeds: Array,
    y: Array,
    limits: Any,
    gains: Array,
    balance: Array,
    allowed: Array,
    waves: Array,
    stamps: Array,
    stamp: int,
) -> Any:
    """The best vertices of the component that y is in, and their scores, in no order.

    indptr, indices, data: 𝒲, CSR. rows: of U, a dense part or the sparse columns. seeds: vertices, of which the first,
    distinct, have y. limits: h(0) where y passes on itself, hits, vertices to expand at least and at most, margin, α of
    the linear system or −1, sweeps, tolerance, how much of the solve is kept. gains: of the waves. balance: of the
    vertices, or (0,). allowed: mask of the vertices, or (0,). waves: zeros, which are filled.
    -> all allowed seeds and about the `count` best others (c,), their scores (c,); all vertices that were seen, by
    place (`values_at`), and the score of each; vertices expanded, sweeps made.
    """
    at_zero, count, least, most, margin, alpha, sweeps, tolerance, local = limits
    peak = peak_of(y)
    unit = y / peak if peak > 0 else y  # times the bias of float16, large values would overflow
    _add_waves(rows, seeds, unit, gains, waves)
    seen, x, gain, order, given, made = _walk(
        indptr,
        indices,
        data,
        rows,
        seeds,
        unit,
        at_zero,
        waves,
        balance,
        allowed,
        count,
        least,
        most,
        margin,
        alpha,
        sweeps,
        tolerance,
        local,
        stamps,
        stamp,
    )
    _clear_waves(rows, seeds, y, waves)
    for place in range(seen.shape[0]):
        x[place] *= gain[place] * peak
    size = seen.shape[0]
    values, places = np.empty(size, dtype=np.float32), np.empty(size, dtype=np.int32)
    held = np.int64(0)
    for place in range(given, size):
        values[held], places[held] = x[place], place
        held += int(allowed.shape[0] == 0 or allowed[seen[place]])
    if held > count:
        _take_best(values, places, held, count)
        held = np.int64(count)
    found, scores = np.empty(held + given, dtype=np.int64), np.empty(held + given, dtype=np.float32)
    for i in range(held):
        found[i], scores[i] = seen[places[i]], values[i]
    for place in range(given):
        if allowed.shape[0] == 0 or allowed[seen[place]]:
            found[held], scores[held] = seen[place], x[place]
            held += 1
    return found[:held], scores[:held], seen, x, order.shape[0], made


@jit
def peak_of(values: Array) -> Any:
    """The largest of some numbers, whatever their sign; 0 for none."""
    peak = np.float32(0)
    for value in values:
        peak = max(peak, abs(value))
    return peak


@jit
def values_at(
    vertices: Array,
    part_of: Array,
    part: int,
    rows: Any,
    waves: Array,
    peak: float,
    balance: Array,
    values: Array,
    stamps: Array,
    stamp: int,
) -> Any:
    """The scores of any vertices after a walk: as it left them, spectral where it was not, 0 elsewhere. (m,)

    waves: as `search_part` left them, for y divided by its peak. values: of what was seen, by place.
    """
    out = np.zeros(vertices.shape[0], dtype=np.float32)
    others, owners = np.empty(vertices.shape[0], dtype=np.int32), np.empty(vertices.shape[0], dtype=np.int64)
    left = np.int64(0)
    for i in range(vertices.shape[0]):
        vertex = vertices[i]
        if vertex >= part_of.shape[0]:
            continue
        if stamps[vertex] >> _PLACE_BITS == stamp:
            out[i] = values[stamps[vertex] & _PLACE]
        elif part_of[vertex] == part:
            others[left], owners[left] = vertex, i
            left += 1
    found = np.empty(left, dtype=np.float32)
    _score(rows, waves, others, found, np.int64(0), left)
    for i in range(left):
        gain = balance[others[i]] if balance.shape[0] else np.float32(1)
        out[owners[i]] = found[i] * gain * peak
    return out
