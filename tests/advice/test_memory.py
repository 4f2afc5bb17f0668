"""What a build says of memory before it begins."""

import re

import numpy as np
import pytest

from longwave import Chebyshev, Exact, Index, Lanczos, Simultaneous
from longwave.advice import memory as resources
from longwave.errors import InputError, ResourceError


def work(n, dimension, k, method, **more):
    return resources.Work(n, dimension, k, method, **more)


@pytest.mark.parametrize("method", [Chebyshev(1000), Lanczos(1000), Simultaneous(1000)], ids=lambda m: type(m).__name__)
def test_a_plan_that_does_not_fit_names_the_rank_that_does(method):
    limit = 5 << 30
    with pytest.raises(ResourceError, match=r"needs up to .* GiB but memory= allows 5.0 GiB; rank .* fits") as caught:
        resources.check(work(1_000_000, 128, 50, method), limit)
    rank = int(re.search(r"rank ([\d,]+) fits", str(caught.value))[1].replace(",", ""))
    resources.check(work(1_000_000, 128, 50, type(method)(rank)), limit)
    with pytest.raises(ResourceError):
        resources.check(work(1_000_000, 128, 50, type(method)(rank + 1)), limit)


def test_where_no_basis_fits():
    with pytest.raises(ResourceError, match="spectrum=None does"):
        resources.check(work(100_000, 64, 10, Exact()), 2 << 30, component=100_000)
    resources.check(work(100_000, 64, 10, Exact()), 2 << 30, component=1000)  # many small components fit
    resources.check(work(100_000, 64, 10, Exact()), 2 << 30)  # before the components are known, nobody can tell
    with pytest.raises(ResourceError, match="do not fit"):
        resources.check(work(10_000_000, 512, 50, Chebyshev(100)), 2 << 30)
    resources.check(work(10_000, 64, 10, None), 2 << 30)
    resources.check(work(10, 4, 5, Chebyshev(1000)), 100 << 20)  # little work fits into little memory


def test_pooling_and_sparse_bases_are_counted():
    plain = work(1_000_000, 64, 10, Chebyshev(1000)).peak()
    assert work(1_000_000, 64, 10, Chebyshev(1000), items=900_000).peak() > plain
    assert work(1_000_000, 64, 10, Chebyshev(1000), sparse=True).peak() > plain


def test_a_block_that_is_nearly_square_is_solved_densely():
    assert Chebyshev(7200).memory(18_000) == Exact(7200).memory(18_000)


def test_build_refuses_before_the_work():
    said = []
    vectors = np.random.default_rng(0).normal(size=(500, 8))
    with pytest.raises(ResourceError, match="or allow more with memory="):
        Index.build(vectors, k=5, memory="1M", progress=lambda *report: said.append(report))
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
