"""Arrays whose rows several processes write."""

import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from longwave import storage
from longwave.errors import CorruptIndexError
from longwave.storage.spans import joined, write_rows


@given(st.binary(max_size=50), st.binary(max_size=300))
def test_checksums_of_neighbours_are_joined(one, other):
    assert joined(zlib.crc32(one), zlib.crc32(other), len(other)) == zlib.crc32(one + other)


@pytest.mark.parametrize("shape", [(10, 3), (10,), (0, 3)])
def test_rows_come_in_any_order(shape, tmp_path):
    array = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    with storage.writer(tmp_path / "i", create=True) as own:
        span = own.span("rows", shape, np.float32)
        last, first = write_rows(span, 4, array[4:]), write_rows(span, 0, array[:4])
        write_rows(span, 4, array[4:])  # a call that was run again
        own.commit({}, {"rows": span.written([first, last]), "small": np.arange(3)})
    state = storage.read(tmp_path / "i", verify=True)
    np.testing.assert_array_equal(state.arrays["rows"], array)


def test_rows_that_are_missing_are_no_file(tmp_path):
    array = np.ones((5, 2))
    with storage.writer(tmp_path / "i", create=True) as own:
        span = own.span("rows", array.shape, array.dtype)
        with pytest.raises(ValueError, match="bytes of"):
            span.written([write_rows(span, 0, array[:3])])


def test_a_file_that_is_gone_is_not_committed(tmp_path):
    array = np.ones((5, 2))
    with storage.writer(tmp_path / "i", create=True) as own:
        span = own.span("rows", array.shape, array.dtype)
        done = span.written([write_rows(span, 0, array)])
        (tmp_path / "i" / "data" / done.entry.file).unlink()
        with pytest.raises(CorruptIndexError, match="missing"):
            own.commit({}, {"rows": done})
        assert own.state is None
