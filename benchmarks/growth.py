"""How the basis grows: time against n at a fixed rank, and against the rank at a fixed n.

python -m benchmarks.growth
"""

import tempfile
from pathlib import Path

import scipy.sparse as sp

from benchmarks import measure
from benchmarks.basis import giant_component

SIZES, RANK = (10_000, 20_000, 40_000, 70_000), 500
RANKS, SIZE = (250, 500, 1000), 70_000


def main():
    by_size, by_rank = [], []
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer.npz"

        def measured(source, matrix, rank):
            row = measure.run("longwave_basis", source, rank, answer)
            row |= {"vertices": matrix.shape[0], "rank": rank, "edges": matrix.nnz // 2}
            row["microseconds_per_vertex"] = 1e6 * row["seconds"] / matrix.shape[0]
            print(
                f"{row['vertices']:7,} vertices, rank {rank:5,}: {row['seconds']:7.1f} s, "
                f"{row['microseconds_per_vertex']:6.0f} µs per vertex, {row['peak_mib']:6.0f} MiB",
                flush=True,
            )
            return row

        for n in SIZES:
            matrix = giant_component(n)
            source = Path(folder) / f"{n}.npz"
            sp.save_npz(source, matrix, compressed=False)
            by_size.append(measured(source, matrix, RANK))
            if n == SIZE:
                by_rank = [measured(source, matrix, rank) for rank in RANKS]
    measure.save("growth", {"by_size": by_size, "by_rank": by_rank})


if __name__ == "__main__":
    main()
