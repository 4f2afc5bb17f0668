"""Engines of the tests: this process, three workers of Ray, three of Dask. Each is started once."""

import os
import signal
from pathlib import Path

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


class Deadly:
    """A cluster on which one call of a function of some name kills its worker with SIGKILL, once."""

    def __init__(self, cluster, name, folder, after=0):
        self.cluster, self.name, self.mark, self.after, self.seen = cluster, name, str(folder / "killed"), after, 0

    def put(self, value):
        return self.cluster.put(value)

    def submit(self, function, *arguments, parts=None):
        if function.__name__ == self.name:
            self.seen += 1
            if self.seen == self.after + 1:
                return self.cluster.submit(deadly(self.mark), function, *arguments, parts=parts)
        return self.cluster.submit(function, *arguments, parts=parts)

    def gather(self, handles):
        return self.cluster.gather(handles)

    @property
    def killed(self):
        return Path(self.mark).exists()


def deadly(mark):
    """The function that dies: one inside another, as workers cannot import this file."""

    def die_once(function, *arguments):
        if not Path(mark).exists():
            Path(mark).write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*arguments)

    return die_once
