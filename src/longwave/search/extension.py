"""Vectors outside of the graph, and the manifold as points and as a kernel (§5.4): ψ, Φ, κ̂."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from longwave.errors import FilterError
from longwave.filters import at_zero, response, warn_if_left_out
from longwave.graph.weights import Kernel
from longwave.search.observation import observe
from longwave.solvers.spectral import direct_gains
from longwave.spectrum.spectrum import Spectrum
from longwave.types import Array, Filter, Neighbors, Sparse


def psi(
    found: Neighbors,
    *,
    count: int,
    n_vertices: int,
    kernel: Kernel,
    scales: NDArray[np.float32] | None = None,
    normalized: bool = False,
) -> Sparse:
    """ψ(z)_i = s(v_i | z), a sparse row over the graph for every unseen vector z. CSR (m, n).

    found: lists of every z, the first `count` of which are used; scales: (n,) of the vertices, for a kernel that has
    them. normalized: divide each row by its sum. Then ψ(z)ᵀx is a mean of its neighbours' scores and comparable with
    x_i of the graph's own items; as printed it counts an item with many near neighbours several times over.
    """
    own = np.arange(len(found.ids))
    rows = observe(found, own, count=count, n_vertices=n_vertices, kernel=kernel, scales=scales)
    if not normalized:
        return rows
    total = np.asarray(rows.sum(axis=1)).ravel()
    scale = np.divide(1.0, total, out=np.zeros_like(total), where=total > 0)
    return sp.csr_array(sp.diags_array(scale) @ rows, dtype=np.float32)


def embed(spectrum: Spectrum, coordinates: Sparse, filter: Filter) -> Array:
    """φ̂(z) = Φ ψ(z), Φ = h(Λ)^{1/2} Uᵀ, eq. (11). coordinates: ψ, CSR (m, n) -> (m, r).

    A row e_i gives φ(v_i) of the graph's own vertex i; isolated vertices have no place in ℝʳ and give 0 (`kernel`
    counts them). Needs h ≥ 0 on the kept eigenvalues.
    """
    if spectrum.next_eigenvalue is not None:
        warn_if_left_out(filter, spectrum.eigenvalues, spectrum.next_eigenvalue, complement=False)
    gains = response(filter, spectrum.eigenvalues)
    if (gains < 0).any():
        worst = int(gains.argmin())
        raise FilterError(
            f"an embedding needs h >= 0 on every kept eigenvalue, but {filter!r} is {gains[worst]:.3g} at "
            f"{spectrum.eigenvalues[worst]:.3g}; use LowPass or Heat"
        )
    return np.asarray(spectrum.eigenvectors.project(coordinates) * np.sqrt(gains), dtype=np.float32)


def kernel(spectrum: Spectrum, first: Sparse, second: Sparse, filter: Filter) -> Array:
    """κ̂(z₁, z₂) = ψ(z₁)ᵀ Φᵀ Φ ψ(z₂), eq. (12). first: (m₁, n), second: (m₂, n) -> (m₁, m₂)."""
    basis_part = embed(spectrum, first, filter) @ embed(spectrum, second, filter).T
    floor = at_zero(filter)
    direct = direct_gains(spectrum.kinds, floor, complement=False)  # isolated and copied vertices
    return np.asarray(basis_part + (first.multiply(direct[None, :]) @ second.T).toarray())
