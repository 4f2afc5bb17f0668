"""Longwave: manifold search for embeddings at the speed of Euclidean search.

    index = longwave.Index.build(vectors)
    hits = index.search(queries, k=10)

x = h(𝒲) y, where y says which vectors look like the query, 𝒲 is the neighbour graph and h a low-pass filter.
"""

from longwave import datasets
from longwave.errors import LongwaveError, LongwaveWarning
from longwave.filters import Heat, Ideal, LowPass, Polynomial, Walk
from longwave.index import Index
from longwave.ranking import Blend, Euclidean
from longwave.solvers import ChebyshevFilter, ConjugateGradient, Hybrid, Precomputed, RandomWalk, Spectral
from longwave.spectrum import Chebyshev, Exact, Lanczos, Simultaneous
from longwave.threads import prepare
from longwave.types import Hits, Spectrum

__version__ = "0.1.0"

__all__ = [
    "Index", "Hits", "Spectrum",
    "Chebyshev", "Lanczos", "Simultaneous", "Exact",
    "LowPass", "Heat", "Ideal", "Walk", "Polynomial",
    "Spectral", "ConjugateGradient", "Hybrid", "RandomWalk", "ChebyshevFilter", "Precomputed", "Euclidean", "Blend",
    "LongwaveError", "LongwaveWarning", "datasets",
]  # fmt: skip

prepare()
