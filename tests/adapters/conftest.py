"""What langchain-tests needs to be imported: the marks of plugins that pyproject.toml keeps out of this suite."""

import pytest


def pytest_configure(config):
    for mark in ("benchmark", "vcr"):
        config.addinivalue_line("markers", f"{mark}: of langchain-tests")


@pytest.fixture
def anyio_backend():
    """Asynchronous tests run on asyncio."""
    return "asyncio"
