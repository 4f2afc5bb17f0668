"""Matrices and spectra as named plain arrays, which is what an index folder holds.

What is taken from a folder is checked, as compiled code does not look: type and shape of every array, and all numbers
that are places in another. ValueError where something does not fit. Time O(what holds places), other numbers are not
read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from longwave.plan import Structure
from longwave.rows.encoded import Compact, Quantized
from longwave.spectrum.basis import Basis, Part
from longwave.spectrum.spectrum import Spectrum
from longwave.stores import codes, links
from longwave.stores.codes import Codes
from longwave.stores.faiss import Faiss
from longwave.stores.links import Links
from longwave.types import Array, Sparse

# Types that an array may have, in the byte order of the machine.
FLOATS, PLACES, BYTES = (np.float32, np.float64), (np.int32, np.int64), (np.uint8,)
# faiss pads rows to a multiple of this.
_LANES = 16


def take(arrays: Mapping[str, Array], name: str, types: tuple[Any, ...], *shape: int | None) -> Array:
    """An array by name, of one of these types and of this shape; None for any length."""
    if name not in arrays:
        raise ValueError(f"there is no array {name}")
    array = arrays[name]
    fits = len(shape) == array.ndim and all(e in (None, n) for e, n in zip(shape, array.shape, strict=True))
    if not fits or array.dtype.type not in types or not array.dtype.isnative:
        expected = " × ".join("any" if e is None else str(e) for e in shape)
        names = " or ".join(np.dtype(kind).name for kind in types)
        raise ValueError(f"{name} is {array.shape} of {array.dtype}, it should be {expected} of {names}")
    return array


def take_places(arrays: Mapping[str, Array], name: str, length: int | None, end: int) -> Array:
    """An array of numbers from 0 to end − 1."""
    array = take(arrays, name, PLACES, length)
    check_range(name, array, end)
    return array


def pack_spectrum(spectrum: Spectrum) -> dict[str, Array]:
    """The arrays of a spectrum, by name."""
    following = np.array([] if spectrum.next_eigenvalue is None else [spectrum.next_eigenvalue])
    return {
        "eigenvalues": spectrum.eigenvalues,
        "residuals": spectrum.residuals,
        "row_norms": spectrum.row_norms,
        "kinds": spectrum.kinds,
        "next_eigenvalue": following,
        **pack_basis("basis", spectrum.eigenvectors),
    }


def unpack_spectrum(arrays: Mapping[str, Array], n: int) -> Spectrum:
    """The spectrum of n vertices that `pack_spectrum` took apart."""
    eigenvalues = take(arrays, "eigenvalues", FLOATS, None)
    following = take(arrays, "next_eigenvalue", FLOATS, None)[:1]
    kinds = take(arrays, "kinds", BYTES, n)
    check_range("kinds", kinds, 3)
    return Spectrum(
        eigenvalues=eigenvalues,
        eigenvectors=unpack_basis("basis", arrays, n, len(eigenvalues)),
        residuals=take(arrays, "residuals", FLOATS, len(eigenvalues)),
        row_norms=take(arrays, "row_norms", FLOATS, n),
        next_eigenvalue=float(following[0]) if len(following) else None,
        kinds=kinds,
    )


def pack_basis(name: str, basis: Basis) -> dict[str, Array]:
    """The arrays of a basis, by name."""
    arrays = pack_sparse(f"{name}_sparse", basis.sparse)
    for number, part in enumerate(basis.parts):
        arrays |= {**pack_rows(f"{name}_{number}", part.values), f"{name}_{number}_rows": part.rows}
    return arrays


def unpack_basis(name: str, arrays: Mapping[str, Array], n: int, rank: int) -> Basis:
    """The basis of n rows and `rank` columns that `pack_basis` took apart."""
    parts: list[Part] = []
    while f"{name}_{len(parts)}_rows" in arrays:
        own = f"{name}_{len(parts)}"
        rows = take_places(arrays, f"{own}_rows", None, n)
        if (rows[1:] <= rows[:-1]).any():
            raise ValueError(f"{own}_rows does not ascend")
        values = unpack_rows(own, arrays)
        if len(values) != len(rows):
            raise ValueError(f"{own} has {len(values)} rows and {own}_rows {len(rows)}")
        parts.append(Part(rows, values))
    left = rank - sum(part.width for part in parts)
    if left < 0:
        raise ValueError(f"{name} has more columns than there are eigenvalues, {rank}")
    return Basis(n, tuple(parts), unpack_sparse(f"{name}_sparse", arrays, (n, left)))


def pack_rows(name: str, rows: Any) -> dict[str, Array]:
    """The arrays of rows in whatever kind, by name."""
    if isinstance(rows, Quantized):
        import faiss

        return {f"{name}_codes": np.asarray(faiss.serialize_index(rows.index))}
    if isinstance(rows, Compact):
        return {name: rows.codes, f"{name}_scales": rows.scales}
    return {name: rows}


def unpack_rows(name: str, arrays: Mapping[str, Array], kind: str = "") -> Any:
    """The rows that `pack_rows` took apart. kind: of a quantiser."""
    if f"{name}_codes" in arrays:
        import faiss

        packed = take(arrays, f"{name}_codes", BYTES, None)
        try:
            return Quantized(faiss.deserialize_index(np.ascontiguousarray(packed)), kind)
        except RuntimeError as error:
            raise ValueError(f"{name}_codes cannot be read") from error
    if f"{name}_scales" not in arrays:
        return take(arrays, name, FLOATS, None, None)
    codes = take(arrays, name, (np.float16, np.int8), None, None)
    length = len(codes) if codes.dtype == np.int8 else 0
    return Compact(codes, take(arrays, f"{name}_scales", (np.float32,), length))


def pack_search(name: str, search: Faiss | Links | Codes) -> dict[str, Array]:
    """The arrays of a search over the vectors, by name."""
    if isinstance(search, Faiss):
        return {name: search.pack()}
    return {f"{name}_{part}": array for part, array in search.pack().items()}


def unpack_first(
    name: str, arrays: Mapping[str, Array], known: Structure | None, rows: Any
) -> Faiss | Links | Codes | None:
    """The search over the vectors that `pack_search` took apart. rows: that it searches."""
    if known is not None and known.kind == codes.KIND:
        return Codes(rows, known) if codes.serves(rows) else None
    if known is None or known.kind != links.KIND:
        return unpack_search(name, arrays, known, rows.shape)
    own = {n.removeprefix(f"{name}_"): array for n, array in arrays.items() if n.startswith(f"{name}_")}
    return Links.unpack(own, rows, known)


def unpack_search(
    name: str, arrays: Mapping[str, Array], known: Structure | None, shape: tuple[int, ...]
) -> Faiss | None:
    """The search that `Faiss.pack` took apart, over rows of this shape. known: what the plan says of it."""
    if known is None:
        return None
    search = Faiss.unpack(take(arrays, name, BYTES, None), known)
    (n, columns), index = shape, search.index
    if index.ntotal != n or index.d not in (columns, -(-columns // _LANES) * _LANES):
        raise ValueError(f"{name} searches {index.ntotal} × {index.d} numbers, not {n} × {columns}")
    return search


def pack_sparse(name: str, matrix: Sparse) -> dict[str, Array]:
    """The three arrays of a CSR matrix, by name."""
    return {f"{name}_data": matrix.data, f"{name}_indices": matrix.indices, f"{name}_indptr": matrix.indptr}


def unpack_sparse(name: str, arrays: Mapping[str, Array], shape: tuple[int, int]) -> Sparse:
    """A CSR matrix from its arrays, with every index in range: compiled code does not look."""
    indptr = take(arrays, f"{name}_indptr", PLACES, shape[0] + 1)
    indices = take_places(arrays, f"{name}_indices", None, shape[1])
    data = take(arrays, f"{name}_data", FLOATS, len(indices))
    # Compared, not subtracted: a difference of int32 may wrap around and look small.
    if indptr[0] != 0 or indptr[-1] != len(data) or (indptr[1:] < indptr[:-1]).any():
        raise ValueError(f"{name}_indptr does not fit its matrix")
    return sp.csr_array((data, indices, indptr), shape=shape, copy=False)


def check_range(name: str, numbers: Array, end: int) -> None:
    """Raise unless all numbers are in 0 … end − 1."""
    if numbers.size and not (numbers.min() >= 0 and numbers.max() < end):
        raise ValueError(f"{name} has numbers outside of 0 … {end - 1}")
