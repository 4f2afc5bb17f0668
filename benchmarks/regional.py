"""INSTRE's regional size: 570,000 vectors of 512 dimensions, graph and basis on one small machine.

    python -m benchmarks.regional WORKDIR [RANK [N]]       default: 5,000 and 570,000

The vectors are real ones enlarged: the Oxford regional descriptors (107 thousand, padded from 128 dimensions) and
Fashion-MNIST (70,000, its first 512 principal directions), each several times, every copy under a small random rotation
(about 0.3 radian) and with noise of a tenth of the length. Run it again after a crash: it goes on from WORKDIR, and
the seconds of every process add up in WORKDIR-log.json.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks import measure
from longwave import PAPER, Chebyshev, Index
from longwave.datasets import fashion_mnist
from longwave.rows.vectors import normalize, row_blocks

OXFORD = Path(__file__).parents[2] / "shared/data/oxford5k/regions.npy"
DIMENSIONS = 512
COPIES = {"oxford": 2, "fashion": 6}


def small_rotation(rng, angle=0.3):
    """A random rotation that turns a typical vector by about `angle`: the Cayley transform of a skew matrix."""
    skew = rng.standard_normal((DIMENSIONS, DIMENSIONS)) / np.sqrt(2 * DIMENSIONS)
    skew = (skew - skew.T) * np.tan(angle) / 2
    identity = np.eye(DIMENSIONS)
    return np.linalg.solve(identity + skew, identity - skew).astype(np.float32)


def principal(vectors):
    """The coordinates along the first 512 principal directions, not centred."""
    _, directions = np.linalg.eigh(vectors.T @ vectors)
    return vectors @ directions[:, ::-1][:, :DIMENSIONS]


def enlarged(n=570_000, seed=0):
    """(n, 512) float32."""
    rng = np.random.default_rng(seed)
    oxford = normalize(np.load(OXFORD))
    sources = {
        "oxford": np.pad(oxford, ((0, 0), (0, DIMENSIONS - oxford.shape[1]))),
        "fashion": principal(normalize(fashion_mnist().vectors)),
    }
    out = np.empty((n, DIMENSIONS), dtype=np.float32)
    filled = 0
    for name, count in COPIES.items():
        for _ in range(count):
            copy = sources[name][: n - filled] @ small_rotation(rng)
            for rows in row_blocks(*copy.shape):
                copy[rows] += rng.standard_normal(copy[rows].shape, dtype=np.float32) * (0.1 / np.sqrt(DIMENSIONS))
            out[filled : filled + len(copy)] = copy
            filled += len(copy)
    if filled < n:
        raise SystemExit(f"there are {filled:,} vectors, not {n:,}")
    return out


class Log:
    """When each stage ended, over all processes that worked on it; a `Progress` callback."""

    def __init__(self, path):
        self.path = path
        self.processes = json.loads(path.read_text()) if path.exists() else []
        self.start, self.stages = time.perf_counter(), {}
        self.processes.append(self.stages)

    def __call__(self, stage, done, total):
        self.stages[stage] = round(time.perf_counter() - self.start, 1)
        self.stages["peak_gib"] = round(measure.peak_mib() / 1024, 2)
        partial = self.path.with_suffix(".partial")
        partial.write_text(json.dumps(self.processes, indent=1))
        partial.rename(self.path)
        print(f"{self.stages[stage]:9.1f} s  {self.stages['peak_gib']:6.2f} GiB  {stage} {done}/{total}", flush=True)


def main(workdir, rank=5000, n=570_000):
    log = Log(Path(f"{workdir}-log.json"))
    vectors = enlarged(n)
    log("vectors", n, n)
    index = Index.build(vectors, spectrum=Chebyshev(rank), workdir=workdir, progress=log, **PAPER)
    log("built", 1, 1)
    spectrum, sizes = index.spectrum, index.graph.component_sizes
    measure.save(
        f"regional-{n}-{rank}",
        {
            "vectors": vectors.shape,
            "recall": index.settings.recall,
            "edges": index.graph.normalized.nnz // 2,
            "components": len(sizes),
            "largest": sizes[:5].tolist(),
            "rank": spectrum.rank,
            "eigenvalues": [float(spectrum.eigenvalues.max()), float(spectrum.eigenvalues.min())],
            "residuals": np.quantile(spectrum.residuals, (0.5, 0.9, 1.0)).tolist(),
            "memory": index.memory(),
            "processes": log.processes,
        },
    )


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:4]))
