"""The Fourier basis of the graph (§3.1): four ways to compute it, and its sparse form.

======================  ==========================================
paper                   here
======================  ==========================================
FSR.exact               ``Exact()``
FSR.rank-r              ``Exact(rank)`` or ``Lanczos(rank)``
FSR.approx              ``Simultaneous(rank)`` as printed, ``Chebyshev(rank)`` accurate
FSR.sparse              either, then ``sparsify``
======================  ==========================================
"""

from longwave.registry import register
from longwave.spectrum.advised import Advised
from longwave.spectrum.chebyshev import Chebyshev
from longwave.spectrum.exact import Exact
from longwave.spectrum.lanczos import Lanczos
from longwave.spectrum.method import Method
from longwave.spectrum.simultaneous import Simultaneous
from longwave.spectrum.sparsify import sparsify
from longwave.spectrum.spectrum import Spectrum

__all__ = ["Advised", "Chebyshev", "Exact", "Lanczos", "Method", "Simultaneous", "Spectrum", "sparsify"]

for _name, _method in (
    ("chebyshev", Chebyshev),
    ("lanczos", Lanczos),
    ("simultaneous", Simultaneous),
    ("exact", Exact),
):
    register("spectrum", _name, _method)
