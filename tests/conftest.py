from pathlib import Path

import numpy as np
import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data():
    if not SHARED.is_dir():
        pytest.skip("the shared data sets are not beside this clone")
    return SHARED


@pytest.fixture(scope="session")
def digits_split():
    """Digits: collection vectors and labels, query vectors and labels."""
    from longwave.datasets import digits, held_out

    data = digits()
    queries, rest = held_out(len(data.vectors), n_queries=200)
    return data.vectors[rest], data.labels[rest], data.vectors[queries], data.labels[queries]


@pytest.fixture(scope="session")
def hard_vectors():
    """Everything that breaks neighbour graphs: clusters apart, duplicates, ties, a zero vector, hermits."""
    rng = np.random.default_rng(7)
    clusters = [rng.normal(c, 0.15, size=(size, 12)) for c, size in zip(np.eye(12)[:4], (60, 35, 7, 3), strict=True)]
    vectors = np.vstack(clusters)
    duplicates = np.vstack([vectors[0], vectors[0], vectors[0], vectors[61]])
    ties = np.eye(12)[8:11] + np.eye(12)[9:12]
    hermits = -np.eye(12)[4:7]
    return np.vstack([vectors, duplicates, ties, hermits, np.zeros((1, 12))])
