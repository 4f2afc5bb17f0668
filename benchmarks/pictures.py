"""From pixels to mAP: 1,000 photographs of the Oxford buildings, our descriptors beside those shipped with them.

    python -m benchmarks.pictures WORKDIR [ENCODER.onnx]

First by `longwave build --images` and `longwave evaluate`, globally and by regions, as a user would. Then the same
descriptors with other whitenings, beside the shipped ones restricted to the same photographs; what the shrinkage of the
whitening does; and how far the pixels differ from those that the shipped descriptors were made of.
"""

import json
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image

from benchmarks import measure
from longwave import PAPER, Chebyshev, Euclidean, Index, LowPass, Power
from longwave.evaluation import Judgement, mean_average_precision
from longwave.pictures import (
    Encoder,
    Whitening,
    describe_folder,
    describe_queries,
    learn_pca,
    learn_supervised,
    open_encoder,
    pooled_regions,
    read_whitening,
)
from longwave.rows.vectors import normalize

OXFORD = Path(__file__).parents[2] / "shared/data/oxford5k"
PICTURES = OXFORD / "pictures"
RANK = {"global": 500, "regional": 1000}
DIMENSIONS = {"global": 512, "regional": 128}
SHRINKAGES = (0, 1, 3, 5, 10, 20, 40)
# Cb and Cr to RGB
CHROMA = np.array([[0.0, -0.344136, 1.772], [1.402, -0.714136, 0.0]], dtype=np.float32)


class Oxford:
    """The photographs that are there, their truth, and the regions of pictures and queries before whitening."""

    def __init__(self, encoder, folder):
        truth = json.loads((OXFORD / "truth.json").read_text())
        number = {name: i for i, name in enumerate(truth["images"])}
        print("describing", flush=True)
        made = describe_folder(PICTURES, encoder, regions=True, whiten=False, workdir=folder / f"{encoder.name}.work")
        self.ids = np.array([number[Path(path).stem] for path in made.paths])
        self.paths, self.raw, self.owner = made.paths, made.vectors, made.item_of
        entries = truth["queries"]
        asked = [PICTURES / f"{entry['image']}.jpg" for entry in entries]
        boxes = [tuple(entry["box"]) for entry in entries]
        self.raw_queries, self.query_of = describe_queries(asked, encoder, made.treatment, None, boxes=boxes)
        there = set(self.ids.tolist())
        self.judgements = [
            Judgement(*([i for i in entry[kind] if i in there] for kind in ("positive", "junk"))) for entry in entries
        ]

    def whitened(self, kind, whitening):
        """Vectors, items, queries, query of each."""
        cut = whitening.cut(min(DIMENSIONS[kind], whitening.dimensions))
        vectors, queries = normalize(cut(self.raw)), normalize(cut(self.raw_queries))
        if kind == "regional":
            return vectors, self.ids[self.owner], queries, self.query_of
        pairs = (vectors, self.owner), (queries, self.query_of)
        whole, asked = (normalize(measure.summed(*pair)) for pair in pairs)
        return whole, self.ids, asked, None

    def shipped(self, kind):
        if kind == "global":
            return np.load(OXFORD / "global.npy")[self.ids], self.ids, np.load(OXFORD / "global_queries.npy"), None
        image_of = np.load(OXFORD / "region_image.npy").astype(np.int64)
        kept = np.isin(image_of, self.ids)
        queries, query_of = (np.load(OXFORD / f"region_{name}.npy") for name in ("queries", "query"))
        return np.load(OXFORD / "regions.npy")[kept], image_of[kept], queries, query_of.astype(np.int64)

    def mean_ap(self, index, queries, query_of, only=None, **options):
        hits = index.search(queries, len(index), query_groups=query_of, **options)
        chosen = range(len(self.judgements)) if only is None else only
        return round(100 * mean_average_precision(hits.ids[list(chosen)], [self.judgements[i] for i in chosen]), 1)

    def judge(self, vectors, items, queries, query_of, *, rank, gammas=(3.0, 6.0), alphas=(0.99, 0.97, 0.9), only=None):
        """mAP: Euclidean, and for γ and α."""
        found = {}
        for gamma in gammas:
            named = {"ids": items} if query_of is None else {"groups": items}
            index = Index.build(vectors, spectrum=Chebyshev(rank), **{**PAPER, "kernel": Power(gamma), **named})
            found.setdefault("euclidean", self.mean_ap(index, queries, query_of, only, solver=Euclidean()))
            for alpha in alphas:
                value = self.mean_ap(index, queries, query_of, only, filter=LowPass(alpha))
                found[f"gamma {gamma:g}, alpha {alpha:g}"] = value
        return found


def two_commands(kind, encoder, folder):
    """`build --images`, then `evaluate`, once for each solver."""
    target = folder / f"{kind}.longwave"
    options = ("--regions",) if kind == "regional" else ()
    start = time.perf_counter()
    longwave("build", "--images", PICTURES, "--encoder", encoder, *options, "-o", target, "--force")
    found = {"seconds": round(time.perf_counter() - start, 1)}
    for solver in ("euclidean", "spectral"):
        text = longwave(
            "evaluate", target, PICTURES, "--truth", OXFORD / "truth.json", "--solver", solver, "--encoder", encoder
        )
        found[solver] = float(re.search(r"mAP ([\d.]+)", text).group(1))
    return found


def longwave(*arguments):
    command = [sys.executable, "-m", "longwave", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def compare(oxford, add):
    """Ours with several whitenings beside the shipped descriptors."""
    shipped = read_whitening(OXFORD / "whitening.npz")
    for kind in DIMENSIONS:
        rank = RANK[kind]
        add("compared", kind=kind, descriptors="shipped", **oxford.judge(*oxford.shipped(kind), rank=rank))
        for name, whitening in (
            ("shipped whitening", shipped),
            ("shipped whitening, recentred", shipped.recentred(oxford.raw)),
            ("own, shrinkage 5", learn_pca(oxford.raw, dimensions=DIMENSIONS[kind], shrinkage=5)),
            ("own, shrinkage 0", learn_pca(oxford.raw, dimensions=DIMENSIONS[kind])),
        ):
            figures = oxford.judge(*oxford.whitened(kind, whitening), rank=rank)
            add("compared", kind=kind, descriptors=name, **figures)


def shrinking(oxford, add):
    """PCA learned on fewer pictures; and from pairs of half of the buildings, judged on the other half."""
    order = np.random.default_rng(0).permutation(len(oxford.ids))
    for count in (100, 300, 1000):
        taught = np.isin(oxford.owner, order[:count])
        for kind, dimensions in (("global", 128), ("global", 512), ("regional", 128)):
            for shrinkage in SHRINKAGES if kind == "global" or count == 1000 else ():
                kept = min(dimensions, int(taught.sum()) // 8)
                whitening = learn_pca(oxford.raw[taught], dimensions=kept, shrinkage=shrinkage)
                figures = oxford.judge(
                    *oxford.whitened(kind, whitening), rank=RANK[kind], gammas=(3.0,), alphas=(0.99, 0.97)
                )
                add("shrinkage", kind=kind, pictures=count, dimensions=kept, shrinkage=shrinkage, **figures)
    place = {item: i for i, item in enumerate(oxford.ids)}
    wholes = oxford.raw[np.searchsorted(oxford.owner, np.arange(len(oxford.ids)))]
    building = np.arange(len(oxford.judgements)) // 5
    for half in (0, 1):
        rng, pairs = np.random.default_rng(half), []
        for one in np.flatnonzero(np.arange(11) % 2 == half):
            same = {place[i] for q in np.flatnonzero(building == one) for i in oxford.judgements[q].positive}
            both = [(a, b) for a in same for b in same if a < b]
            pairs += [both[i] for i in rng.permutation(len(both))[:400]]
        judged = np.flatnonzero(building % 2 != half)
        for shrinkage in (0.001, 1, 5, 20):
            whitening = learn_supervised(wholes, pairs, dimensions=512, shrinkage=shrinkage)
            add("pairs", half=half, pairs=len(pairs), shrinkage=shrinkage, **judged_half(oxford, whitening, judged))
        whitening = learn_pca(oxford.raw, dimensions=512, shrinkage=5)
        add("no pairs", half=half, shrinkage=5, **judged_half(oxford, whitening, judged))


def judged_half(oxford, whitening, judged):
    described = oxford.whitened("global", whitening)
    return oxford.judge(*described, rank=RANK["global"], gammas=(3.0,), alphas=(0.99, 0.9), only=judged)


def storage(oxford, encoder, add):
    """How like the shipped descriptors ours are, and how long their mean is, with the pixels changed."""
    whitening: Whitening = read_whitening(OXFORD / "whitening.npz")
    chosen = range(0, len(oxford.ids), 20)
    pictures = [np.asarray(Image.open(PICTURES / oxford.paths[i]).convert("RGB")) for i in chosen]
    theirs = normalize(np.load(OXFORD / "global.npy")[oxford.ids[list(chosen)]])

    def described(changed):
        regions = [normalize(whitening(pooled_regions(encoder(p[None])[0]))) for p in changed]
        return normalize(np.stack([own.sum(axis=0) for own in regions]))

    def mean_length(vectors):
        return round(float(np.linalg.norm(vectors.mean(axis=0))), 3)

    add("storage", pixels="shipped descriptors", mean_length=mean_length(theirs))
    changes = {"as they are": lambda p: p, "JPEG 75 again": lambda p: jpeg(p, 75)}
    changes |= {f"colour noise {s}": lambda p, s=s: noisy(p, s) for s in (1, 2, 3, 4)}
    for name, change in changes.items():
        ours = described([change(p) for p in pictures])
        cosine = round(float((ours * theirs).sum(axis=1).mean()), 3)
        add("storage", pixels=name, mean_length=mean_length(ours), cosine_with_shipped=cosine)
    small = [np.asarray(Image.fromarray(p).resize((p.shape[1] // 2, p.shape[0] // 2), Image.LANCZOS)) for p in pictures]
    clean = described(small)
    for quality in (None, 95, 85, 75):
        ours = clean if quality is None else described([jpeg(p, quality) for p in small])
        cosine = round(float((ours * clean).sum(axis=1).mean()), 3)
        name = "half the size" if quality is None else f"half the size, JPEG {quality}"
        add("storage", pixels=name, mean_length=mean_length(ours), cosine_with_half=cosine)


@dataclass(frozen=True)
class Noisy:
    """An encoder that sees noise in the colours."""

    encoder: Encoder
    strength: float
    mean, std = 0.0, 1.0

    @property
    def name(self):
        return f"noisy-{self.strength:g}"

    @property
    def weights(self):
        return f"{self.encoder.weights} {self.name}"

    def __call__(self, pictures):
        return self.encoder(np.stack([noisy(picture, self.strength) for picture in pictures]))


def jpeg(pixels, quality):
    file = BytesIO()
    Image.fromarray(pixels).save(file, "JPEG", quality=quality)
    return np.asarray(Image.open(file).convert("RGB"))


def noisy(pixels, strength):
    """With normal noise in Cb and Cr, brightness as it was."""
    noise = np.random.default_rng(0).normal(0, strength, (*pixels.shape[:2], 2)).astype(np.float32)
    return np.clip(pixels + noise @ CHROMA + 0.5, 0, 255).astype(np.uint8)


def main(workdir, encoder="lite0"):
    folder = Path(workdir)
    folder.mkdir(exist_ok=True)
    add = measure.recorder("pictures-oxford", rank=RANK, pictures=1000)
    for kind in DIMENSIONS:
        add("two commands", kind=kind, **two_commands(kind, encoder, folder))
    opened = open_encoder(encoder)
    oxford = Oxford(opened, folder)
    compare(oxford, add)
    storage(oxford, opened, add)
    described = Oxford(Noisy(opened, 2.0), folder).whitened("global", read_whitening(OXFORD / "whitening.npz"))
    figures = oxford.judge(*described, rank=RANK["global"])
    add("compared", kind="global", descriptors="shipped whitening, colour noise 2", **figures)
    shrinking(oxford, add)


if __name__ == "__main__":
    main(*sys.argv[1:3])
