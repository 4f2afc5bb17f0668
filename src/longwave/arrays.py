"""Matrices and spectra as named plain arrays, which is what an index folder holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from longwave.basis import Basis, Part
from longwave.compact import Compact, Quantized
from longwave.types import Array, Sparse, Spectrum


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


def unpack_spectrum(arrays: Mapping[str, Array]) -> Spectrum:
    """The spectrum that `pack_spectrum` took apart."""
    following = arrays["next_eigenvalue"]
    return Spectrum(
        eigenvalues=arrays["eigenvalues"],
        eigenvectors=unpack_basis("basis", arrays, len(arrays["kinds"])),
        residuals=arrays["residuals"],
        row_norms=arrays["row_norms"],
        next_eigenvalue=float(following[0]) if len(following) else None,
        kinds=arrays["kinds"],
    )


def pack_basis(name: str, basis: Basis) -> dict[str, Array]:
    """The arrays of a basis, by name."""
    arrays = pack_sparse(f"{name}_sparse", basis.sparse)
    for number, part in enumerate(basis.parts):
        arrays |= {**pack_rows(f"{name}_{number}", part.values), f"{name}_{number}_rows": part.rows}
    return arrays


def unpack_basis(name: str, arrays: Mapping[str, Array], n: int) -> Basis:
    """The basis of n rows that `pack_basis` took apart."""
    parts: list[Part] = []
    while f"{name}_{len(parts)}_rows" in arrays:
        own = f"{name}_{len(parts)}"
        rows = arrays[f"{own}_rows"]
        check_range(f"{own}_rows", rows, n)
        parts.append(Part(rows, unpack_rows(own, arrays)))
    shape = n, len(arrays["eigenvalues"]) - sum(part.width for part in parts)
    return Basis(n, tuple(parts), unpack_sparse(f"{name}_sparse", arrays, shape))


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

        try:
            return Quantized(faiss.deserialize_index(np.ascontiguousarray(arrays[f"{name}_codes"])), kind)
        except RuntimeError as error:
            raise ValueError(f"{name}_codes cannot be read") from error
    if f"{name}_scales" in arrays:
        return Compact(arrays[name], arrays[f"{name}_scales"])
    return arrays[name]


def pack_sparse(name: str, matrix: Sparse) -> dict[str, Array]:
    """The three arrays of a CSR matrix, by name."""
    return {f"{name}_data": matrix.data, f"{name}_indices": matrix.indices, f"{name}_indptr": matrix.indptr}


def unpack_sparse(name: str, arrays: Mapping[str, Array], shape: tuple[int, int]) -> Sparse:
    """A CSR matrix from its arrays, with every index in range: compiled code does not look."""
    data, indices, indptr = (arrays[f"{name}_{part}"] for part in ("data", "indices", "indptr"))
    check_range(f"{name}_indices", indices, shape[1])
    if len(indptr) != shape[0] + 1 or indptr[0] != 0 or indptr[-1] != len(data) or (np.diff(indptr) < 0).any():
        raise ValueError(f"{name}_indptr does not fit its matrix")
    return sp.csr_array((data, indices, indptr), shape=shape, copy=False)


def check_range(name: str, numbers: Array, end: int) -> None:
    """Raise unless all numbers are in 0 … end − 1."""
    if numbers.size and not (numbers.min() >= 0 and numbers.max() < end):
        raise ValueError(f"{name} has numbers outside of 0 … {end - 1}")
