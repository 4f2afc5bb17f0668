"""What requests and answers hold: decoded, encoded and described in one place."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

#: Hits that one request may ask for, over all of its queries.
MOST_HITS = 1_000_000
#: Rows of vectors in one request.
MOST_ROWS = 10_000
#: Ids in one request or answer.
MOST_IDS = 100_000

Id = int | str
Count = Annotated[int, Meta(ge=1, le=MOST_HITS)]
Some = Annotated[int, Meta(ge=1, le=MOST_IDS)]
Names = Annotated[list[str], Meta(max_length=1000)]
Text = Annotated[str, Meta(min_length=1, max_length=1000)]
Question = Annotated[str, Meta(min_length=1, max_length=10_000)]
Questions = Annotated[list[Question], Meta(min_length=1, max_length=1000)]
Seeds = Annotated[dict[str, float], Meta(min_length=1, max_length=MOST_IDS)]
Vectors = Annotated[list[list[float]], Meta(min_length=1, max_length=MOST_ROWS)]
Ids = Annotated[list[Id], Meta(min_length=1, max_length=MOST_IDS)]
Box = Annotated[list[float], Meta(min_length=4, max_length=4, description="x0, y0, x1, y1 in pixels of the picture")]
Where = Annotated[
    dict[str, Any] | list[int | str | bool] | str | None,
    Meta(description='a condition such as {"year": {"$gte": 2020}} or "year>=2020"; ids; or true or false for each'),
]


class Blend(Struct, forbid_unknown_fields=True):
    """FSRw of the paper, in full."""

    weight: Annotated[float, Meta(ge=0)]
    scale: Literal["peak", "impulse", "printed"] = "peak"
    everywhere: bool = False


class Options(Struct, kw_only=True, forbid_unknown_fields=True):
    """How to search; what is left out is the collection's own."""

    k: Count | Literal["auto"] = 10
    filter: Annotated[Text | None, Meta(description="such as lowpass:0.97, heat:10, ideal:0.9 or walk:0.99,10")] = None
    neighbors: Some | None = None
    blend: Text | float | Blend | None = None
    where: Where = None
    columns: Names | None = None
    cut: Some | None = None
    region_sum: Literal["similarities", "products"] = "similarities"
    tolerance: Annotated[float, Meta(gt=0)] | None = None
    solver: Annotated[Text | None, Meta(description="such as euclidean, hybrid:0.001 or cg:0.001")] = None
    plan: Literal["sublinear", "basis"] | None = None
    fold: Annotated[float, Meta(gt=0, le=1)] | None = None
    diversity: Annotated[float, Meta(ge=0, lt=1)] = 0.0


class SearchBody(Options, kw_only=True, forbid_unknown_fields=True):
    """Query vectors, as lists or as bytes, items to begin at with a weight each, or questions; and how to search."""

    vectors: Vectors | None = None
    npy: Annotated[bytes | None, Meta(description="rows of little-endian float32, base64; with `dimension`")] = None
    dimension: Some | None = None
    seeds: Seeds | list[Seeds] | None = None
    texts: Annotated[Questions | None, Meta(description="questions to a collection of texts")] = None
    kind: Literal["manifold", "pagerank"] = "manifold"
    query_groups: list[int] | None = None
    weights: list[float] | None = None
    on_error: Literal["raise", "skip"] = "raise"


class SimilarBody(Options, kw_only=True, forbid_unknown_fields=True):
    """Items that are the queries: one for each, or one of all together."""

    ids: Ids
    unlike: Annotated[list[Id], Meta(max_length=MOST_IDS)] = msgspec.field(name="not", default_factory=list)
    together: bool = False
    include_self: bool = False


class Query(Struct, kw_only=True, forbid_unknown_fields=True):
    """One query: items, a picture that was uploaded, a question to texts, or vectors and their weights."""

    ids: Ids | None = None
    unlike: Annotated[list[Id], Meta(max_length=MOST_IDS)] = msgspec.field(name="not", default_factory=list)
    upload: Text | None = None
    box: Box | None = None
    text: Annotated[Question | None, Meta(description="a question to a collection of texts")] = None
    vectors: Vectors | None = None
    weights: list[float] | None = None


class CompareBody(Struct, kw_only=True, forbid_unknown_fields=True):
    """One query, and how to search."""

    query: Query
    k: Count = 10
    filter: Text | None = None
    neighbors: Some | None = None
    blend: Text | float | Blend | None = None
    where: Where = None
    within: Annotated[Ids | None, Meta(description="ids that must be met together with `where`")] = None
    columns: Names | None = None


class ExplainBody(Struct, kw_only=True, forbid_unknown_fields=True):
    """One query, and the item whose score is to be explained."""

    query: Query
    id: Id
    filter: Text | None = None
    neighbors: Some | None = None


class ItemsBody(Struct, kw_only=True, forbid_unknown_fields=True):
    """Items to add, or to put in the place of others: vectors, or pictures that were uploaded."""

    vectors: Vectors | None = None
    uploads: Annotated[list[Text], Meta(min_length=1, max_length=1000)] | None = None
    ids: Ids | None = None
    groups: Ids | None = None
    metadata: Annotated[list[dict[str, Any]], Meta(max_length=MOST_ROWS)] | None = None


class IdsBody(Struct, kw_only=True, forbid_unknown_fields=True):
    """Items to remove."""

    ids: Ids


class Summary(Struct, kw_only=True):
    """A collection in the list of all."""

    name: str
    items: int
    dimension: int
    version: int
    pictures: bool
    texts: bool
    writable: bool


class Collections(Struct):
    """All collections."""

    collections: list[Summary]


class Column(Struct):
    """A column of the metadata, and its type as Arrow names it."""

    name: str
    type: str


class Draw(Struct):
    """How items are drawn from their vectors."""

    kind: str
    width: int
    height: int


class Range(Struct):
    """A parameter of a filter, the range in which it is worth setting."""

    parameter: str
    min: float
    max: float
    default: float


class Knob(Struct):
    """A filter, its first parameter, and more of them where it has some."""

    name: str
    parameter: str
    min: float
    max: float
    default: float
    more: list[Range] = msgspec.field(default_factory=list)


class Details(Struct, kw_only=True):
    """All that is known of a collection."""

    name: str
    items: int
    dimension: int
    version: int
    id_kind: Literal["int", "str"]
    pictures: bool
    texts: bool
    writable: bool
    columns: list[Column]
    labels: str | None
    draw: Draw | None
    settings: dict[str, Any]
    filters: list[Knob]
    eigenvalues: list[float]
    staleness: str
    info: list[tuple[str, str]]


class Hit(Struct, kw_only=True):
    """The hits of one query, best first. count: those that are relevant. folded: of each, what is nearly the same."""

    ids: list[Id]
    scores: list[float]
    confidence: float | None = None
    columns: dict[str, list[Any]] | None = None
    error: float | None = None
    steps: int | None = None
    count: int | None = None
    folded: list[list[Id]] | None = None


class Times(Struct, kw_only=True):
    """Milliseconds: waiting for a thread, the first search, the second one, all."""

    queue: float
    first: float
    second: float
    total: float


class SearchAnswer(Struct, kw_only=True):
    """Hits of every query. queries: the numbers of those answered, where some were skipped."""

    hits: list[Hit]
    route: str | None
    version: int
    milliseconds: Times
    queries: list[int] | None = None


class Nearest(Struct, kw_only=True):
    """Hits of Euclidean search."""

    ids: list[Id]
    scores: list[float]
    columns: dict[str, list[Any]] | None = None


class Manifold(Nearest, kw_only=True):
    """Hits along the manifold."""

    confidence: float | None
    route: str | None


class Judged(Struct, kw_only=True):
    """Which hits have the label of the query, and the average precision of the whole ranking."""

    relevant: list[bool]
    ap: float | None


class Truth(Struct, kw_only=True):
    """What is right by the labels."""

    label: Any
    nearest: Judged
    manifold: Judged


class CompareAnswer(Struct, kw_only=True):
    """Both searches side by side."""

    nearest: Nearest
    manifold: Manifold
    truth: Truth | None
    milliseconds: Times
    version: int


class Contribution(Struct, kw_only=True):
    """A neighbour of the query: y there, and what it adds to the score."""

    id: Id
    weight: float
    contribution: float


class Node(Struct, kw_only=True):
    """An item of the graph around the query and the item: its place, y and x there."""

    id: Id
    x: float
    y: float
    observed: float
    score: float


class LocalGraph(Struct, kw_only=True):
    """Part of the graph. edges: places in `nodes`, and the weight."""

    nodes: list[Node]
    edges: list[tuple[int, int, float]]


class ExplainAnswer(Struct, kw_only=True):
    """Why an item was found."""

    score: float
    manifold: float
    similarity: float
    neighbors: list[Contribution]
    path: list[Id]
    graph: LocalGraph


class Upload(Struct, kw_only=True):
    """A picture that was uploaded: what to call it, and its size upright."""

    upload: str
    width: int
    height: int


class Asking(Struct, kw_only=True):
    """Whether questions in words can be asked, and in one sentence why not."""

    possible: bool
    detail: str = ""


class IdList(Struct):
    """Ids of items."""

    ids: list[Id]


class Item(Struct):
    """An item, and what is known of it."""

    id: Id
    metadata: dict[str, Any]


class Response(Struct):
    """h over eigenvalues of the collection and a grid, ascending."""

    eigenvalues: list[float]
    response: list[float]


class Changed(Struct):
    """The version after a change."""

    version: int


class Added(Struct):
    """Ids of the items, and the version after the change."""

    ids: list[Id]
    version: int


class Refresh(Struct):
    """What a refresh does."""

    state: Literal["idle", "running", "failed"]
    detail: str = ""


class State(Struct):
    """Whether the server is there."""

    status: str
