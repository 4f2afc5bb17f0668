"""The Fourier basis of the giant component of Fashion-MNIST, all solvers in one run, and a plot of error against time.

    python -m benchmarks.basis [N RANK [COMPETITOR ...]]       default: 20,000, 500 and all of them

The error is ‖x − x*‖₂ / ‖x*‖₂ over 50 sparse y, h = h_0.99, x* from `eigsh` at machine precision.
"""

import importlib.util
import sys
import tempfile
from pathlib import Path
from subprocess import CalledProcessError

import numpy as np
import scipy.sparse as sp

from benchmarks import measure
from longwave import LowPass
from longwave.datasets import fashion_mnist
from longwave.graph import mutual as graph
from longwave.graph.lists import nearest_others
from longwave.graph.weights import Power
from longwave.rows.vectors import normalize

COMPETITORS = ("eigsh_loose", "primme_eigsh", "spectral_embedding", "lobpcg", "randomized_svd")
# Ours and the paper's at several accuracies: the curves of the plot.
OURS = {f"longwave_basis, TOLERANCE={t}": {"TOLERANCE": t} for t in ("1e-1", "1e-2", "1e-4", "1e-5")}


def giant_component(n):
    vectors = normalize(fashion_mnist().vectors[:n])
    built = graph.build(nearest_others(vectors, k=50), kernel=Power(3.0))
    keep = np.flatnonzero(built.labels == 0)
    return sp.csr_array(built.normalized[keep][:, keep])


def observations(n):
    rng = np.random.default_rng(0)
    y = np.zeros((50, n))
    for row in y:
        row[rng.choice(n, 10, replace=False)] = rng.random(10)
    return y


def runs(competitors, ours_seconds, one_round):
    """Label and environment of every run: simultaneous iteration gets our time, a quarter, and four times of it."""
    fair = max(2, round(ours_seconds / one_round))
    rounds = {"": fair, " a quarter": max(2, fair // 4), " four times": 4 * fair}
    for label, count in rounds.items():
        yield f"simultaneous,{label or ' the same time'}", {"ROUNDS": str(count)}
    yield from OURS.items()
    for name in competitors:
        if name == "primme_eigsh" and importlib.util.find_spec("primme") is None:
            print(f"{name:40} is not installed")
        else:
            yield name, {}


def main(n=20_000, rank=500, competitors=COMPETITORS):
    matrix = giant_component(n)
    y = observations(matrix.shape[0])
    rows = {}
    with tempfile.TemporaryDirectory() as folder:
        source, answer = Path(folder) / "matrix.npz", Path(folder) / "answer.npz"
        sp.save_npz(source, matrix, compressed=False)
        reference = None

        def measured(label, environment):
            nonlocal reference
            row = {**measure.run(label.split(",")[0], source, rank, answer, **environment), **environment}
            with np.load(answer) as file:
                scores = y @ file["second"] * LowPass(0.99)(file["first"]) @ file["second"].T
            reference = scores if reference is None else reference
            row["error"] = float(np.linalg.norm(scores - reference) / np.linalg.norm(reference))
            return row

        def record(label, environment):
            row = rows[label] = measured(label, environment)
            row["times_eigsh"] = rows["eigsh"]["seconds"] / row["seconds"]
            shown = f"{row['seconds']:8.1f} s  ×{row['times_eigsh']:5.1f}  error {row['error']:.1e}"
            print(f"{label:40} {shown}  {row['peak_mib']:6.0f} MiB", flush=True)

        record("eigsh", {})
        record("longwave_basis", {})
        one_round = measured("simultaneous", {"ROUNDS": "2"})["seconds"] / 2
        for label, environment in runs(competitors, rows["longwave_basis"]["seconds"], one_round):
            try:
                record(label, environment)
            except CalledProcessError as error:
                print(f"{label:40} failed: {error.stderr.splitlines()[-1]}")
    name = f"basis-{n}-{rank}"
    width = rank + rank // 4 + 20
    size = {"vertices": matrix.shape[0], "edges": matrix.nnz // 2, "rank": rank}
    size["block_mib"] = 4 * matrix.shape[0] * width / 2**20  # one n × (r + p) array in float32
    size["small_mib"] = 8 * width**2 / 2**20  # one (r + p)² array in float64
    measure.save(name, {**size, "rows": rows})
    draw(rows, size, measure.RESULTS / f"{name}.png")


def draw(rows, size, path):
    """Error against time, both logarithmic."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 5), layout="constrained")
    names = {"longwave_basis": "Longwave (Chebyshev)", "simultaneous": "simultaneous iteration, as printed"}
    for name, label in names.items():
        points = sorted((row["seconds"], row["error"]) for key, row in rows.items() if key.split(",")[0] == name)
        axes.plot(*zip(*points, strict=True), "o-", label=label, linewidth=2)
    others = {name: row for name, row in rows.items() if name.split(",")[0] not in names}
    height = 0  # of the label, where several points lie on the lower edge
    for name, row in others.items():
        axes.plot(row["seconds"], max(row["error"], 1e-6), "s", color="0.4")
        exact = row["error"] < 1e-6
        height = height + 12 if exact else height
        place = {"xytext": (-6, height if exact else 6), "textcoords": "offset points", "ha": "right", "fontsize": 8}
        note = f"{name} (≤ 1e-6)" if exact else name
        axes.annotate(note, (row["seconds"], max(row["error"], 1e-6)), **place)
    axes.set(xscale="log", yscale="log", xlabel="seconds", ylabel="relative error of h(W) y")
    axes.set_title(f"{size['vertices']:,} vertices, rank {size['rank']:,}: the basis of Fashion-MNIST's graph")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=120)
    print(f"wrote {path.name}")


if __name__ == "__main__":
    numbers = [int(text) for text in sys.argv[1:3]]
    main(*numbers, *([tuple(sys.argv[3:])] if sys.argv[3:] else []))
