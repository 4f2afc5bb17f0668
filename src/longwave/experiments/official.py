"""Table 1 itself, for those who have the authors' files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from longwave.baselines import RegionMatch
from longwave.datasets import Benchmark, read_author_descriptors, read_mat_truth
from longwave.datasets.shared import data_folder
from longwave.errors import FileError
from longwave.experiments.distractors import FSRW
from longwave.experiments.experiment import Data, Experiment, Session, Table
from longwave.experiments.measure import EUCLIDEAN, PRINTED, REGIONAL, SYSTEM, build, mean_ap
from longwave.spectrum import Chebyshev

SETS = ("instre", "oxford5k", "oxford105k", "paris6k", "paris106k")
MODELS = {"siamac": "512", "resnet": "2,048"}
# Euclidean, Diffusion, FSR; then R-match, Diffusion and FSR on 21 regions.
_PAPER = {
    ("instre", "siamac"): (47.7, 70.3, 70.3, 55.5, 80.0, 80.4),
    ("instre", "resnet"): (62.6, 80.5, 80.5, 71.0, 89.6, 89.2),
    ("oxford5k", "siamac"): (77.7, 85.7, 85.8, 81.5, 93.2, 93.0),
    ("oxford5k", "resnet"): (83.9, 87.1, 87.5, 88.1, 95.8, 95.8),
    ("oxford105k", "siamac"): (70.1, 82.7, 85.0, 76.5, 90.3, None),
    ("oxford105k", "resnet"): (80.8, 87.4, 87.9, 85.7, 94.2, None),
    ("paris6k", "siamac"): (84.1, 94.1, 93.8, 86.1, 96.5, 96.5),
    ("paris6k", "resnet"): (93.8, 96.5, 96.4, 94.9, 96.9, 97.0),
    ("paris106k", "siamac"): (76.8, 92.5, 92.4, 79.9, 92.6, None),
    ("paris106k", "resnet"): (89.9, 95.4, 95.3, 91.3, 95.3, None),
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
    found: dict[str, Any] = {}
    if not files_in(folder):
        raise FileError(
            f"no set in {folder} has both its descriptors, such as oxford5k_resnet.mat, and its ground truth, "
            "gnd_oxford5k.mat; docs/official.md names the files"
        )
    for name, model in files_in(folder):
        values: list[float] = []
        for regional in (False, True):
            data = load(folder, name, model, regional=regional)
            rank = min(50 if session.quick else 5000, len(data.vectors) // 2)
            index = build(data, k=200 if regional else 50, spectrum=Chebyshev(rank), seed=session.seed)
            options: dict[str, Any] = REGIONAL | {"cut": 200} if regional else {}
            own = replace(PRINTED, **options)
            if name in ("oxford105k", "paris106k"):
                own = replace(own, blend=FSRW)
            plain: Any = RegionMatch() if regional else EUCLIDEAN
            values += [mean_ap(ranker, index, data) for ranker in (plain, replace(SYSTEM, **options), own)]
        found[f"{name} {model}"] = values
    return found


def tables(results: Data, times: Data) -> list[Table]:
    """Ours over the paper's."""
    rows: list[list[Any]] = []
    for key, values in results.items():
        name, model = key.split()
        rows.append([f"{name}, {MODELS[model]}-d, ours", *(f"{value:.1f}" for value in values)])
        rows.append([f"{name}, {MODELS[model]}-d, paper", *("–" if v is None else v for v in _PAPER[name, model])])
    if not rows:
        rows = [
            ["the authors' files are not in the data folder: docs/official.md says which, and where they go", *[""] * 6]
        ]
    columns = ("set", "Euclidean", "Diffusion", "FSR", "R-match", "Diffusion, regional", "FSR, regional")
    return [Table("Table 1 from the published descriptors", columns, rows)]


EXPERIMENT = Experiment(
    "official",
    "Table 1 from the authors' own descriptors",
    "Table 1",
    "For those who have the published files.",
    run,
    tables=tables,
    needs=("official",),
)
