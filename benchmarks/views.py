"""Views of the sample pictures of scikit-image, scikit-learn and matplotlib: small folders, and small objects.

    python -m benchmarks.views WORKDIR [ENCODER.onnx]

Four views each of 19 pictures: whole, cropped, turned, at half the size. What shrinkage does to the whitening of all 76
and of a handful; and objects cut from one picture of a stereo pair, of which the other is in the collection.
"""

import sys
from pathlib import Path

import matplotlib
import numpy as np
import skimage
import sklearn
from PIL import Image

from benchmarks import measure
from longwave import Chebyshev, Euclidean, Index, Spectral
from longwave.pictures import describe_folder, describe_queries, learn_pca, open_encoder
from longwave.rows.vectors import normalize

FOLDERS = ((skimage, "data"), (sklearn, "datasets/images"), (matplotlib, "mpl-data/sample_data"))
PICTURES = [
    *("astronaut", "brick", "camera", "cell", "coins", "color", "grass", "gravel", "horse", "hubble_deep_field", "ihc"),
    *("moon", "motorcycle_right", "page", "retina", "text", "china", "flower", "grace_hopper"),
]
# In the left picture of the motorcycle.
OBJECTS = {
    "tubs": (600, 120, 700, 200), "white tub": (560, 120, 660, 200), "bench": (60, 100, 200, 160),
    "tail light": (60, 190, 150, 260), "tyre": (600, 400, 700, 480), "headlight": (495, 110, 570, 195),
    "bottle": (390, 45, 430, 95), "cartons": (525, 25, 645, 105), "gauges": (455, 85, 540, 160),
    "bicycle": (0, 150, 50, 235), "boards": (80, 40, 180, 120), "shelf": (340, 50, 440, 110),
    "engine": (330, 240, 480, 370), "red box": (560, 190, 620, 255),
}  # fmt: skip
SOLVERS = {"euclidean": Euclidean(), "manifold": Spectral()}
# Pictures of which there are three views, and others of which there is one.
HANDFULS = ((1, 3), (2, 2), (2, 6), (4, 0), (4, 8), (8, 0))


def sample_pictures():
    """Path of each picture that the libraries bring along, by name."""
    inside = [Path(module.__file__).parent / part for module, part in FOLDERS]
    return {path.stem: path for part in inside for path in part.iterdir() if path.suffix in (".png", ".jpg")}


def write_views(folder, found):
    """Four views of each of the pictures. found: where they are."""
    for name in PICTURES:
        picture = Image.open(found[name]).convert("RGB")
        width, height = picture.size
        inner = (width // 8, height // 8, width - width // 8, height - height // 8)
        picture.save(folder / f"{name}-whole.jpg")
        picture.crop(inner).save(folder / f"{name}-crop.jpg")
        picture.rotate(12, resample=Image.Resampling.BICUBIC).crop(inner).save(folder / f"{name}-turned.jpg")
        picture.resize((width // 2, height // 2)).save(folder / f"{name}-half.jpg")


def same(vectors, labels, count, asked=None, **build):
    """Share of the first hits that are views of the same picture, for each solver."""
    index = Index.build(vectors, spectrum=Chebyshev(200), **build)
    asked = np.arange(len(labels)) if asked is None else asked
    hits = {name: index.search_by_id(asked, count, solver=solver).ids for name, solver in SOLVERS.items()}
    return {name: float((labels[ids] == labels[asked][:, None]).mean()) for name, ids in hits.items()}


def handfuls(raw, owner, labels, add, repeats=12):
    """Whitening of a few pictures, mean over random choices."""
    kinds = np.unique(labels)
    for several, single in HANDFULS:
        for shrinkage in (0, 5, 20, 100, "default"):
            values = []
            for repeat in range(repeats):
                rng = np.random.default_rng(repeat)
                order = rng.permutation(kinds)
                chosen = [i for kind in order[:several] for i in np.flatnonzero(labels == kind)[:3]]
                others = order[several : several + single]
                chosen = np.sort(chosen + [rng.choice(np.flatnonzero(labels == kind)) for kind in others])
                rows = np.isin(owner, chosen)
                added = 500 / len(chosen) if shrinkage == "default" else shrinkage
                whitening = learn_pca(raw[rows], dimensions=max(1, int(rows.sum()) // 8), shrinkage=added)
                own = labels[chosen]
                asked = np.flatnonzero([(own == label).sum() > 1 for label in own])
                regions = normalize(whitening(raw[rows]))
                vectors = normalize(measure.summed(regions, np.searchsorted(chosen, owner[rows])))
                values.append(same(vectors, own, 2, asked))
            means = {name: round(float(np.mean([v[name] for v in values])), 2) for name in SOLVERS}
            add("handful", pictures=3 * several + single, views_of=several, shrinkage=shrinkage, **means)


def objects(made, encoder, left, add):
    """Place of the best view of the right picture, from 1."""
    named = {"ids": np.array(made.paths)} if made.item_of is None else {"groups": made.item_of}
    index = Index.build(made.vectors, spectrum=Chebyshev(200), **named)
    boxes = list(OBJECTS.values())
    vectors, query_of = describe_queries([left] * len(boxes), encoder, made.treatment, made.whitening, boxes=boxes)
    names = np.array(made.paths)
    for solver, value in SOLVERS.items():
        ids = index.search(vectors, len(index), query_groups=query_of, solver=value).ids
        hits = ids if made.item_of is None else names[ids]
        right = np.char.startswith(hits, "motorcycle_right")
        places = dict(zip(OBJECTS, (right.argmax(axis=1) + 1).tolist(), strict=True))
        add("objects", kind="global" if made.item_of is None else "regional", solver=solver, places=places)


def main(workdir, encoder="lite0"):
    folder = Path(workdir)
    folder.mkdir(exist_ok=True)
    add = measure.recorder("views")
    found = sample_pictures()
    (folder / "views").mkdir(exist_ok=True)
    write_views(folder / "views", found)
    left = found["motorcycle_left"]
    opened = open_encoder(encoder)
    common = {"workdir": folder / "work"}
    raw = describe_folder(folder / "views", opened, regions=True, whiten=False, **common)
    labels = np.array([path.split("-")[0] for path in raw.paths])
    for shrinkage in (0, None):
        made = describe_folder(folder / "views", opened, shrinkage=shrinkage, **common)
        add("views", shrinkage=shrinkage, dimensions=made.vectors.shape[1], **same(made.vectors, labels, 3))
    objects(made, opened, left, add)
    regional = describe_folder(folder / "views", opened, regions=True, **common)
    add("views", kind="regional", **same(regional.vectors, labels, 3, groups=regional.item_of))
    objects(regional, opened, left, add)
    handfuls(raw.vectors, raw.item_of, labels, add)


if __name__ == "__main__":
    main(*sys.argv[1:3])
