"""Few labels and no labels: accuracy, time and memory beside scikit-learn, on Fashion-MNIST.

    python -m benchmarks.labels [SIZE ...]       by default 20000 and 70000

Ten labels a class; the mean over three draws. Each method in a process of its own, its peak of memory beyond the
vectors themselves. `index + propagate` counts the build of the index, `propagate` does not: an index that is there
already answers at once. Clusters: ARI and NMI with the classes, ten clusters. A method that has not ended after ten
minutes, or that the machine has no memory for, is noted so.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks import measure
from longwave.datasets import fashion_mnist

LIMIT = 600
DRAWS = 3
METHODS = (
    *("longwave", "label_spreading_knn", "self_training", "nearest"),
    *("longwave_clusters", "spectral_clustering", "k_means"),
)


def data(size):
    """Vectors and labels of the first pictures, and the known ones of each draw."""
    whole = fashion_mnist()
    vectors, labels = whole.vectors[:size].astype(np.float32), whole.labels[:size]
    draws = []
    for seed in range(DRAWS):
        rng = np.random.default_rng(seed)
        draws.append(np.concatenate([rng.choice(np.flatnonzero(labels == c), 10, replace=False) for c in range(10)]))
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True), labels, draws


def accuracy(found, labels, known):
    rest = np.setdiff1d(np.arange(len(labels)), known)
    return float((np.asarray(found)[rest] == labels[rest]).mean())


def longwave(vectors, labels, draws):
    import longwave as lw

    start = time.perf_counter()
    index = lw.Index.build(vectors, progress=False)
    built = time.perf_counter() - start
    right, taken = [], []
    for known in draws:
        start = time.perf_counter()
        made = index.propagate({int(i): int(labels[i]) for i in known})
        taken.append(time.perf_counter() - start)
        right.append(accuracy(made.labels, labels, known))
    return {"accuracy": np.mean(right), "build_seconds": built, "seconds": float(np.median(taken))}


def of_estimator(make):
    def run(vectors, labels, draws):
        right, taken = [], []
        for known in draws:
            partly = np.full(len(labels), -1)
            partly[known] = labels[known]
            start = time.perf_counter()
            found = make(vectors, partly)
            taken.append(time.perf_counter() - start)
            right.append(accuracy(found, labels, known))
        return {"accuracy": np.mean(right), "seconds": float(np.median(taken))}

    return run


def _spreading(vectors, partly):
    from sklearn.semi_supervised import LabelSpreading

    return LabelSpreading(kernel="knn", n_neighbors=7, alpha=0.2, max_iter=100).fit(vectors, partly).transduction_


def _self_training(vectors, partly):
    from sklearn.linear_model import LogisticRegression
    from sklearn.semi_supervised import SelfTrainingClassifier

    return SelfTrainingClassifier(LogisticRegression(max_iter=200)).fit(vectors, partly).predict(vectors)


def _nearest(vectors, partly):
    known = np.flatnonzero(partly >= 0)
    return partly[known][(vectors @ vectors[known].T).argmax(axis=1)]


label_spreading_knn, self_training, nearest = (of_estimator(f) for f in (_spreading, _self_training, _nearest))


def of_clusters(make):
    def run(vectors, labels, draws):
        from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

        start = time.perf_counter()
        found = make(vectors)
        taken = time.perf_counter() - start
        return {
            "ari": adjusted_rand_score(labels, found),
            "nmi": normalized_mutual_info_score(labels, found),
            "seconds": taken,
        }

    return run


def _longwave_clusters(vectors):
    import longwave as lw

    return lw.Index.build(vectors, progress=False).cluster(10).labels


def _spectral(vectors):
    from sklearn.cluster import SpectralClustering

    made = SpectralClustering(10, affinity="nearest_neighbors", n_neighbors=50, random_state=0, assign_labels="kmeans")
    return made.fit_predict(vectors)


def _k_means(vectors):
    from sklearn.cluster import KMeans

    return KMeans(10, n_init=10, random_state=0).fit_predict(vectors)


longwave_clusters, spectral_clustering, k_means = (of_clusters(f) for f in (_longwave_clusters, _spectral, _k_means))


def alone(method, size):
    """Run one method in this process; print what it found."""
    vectors, labels, draws = data(size)
    Path("/proc/self/clear_refs").write_text("5")
    before = measure.peak_mib()
    found = globals()[method](vectors, labels, draws)
    found = {name: float(value) for name, value in found.items()}
    print(json.dumps({**found, "peak_mib": measure.peak_mib() - before, "load": os.getloadavg()[0]}))


def main(sizes):
    add = measure.recorder("labels", labels_per_class=10, draws=DRAWS, limit_seconds=LIMIT)
    for size in sizes:
        for method in METHODS:
            command = [sys.executable, "-m", "benchmarks.labels", "alone", method, str(size)]
            try:
                done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=LIMIT)
                add(method, size=size, **json.loads(done.stdout.splitlines()[-1]))
            except subprocess.TimeoutExpired:
                add(method, size=size, failed=f"not done after {LIMIT} s")
            except subprocess.CalledProcessError as error:
                reason = (error.stderr.strip().splitlines() or [f"ended with {error.returncode}"])[-1]
                add(method, size=size, failed=reason[:200])


if __name__ == "__main__":
    if sys.argv[1:2] == ["alone"]:
        alone(sys.argv[2], int(sys.argv[3]))
    else:
        main([int(size) for size in sys.argv[1:]] or [20_000, 70_000])
