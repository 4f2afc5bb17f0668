"""Served collections for the tests of the routes."""

from datetime import date

import numpy as np
import pytest

import longwave
from serving import running

N = 500


@pytest.fixture(scope="session")
def digits_folder(tmp_path_factory):
    """500 digits with metadata, as a folder called digits.longwave. Nobody writes to it."""
    from longwave.datasets import digits

    data = digits()
    labels = data.labels[:N].tolist()
    table = {
        "label": labels,
        "word": [f"digit {label}" if label else None for label in labels],
        "day": [date(2020, 1, 1 + label) for label in labels],
    }
    path = tmp_path_factory.mktemp("served") / "digits.longwave"
    about = {"draw": {"kind": "digits", "width": 8, "height": 8}}
    longwave.Index.build(data.vectors[:N], progress=False).with_metadata(table).attach(about).save(path)
    return path


@pytest.fixture(scope="session")
def held_out_digits():
    from longwave.datasets import digits

    return digits().vectors[N : N + 40]


@pytest.fixture(scope="session")
def index(digits_folder):
    return longwave.Index.load(digits_folder)


@pytest.fixture(scope="session")
def served(digits_folder):
    with running(digits_folder) as client:
        yield client


@pytest.fixture
def living(tmp_path):
    """A small collection of its own, with ids of text, for changes."""
    rng = np.random.default_rng(3)
    vectors = rng.normal(size=(120, 12)).astype(np.float32)
    path = tmp_path / "living.longwave"
    longwave.create(
        path,
        vectors,
        ids=[f"item/{i}" for i in range(120)],
        metadata={"even": [i % 2 == 0 for i in range(120)]},
        k=10,
        progress=False,
    ).close()
    return path
