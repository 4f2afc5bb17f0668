"""Options that several commands share, and how their text becomes values."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from longwave import filters
from longwave.errors import FileError, InputError
from longwave.files.bounded import read_npy
from longwave.files.vectors import read_labels, read_vectors, split_name
from longwave.metadata import Condition, parse_text
from longwave.pictures import is_picture
from longwave.search import blending
from longwave.search.blending import Blend, Blending
from longwave.search.euclidean import Euclidean
from longwave.solvers import ChebyshevFilter, ConjugateGradient, Hybrid, Precomputed, RandomWalk, Solver, Spectral
from longwave.spectrum import Chebyshev, Exact, Lanczos, Method, Simultaneous
from longwave.spectrum.advised import Advised
from longwave.storage import is_index
from longwave.types import Array

FILES = ".npy .npz .fvecs .bvecs .mat .h5 .parquet .safetensors .csv; FILE:NAME picks one array of several"

FILTERS = "lowpass:ALPHA (nearer to 1 is further), heat:TIME, polynomial:C0,C1,..., ideal:CUTOFF or walk:ALPHA,STEPS"

LABELS = ".npy .npz .mat .h5 .parquet .json .csv .txt"

IndexPath = Annotated[Path, typer.Argument(metavar="INDEX", help="An index folder, as `longwave build` writes it.")]
HitsFile = Annotated[
    Path | None, typer.Option("-o", "--output", metavar="F", help="File to write all hits to: .npz, .json or .csv.")
]
Queries = Annotated[str, typer.Argument(metavar="QUERIES", help=f"Query vectors, one per row ({FILES}).")]
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
        help="Nearest vectors of each query, at which the search begins; by default what `info` says of the index."
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
        help="Most vectors at which the search of a query of several regions begins; by default all its --neighbors."
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
    str | None,
    typer.Option(
        metavar="F|CONDITION",
        help=f"Items to search: a condition on their metadata, such as 'year>=2020' or 'city=Oxford,Paris'; or a file "
        f"with their ids ({LABELS}), or with true and false for each (.npy).",
    ),
]
SolverText = Annotated[
    str | None,
    typer.Option(
        "--solver",
        help="How scores are computed: spectral (by the basis, the default), hybrid, cg, walk or chebyshev (on the "
        "graph), precomputed, or euclidean (plain nearest neighbours).",
    ),
]
Complement = Annotated[
    bool,
    typer.Option(help="Estimate what the basis leaves out, or leave it out as the paper's formula does."),
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
        help="What Euclidean similarity adds: anchor (keeps the nearest in front), a weight W where the basis is thin "
        "(the paper's FSRw), or 0 for nothing. By default what the index was built with.",
    ),
]
BlendScale = Annotated[
    str,
    typer.Option(
        help="What W is relative to: peak (the best score), impulse (a lone item's) or printed (1, as in the paper)."
    ),
]
BlendEverywhere = Annotated[
    bool, typer.Option("--blend-everywhere", help="With --blend W: add it to all items alike, which suits texts.")
]
RegionSum = Annotated[
    str,
    typer.Option(
        help="Sum over the regions of a query: similarities (as in the paper) or products (as in its scripts)."
    ),
]


def vectors_from(text: str) -> Array:
    """Read FILE or FILE:NAME."""
    path, name = split_name(text)
    if path.is_dir():
        raise FileError(_folder_hint(path))
    if is_picture(path) and path.is_file():
        raise FileError(f"{path} is a picture; index its folder with: longwave build --images {path.parent} -o INDEX")
    return read_vectors(path, name=name)


def _folder_hint(folder: Path) -> str:
    """What to do with a folder where a file of vectors is expected."""
    if is_index(folder):
        return f"{folder} is an index; give the file of vectors that it was built from"
    if any(is_picture(path) for path in folder.iterdir()):
        return f"{folder} is a folder of pictures; index it with: longwave build --images {folder} -o INDEX"
    return f"{folder} is a folder; give a file of vectors, or a folder of pictures with: longwave build --images FOLDER"


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


def where_from(text: str) -> Array | Condition:
    """A condition; or the ids of a file, or a mask where it holds true and false."""
    path, name = split_name(text)
    if not path.is_file() and re.search("[=<>?{]", text):
        return parse_text(text)
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
            if rank is None and oversampling is None:
                return Advised()
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


def blend_from(text: str | None, scale: str, everywhere: bool) -> Blending | float | None:
    """The blend that --blend asks for: None for the index's own, `Anchor`, a weight with its scale, 0 for nothing."""
    if text is None:
        return None
    found = blending.parse(text)
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
    if (blend is None or blend.startswith("anchor")) and (blend_everywhere or blend_scale != "peak"):
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


def with_options(
    source: Callable[..., Any], name: str, *, without: Sequence[str] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command all options of a function but some; it receives that function's answer under a name."""

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
    """The options of `search_options`, but some; the command receives their values as `chosen`."""
    return with_options(search_options, "chosen", without=without)
