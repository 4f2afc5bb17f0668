"""Fixtures that several rooms share: data sets, sample pictures, encoders."""

import signal
from pathlib import Path

import numpy as np
import pytest

# A shell starts what runs in its background with Ctrl-C ignored, and so would be the programs that tests press it in.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Fixtures of a folder have no examples in them, and all of these files have one name.
collect_ignore_glob = ["*conftest.py"]

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data():
    if not SHARED.is_dir():
        pytest.skip("the shared data sets are not beside this clone")
    return SHARED


@pytest.fixture(scope="session", autouse=True)
def nothing_is_compiled_ahead():
    """Whatever a test starts, in its processes too; tests/rows/test_ahead.py has it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LONGWAVE_COMPILE_AHEAD", "0")
        yield


@pytest.fixture(scope="session", autouse=True)
def digits_are_walked():
    """As large collections are. Of so few vertices all pairs would be kept: tests/search/test_defaults.py has those."""
    from longwave.spectrum import advised

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(advised, "_COMPLETE", 1500)
        yield


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


@pytest.fixture(scope="session")
def lite0(tmp_path_factory):
    """The default encoder as an ONNX file."""
    from longwave.pictures import default_encoder, write_onnx

    path = tmp_path_factory.mktemp("encoder") / "lite0.onnx"
    write_onnx(default_encoder(), path)
    return path


# Pictures that are asked with only. The motorcycle is in the collection as the other camera of a pair saw it.
_ASKED = ["coffee", "motorcycle_left"]


@pytest.fixture(scope="session")
def sample_pictures():
    """Path of each picture, by name."""
    from benchmarks import views as benchmark

    found = benchmark.sample_pictures()
    return {name: found[name] for name in [*benchmark.PICTURES, *_ASKED]}


@pytest.fixture(scope="session")
def views(sample_pictures, tmp_path_factory):
    """A folder: four views of each of 19 pictures, and two files that fail."""
    from benchmarks.views import write_views
    from PIL import Image

    folder = tmp_path_factory.mktemp("views")
    write_views(folder, sample_pictures)
    whole = (folder / "china-whole.jpg").read_bytes()
    (folder / "truncated.jpg").write_bytes(whole[: len(whole) // 3])
    Image.new("RGB", (1, 1)).save(folder / "dot.png")
    return folder
