"""Options that several commands share, and how their text becomes values."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from longwave import filters
from longwave.datasets.files import read_labels, read_vectors, split_name
from longwave.errors import FileError, InputError
from longwave.ranking import Blend, Euclidean
from longwave.reading import read_npy
from longwave.solvers import ChebyshevFilter, ConjugateGradient, Hybrid, Precomputed, RandomWalk, Solver, Spectral
from longwave.spectrum import Chebyshev, Exact, Lanczos, Method, Simultaneous
from longwave.types import Array

FILES = ".npy .npz .fvecs .bvecs .mat .h5 .parquet .safetensors .csv; FILE:NAME picks one array of several"

LABELS = ".npy .npz .mat .h5 .parquet .json .csv .txt"

IndexPath = Annotated[Path, typer.Argument(metavar="INDEX", help="An index folder, as `longwave build` writes it.")]
HitsFile = Annotated[
    Path | None, typer.Option("-o", "--output", metavar="F", help="Write hits to .npz, .json or .csv.")
]
Queries = Annotated[str, typer.Argument(metavar="QUERIES", help=f"Query vectors, one per row ({FILES}).")]
FilterText = Annotated[
    str,
    typer.Option(
        "--filter",
        metavar="H",
        help="Transfer function: lowpass:ALPHA, heat:TIME, ideal:CUTOFF, walk:ALPHA,STEPS or polynomial:C0,C1,...",
    ),
]
NeighborsOption = Annotated[
    int | None, typer.Option(help="Vertices that each query vector observes; by default what the index says (10).")
]
IndexFilter = Annotated[
    str | None,
    typer.Option(
        "--filter",
        metavar="H",
        help="As for build; by default what the index says: lowpass:0.99, or what --auto has found. "
        "lowpass:ALPHA, heat:TIME, ideal:CUTOFF, walk:ALPHA,STEPS or polynomial:C0,C1,...",
    ),
]
CutOption = Annotated[int | None, typer.Option(help="Entries of y that are kept; all by default.")]
QueryGroups = Annotated[
    str | None,
    typer.Option(metavar="F", help="The query, 0, 1, 2, ..., of each row: for queries of several regions."),
]
Weights = Annotated[
    str | None,
    typer.Option(metavar="F", help="Weight of each query row in its query, below 0 for what is not wanted."),
]
Where = Annotated[
    str | None, typer.Option(metavar="F", help=f"Only these items: their ids ({LABELS}), or a mask (.npy).")
]
SolverText = Annotated[
    str | None,
    typer.Option(
        "--solver",
        help="spectral (or what --auto found), hybrid, cg, walk, chebyshev, precomputed or euclidean.",
    ),
]
Complement = Annotated[
    bool,
    typer.Option(help="Spectral: count discarded eigenvalues as 0. --no-complement is the printed formula."),
]
Tolerance = Annotated[
    float | None,
    typer.Option(help="Relative error to reach, in steps on the graph; spectral then becomes hybrid."),
]
Steps = Annotated[int | None, typer.Option(help="walk: steps (100 by default). cg, hybrid, chebyshev: at most.")]
BlendWeight = Annotated[
    str | None,
    typer.Option(
        "--blend",
        metavar="W",
        help="Weight of Euclidean similarity where the basis is thin (FSRw); auto: where the graph is not trusted.",
    ),
]
BlendScale = Annotated[str, typer.Option(help="Scale between the two terms of --blend: peak, impulse or printed.")]
BlendEverywhere = Annotated[bool, typer.Option("--blend-everywhere", help="Blend all items alike, as for texts.")]
RegionSum = Annotated[
    str,
    typer.Option(help="Sum over query regions of: similarities (as in the paper) or products (its scripts)."),
]


def vectors_from(text: str) -> Array:
    """Read FILE or FILE:NAME."""
    path, name = split_name(text)
    return read_vectors(path, name=name)


def read_label_file(text: str) -> Array:
    """Read FILE or FILE:NAME of ints or strings."""
    path, name = split_name(text)
    return read_labels(path, name=name)


def labels_from(text: str | None) -> Array | None:
    """As `read_label_file`; None stays None."""
    return None if text is None else read_label_file(text)


def numbers_from(text: str) -> Array:
    """A flat list of numbers: .npy, or text with one per line."""
    path = Path(text)
    try:
        array = read_npy(path) if path.suffix == ".npy" else np.loadtxt(path, ndmin=1)
    except (OSError, ValueError) as error:
        raise FileError(f"cannot read numbers from {text}: {error}") from error
    return np.ravel(array)


def ids_from(texts: list[str], known: Array) -> list[Any]:
    """Ids as the index has them: whole numbers where its ids are."""
    if known.dtype.kind == "U":
        return list(texts)
    wrong = [text for text in texts if not text.removeprefix("-").isdigit()]
    if wrong:
        raise InputError(f"ids of this index are whole numbers, got '{wrong[0]}'")
    return [int(text) for text in texts]


def where_from(text: str) -> Array:
    """Ids, or a mask where the file holds true and false."""
    path, name = split_name(text)
    if path.suffix == ".npy" and path.is_file():
        try:
            array: Array = read_npy(path)
        except (OSError, ValueError) as error:
            raise FileError(f"cannot read {text}: {error}") from error
        if array.dtype == bool:
            return array
    return read_labels(path, name=name)


def lists_from(text: str) -> Array | tuple[Array, Array]:
    """Row numbers from one file, or a pair with their similarities from an .npz with `ids` and `similarities`."""
    path, name = split_name(text)
    if path.suffix == ".npz" and name is None:
        return read_vectors(path, name="ids"), read_vectors(path, name="similarities")
    return read_vectors(path, name=name)


def spectrum_from(text: str, rank: int | None, oversampling: int | None, iterations: int | None) -> Method | None:
    """The method that --spectrum names."""
    if rank is not None and rank < 1:
        raise InputError(f"rank must be a whole number of at least 1, got {rank}")
    size = 1000 if rank is None else rank
    taken = {
        "chebyshev": "rank oversampling",
        "lanczos": "rank",
        "simultaneous": "rank oversampling iterations",
        "exact": "rank",
    }
    for option, value in (("rank", rank), ("oversampling", oversampling), ("iterations", iterations)):
        if value is not None and option not in taken.get(text, "").split() and text in (*taken, "none"):
            raise InputError(f"--spectrum {text} has no --{option}; leave it out")
    match text:
        case "chebyshev":
            return Chebyshev(size, oversampling=oversampling)
        case "lanczos":
            return Lanczos(size)
        case "simultaneous":
            return Simultaneous(size, oversampling, *(() if iterations is None else (iterations,)))
        case "exact":
            return Exact(rank)
        case "none":
            return None
    raise InputError(f"spectrum must be chebyshev, lanczos, simultaneous, exact or none, got '{text}'")


def solver_from(text: str, *, complement: bool, tolerance: float | None, steps: int | None) -> Solver | Euclidean:
    """The solver that --solver names; options that it does not have are refused."""
    makers: dict[str, tuple[Callable[..., Solver | Euclidean], str | None, str | None]] = {
        # maker, its name for --tolerance, its name for --steps
        "spectral": (lambda: Spectral(complement), None, None),
        "hybrid": (Hybrid, "tolerance", "iterations"),
        "cg": (ConjugateGradient, "tolerance", "iterations"),
        "walk": (RandomWalk, None, "steps"),
        "chebyshev": (ChebyshevFilter, "tolerance", "max_degree"),
        "precomputed": (Precomputed, None, None),
        "euclidean": (Euclidean, None, None),
    }
    if text not in makers:
        raise InputError(f"solver must be one of {', '.join(makers)}, got '{text}'")
    make, *names = makers[text]
    chosen = {}
    for option, name, value in zip(("tolerance", "steps"), names, (tolerance, steps), strict=True):
        if value is None:
            continue
        if name is None:
            raise InputError(f"solver '{text}' has no --{option}")
        chosen[name] = value
    return make(**chosen)


def blend_from(text: str | None, scale: str, everywhere: bool) -> Blend | str | float | None:
    """The blend that --blend asks for: nothing, "auto", or a weight with its scale; 0 for none."""
    if text is None or text.partition(":")[0] == "auto":
        return text
    try:
        weight = float(text)
    except ValueError:
        raise InputError(f"--blend must be a number of at least 0, or auto, got '{text}'") from None
    return 0.0 if weight == 0 else Blend(weight, scale, everywhere)


def search_options(
    filter: IndexFilter = None,
    neighbors: NeighborsOption = None,
    cut: CutOption = None,
    query_groups: QueryGroups = None,
    weights: Weights = None,
    where: Where = None,
    solver: SolverText = None,
    complement: Complement = True,
    tolerance: Tolerance = None,
    steps: Steps = None,
    blend: BlendWeight = None,
    blend_scale: BlendScale = "peak",
    blend_everywhere: BlendEverywhere = False,
    region_sum: RegionSum = "similarities",
) -> dict[str, Any]:
    """Keyword arguments of `Index.search` from the text of the options."""
    groups = labels_from(query_groups)
    if groups is not None and groups.dtype.kind not in "iu":
        raise InputError(f"{query_groups} must hold whole numbers: the query of each row")
    if (blend is None or blend.startswith("auto")) and (blend_everywhere or blend_scale != "peak"):
        raise InputError("--blend-everywhere and --blend-scale need --blend W")
    # Nothing said, or the basis with a tolerance: the index chooses.
    automatic = complement and steps is None and (solver is None or (solver == "spectral" and tolerance is not None))
    named = "spectral" if solver is None else solver
    return {
        "filter": None if filter is None else filters.parse(filter),
        "neighbors": neighbors,
        "cut": cut,
        "query_groups": groups,
        "weights": None if weights is None else numbers_from(weights),
        "where": None if where is None else where_from(where),
        "tolerance": tolerance if automatic else None,
        "solver": None if automatic else solver_from(named, complement=complement, tolerance=tolerance, steps=steps),
        "blend": blend_from(blend, blend_scale, blend_everywhere),
        "region_sum": region_sum,
    }


def with_options(source: Callable[..., Any], name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command all options of a function; it receives that function's answer under a name."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        shared, own = (signature(f, eval_str=True).parameters for f in (source, command))

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


#: The options of `search_options`; the command receives their values as `chosen`.
with_search_options = with_options(search_options, "chosen")
