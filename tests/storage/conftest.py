"""A folder in memory for the tests of storage."""

import tempfile
from pathlib import Path

import pytest


@pytest.fixture
def scratch(tmp_path):
    """A folder in memory where there is one: for folders that are made and thrown away by the thousand."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else tmp_path) as folder:
        yield Path(folder)
