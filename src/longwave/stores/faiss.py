"""Inner-product search in sublinear time or less memory, by faiss: for the vectors, and for the rows of Ū.

Any faiss factory string is a kind: "IVF1024,Flat" (clusters), "HNSW32" (a graph: quick at a recall of 0.98, slow
above), "SQfp16" and "SQ8" (a scan in 2 or 1 bytes a number), "PQ64" (64 bytes a vector). "IVF,SQfp16", without a
number, has as many clusters as the root of the number of rows.
"""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longwave.errors import ConvergenceWarning, CorruptIndexError, InputError
from longwave.plan import Structure
from longwave.rows.encoded import one_thread, skip_polysemous
from longwave.rows.vectors import row_blocks
from longwave.types import Array, Neighbors

# What HNSW and IVF may look at for one query, in steps: the first that reaches the wanted recall is kept.
_EFFORTS = (16, 32, 64, 128, 256, 512, 1024)
_PROBES = (1, 2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
# faiss reads scalar-quantised rows in vector registers only if their length is a multiple of this: 5 times faster.
_LANES = 16
# Rows that the structure is learned from, spread evenly.
_TRAINING = 100_000
# Rows for each cluster that k-means wants, or faiss complains.
_POINTS = 39
# What is reached where nothing is said.
_TARGET = 0.995
# Links are chosen from this many candidates when HNSW is built.
_BUILD_EFFORT = 100


@dataclass(frozen=True, eq=False)
class Faiss:
    """A faiss index over rows, and how hard it looks.

    facts: its kind, a factory string; effort: efSearch or nprobe, 0 where there is nothing to choose; recall of the
    best k, measured when it was built.
    """

    index: Any
    facts: Structure

    def search(self, queries: NDArray[np.float32], k: int) -> Neighbors:
        """About the k rows of largest inner product with each query. (q, d) -> lists (q, k), −1 where there is none."""
        inner = _inner(self.index)
        # Asked for more than was measured, it looks harder.
        known = self.facts
        more = max(1.0, k / max(40, 2 * known.k)) if hasattr(inner, "nprobe") else 1.0
        effort = max(known.effort, k) if hasattr(inner, "hnsw") else int(np.ceil(known.effort * more))
        parameters = _parameters(self.index, effort)
        with one_thread() if len(queries) == 1 else nullcontext():
            similarities, ids = self.index.search(_padded(queries, self.index.d), k, params=parameters)
        return Neighbors(ids, np.where(ids >= 0, similarities, -np.inf).astype(np.float32))

    @property
    def nbytes(self) -> int:
        """Bytes it takes, about: codes and links."""
        import faiss

        inner = _inner(self.index)
        codes: Any = faiss.downcast_index(inner.storage) if hasattr(inner, "storage") else inner
        links = 4 * inner.hnsw.neighbors.size() if hasattr(inner, "hnsw") else 0
        return int(getattr(codes, "code_size", 0) * inner.ntotal + links)

    def pack(self) -> Array:
        """One array of bytes, for the index folder."""
        import faiss

        return np.asarray(faiss.serialize_index(self.index))

    @classmethod
    def unpack(cls, packed: Array, facts: Structure) -> Faiss:
        """From `pack`."""
        import faiss

        try:
            index = faiss.deserialize_index(np.ascontiguousarray(packed))
            return cls(index, facts)
        except RuntimeError as error:
            raise CorruptIndexError(f"the search structure '{facts.kind}' is damaged; build the index again") from error


def check_search(kind: str | None, dimension: int | None = None) -> None:
    """Raise unless there is a search of that kind over rows of that dimension; None where that is not known yet."""
    if kind in (None, "links", "codes"):  # searches of our own (`stores.links`, `stores.codes`)
        return
    import faiss

    try:
        faiss.index_factory(dimension or 64, kind.replace("IVF,", "IVF1,", 1), faiss.METRIC_INNER_PRODUCT)
    except RuntimeError as error:
        if dimension is None and "should be a multiple" in str(error):
            return
        over = "" if dimension is None else f" over {dimension} dimensions"
        raise InputError(
            f"'{kind}' is not a search that faiss has{over}; use codes, links, IVF,SQfp16, HNSW32, SQ8 or PQ64"
        ) from error


def build(
    rows: NDArray[np.float32],
    kind: str,
    *,
    queries: NDArray[np.float32],
    k: int,
    target: float | None = None,
) -> Faiss:
    """Index rows (n, d) and choose the effort: the least that finds `target` of the true k of the sample queries.

    target: 0.995 by default; one that was asked for and is not reached is a warning.
    """
    import faiss

    if not len(queries):
        raise InputError("there is nothing to measure the search with: the filter treats all eigenvalues alike")
    n, columns = rows.shape
    width = -(-columns // _LANES) * _LANES if "SQ" in kind else columns
    if kind.startswith("IVF,"):  # faiss wants the number of clusters
        kind = f"IVF{max(1, min(round(np.sqrt(n)), n // _POINTS))}{kind[3:]}"
    try:
        index = faiss.index_factory(width, kind, faiss.METRIC_INNER_PRODUCT)
        inner = _inner(index)
        if hasattr(inner, "hnsw"):
            inner.hnsw.efConstruction = _BUILD_EFFORT
        skip_polysemous(inner)
        index.train(_padded(rows[:: max(1, n // _TRAINING)], width))
        for block in row_blocks(n, width):
            index.add(_padded(rows[block], width))
    except RuntimeError as error:
        reason = str(error).split(": ", 1)[-1].strip()
        raise InputError(
            f"faiss cannot make a search of the kind '{kind}' for {n:,} × {columns} numbers ({reason}); "
            "try HNSW32, SQfp16, or PQ with a number of bytes that divides the dimensions"
        ) from error
    efforts = _efforts(index, k)
    truth = _exact(rows, queries, k)
    best = Faiss(index, Structure(kind, 0, 0.0, k))
    for effort in efforts:
        trial = Faiss(index, Structure(kind, effort, 0.0, k))
        found = trial.search(queries, k).ids
        products = np.einsum("qd,qkd->qk", queries, rows[np.maximum(found, 0)])
        products[found < 0] = -np.inf
        worst = truth.similarities[:, -1:]
        hit = products >= worst - 1e-5 * np.abs(worst)  # one as good as the k-th true one counts: ties fall either way
        best = Faiss(index, Structure(kind, effort, float(hit.mean()), k))
        if best.facts.recall >= (_TARGET if target is None else target):
            return best
    if target is None:
        return best
    warnings.warn(
        f"the search '{kind}' finds {best.facts.recall:.3f} of the best {k}, not the {target} asked for; "
        "try another kind",
        ConvergenceWarning,
        stacklevel=3,
    )
    return best


def _padded(rows: NDArray[Any], columns: int) -> NDArray[np.float32]:
    """The rows with zeros up to so many columns, contiguous. (n, d) -> (n, columns)"""
    if rows.shape[1] == columns:
        return np.ascontiguousarray(rows, dtype=np.float32)
    wide = np.zeros((len(rows), columns), dtype=np.float32)
    wide[:, : rows.shape[1]] = rows
    return wide


def _efforts(index: Any, k: int) -> list[int]:
    """How hard the search can look, from least to most."""
    if _parameters(index, 1) is None:
        return [0]
    inner = _inner(index)
    if hasattr(inner, "nprobe"):
        return [count for count in _PROBES if count < inner.nlist] + [int(inner.nlist)]
    return [effort for effort in _EFFORTS if effort >= k or effort == _EFFORTS[-1]]


def _exact(rows: NDArray[np.float32], queries: NDArray[np.float32], k: int) -> Neighbors:
    from longwave.graph.lists.exact import nearest

    return nearest(queries, rows, k=k)


def _inner(index: Any) -> Any:
    """The index itself, behind a rotation of the vectors if there is one."""
    import faiss

    down: Any = faiss.downcast_index(index)
    return faiss.downcast_index(down.index) if hasattr(down, "chain") else down


def _parameters(index: Any, effort: int) -> Any:
    """The effort as faiss takes it with one call, so that threads do not disturb each other; None if there is none."""
    import faiss

    library: Any = faiss
    inner = _inner(index)
    if isinstance(index, library.IndexPreTransform):
        own = _parameters(inner, effort)
        return None if own is None else library.SearchParametersPreTransform(index_params=own)
    if hasattr(inner, "hnsw"):
        return library.SearchParametersHNSW(efSearch=effort)
    if hasattr(inner, "nprobe"):
        return library.SearchParametersIVF(nprobe=min(effort, inner.nlist))
    return None
