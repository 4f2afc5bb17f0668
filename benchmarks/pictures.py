"""From pixels to mAP: 1,000 photographs of the Oxford buildings, our descriptors beside those shipped with them.

    python -m benchmarks.pictures WORKDIR [ENCODER.onnx]

Ours by `longwave build --images` and `longwave evaluate`, globally and by regions, with the whitening learned on the
1,000 themselves and with the shipped one; the shipped descriptors are restricted to the same photographs.
"""

import json
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks import measure
from longwave import Chebyshev, Euclidean, Index
from longwave.evaluation import Judgement, mean_average_precision

OXFORD = Path(__file__).parents[2] / "shared/data/oxford5k"
RANK = 500
SHAPES = {"global": ("--dimensions", "512"), "regional": ("--dimensions", "128", "--regions")}


def longwave(*arguments):
    command = [sys.executable, "-m", "longwave", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def shipped(kind):
    """Euclidean and manifold mAP of the shipped descriptors of the photographs that are there."""
    truth = json.loads((OXFORD / "truth.json").read_text())
    there = np.array([(OXFORD / "pictures" / f"{name}.jpg").exists() for name in truth["images"]])
    judgements = [
        Judgement([i for i in e["positive"] if there[i]], [i for i in e["junk"] if there[i]]) for e in truth["queries"]
    ]
    if kind == "global":
        vectors, groups, queries, query_of = np.load(OXFORD / "global.npy")[there], None, "global_queries", None
        ids = np.flatnonzero(there)
    else:
        image_of = np.load(OXFORD / "region_image.npy")
        kept = there[image_of]
        vectors, groups, ids = np.load(OXFORD / "regions.npy")[kept], image_of[kept], None
        queries, query_of = "region_queries", np.load(OXFORD / "region_query.npy")
    index = Index.build(vectors, groups=groups, ids=ids, spectrum=Chebyshev(RANK))
    asked = np.load(OXFORD / f"{queries}.npy")
    searches = [{"solver": Euclidean()}, {}]
    hits = [index.search(asked, len(index), query_groups=query_of, **options) for options in searches]
    return [round(100 * mean_average_precision(h.ids, judgements), 2) for h in hits]


def ours(kind, whiten, encoder, folder):
    """Two commands; the second twice."""
    target = folder / f"{kind}-{Path(whiten).stem}.longwave"
    start = time.perf_counter()
    longwave(
        "build", "--images", OXFORD / "pictures", "--encoder", encoder, "--whiten", whiten, *SHAPES[kind],
        "--rank", RANK, "-o", target, "--force",
    )  # fmt: skip
    seconds = time.perf_counter() - start
    found = []
    for solver in ("euclidean", "spectral"):
        text = longwave(
            "evaluate", target, OXFORD / "pictures", "--truth", OXFORD / "truth.json", "--solver", solver,
            "--encoder", encoder,
        )  # fmt: skip
        found.append(float(re.search(r"mAP ([\d.]+)", text).group(1)))
    return found, seconds


def main(workdir, encoder="lite0"):
    rows = []
    for kind in SHAPES:
        euclidean, manifold = shipped(kind)
        rows.append({"descriptors": kind, "whose": "shipped", "euclidean": euclidean, "manifold": manifold})
        print(rows[-1], flush=True)
        for whiten in (OXFORD / "whitening.npz", "pca"):
            (euclidean, manifold), seconds = ours(kind, str(whiten), encoder, Path(workdir))
            learned = "on the 1,000" if whiten == "pca" else "shipped"
            figures = {"euclidean": euclidean, "manifold": manifold, "seconds": round(seconds, 1)}
            rows.append({"descriptors": kind, "whose": "ours", "whitening": learned, **figures})
            print(rows[-1], flush=True)
            measure.save("pictures-oxford", {"rank": RANK, "pictures": 1000, "rows": rows})


if __name__ == "__main__":
    main(*sys.argv[1:3])
