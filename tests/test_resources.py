import re

import numpy as np
import pytest

from longwave import Chebyshev, Exact, Index, Lanczos, Simultaneous, resources
from longwave.errors import InputError, ResourceError


@pytest.mark.parametrize("method", [Chebyshev(1000), Lanczos(1000), Simultaneous(1000)], ids=lambda m: type(m).__name__)
def test_a_plan_that_does_not_fit_names_the_rank_that_does(method):
    with pytest.raises(ResourceError, match=r"needs up to .* GiB but memory= allows 5.0 GiB; rank .* fits") as caught:
        resources.check(1_000_000, 128, k=50, method=method, memory=5 << 30)
    rank = int(re.search(r"rank ([\d,]+) fits", str(caught.value))[1].replace(",", ""))
    fits = type(method)(rank)
    resources.check(1_000_000, 128, k=50, method=fits, memory=5 << 30)
    with pytest.raises(ResourceError):
        resources.check(1_000_000, 128, k=50, method=type(method)(rank + 1), memory=5 << 30)


def test_where_no_basis_fits():
    with pytest.raises(ResourceError, match="spectrum=None does"):
        resources.check(100_000, 64, k=10, method=Exact(), memory=2 << 30)
    with pytest.raises(ResourceError, match="do not fit at all"):
        resources.check(10_000_000, 512, k=50, method=Chebyshev(100), memory=2 << 30)
    resources.check(10_000, 64, k=10, method=None, memory=2 << 30)


def test_build_refuses_before_the_work():
    said = []
    vectors = np.random.default_rng(0).normal(size=(500, 8))
    with pytest.raises(ResourceError, match="or allow more"):
        Index.build(vectors, k=5, memory=1 << 20, progress=lambda *report: said.append(report))
    assert not said


@pytest.mark.parametrize(
    ("text", "size"), [("20G", 20 << 30), ("1.5GiB", 3 << 29), ("700mb", 700 << 20), ("4096", 4096), (" 2 T ", 2 << 40)]
)
def test_sizes(text, size):
    assert resources.parse_size(text) == size


@pytest.mark.parametrize("text", ["", "G", "-3G", "0", "many", "1e99G", "nan", "3X"])
def test_sizes_that_are_none(text):
    with pytest.raises(InputError, match="such as 20G"):
        resources.parse_size(text)


def test_the_machine_has_memory():
    assert resources.machine_memory() > 1 << 28
