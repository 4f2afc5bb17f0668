"""`manifold_search` in SQL: both searches and what lies between, so that any language can ask PostgreSQL itself.

The text is made for one export: its table, its kernel, its blend and its defaults stand in it as constants. It is the
mathematics of `between` for a query of one vector.
"""

from __future__ import annotations

import numpy as np

from longwave.engines.record import Record
from longwave.engines.sql import quoted
from longwave.errors import InputError
from longwave.graph import weights as kernels
from longwave.graph.weights import Local, Power
from longwave.search import blending
from longwave.search.blending import LAST, Anchor, Blend
from longwave.search.euclidean_view import SAME
from longwave.search.first import SPREAD


def gain_function(schema: str) -> str:
    """h(λ) of the four filters. kind: lowpass, heat, ideal or walk; a: its first number; steps: of a walk."""
    return f"""
CREATE OR REPLACE FUNCTION {quoted(schema)}.wave_gain(kind text, a double precision, steps double precision,
                                                      l double precision)
RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $longwave$
SELECT CASE kind
    WHEN 'lowpass' THEN (1 - a) / (1 - a * l)
    WHEN 'heat' THEN exp(-a * (1 - l))
    WHEN 'ideal' THEN CASE WHEN l >= a - 1e-6 THEN 1 ELSE 0 END
    WHEN 'walk' THEN (1 - a) * (1 - power(a * l, steps)) / (1 - a * l)
END
$longwave$"""


def search_function(schema: str, number: int, record: Record, extension: str) -> str:
    """The function over the table of one export. extension: the schema that pgvector is in."""
    items, own = f"{quoted(schema)}.{quoted(f'items_{number}')}", quoted(schema)
    identity = "text" if record.text_ids else "bigint"
    half_vector = _cast("i.vector", record.dimension), _cast("q", record.dimension)
    half_waves = _cast("i.coordinates", record.rank), _cast("waves", record.rank)
    each = 2 if not isinstance(blending.parse(record.blend), Blend) else 10
    return f"""
CREATE FUNCTION {own}.manifold_search(
    query vector, k integer DEFAULT 10, alpha real DEFAULT NULL, filter text DEFAULT NULL,
    neighbors integer DEFAULT {record.neighbors})
RETURNS TABLE (id {identity}, score real, similarity real)
LANGUAGE plpgsql STABLE
SET search_path = {quoted(extension)}, pg_catalog
SET hnsw.ef_search = 200
SET hnsw.iterative_scan = strict_order
SET enable_seqscan = {"off" if record.approximate else "on"}
SET jit = off
AS $longwave$
#variable_conflict use_column
DECLARE
    h text := coalesce(filter, 'lowpass:' || alpha, {_text(record.filter)});
    kind text := split_part(h, ':', 1);
    a double precision;
    steps double precision;
    q vector;
    gains vector;
    waves vector;
    floor double precision;
    near bigint[];      -- numbers of the nearest rows, best first
    seventh double precision;
    touched bigint[];   -- vertices that y is not 0 on, and what y is there
    observed double precision[];
    many integer := greatest({each} * k, 100);
    around integer := greatest({each} * k, 32, neighbors);
    best bigint[];
BEGIN
    IF k IS NULL OR k < 1 OR neighbors IS NULL OR neighbors < 1 THEN
        RAISE EXCEPTION 'k and neighbors must be at least 1, got % and %', k, neighbors;
    END IF;
    IF query IS NULL OR vector_dims(query) <> {record.dimension} OR vector_norm(query) = 0 THEN
        RAISE EXCEPTION 'query must be a vector of {record.dimension} numbers that are not all 0, got %',
            coalesce(vector_dims(query)::text || ' numbers', 'NULL');
    END IF;
    IF kind NOT IN ('lowpass', 'heat', 'ideal', 'walk') THEN
        RAISE EXCEPTION 'filter must be lowpass:ALPHA, heat:TIME, ideal:CUTOFF or walk:ALPHA,STEPS, got %', h;
    END IF;
    a := split_part(split_part(h, ':', 2), ',', 1)::double precision;
    steps := coalesce(nullif(split_part(split_part(h, ':', 2), ',', 2), ''), '10')::double precision;
    IF kind IN ('lowpass', 'walk') AND NOT (a >= 0 AND a < 1) THEN
        RAISE EXCEPTION 'alpha must be at least 0 and below 1, got %', a;
    ELSIF kind = 'heat' AND NOT (a >= 0 AND a < 'infinity') THEN
        RAISE EXCEPTION 'time must be at least 0 and finite, got %', a;
    ELSIF kind = 'ideal' AND NOT (a >= -1 AND a <= 1) THEN
        RAISE EXCEPTION 'cutoff must be at least -1 and at most 1, got %', a;
    ELSIF NOT (steps >= 1 AND steps = floor(steps) AND steps < 'infinity') THEN
        RAISE EXCEPTION 'steps must be a whole number of at least 1, got %', steps;
    END IF;
    q := l2_normalize(query);
    PERFORM set_config('hnsw.ef_search', least(1000, greatest(200, 2 * greatest(many, around)))::text, true);

    -- h(Λ) − h(0)
    floor := {own}.wave_gain(kind, a, steps, 0);
    SELECT array_agg(({own}.wave_gain(kind, a, steps, u.l) - floor)::real ORDER BY u.at)::vector INTO gains
    FROM {own}.exports e, unnest(e.eigenvalues) WITH ORDINALITY AS u(l, at) WHERE e.number = {number};

    -- The first search: the nearest rows, and y.
    SELECT array_agg(f.number ORDER BY f.s DESC, f.number),
           (array_agg(f.s ORDER BY f.s DESC))[least({SPREAD}, count(*)::integer)]
    INTO near, seventh
    FROM (SELECT i.number, -(i.vector <#> q) AS s FROM {items} i{" WHERE i.leader" if record.copies else ""}
          ORDER BY {half_vector[0]} <#> {half_vector[1]} LIMIT around) f;
    WITH used AS (
        SELECT i.row, i.scale, i.psi_rows, i.psi_weights, -(i.vector <#> q) AS s, n.at
        FROM unnest(near) WITH ORDINALITY AS n(number, at) JOIN {items} i ON i.number = n.number
        {"" if record.balanced else f"WHERE i.row < {record.n_vertices}"}
        ORDER BY n.at LIMIT greatest(neighbors, {_scale_place(record)})
    ), weighed AS ({_weights(record)}
    ), y AS ({_handed_on(record, items)}
    )
    SELECT array_agg(y.row), array_agg(y.w) INTO touched, observed FROM y WHERE y.w <> 0;

    -- Between the searches: z = (h(Λ) − h(0)) Uᵀy.
    SELECT sum(i.coordinates * array_fill((t.w / i.gain)::real, ARRAY[{record.rank}])::vector) * gains INTO waves
    FROM unnest(touched, observed) AS t(row, w) JOIN {items} i ON i.row = t.row AND i.leader;
    waves := coalesce(waves, array_fill(0::real, ARRAY[{record.rank}])::vector);

    -- The second search: candidates.
    SELECT array_agg(f.number) INTO best
    FROM (SELECT i.number FROM {items} i ORDER BY {half_waves[0]} <#> {half_waves[1]} LIMIT many) f;

    RETURN QUERY
    WITH candidates AS (
        SELECT unnest(near) AS number UNION SELECT unnest(best){_copies(record, items)}
    ), scored AS MATERIALIZED (
        SELECT i.number, i.id, i.norm, -(i.vector <#> q) AS s,
               -(i.coordinates <#> waves) + {_handed(record, items)} AS x
        FROM candidates c JOIN {items} i ON i.number = c.number
        LEFT JOIN unnest(touched, observed) AS t(row, w) ON t.row = i.row
    ), blended AS ({_blended(record)}
    )
    SELECT b.id, b.total::real, b.s::real FROM blended b
    ORDER BY b.total DESC, CASE WHEN b.total = 0 THEN b.s ELSE 0 END DESC, b.number LIMIT k;
END
$longwave$"""


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _cast(name: str, width: int) -> str:
    return f"({name}::halfvec({width}))" if width > 2000 else name


def _scale_place(record: Record) -> int:
    return kernels.scale_neighbor(kernels.parse(record.kernel)) or 1


def _weights(record: Record) -> str:
    """The weights of the query's neighbours, by the kernel (`graph.weights`)."""
    kernel = kernels.parse(record.kernel)
    if isinstance(kernel, Power):
        return f"""
        SELECT u.*, power(greatest(u.s, 0), {kernel.gamma!r}::double precision) AS w
        FROM used u ORDER BY u.at LIMIT neighbors"""
    if not isinstance(kernel, Local):
        raise InputError(f"manifold_search in SQL knows the kernels Local and Power, not {kernel!r}")
    return f"""
        SELECT v.*, exp(min(v.falls) OVER () - v.falls) AS w FROM (
            SELECT u.*, {kernel.query_steepness!r} * power(
                greatest(2 - 2 * u.s, 0) / (u.scale * (
                    SELECT sqrt(greatest(2 - 2 * o.s, 1e-6)) FROM used o ORDER BY o.at
                    OFFSET least({kernel.neighbor}, (SELECT count(*) FROM used)) - 1 LIMIT 1)),
                {kernel.exponent / 2!r}) AS falls
            FROM used u ORDER BY u.at LIMIT neighbors
        ) v"""


def _handed_on(record: Record, items: str) -> str:
    """y over vertices. What was added later hands its weight to the vertices that it consists of, if they are there."""
    inside = f"SELECT w.row, w.w FROM weighed w WHERE w.row < {record.n_vertices}"
    if not record.outside:
        return f"\n        {inside}"
    return f"""
        SELECT p.row, sum(p.w) AS w FROM (
            {inside}
            UNION ALL
            SELECT l.vertex, l.w * l.psi / sum(l.psi) OVER (PARTITION BY l.row) FROM (
                SELECT w.row, w.w, g.vertex, g.psi
                FROM weighed w, unnest(w.psi_rows, w.psi_weights) AS g(vertex, psi)
                WHERE w.row >= {record.n_vertices}
                    AND EXISTS (SELECT FROM {items} i WHERE i.row = g.vertex AND i.leader)
            ) l
        ) p GROUP BY p.row"""


def _copies(record: Record, items: str) -> str:
    if not record.copies:
        return ""
    return f"""
        UNION SELECT other.number FROM {items} i JOIN {items} other ON other.row = i.row
        WHERE i.number = ANY(near)"""


def _handed(record: Record, items: str) -> str:
    """What y hands to a row without the basis: h(0) y, times the gain; isolated and other vertices alike."""
    direct = "CASE WHEN i.kind = 2 THEN 1 ELSE floor END"  # copied (§8.1), else h(0)
    inside = f"coalesce(t.w * i.gain * {direct}, 0)"
    if not record.outside:
        return inside
    return f"""CASE WHEN i.row < {record.n_vertices} THEN {inside} ELSE coalesce((
                   SELECT sum(g.psi * o.w * v.gain * CASE WHEN v.kind = 2 THEN 1 ELSE floor END)
                   FROM unnest(i.psi_rows, i.psi_weights) AS g(vertex, psi)
                   JOIN unnest(touched, observed) AS o(row, w) ON o.row = g.vertex
                   JOIN {items} v ON v.row = o.row AND v.leader), 0) END"""


def _blended(record: Record) -> str:
    """What Euclidean similarity adds (`search.blending`)."""
    blend = blending.parse(record.blend)
    if blend is None:
        return "\n        SELECT c.number, c.id, c.s, c.x AS total FROM scored c"
    if isinstance(blend, Blend):
        if blend != Blend(blend.weight):
            raise InputError(f"manifold_search in SQL knows a weight of FSRw, not {blend!r}")
        return f"""
        SELECT c.number, c.id, c.s, c.x + {blend.weight!r} * (1 - c.norm) * c.s
            * CASE WHEN max(c.x) OVER () > 0 AND max(c.s) OVER () > 0 THEN max(c.x) OVER () / max(c.s) OVER ()
                   ELSE 1 END AS total
        FROM scored c"""
    if not isinstance(blend, Anchor):
        raise InputError(f"manifold_search in SQL knows Anchor, a weight of FSRw or none, not {blend!r}")
    same = 1 - SAME * float(np.sqrt(record.dimension))
    return f"""
        SELECT d.number, d.id, d.s,
            CASE WHEN d.s >= {same!r} THEN {1 + blend.weight!r} + {LAST!r} * (d.nearest + 1)
            ELSE CASE WHEN d.x > 0 THEN power(d.x / d.peak, {1 / blend.root!r}) ELSE 0 END
                + {blend.weight!r} * exp({-blend.steepness!r} * (d.nearest - d.s) / greatest(1 - seventh, 1e-6))
                + {LAST!r} * d.s
            END AS total
        FROM (SELECT c.*, max(c.s) OVER () AS nearest, max(abs(c.x)) OVER () AS peak FROM scored c) d"""
