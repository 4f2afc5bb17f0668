"""How a search is carried out."""

from __future__ import annotations

from longwave.spectrum.basis import Basis

# Numbers that an exact query may read: 2^26 float32 are a quarter of a gigabyte, 10 to 20 ms at memory speed.
APPROXIMATE_NUMBERS = 1 << 26


def wants_approximate(vector_numbers: int, pooled: Basis) -> bool:
    """Whether one exact query reads so much, all vectors and the largest part of Ū, that approximate searches pay."""
    largest = max((part.values.size for part in pooled.parts), default=0)
    return bool(largest and vector_numbers + largest > APPROXIMATE_NUMBERS)
