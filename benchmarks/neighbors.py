"""Neighbour lists, k = 50, all methods in one run.

    python -m benchmarks.neighbors [N]                    exact lists of Fashion-MNIST; default: 20,000
    python -m benchmarks.neighbors NAME [METHOD ...]      lists of a recall of 0.99: fashion, fruits or enlarged

Fashion-MNIST has 70,000 × 784 vectors, fruits 180,079 × 128, enlarged 570,000 × 512 (`benchmarks.regional`). Methods
that search take the least effort that reaches 0.99 on a sample, as ours measures its own. Seconds of all processors are
told beside those of the clock, as only they mean something where others want the machine too.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks import measure, regional
from longwave.datasets import fashion_mnist, shared
from longwave.graph.lists.sampled import recall, true_neighbors
from longwave.rows.vectors import normalize

K = 50
#: Whether exact lists are part of the run: at 570,000 they would take an hour.
COLLECTIONS = {"fashion": True, "fruits": True, "enlarged": False}
METHODS = ("longwave_rounds", "pynndescent_lists", "pynndescent_light", "hnswlib_lists", "faiss_hnsw", "faiss_ivf")


def exact(n=20_000):
    vectors = normalize(fashion_mnist().vectors[:n])
    core = "SKYLAKEX" if "avx512f" in Path("/proc/cpuinfo").read_text() else "HASWELL"  # what faiss's BLAS may not see
    runs = {
        "longwave_lists": {},
        "numpy_product": {},
        "numpy_argpartition": {},
        "faiss_flat": {},
        f"faiss_flat, OPENBLAS_CORETYPE={core}": {"OPENBLAS_CORETYPE": core},
    }
    compare(f"neighbors-{n}", vectors, runs)


def approximate(name, *methods):
    runs = methods or (*METHODS, *(["longwave_lists"] if COLLECTIONS[name] else []))
    compare(f"lists-{name}", load(name), {method: {} for method in runs})


def load(name):
    if name == "enlarged":
        return normalize(regional.enlarged())
    if name == "fruits":
        return normalize(np.load(shared.data_folder() / "fruits360" / "vectors.npy"))
    return normalize(fashion_mnist().vectors)


def compare(title, vectors, runs):
    """Measure the runs one after the other; results/TITLE.json has all of them after each."""
    sample, truth = true_neighbors(vectors, k=K, seed=1)  # another sample than any method's own
    rows = {}
    with tempfile.TemporaryDirectory() as folder:
        source, answer = Path(folder) / "vectors.npy", Path(folder) / "answer.npz"
        np.save(source, vectors)
        for label, environment in runs.items():
            answer.unlink(missing_ok=True)
            row = measure.run(label.split(",")[0], source, K, answer, **environment)
            if answer.exists():
                with np.load(answer) as file:
                    row["recall"] = recall(file["second"][sample], truth)
            rows[label] = row
            print(label, row, flush=True)
            fastest = min(row["cpu_seconds"] for row in rows.values())
            for other in rows.values():
                other["ratio_to_fastest"] = other["cpu_seconds"] / fastest
            measure.save(title, {"vectors": vectors.shape, "k": K, "rows": rows})


if __name__ == "__main__":
    if sys.argv[1:] and not sys.argv[1].isdigit():
        approximate(*sys.argv[1:])
    else:
        exact(*map(int, sys.argv[1:2]))
