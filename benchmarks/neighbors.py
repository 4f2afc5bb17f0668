"""Neighbour lists of Fashion-MNIST, k = 50, all in one run.

python -m benchmarks.neighbors [N]        default: 20,000
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks import measure
from longwave.datasets import fashion_mnist
from longwave.rows.vectors import normalize


def main(n=20_000, k=50):
    vectors = normalize(fashion_mnist().vectors[:n])
    core = "SKYLAKEX" if "avx512f" in Path("/proc/cpuinfo").read_text() else "HASWELL"  # what faiss's BLAS may not see
    runs = {
        "longwave_lists": {},
        "numpy_product": {},
        "numpy_argpartition": {},
        "faiss_flat": {},
        f"faiss_flat, OPENBLAS_CORETYPE={core}": {"OPENBLAS_CORETYPE": core},
        "longwave_clustered": {},
        "hnswlib_lists": {},
        "pynndescent_lists": {},
    }
    rows = {}
    with tempfile.TemporaryDirectory() as folder:
        source, answer = Path(folder) / "vectors.npy", Path(folder) / "answer.npz"
        np.save(source, vectors)
        truth = None
        for label, environment in runs.items():
            answer.unlink(missing_ok=True)
            row = measure.run(label.split(",")[0], source, k, answer, **environment)
            if answer.exists():
                with np.load(answer) as file:
                    similarities = file["second"]
                truth = similarities if truth is None else truth
                row["recall"] = float((similarities >= truth[:, -1:] - 1e-5).mean())
            rows[label] = row
            ratio = row["seconds"] / rows["longwave_lists"]["seconds"]
            shown = f"{row['seconds']:8.1f} s  ×{ratio:5.2f}  {row['peak_mib']:6.0f} MiB  {row.get('recall', '')}"
            print(f"{label:40} {shown}", flush=True)
    measure.save(f"neighbors-{n}", {"vectors": vectors.shape, "k": k, "rows": rows})


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
