"""Clusters that lose a worker, or stop, in the middle of a build."""

import os
import signal
from pathlib import Path


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


class Stopped(Exception):
    """What a user who presses Ctrl-C would see."""


class Stopping:
    """A cluster that fails at the n-th call of a function of some name."""

    def __init__(self, cluster, name, after=0):
        self.cluster, self.name, self.left, self.calls = cluster, name, after, []

    def put(self, value):
        return self.cluster.put(value)

    def submit(self, function, *arguments, parts=None):
        self.calls.append(function.__name__)
        if function.__name__ == self.name:
            self.left -= 1
            if self.left < 0:
                raise Stopped
        return self.cluster.submit(function, *arguments, parts=parts)

    def gather(self, handles):
        return self.cluster.gather(handles)
