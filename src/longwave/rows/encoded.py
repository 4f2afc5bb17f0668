"""Rows of numbers in fewer bytes: float16, int8 with a scale for each row, or codes of a faiss quantiser.

They stand where an (n, d) float32 array would: ``rows[some]`` decodes some rows, `products` multiplies with all.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from longwave.errors import InputError
from longwave.types import Neighbors

Floats: TypeAlias = NDArray[np.float32]

#: Kinds that `compress` knows by name; any other is a faiss factory string such as "PQ64".
NUMBERS = {"float16": np.float16, "int8": np.int8}
# Rows decoded at a time in a product with a batch: 2^22 numbers are 16 MB.
_BLOCK_NUMBERS = 1 << 22
# float16 read as the upper bits of a float32 has an exponent that is too small by this factor.
_HALF_BIAS = np.float32(2.0**112)


class Rows(Protocol):
    """What an array of rows must offer."""

    @property
    def shape(self) -> tuple[int, ...]:
        """(n, d)."""

    @property
    def nbytes(self) -> int:
        """Bytes it takes."""

    def __len__(self) -> int: ...

    def __getitem__(self, rows: Any) -> Any: ...


@dataclass(frozen=True, eq=False)
class Compact:
    """codes: (n, d) float16 or int8. scales: (n,) float32 by which the int8 codes are multiplied; (0,) for float16."""

    codes: NDArray[Any]
    scales: Floats

    @property
    def shape(self) -> tuple[int, ...]:
        """(n, d)."""
        return self.codes.shape

    @property
    def nbytes(self) -> int:
        """Bytes it takes."""
        return int(self.codes.nbytes + self.scales.nbytes)

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Any) -> Floats:
        decoded = np.asarray(self.codes[rows], dtype=np.float32)
        return decoded * self.scales[rows][..., None] if self.codes.dtype == np.int8 else decoded

    def products(self, query: Floats) -> Floats:
        """Inner products of all rows with one query, by a compiled loop, without decoding to memory. (d,) -> (n,)"""
        from longwave.rows import compiled

        out = np.empty(len(self), dtype=np.float32)
        if self.codes.dtype == np.int8:
            compiled.scan_bytes(self.codes, self.scales, query, out)
        else:
            peak = np.float32(np.abs(query).max(initial=0))  # times the bias, a large query would overflow
            unit = query / peak if peak > 0 else query
            compiled.scan_halves(self.codes.view(np.uint16), unit * _HALF_BIAS, out)
            out *= peak
        return out


def plain(array: NDArray[Any], dtype: Any = None) -> NDArray[Any]:
    """A contiguous view that nobody writes through: of one type, so that every loop is compiled once."""
    view = np.ascontiguousarray(array, dtype=dtype).view(np.ndarray)[...]
    view.flags.writeable = False
    return view


def stored_rows(rows: NDArray[Any] | Compact) -> tuple[NDArray[Any], Floats]:
    """Rows as the loops of `row_loops` read them: numbers, the bits of float16, or codes; scales, or (0,)."""
    codes, scales = (rows.codes, rows.scales) if isinstance(rows, Compact) else (rows, np.zeros(0, dtype=np.float32))
    return plain(codes.view(np.uint16) if codes.dtype == np.float16 else codes), plain(scales)


def biased(queries: Floats, stored: NDArray[Any]) -> Floats:
    """Queries as the loops multiply them with what `stored_rows` gives: the bits of float16 want a factor."""
    return queries * _HALF_BIAS if stored.dtype == np.uint16 else queries


@dataclass(frozen=True, eq=False)
class Quantized:
    """Rows as codes of a faiss quantiser, such as 64 bytes each ("PQ64"); the error is the quantiser's.

    index: a faiss index over the rows that can decode them.
    """

    index: Any
    kind: str

    @property
    def shape(self) -> tuple[int, ...]:
        """(n, d)."""
        return self.index.ntotal, self.index.d

    @property
    def nbytes(self) -> int:
        """Bytes of the codes."""
        return int(self.index.sa_code_size() * self.index.ntotal)

    def __len__(self) -> int:
        return int(self.index.ntotal)

    def __getitem__(self, rows: Any) -> Floats:
        wanted = row_numbers(rows, len(self))
        return np.asarray(self.index.reconstruct_batch(wanted.ravel())).reshape(*wanted.shape, self.shape[1])

    def products(self, query: Floats) -> Floats:
        """Inner products of all rows with one query, by a scan of the codes, without decoding them. (d,) -> (n,)"""
        out = np.empty(len(self), dtype=np.float32)
        with one_thread():
            found, rows = self.index.search(query[None, :], len(self))
        out[rows[0]] = found[0]
        return out

    def search(self, queries: Floats, k: int) -> Neighbors:
        """The k rows of largest inner product with each query, by a scan of the codes. (q, d) -> lists (q, k)"""
        with one_thread() if len(queries) == 1 else nullcontext():
            found, rows = self.index.search(np.ascontiguousarray(queries, dtype=np.float32), k)
        return Neighbors(rows, np.where(rows >= 0, found, -np.inf).astype(np.float32))


def row_numbers(rows: Any, n: int) -> NDArray[np.int64]:
    """The numbers of the rows that numpy would take of n. rows: a slice, a mask, a number or an array of numbers."""
    if isinstance(rows, slice):
        return np.arange(*rows.indices(n))
    chosen = np.asarray(rows)
    if chosen.dtype.kind not in "iu":  # a mask, or an empty list
        return np.asarray(np.arange(n)[rows])
    wrong = chosen[(chosen < -n) | (chosen >= n)]
    if wrong.size:
        raise IndexError(f"row {wrong.flat[0]} is out of bounds for {n} rows")
    return np.where(chosen < 0, chosen + n, chosen).astype(np.int64)


@contextmanager
def one_thread() -> Iterator[None]:
    """Let faiss work in the calling thread alone: OpenMP keeps this setting for each thread, and no other is disturbed.

    For one query others are hardly worth waking; on a busy machine, waiting for them took 24 ms instead of 0.3.
    """
    import faiss

    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(threads)


def check_basis_kind(kind: str) -> None:
    """Raise unless a basis can be stored as that."""
    known = "float32", *NUMBERS
    if kind not in known:
        raise InputError(f"basis must be stored as {', '.join(known[:-1])} or {known[-1]}, got {kind!r}")


def check_kind(kind: str | None, dimension: int) -> None:
    """Raise unless rows of that dimension can be stored or searched as that, as far as can be told without them."""
    if kind is None or kind in (*NUMBERS, "links") or kind.startswith("IVF,"):
        return
    import faiss

    try:
        faiss.index_factory(dimension, kind, faiss.METRIC_INNER_PRODUCT)
    except RuntimeError as error:
        raise InputError(
            f"'{kind}' is nothing that {dimension} dimensions can be stored or searched as; use float16, int8, PQ64, "
            "SQ8, links, IVF,SQfp16 or HNSW32"
        ) from error


def compact(rows: Floats, kind: str, less: Floats | None = None) -> Compact:
    """Store rows (n, d) as float16, or as int8 with x ≈ scale · code, scale = max|x| / 127 of each row.

    less: (d,), for int8, that is taken from every row first: their mean would take most of the byte where it is large.
    """
    if kind == "float16":
        return Compact(np.asarray(rows, dtype=np.float16), np.zeros(0, dtype=np.float32))
    codes = np.empty(rows.shape, dtype=np.int8)
    scales = np.empty(len(rows), dtype=np.float32)
    for block in blocks(*rows.shape):
        part = rows[block] if less is None else rows[block] - less
        peak = np.abs(part).max(axis=1, initial=0)
        scales[block] = peak / 127
        codes[block] = np.rint(part / np.where(peak > 0, scales[block], 1)[:, None])
    return Compact(codes, scales)


def compress(rows: Floats, kind: str) -> Compact | Quantized:
    """Rows (n, d) in the kind asked for: "float16", "int8", or a faiss quantiser such as "PQ64" or "OPQ64,PQ64"."""
    if kind in NUMBERS:
        return compact(rows, kind)
    import faiss

    rows = np.ascontiguousarray(rows)
    try:
        index: Any = faiss.index_factory(rows.shape[1], kind, faiss.METRIC_INNER_PRODUCT)
        skip_polysemous(faiss.downcast_index(index))
        index.train(rows)
        index.add(rows)
        index.reconstruct_batch(np.zeros(1, dtype=np.int64))
        index.sa_code_size()
    except (RuntimeError, AttributeError) as error:
        reason = str(error).split(": ", 1)[-1].strip().split("\n")[0]
        raise InputError(
            f"'{kind}' cannot store {len(rows):,} × {rows.shape[1]} numbers ({reason}); use float16, int8, or PQ with "
            "a number of bytes that divides the dimensions, such as PQ64"
        ) from error
    return Quantized(index, kind)


def skip_polysemous(index: Any) -> None:
    """Leave out training that only faiss's polysemous search needs: quantisers are then ready 13 times sooner."""
    if hasattr(index, "do_polysemous_training"):
        index.do_polysemous_training = False


def products(queries: Floats, rows: Rows | Floats) -> Floats:
    """Inner products of every query with every row. queries: (q, d), rows: (n, d) -> (q, n)."""
    if isinstance(rows, np.ndarray) and len(queries) == 1:
        # A row at a time, in the calling thread: as fast as memory. BLAS wakes its threads for half a million numbers
        # or more, and waits for them where the machine is busy: 16 ms for 4,096 × 784 instead of 0.5.
        return np.asarray(np.vecdot(rows, queries[0]))[None, :]
    if isinstance(rows, np.ndarray):
        return queries @ rows.T
    if len(queries) == 1 and isinstance(rows, Compact | Quantized):
        return rows.products(np.ascontiguousarray(queries[0]))[None, :]
    out = np.empty((len(queries), len(rows)), dtype=np.float32)
    for block in blocks(*rows.shape):
        out[:, block] = queries @ rows[block].T
    return out


def weighted_sums(weights: Floats, rows: Floats) -> Floats:
    """Sums of all rows, weighted by every query; for one query in the calling thread. (q, n), (n, d) -> (q, d)"""
    return np.einsum("n,nd->d", weights[0], rows)[None, :] if len(weights) == 1 else weights @ rows


def relative_error(rows: Floats, stored: Rows, *, sample: int = 1000) -> float:
    """‖stored − rows‖ / ‖rows‖ over some rows, spread evenly."""
    some = np.linspace(0, len(rows) - 1, min(sample, len(rows))).astype(np.int64)
    size = np.linalg.norm(rows[some])
    return float(np.linalg.norm(stored[some] - rows[some]) / size) if size else 0.0


def blocks(n: int, columns: int) -> list[slice]:
    """Cut n rows into slices of bounded size."""
    step = max(1, _BLOCK_NUMBERS // max(1, columns))
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]
