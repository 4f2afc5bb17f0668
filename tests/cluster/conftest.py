"""Engines of the tests: this process, three workers of Ray, three of Dask. Each is started once."""

import pytest

from longwave.cluster import InProcess

STORE = 200 << 20


@pytest.fixture(scope="session")
def ray_engine():
    pytest.importorskip("ray", reason="needs the extra ray")
    from longwave.cluster.on_ray import Ray

    engine = Ray(workers=3, store=STORE)
    yield engine
    engine.close()


@pytest.fixture(scope="session")
def dask_engine():
    pytest.importorskip("distributed", reason="needs the extra dask")
    from longwave.cluster.on_dask import Dask

    engine = Dask(workers=3)
    yield engine
    engine.close()


@pytest.fixture(params=["local", "ray", "dask"])
def engine(request):
    return InProcess() if request.param == "local" else request.getfixturevalue(f"{request.param}_engine")


@pytest.fixture(params=["ray", "dask"])
def workers(request):
    return request.getfixturevalue(f"{request.param}_engine")
