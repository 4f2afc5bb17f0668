"""Longwave: manifold search for embeddings at the speed of Euclidean search.

    index = longwave.Index.build(vectors)
    hits = index.search(queries, k=10)

x = h(𝒲) y, where y says which vectors look like the query, 𝒲 is the neighbour graph and h a low-pass filter.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from longwave.errors import LongwaveError, LongwaveWarning
from longwave.threads import prepare

__version__ = "0.1.0"

__all__ = [
    "Index", "Hits", "Spectrum", "Collection", "open", "create", "Client", "Remote",
    "Chebyshev", "Lanczos", "Simultaneous", "Exact",
    "LowPass", "Heat", "Ideal", "Walk", "PowerIteration", "Polynomial",
    "BestFirst", "QUICK", "Spectral", "ConjugateGradient", "Hybrid", "RandomWalk", "GaussSeidel", "ChebyshevFilter",
    "RandomProjection", "Precomputed", "Euclidean",
    "Power", "Local", "Anchor", "Blend", "PAPER",
    "LongwaveError", "LongwaveWarning", "datasets",
]  # fmt: skip

prepare()

if TYPE_CHECKING:
    from longwave import datasets
    from longwave.client import Client
    from longwave.collection import Collection, create, open
    from longwave.engines import Remote
    from longwave.filters import Heat, Ideal, LowPass, Polynomial, PowerIteration, Walk
    from longwave.graph.weights import Local, Power
    from longwave.index import PAPER, Index
    from longwave.search.blending import Anchor, Blend
    from longwave.search.euclidean import Euclidean
    from longwave.solvers import (
        QUICK,
        BestFirst,
        ChebyshevFilter,
        ConjugateGradient,
        GaussSeidel,
        Hybrid,
        Precomputed,
        RandomProjection,
        RandomWalk,
        Spectral,
    )
    from longwave.spectrum import Chebyshev, Exact, Lanczos, Simultaneous
    from longwave.spectrum.spectrum import Spectrum
    from longwave.types import Hits
else:
    # Imported when first used: `longwave --help` is there at once, and Ctrl-C is heard from the start.
    _MODULES = (
        "index",
        "collection",
        "client",
        "engines",
        "types",
        "spectrum",
        "filters",
        "solvers",
        "graph.weights",
        "search.blending",
        "search.euclidean",
    )

    def __getattr__(name):
        if name in __all__ and name != "datasets":
            modules = (import_module(f"longwave.{module}") for module in _MODULES)
            globals()[name] = next(getattr(module, name) for module in modules if hasattr(module, name))
            return globals()[name]
        try:
            return import_module(f"longwave.{name}")  # `longwave.filters` after `import longwave`
        except ModuleNotFoundError as error:
            if error.name != f"longwave.{name}":
                raise
            raise AttributeError(f"module 'longwave' has no attribute '{name}'") from None

    def __dir__():
        return sorted([*__all__, "__doc__", "__file__", "__name__", "__path__", "__version__"])
