"""Filters h, also called transfer functions: how much of every wave of the graph passes (§2.2, §4, §5).

A filter is any function from an array of eigenvalues of 𝒲, which lie in [−1, 1], to an array of gains of the same
shape. It is chosen for each search; nothing is rebuilt. Those here are values: they compare, print and can be written
as text (``lowpass:0.99``). One file each: the equation, what it does, when to choose it, its gains at five eigenvalues.
Your own is one file too: docs/contributing.md.

Leans on `registry`.
"""

from longwave.filters.gains import at_zero, fingerprint, is_nondecreasing, left_out, response, warn_if_left_out
from longwave.filters.heat import Heat
from longwave.filters.ideal import Ideal
from longwave.filters.low_pass import LowPass
from longwave.filters.polynomial import Polynomial
from longwave.filters.power import PowerIteration
from longwave.filters.text import parse, text_of
from longwave.filters.walk import Walk
from longwave.registry import register

__all__ = [
    "LowPass", "Heat", "Ideal", "Walk", "PowerIteration", "Polynomial",
    "response", "at_zero", "fingerprint", "is_nondecreasing", "left_out", "warn_if_left_out",
    "parse", "text_of",
]  # fmt: skip

register("filter", "lowpass", LowPass)
register("filter", "heat", Heat)
register("filter", "ideal", Ideal)
register("filter", "walk", Walk)
register("filter", "polynomial", Polynomial)
register("filter", "power", PowerIteration)
