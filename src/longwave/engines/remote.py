"""`Remote`: an index that lives in an engine, searched from anywhere that reaches the engine."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from longwave.checks import check_counts, check_value
from longwave.engines.between import Answer, Asking, answer
from longwave.engines.engine import VECTOR, Engine, Moved
from longwave.engines.opening import NAME, open_engine
from longwave.engines.record import Record
from longwave.engines.stores import EngineStore
from longwave.errors import DataWarning, InputError, NotAnIndexError
from longwave.items.items import labels_of
from longwave.metadata import Condition, parse
from longwave.metadata.messages import check_columns
from longwave.metadata.settling import settled
from longwave.rows.vectors import normalize
from longwave.search.defaults import chosen_blend, known_filter
from longwave.search.euclidean import Euclidean
from longwave.search.observation import SUMS
from longwave.search.options import SearchOptions, check_names
from longwave.search.queries import Queries
from longwave.solvers import Spectral
from longwave.types import Hits

_INSTEAD = "ask the index itself (Index.search), or a Longwave server (longwave serve)"


class Remote:
    """An exported index, searched in its engine: the scores of `Index.search(..., plan="basis")`.

    url, name: as for `Index.export`. exact: search without the engine's index of vectors, by a scan. A connection is
    opened at once and used by one thread at a time; `close` it, or use `with`.
    """

    def __init__(self, url: str, name: str = NAME, *, exact: bool = False) -> None:
        self._engine: Engine = open_engine(url, name, exact=exact)
        try:
            self._record = self._read()
        except BaseException:
            self._engine.close()
            raise

    def _read(self) -> Record:
        record = self._engine.record()
        if record is None:
            raise NotAnIndexError(
                f"there is no complete export in {self._engine.place}; write one with: longwave export INDEX URL"
            )
        return record

    @property
    def record(self) -> Record:
        """What is known of the export: items, dimension, rank, defaults of a search, version of the collection."""
        return self._record

    @property
    def vectors(self) -> EngineStore:
        """The vectors as a `Store`: its `neighbors(k)` are lists for `Index.build`. Rows are numbers of items."""
        return EngineStore(self._engine, self._record.dimension, self._record.items)

    def __len__(self) -> int:
        return self._record.items

    def __repr__(self) -> str:
        known = self._record
        return f"<Remote {self._engine.place}: {known.items} items, {known.dimension} dimensions, rank {known.rank}>"

    def reload(self) -> None:
        """Look again: what was exported or followed since this was opened counts from the next search on."""
        self._record = self._read()

    def close(self) -> None:
        """Close the connection."""
        self._engine.close()

    def __enter__(self) -> Remote:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def search(self, queries: ArrayLike | None = None, k: int | str = 10, **options: Unpack[SearchOptions]) -> Hits:
        """Rank the items along the manifold. Options as for `Index.search`; one that no engine has is an error.

        where: a condition on the metadata, translated to the engine's own filters, or a list of ids. filter: also text.
        """
        check_names(options, "Remote.search")
        solver = options.get("solver")
        _check_possible(k, options)
        assert not isinstance(k, str)
        check_counts(k=k)
        asking = self._asking(options)
        if queries is None:
            raise InputError(f"a search in an engine begins with vectors; for seeds {_INSTEAD}")
        asked = Queries.make(
            queries,
            dimension=self._record.dimension,
            groups=options.get("query_groups"),
            weights=options.get("weights"),
            on_error=options.get("on_error", "raise"),
        )
        every = [asked.some(query, query + 1) for query in range(len(asked))]
        if isinstance(solver, Euclidean):
            found = [self._euclidean(query, k, asking) for query in every]
        else:
            found = [self._answer(query, k, asking) for query in every]
            _warn_of_blind_queries(found, ranked=asking.blend is not None)
        hits = self._hits(found, options.get("columns"), asking)
        known = None if isinstance(solver, Euclidean) else np.array([one.confidence for one in found], dtype=np.float32)
        route = None if isinstance(solver, Euclidean) else "basis"
        return replace(hits, confidence=known, route=route, queries=asked.numbers)

    def _answer(self, query: Queries, k: int, asking: Asking) -> Answer:
        try:
            return answer(self._engine, self._record, query, k, asking)
        except Moved:
            self.reload()
            return answer(self._engine, self._record, query, k, asking)

    def _euclidean(self, query: Queries, k: int, asking: Asking) -> Answer:
        """The engine's own nearest neighbours, as an answer."""
        summed = query.summed()[0]
        size = float(np.linalg.norm(summed))
        unit = normalize(summed[None])[0]
        if asking.allowed is not None:
            waves = np.zeros(self._record.rank, dtype=np.float32)
            scored = self._engine.scored(asking.allowed, unit, waves)
            order = np.lexsort((scored.facts.numbers, -scored.similarities))[:k]
            numbers, ids, similar = scored.facts.numbers[order], scored.facts.ids[order], scored.similarities[order]
            return Answer(numbers, ids, similar * np.float32(size), 0.0, blind=False)
        numbers, similar = self._engine.search(VECTOR, unit, min(k, len(self)), where=asking.where)
        facts = self._engine.facts(numbers=numbers)
        return Answer(numbers, facts.ids[facts.places(numbers)], similar * np.float32(size), 0.0, blind=False)

    def _asking(self, options: SearchOptions) -> Asking:
        """What a search asks for, with the defaults of the export."""
        known = self._record
        filter, neighbors, cut = options.get("filter"), options.get("neighbors"), options.get("cut")
        solver, where = options.get("solver"), options.get("where")
        text = known.filter if filter is None else filter
        h = known_filter(text) if isinstance(text, str) else text
        check_value(h, "filter", "a value such as LowPass(0.99), or a function of the eigenvalues")
        count = known.neighbors if neighbors is None else neighbors
        check_counts(neighbors=count, **({} if cut is None else {"cut": cut}))
        mixed = chosen_blend(options.get("blend"), known.blend, solver)
        complement = solver.complement if isinstance(solver, Spectral) else True
        asking = Asking(h, count, mixed, complement, cut, options.get("region_sum", SUMS[0]))
        if where is None:
            return asking
        if isinstance(where, Mapping | Condition):
            schema = known.arrow_schema()
            if schema is None:
                raise InputError(
                    f"{self._engine.place} has no metadata, which a condition would need; give it to the index "
                    "(index.with_metadata(table)) and export again"
                )
            return replace(asking, where=settled(parse(where), schema, known.columns))
        return replace(asking, allowed=self._numbers_of(where))

    def _numbers_of(self, ids: ArrayLike) -> NDArray[np.int64]:
        """The items of these ids, ascending; an unknown one is an error."""
        given = np.atleast_1d(np.asarray(ids))
        if given.dtype == bool:
            raise InputError(
                "a mask needs the order of the items, which an engine does not have; give ids in where= instead"
            )
        if not given.size:
            raise InputError("where leaves no item at all; widen it")
        wanted = np.unique(labels_of(given, "where"))
        if (wanted.dtype.kind == "U") != self._record.text_ids:
            kind = "strings" if self._record.text_ids else "whole numbers"
            raise InputError(f"ids of {self._engine.place} are {kind}, got {wanted[0].item()!r}")
        found = self._engine.facts(ids=wanted)
        unknown = wanted[~np.isin(wanted, found.ids)]
        if unknown.size:
            raise InputError(
                f"there is no item with id {unknown[0].item()!r} in {self._engine.place} ({unknown.size} of "
                f"{len(wanted)} ids are unknown)"
            )
        return np.sort(found.numbers)

    def _hits(self, found: list[Answer], columns: Sequence[str] | None, asking: Asking) -> Hits:
        width = min(len(one.numbers) for one in found)
        if not width and asking.where is not None:
            raise InputError(f"no item meets the condition: {str(asking.where)[:400]}; widen it")
        hits = Hits(np.array([one.ids[:width] for one in found]), np.array([one.scores[:width] for one in found]))
        if columns is None:
            return hits
        known = self._record.columns
        check_columns(columns, list(known))
        rows = [self._engine.metadata(one.numbers[:width], [known[name] for name in columns]) for one in found]
        return replace(hits, columns={name: [dict(row)[known[name]] for row in rows] for name in columns})


def _check_possible(k: int | str, options: SearchOptions) -> None:
    """InputError for what `Index.search` can do and an engine cannot."""
    usual: SearchOptions = {"seeds": None, "kind": "manifold", "fold": None, "diversity": 0.0, "tolerance": None}
    given = [name for name, value in usual.items() if options.get(name, value) != value]
    solver, plan = options.get("solver"), options.get("plan")
    if isinstance(k, str):
        given.append(f"k={k!r}")
    if not (solver is None or isinstance(solver, Spectral | Euclidean)):
        given.append(f"solver={solver!r}")
    if plan is not None and getattr(plan, "route", plan) != "basis":
        given.append(f"plan={plan!r}")
    if given:
        raise InputError(f"an engine has rows, not the graph, and cannot answer {', '.join(given)}; {_INSTEAD}")


def _warn_of_blind_queries(found: list[Answer], *, ranked: bool) -> None:
    where = [query for query, one in enumerate(found) if one.blind]
    if where:
        order = "in the order of Euclidean similarity" if ranked else "and their scores are all 0"
        warnings.warn(
            f"{len(where)} of {len(found)} queries (the first is {where[0]}) have no positive similarity to any "
            f"vector, or examples that cancel: nothing is reached along the manifold; their hits are {order}",
            DataWarning,
            stacklevel=3,
        )
