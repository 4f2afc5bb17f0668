"""The graph Fourier transform of a signal on items, its inverse, and smoothing."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from longwave.errors import InputError
from longwave.search.snapshot import Snapshot
from longwave.signals.carrying import check_signal, filtered, means, shares
from longwave.types import Array, Filter


def fourier(snapshot: Snapshot, signal: ArrayLike) -> NDArray[np.float32]:
    """Uᵀs: how much of every wave there is in a signal (§5.1). (N,) -> (r,), (N, m) -> (r, m)

    In the order of `index.spectrum.eigenvalues`. Copies are one vertex, which has the mean of their values.
    """
    basis = snapshot.system.require_spectrum("fourier").eigenvectors
    values = means(shares(snapshot), check_signal(snapshot, signal))
    waves = basis.project(values.T.astype(np.float32)).T
    return np.asarray(waves[:, 0] if np.ndim(signal) == 1 else waves)


def inverse(snapshot: Snapshot, waves: ArrayLike) -> NDArray[np.float32]:
    """U z: the signal that consists of these waves, on the items. (r,) -> (N,), (r, m) -> (N, m)

    With all waves it undoes `fourier`, but for vertices that stand alone: these have none.
    """
    spectrum = snapshot.system.require_spectrum("inverse")
    given = np.asarray(waves, dtype=np.float32)
    rows: Array = given[:, None] if given.ndim == 1 else given
    if rows.ndim != 2 or len(rows) != spectrum.rank:
        raise InputError(f"waves must have one row for each of {spectrum.rank} eigenvalues, got shape {given.shape}")
    made = shares(snapshot) @ spectrum.eigenvectors.synthesize(np.ascontiguousarray(rows.T)).T
    return np.asarray(made[:, 0] if given.ndim == 1 else made, dtype=np.float32)


def smooth(
    snapshot: Snapshot, signal: ArrayLike, filter: Filter, *, printed: bool = False, tolerance: float | None = None
) -> NDArray[np.float32]:
    """A signal without its short waves: D^{−½} h(𝒲) D^½ s on the items. (N,) -> (N,), (N, m) -> (N, m)

    With h(1) = 1, as `LowPass` and `Heat` have it, every value is a weighted mean over the component, a constant stays
    as it is, and a vertex that stands alone keeps its value. printed: h(𝒲)s, which favours vertices of many edges.
    """
    values = means(shares(snapshot), check_signal(snapshot, signal))  # (n, m)
    degrees = snapshot.graph.degrees
    roots = np.ones(len(degrees)) if printed else np.sqrt(np.where(degrees > 0, degrees, 1.0))
    passed = filtered(snapshot, sp.csr_array((values * roots[:, None]).T, dtype=np.float32), filter, tolerance).T
    made = passed / roots[:, None]
    if not printed:
        made[degrees <= 0] = values[degrees <= 0]
    out = shares(snapshot) @ made
    return np.asarray(out[:, 0] if np.ndim(signal) == 1 else out, dtype=np.float32)
