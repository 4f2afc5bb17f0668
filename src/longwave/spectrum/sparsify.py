"""A sparse basis: only the largest entries of U are kept (FSR.sparse, stage 3 of §3.1)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from longwave.filters import response
from longwave.rows.vectors import row_blocks
from longwave.spectrum.basis import Basis
from longwave.spectrum.blocks import panels
from longwave.spectrum.blocks import residuals as measure_residuals
from longwave.spectrum.spectrum import Spectrum
from longwave.types import Filter, Sparse


def sparsify(spectrum: Spectrum, matrix: Sparse, *, nonzeros: int, filter: Filter | None = None) -> Spectrum:
    """Keep the τ = `nonzeros` entries of largest magnitude of the whole of U, drop the rest.

    filter: an h; entries are then compared as those of U h(Λ)^½, which is what scores are made of (as printed, a large
    entry of a wave that h damps pushes out a small one of a wave that counts). None: as printed.

    matrix: 𝒲, for the residuals, which are measured again. Row norms η stay those of the full U. Choose it to save
    memory: most vectors live on few manifolds. Time O(n r), memory that of the magnitudes once more.
    """
    basis = spectrum.eigenvectors
    if nonzeros >= basis.nonzeros:
        return spectrum
    weights = (
        np.ones(spectrum.rank) if filter is None else np.sqrt(np.maximum(response(filter, spectrum.eigenvalues), 0))
    )
    weights = weights.astype(np.float32)
    stored = [(part.values * weights[columns]).ravel() for part, columns in basis.spans()]
    magnitudes = np.abs(np.concatenate([*stored, basis.sparse.data * weights[basis.n_dense + basis.sparse.indices]]))
    del stored
    smallest = len(magnitudes) - max(1, nonzeros)  # place of the smallest magnitude that stays
    magnitudes.partition(smallest)
    threshold = magnitudes[smallest]
    strictly_above = 0 if nonzeros == 0 else int(np.count_nonzero(magnitudes > threshold))
    del magnitudes
    ties_left = nonzeros - strictly_above  # of the entries equal to the threshold, the first in row order stay

    parts = []
    for rows in row_blocks(*basis.shape, numbers=1 << 24):
        whole = basis.rows(rows)
        size = np.abs(whole.data * weights[whole.indices])
        tied = np.flatnonzero(size == threshold)
        keep = size > (threshold if nonzeros else np.inf)
        keep[tied[:ties_left]] = True
        ties_left -= min(ties_left, len(tied))
        whole.data[~keep] = 0
        whole.eliminate_zeros()
        parts.append(whole)
    sparse = Basis.from_sparse(sp.vstack(parts))
    residuals = np.empty(spectrum.rank)
    for columns in panels(spectrum.rank):
        part = sparse.sparse[:, columns].toarray()
        residuals[columns] = measure_residuals(matrix, part, spectrum.eigenvalues[columns])
    return replace(spectrum, eigenvectors=sparse, residuals=residuals)
