"""`Plan`: which way a search goes, and so how fast and how exact it is. It is kept with the index."""

from __future__ import annotations

from dataclasses import dataclass

from longwave.errors import InputError

#: From least to most work: a few candidates, one product with all of Ū, iteration on the graph itself.
ROUTES = ("sublinear", "basis", "exact")
# Beyond these one product with all of Ū serves all queries, and is quicker than one search after the other.
FEW_QUERIES, FEW_HITS = 16, 1000
# Numbers that one query may read: 2^26 float32 are a quarter of a gigabyte, 10 to 20 ms at memory speed.
_NUMBERS = 1 << 26
# Vectors of so many numbers are scanned as they are, in 0.1 ms.
_SCANNED = 1 << 20
# Codes of a byte a number are scanned up to this cost, in 0.5 ms: a row costs as much as so many numbers more.
_CODED, _ROW = 1 << 24, 400


@dataclass(frozen=True)
class Structure:
    """What is known of an approximate search: its kind as faiss names it, its effort, its recall of the best k."""

    kind: str
    effort: int
    recall: float
    k: int


@dataclass(frozen=True)
class Plan:
    """Which way a search goes, and what it may look through.

    route: "sublinear" scores candidates alone, for up to 1,000 hits (and up to 16 queries at a time, where these have
    several vectors, or candidates come from a search over the basis), and every item for more; "basis" scores every
    item by one product; "exact" iterates on the graph until the answer is within `tolerance`. vectors: the approximate
    search over the vectors, None for a scan. coordinates: those over each part of Ū; None where candidates are found
    by a walk on the graph (`BestFirst`). `hits.route` tells which way an answer came.
    """

    route: str = "basis"
    tolerance: float | None = None
    vectors: Structure | None = None
    coordinates: tuple[Structure | None, ...] | None = None

    def __post_init__(self) -> None:
        if self.route not in ROUTES:
            raise InputError(f"the route of a plan must be one of {', '.join(ROUTES)}, got '{self.route}'")
        if (self.tolerance is not None) != (self.route == "exact"):
            raise InputError(f"a plan has a tolerance where its route is 'exact', and only there, got {self!r}")
        if self.tolerance is not None and not self.tolerance > 0:
            raise InputError(f"tolerance must be above 0, got {self.tolerance}")

    def is_few(self, queries: int, hits: int) -> bool:
        """Whether so many queries for so many hits are answered from candidates."""
        return self.route == "sublinear" and queries <= FEW_QUERIES and hits <= FEW_HITS

    def __str__(self) -> str:
        if self.route == "exact":
            return f"exact: iteration on the graph to a relative error of {self.tolerance:g}"
        if self.route == "basis":
            return "basis: every item is scored by one product"
        found = "a walk on the graph finds" if self.coordinates is None else "a search over the basis finds"
        few = "" if self.coordinates is None else f"{FEW_QUERIES} queries at a time and "
        return (
            f"sublinear: {found} candidates, and only these are scored, for up to {few}{FEW_HITS:,} hits; for more, "
            "every item is"
        )


def wants_links(n: int, dimension: int, fast: bool | None) -> bool:
    """Whether links over n vectors pay: a scan, also of codes, would take longer; or they were asked for."""
    return fast is True or (fast is None and n * dimension > _SCANNED and not wants_codes(n, dimension))


def wants_codes(n: int, dimension: int) -> bool:
    """Whether codes of n vectors pay: a scan of these takes no longer than links do, and misses nothing."""
    return n * dimension > _SCANNED and n * (dimension + _ROW) <= _CODED


def wants_approximate(vector_numbers: int, part_numbers: int) -> bool:
    """Whether one query would read so many numbers, of all vectors and of the largest part of Ū, that searches pay."""
    return bool(part_numbers and vector_numbers + part_numbers > _NUMBERS)
