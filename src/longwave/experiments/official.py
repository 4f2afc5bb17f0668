"""Table 1 itself, for those who have the authors' files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from longwave.baselines import RegionMatch
from longwave.datasets import Benchmark, read_author_descriptors, read_mat_truth
from longwave.datasets.shared import data_folder
from longwave.errors import FileError
from longwave.experiments.distractors import FSRW
from longwave.experiments.experiment import Data, Experiment, Session, Table
from longwave.experiments.measure import (
    EUCLIDEAN,
    LETTER,
    PRINTED,
    REGIONAL,
    REGIONAL_LETTER,
    SYSTEM,
    build,
    mean_ap,
)
from longwave.pictures.reduction import reduce_regions
from longwave.rows.vectors import normalize
from longwave.search.blending import Blend
from longwave.spectrum import Chebyshev

SETS = ("instre", "oxford5k", "oxford105k", "paris6k", "paris106k")
MODELS = {"siamac": "512", "resnet": "2,048"}
COLUMNS = (
    "Euclidean",
    "Diffusion",
    "FSR",
    "R-match",
    "Diffusion, 5 regions",
    "FSR, 5 regions",
    "Diffusion, 21 regions",
    "FSR, 21 regions",
)
_PAPER = {
    ("instre", "siamac"): (47.7, 70.3, 70.3, 55.5, 77.5, 78.4, 80.0, 80.4),
    ("instre", "resnet"): (62.6, 80.5, 80.5, 71.0, 88.4, 88.5, 89.6, 89.2),
    ("oxford5k", "siamac"): (77.7, 85.7, 85.8, 81.5, 91.5, 91.6, 93.2, 93.0),
    ("oxford5k", "resnet"): (83.9, 87.1, 87.5, 88.1, 95.0, 95.1, 95.8, 95.8),
    ("oxford105k", "siamac"): (70.1, 82.7, 85.0, 76.5, 84.7, 86.5, 90.3, None),
    ("oxford105k", "resnet"): (80.8, 87.4, 87.9, 85.7, 90.0, 93.0, 94.2, None),
    ("paris6k", "siamac"): (84.1, 94.1, 93.8, 86.1, 95.6, 95.6, 96.5, 96.5),
    ("paris6k", "resnet"): (93.8, 96.5, 96.4, 94.9, 96.4, 96.5, 96.9, 97.0),
    ("paris106k", "siamac"): (76.8, 92.5, 92.4, 79.9, 93.0, 92.4, 92.6, None),
    ("paris106k", "resnet"): (89.9, 95.4, 95.3, 91.3, 95.8, 95.2, 95.3, None),
}
_LARGE = ("oxford105k", "paris106k")
# The letter: y is the k nearest and the k largest (§2.3), FSRw as printed, on large regional sets alone (§8.4), the
# giant component alone (§8.1). Ours: 10 query neighbours as in the authors' scripts, FSRw on a scale of ours.
_STYLES: dict[str, dict[str, Any]] = {
    "letter": {"global": LETTER, "regional": REGIONAL_LETTER, "blend": Blend(1.0, "printed"), "components": "giant"},
    "ours": {"global": {}, "regional": REGIONAL, "blend": FSRW, "components": "blocks"},
}


def files_in(folder: Path) -> list[tuple[str, str]]:
    """Sets and models whose descriptors and ground truth are both there."""
    return [
        (name, model)
        for name in SETS
        for model in MODELS
        if (folder / f"{name}_{model}.mat").is_file() and (folder / f"gnd_{name}.mat").is_file()
    ]


def load(folder: Path, name: str, model: str, *, regional: bool) -> Benchmark:
    """One set as the authors published it."""
    truth = read_mat_truth(folder / f"gnd_{name}.mat")
    made = read_author_descriptors(folder / f"{name}_{model}.mat", regional=regional)
    groups = (made.item_of, made.query_of) if regional else (None, None)
    return Benchmark(f"{name} {model}", made.vectors, made.queries, truth.judgements, *groups)


def run(session: Session) -> dict[str, Any]:
    """Rank 5,000 as in the paper; quick: 50, to see that the files are read."""
    folder = data_folder(session.data)
    if not files_in(folder):
        raise FileError(
            f"no set in {folder} has both its descriptors, such as oxford5k_resnet.mat, and its ground truth, "
            "gnd_oxford5k.mat; docs/official.md names the files"
        )
    found: dict[str, Any] = {}
    for name, model in files_in(folder):
        one, many = (load(folder, name, model, regional=regional) for regional in (False, True))
        assert many.groups is not None
        few = reduce_regions(normalize(many.vectors), many.groups, count=5, seed=session.seed)
        five = replace(many, vectors=few[0], groups=few[1])
        for style, settings in _STYLES.items():
            values = _measure(session, settings, one, None)
            for label, data in (("5 regions", five), ("21 regions", many)):
                if label == "21 regions" and name in _LARGE and style == "letter":
                    continue
                values |= _measure(session, settings, data, label, weighted=name in _LARGE)
            found.setdefault(f"{name} {model}", {})[style] = values
    return found


def _measure(
    session: Session, settings: Mapping[str, Any], data: Benchmark, label: str | None, *, weighted: bool = False
) -> dict[str, float]:
    """MAP of every method on global vectors (label None), or on regions. weighted: FSRw in place of FSR."""
    rank = min(50 if session.quick else 5000, len(data.vectors) // 2)
    spectrum, k = Chebyshev(rank), 50 if label is None else 200
    index = build(data, k=k, spectrum=spectrum, seed=session.seed, components=settings["components"])
    options = settings["global" if label is None else "regional"]
    own = replace(PRINTED, **options)
    own = replace(own, blend=settings["blend"]) if weighted else own
    rankers: dict[str, Any] = {"Diffusion": replace(SYSTEM, **options), "FSR": own}
    if label is None:
        rankers = {"Euclidean": EUCLIDEAN, **rankers}
    found = {name if label is None else f"{name}, {label}": mean_ap(r, index, data) for name, r in rankers.items()}
    return found | ({"R-match": mean_ap(RegionMatch(), index, data)} if label == "21 regions" else {})


def tables(results: Data, times: Data) -> list[Table]:
    """The letter and ours over the paper's."""
    rows: list[list[Any]] = []
    for key, styles in results.items():
        name, model = key.split()
        for style, values in styles.items():
            title = "to the letter" if style == "letter" else "our settings"
            cells = (f"{values[column]:.1f}" if column in values else "–" for column in COLUMNS)
            rows.append([f"{name}, {MODELS[model]}-d, {title}", *cells])
        rows.append([f"{name}, {MODELS[model]}-d, paper", *("–" if v is None else v for v in _PAPER[name, model])])
    if not rows:
        missing = "the authors' files are not in the data folder: docs/official.md says which, and where they go"
        rows = [[missing, *[""] * len(COLUMNS)]]
    return [Table("Table 1 from the published descriptors", ("set", *COLUMNS), rows)]


EXPERIMENT = Experiment(
    "official",
    "Table 1 from the authors' own descriptors",
    "Table 1",
    "For those who have the published files.",
    run,
    tables=tables,
    needs=("official",),
)
