"""The collections of the experiments' data folder, by name; docs/experiments.md describes the folder."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from longwave.datasets.benchmark import Benchmark
from longwave.datasets.oxford import landmark
from longwave.datasets.sets import digits, held_out
from longwave.errors import FileError, InputError
from longwave.evaluation import Judgement, label_judgements
from longwave.files.bounded import read_json
from longwave.files.vectors import read_labels, read_vectors
from longwave.types import Array

#: Names the data folder where no argument does.
VARIABLE = "LONGWAVE_DATA"
LABELLED = ("coil20", "isolet", "jaffe", "mpeg7", "orl", "usps")
CLASSIC_TEXTS = ("cran", "med", "cisi", "npl")
TEXTS = (*CLASSIC_TEXTS, "nfcorpus", "cacm", "hotpotqa")
_TRUTH = ("oxford5k/truth.json", "oxford5k/official_ground_truth/*_query.txt")
#: The files of each collection, within the data folder. `*` stands for anything, `|` for either.
FILES: dict[str, tuple[str, ...]] = {
    "oxford": ("oxford5k/global.npy", "oxford5k/global_queries.npy", *_TRUTH),
    "distractors": ("oxford5k/distractors.npy",),
    "regions": (*(f"oxford5k/region{name}.npy" for name in ("s", "_image", "_queries", "_query")), *_TRUTH),
    **{name: (f"{name}/vectors.npy", f"{name}/labels.npy") for name in LABELLED},
    **{
        f"text_{name}": tuple(f"text_{name}/{file}" for file in ("vectors.npy", "queries.npy", "truth.json"))
        for name in TEXTS
    },
    "official": ("*_siamac.mat|*_resnet.mat", "gnd_*.mat"),
}


def data_place(folder: str | Path | None = None) -> Path:
    """Where the data are looked for: the folder given, that of LONGWAVE_DATA, `../shared/data` beside the clone.

    Where Longwave is installed and there is no clone, `shared/data` below the folder that one is in.
    """
    source = Path(__file__).resolve().parents[3]
    beside = source.parent if (source / "pyproject.toml").is_file() else Path.cwd()
    return Path(folder or os.environ.get(VARIABLE) or beside / "shared" / "data")


def data_folder(folder: str | Path | None = None) -> Path:
    """The same, and there is such a folder."""
    place = data_place(folder)
    if not place.is_dir():
        raise FileError(f"there is no data folder {place}; give it with --data FOLDER, or name it in {VARIABLE}")
    return place


def lacking(collections: Iterable[str], folder: str | Path | None = None) -> list[str]:
    """The files of some collections that the data folder does not hold."""
    place = data_place(folder)
    files = dict.fromkeys(file for name in collections for file in FILES[name])  # each once, in their order
    return [file for file in files if not any(any(place.glob(pattern)) for pattern in file.split("|"))]


def oxford(folder: str | Path | None = None) -> Benchmark:
    """The Oxford buildings: 5,063 photographs, one vector each, 55 queries, the classic protocol."""
    place = data_folder(folder) / "oxford5k"
    judgements, landmarks = _oxford_truth(place)
    vectors, queries = (_load(place / name) for name in ("global.npy", "global_queries.npy"))
    return Benchmark("oxford5k", vectors, queries, judgements, classes=landmarks)


def oxford_regions(folder: str | Path | None = None) -> Benchmark:
    """The same photographs by their regions: 107,217 vectors of 128 dimensions, queries of about 24."""
    place = data_folder(folder) / "oxford5k"
    judgements, landmarks = _oxford_truth(place)
    return Benchmark(
        "oxford5k regional",
        _load(place / "regions.npy"),
        _load(place / "region_queries.npy"),
        judgements,
        groups=read_labels(place / "region_image.npy"),
        query_groups=read_labels(place / "region_query.npy"),
        classes=landmarks,
    )


def oxford_distractors(folder: str | Path | None = None) -> Array:
    """Photographs of Caltech-101 in the space of `oxford`: 9,144 vectors, none relevant."""
    return _load(data_folder(folder) / "oxford5k" / "distractors.npy")


def oxford_names(folder: str | Path | None = None) -> list[str]:
    """The photographs' names, in the order of the vectors."""
    return list(_json(data_folder(folder) / "oxford5k" / "truth.json")["images"])


def labelled(name: str, folder: str | Path | None = None) -> Benchmark:
    """One of `LABELLED`, mean subtracted, or "digits", as it is; a fifth, 200 at most, held out as queries."""
    if name == "digits":
        data = digits()
        vectors, labels = data.vectors, data.labels
    elif name in LABELLED:
        place = data_folder(folder) / name
        vectors, labels = _load(place / "vectors.npy"), read_labels(place / "labels.npy")
        vectors = vectors - vectors.mean(axis=0)
    else:
        raise InputError(f"the set must be digits or one of {', '.join(LABELLED)}, got {name!r}")
    queries, rest = held_out(len(vectors), n_queries=min(200, len(vectors) // 5))
    judgements = label_judgements(labels[queries], labels[rest], np.arange(len(rest)))
    return Benchmark(name, vectors[rest], vectors[queries], judgements, classes=[str(c) for c in labels[queries]])


def text(name: str, folder: str | Path | None = None) -> Benchmark:
    """One of `TEXTS`: sentence embeddings of documents and queries with relevance judgements."""
    if name not in TEXTS:
        raise InputError(f"the collection must be one of {', '.join(TEXTS)}, got {name!r}")
    place = data_folder(folder) / f"text_{name}"
    return Benchmark(name, _load(place / "vectors.npy"), _load(place / "queries.npy"), _truth(place / "truth.json"))


def _load(path: Path) -> Array:
    return np.array(read_vectors(path), dtype=np.float32)


def _json(path: Path) -> dict[str, Any]:
    try:
        return dict(read_json(path))
    except (OSError, ValueError, TypeError) as error:
        raise FileError(f"cannot read {path}: {error}") from error


def _truth(path: Path) -> list[Judgement]:
    return [Judgement(entry["positive"], entry.get("junk", [])) for entry in _json(path)["queries"]]


def _oxford_truth(place: Path) -> tuple[list[Judgement], list[str]]:
    """Judgements, and the landmark of each query: that of the official files, as an image's own name may be another."""
    names = sorted(path.name for path in (place / "official_ground_truth").glob("*_query.txt"))
    return _truth(place / "truth.json"), [landmark(name.removesuffix("_query.txt")) for name in names]
