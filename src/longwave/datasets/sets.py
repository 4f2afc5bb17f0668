"""Real labelled sets from packages that are already installed."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from longwave.errors import FileError
from longwave.types import Array

#: Where Debian's package `dataset-fashion-mnist` puts its files.
FASHION_MNIST = Path("/usr/share/datasets/fashion-mnist")


@dataclass(frozen=True, eq=False)
class LabelledSet:
    """Vectors with a class each. vectors: (n, d), labels: (n,), images: (n, height, width) where there are any."""

    vectors: Array
    labels: Array
    images: Array | None = None


def digits() -> LabelledSet:
    """Handwritten digits that come with scikit-learn: 1,797 images of 8 × 8 pixels, 10 classes."""
    from sklearn.datasets import load_digits

    bunch = load_digits()
    return LabelledSet(bunch.data.astype(np.float32), bunch.target, bunch.images)


def fashion_mnist(folder: Path = FASHION_MNIST) -> LabelledSet:
    """70,000 pictures of clothing, 28 × 28 pixels, 10 classes: training set, then test set. (70000, 784) uint8."""
    if not folder.is_dir():
        raise FileError(f"Fashion-MNIST is not at {folder}; on Debian: apt-get install dataset-fashion-mnist")
    images = [_idx(folder / f"{part}-images-idx3-ubyte.gz", header=16) for part in ("train", "t10k")]
    labels = [_idx(folder / f"{part}-labels-idx1-ubyte.gz", header=8) for part in ("train", "t10k")]
    vectors = np.concatenate(images).reshape(-1, 784)
    return LabelledSet(vectors, np.concatenate(labels), vectors.reshape(-1, 28, 28))


def held_out(n: int, *, n_queries: int, seed: int = 0) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Split row numbers into queries and collection: a random permutation, its first `n_queries`, and the rest."""
    order = np.random.default_rng(seed).permutation(n)
    return order[:n_queries], order[n_queries:]


def _idx(path: Path, *, header: int) -> NDArray[np.uint8]:
    with gzip.open(path) as file:
        return np.frombuffer(file.read(), dtype=np.uint8, offset=header)
