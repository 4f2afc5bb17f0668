"""Options that several commands share, and how their text becomes values."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any

import typer

from longwave import filters, registry
from longwave.cli.reading import labels_from, numbers_from, where_from
from longwave.errors import InputError
from longwave.search import blending
from longwave.search.blending import Blend, Blending
from longwave.search.euclidean import Euclidean
from longwave.solvers import Solver
from longwave.spectrum import Method
from longwave.spectrum.advised import Advised

FILES = ".npy .npz .fvecs .bvecs .mat .h5 .parquet .safetensors .zarr .csv; FILE:NAME picks one array of several"

FILTERS = (
    "lowpass:ALPHA (nearer to 1 is further), heat:TIME, polynomial:C0,C1,..., ideal:CUTOFF, walk:ALPHA,STEPS or "
    "power:STEPS"
)

# What a solver calls the steps that --steps counts, or the most of them.
_STEPS = ("steps", "max_steps", "max_degree")

LABELS = ".npy .npz .mat .h5 .parquet .json .csv .txt"

IndexPath = Annotated[Path, typer.Argument(metavar="INDEX", help="An index folder, as `longwave build` writes it.")]
HitsFile = Annotated[
    Path | None, typer.Option("-o", "--output", metavar="F", help="File to write all hits to: .npz, .json or .csv.")
]
Queries = Annotated[str, typer.Argument(metavar="QUERIES", help=f"Query vectors, one per row ({FILES}).")]
Groups = Annotated[
    str | None,
    typer.Option(metavar="F", help=f"File with the item of each vector, where items have several ({LABELS})."),
]
Vectors = Annotated[str, typer.Argument(metavar="VECTORS", help=f"Vectors, one per row ({FILES}).")]
FilterText = Annotated[
    str,
    typer.Option(
        "--filter",
        metavar="H",
        help=f"How far a search reaches along the graph: {FILTERS}.",
    ),
]
NeighborsOption = Annotated[
    int | None,
    typer.Option(
        help="How many nearest vectors of each query the search begins at; by default what `info` says of the index."
    ),
]
IndexFilter = Annotated[
    str | None,
    typer.Option(
        "--filter",
        metavar="H",
        help=f"How far the search reaches along the graph: {FILTERS}. By default what `info` says of the index.",
    ),
]
CutOption = Annotated[
    int | None,
    typer.Option(
        help="How many vectors at most a query of several regions begins at; by default the --neighbors of each region."
    ),
]
QueryGroups = Annotated[
    str | None,
    typer.Option(metavar="F", help="File with the query of each row, 0, 1, 2, ..., where a query has several vectors."),
]
Weights = Annotated[
    str | None,
    typer.Option(
        metavar="F", help="File with the weight of each query row; below 0 for examples of what is not wanted."
    ),
]
Where = Annotated[
    list[str] | None,
    typer.Option(
        metavar="F|CONDITION",
        help="Items to search: a condition on their metadata, such as 'year>=2020' or 'city=Oxford,Paris' (given "
        f"several times, all must hold); or a file with their ids ({LABELS}), or with true and false for each (.npy).",
    ),
]
Metadata = Annotated[
    str | None,
    typer.Option(
        metavar="F", help="File with what is known of each item, one row each, for --where: .parquet, .csv or .jsonl."
    ),
]
Columns = Annotated[
    str | None,
    typer.Option(
        metavar="NAME,...", help="Metadata to show of each hit, such as title,year; `info` lists what there is."
    ),
]
HitCount = Annotated[
    str, typer.Option("-k", metavar="N|auto", help="Number of hits for each query; auto: as many as are relevant.")
]
Fold = Annotated[
    float | None,
    typer.Option(help="Leave out hits that are nearly the same as a better one: the least cosine, such as 0.98."),
]
Diversity = Annotated[
    float, typer.Option(help="From 0 to below 1: how much hits that are like a better one fall behind.")
]
TruthFile = Annotated[
    Path | None,
    typer.Option(
        "--truth",
        metavar="F",
        help='Answers: the right ids of each query, [[3, 17], [5]], or {"queries": [{"positive": [...], "junk": '
        "[...]}, ...]} (JSON); a qrels file of TREC, lines of QUERY 0 ITEM GRADE; or as published, gnd_*.mat, "
        "gnd_*.pkl, or the folder of the text files of Oxford or Paris.",
    ),
]
QueryIds = Annotated[
    str | None,
    typer.Option(
        metavar="F",
        help=f"With a qrels file: file with the id of each query ({LABELS}); by default the rows are its numbered "
        "queries, the lowest first.",
    ),
]
QueryLabels = Annotated[str | None, typer.Option(metavar="F", help="File with the label of each query, with --labels.")]
SolverText = Annotated[
    str | None,
    typer.Option(
        "--solver",
        help="How scores are computed: bestfirst (a walk on the graph, the default of most indexes), quick (a shorter "
        "one), spectral (by the basis), hybrid, cg, walk, gauss-seidel or chebyshev (on the whole graph), projection, "
        "precomputed, or euclidean (plain nearest neighbours).",
    ),
]
Complement = Annotated[
    bool,
    typer.Option(
        help="Estimate the part of the answer that the basis lacks, or ignore it as the paper's formula does."
    ),
]
Tolerance = Annotated[
    float | None,
    typer.Option(help="Largest relative error of the scores, such as 1e-3; reached by more steps on the graph."),
]
Steps = Annotated[
    int | None,
    typer.Option(help="Steps of --solver walk (100 by default); the most steps of cg, hybrid and chebyshev."),
]
BlendWeight = Annotated[
    str | None,
    typer.Option(
        "--blend",
        metavar="W",
        help="How nearest neighbours count: anchor (outstanding ones stay in front), a weight W for items that the "
        "basis represents badly (the paper's FSRw), or none for not at all. By default what the index was built with.",
    ),
]
BlendScale = Annotated[
    str,
    typer.Option(
        help="Unit of W: peak (the best score), impulse (the score of a lone item) or printed (1, as in the paper)."
    ),
]
BlendEverywhere = Annotated[
    bool,
    typer.Option(
        "--blend-everywhere", help="With --blend W: count nearest neighbours for all items alike, which suits texts."
    ),
]
RegionSum = Annotated[
    str,
    typer.Option(
        help="What is summed over the regions of a query: similarities (the paper's) or products (its scripts')."
    ),
]


def spectrum_from(text: str, rank: int | None, oversampling: int | None, rounds: int | None) -> Method | None:
    """The eigen-solver that --spectrum names; options that it does not have are refused."""
    if rank is not None and rank < 1:
        raise InputError(f"rank must be a whole number of at least 1, got {rank}")
    asked = {"rank": rank, "oversampling": oversampling, "rounds": rounds}
    given: dict[str, Any] = {option: value for option, value in asked.items() if value is not None}
    taken = [] if text == "none" else _fields("spectrum", text, also=["none"])
    for option in given:
        if option not in taken:
            raise InputError(f"--spectrum {text} has no --{option}; leave it out")
    if text == "none":
        return None
    if text == "chebyshev" and not given:
        return Advised()
    method: Method = registry.parse("spectrum", text, **given)
    return method


def solver_from(text: str, *, complement: bool, tolerance: float | None, steps: int | None) -> Solver | Euclidean:
    """The solver that --solver names; options that it does not have are refused."""
    taken = _fields("solver", text)
    chosen: dict[str, Any] = {} if complement or "complement" not in taken else {"complement": False}
    for option, value, meant in (("tolerance", tolerance, ["tolerance"]), ("steps", steps, _STEPS)):
        if value is None:
            continue
        name = next((name for name in meant if name in taken), None)
        if name is None:
            raise InputError(f"solver '{text}' has no --{option}; leave it out")
        chosen[name] = value
    solver: Solver | Euclidean = registry.parse("solver", text, **chosen)
    return solver


def _fields(kind: str, text: str, *, also: Sequence[str] = ()) -> list[str]:
    """What the part of this name can be told."""
    part = registry.find(kind, text.partition(":")[0], also=also)
    return [field.name for field in registry.parameters(part)]


def blend_from(text: str | None, scale: str, everywhere: bool) -> Blending | float | None:
    """The blend that --blend asks for: None for the index's own, a value, a weight with its scale, 0 for nothing."""
    found = blending.parse(text)
    if (text is None or not isinstance(found, Blend | None)) and (everywhere or scale != "peak"):
        raise InputError("--blend-everywhere and --blend-scale need --blend W")
    if text is None:
        return None
    if isinstance(found, Blend):
        return Blend(found.weight, scale, everywhere)
    return 0.0 if found is None else found


def search_options(
    filter: IndexFilter = None,
    neighbors: NeighborsOption = None,
    cut: CutOption = None,
    query_groups: QueryGroups = None,
    weights: Weights = None,
    where: Where = None,
    columns: Columns = None,
    solver: SolverText = None,
    complement: Complement = True,
    tolerance: Tolerance = None,
    steps: Steps = None,
    blend: BlendWeight = None,
    blend_scale: BlendScale = "peak",
    blend_everywhere: BlendEverywhere = False,
    region_sum: RegionSum = "similarities",
    fold: Fold = None,
    diversity: Diversity = 0.0,
) -> dict[str, Any]:
    """Keyword arguments of `Index.search` from the text of the options."""
    groups = labels_from(query_groups)
    if groups is not None and groups.dtype.kind not in "iu":
        raise InputError(f"{query_groups} must hold whole numbers: the query of each row")
    # Nothing said, or the basis with a tolerance: the index chooses.
    automatic = complement and steps is None and (solver is None or (solver == "spectral" and tolerance is not None))
    named = "spectral" if solver is None else solver
    return {
        "filter": None if filter is None else filters.parse(filter),
        "neighbors": neighbors,
        "cut": cut,
        "query_groups": groups,
        "weights": None if weights is None else numbers_from(weights),
        "where": where_from(where) if where else None,
        "columns": None if columns is None else [name.strip() for name in columns.split(",")],
        "tolerance": tolerance if automatic else None,
        "solver": None if automatic else solver_from(named, complement=complement, tolerance=tolerance, steps=steps),
        "blend": blend_from(blend, blend_scale, blend_everywhere),
        "region_sum": region_sum,
        **({} if fold is None else {"fold": fold}),
        **({"diversity": diversity} if diversity else {}),
    }


def count_from(text: str) -> int | str:
    """What -k says."""
    if text == "auto":
        return text
    if not re.fullmatch("[0-9]+", text):
        raise InputError(f"-k must be a whole number of at least 1, or auto, got '{text}'")
    return int(text)


def with_options(
    source: Callable[..., Any], name: str, *, without: Sequence[str] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command all options of a function, except some; it receives what that function returns under a name."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        every, own = (signature(f, eval_str=True).parameters for f in (source, command))
        shared = {option: p for option, p in every.items() if option not in without}

        @wraps(command)
        def run(**given: Any) -> None:
            answer = source(**{option: given.pop(option) for option in shared})
            command(**given, **{name: answer})

        parameters = [p for option, p in own.items() if option != name] + list(shared.values())
        keyword_only = [p.replace(kind=Parameter.KEYWORD_ONLY) for p in parameters]
        run.__signature__ = Signature(keyword_only)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in keyword_only}
        return run

    return decorate


def with_search_options(*, without: Sequence[str] = ()) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The options of `search_options`, except some; the command receives their values as `chosen`."""
    return with_options(search_options, "chosen", without=without)
