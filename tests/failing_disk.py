"""A disk that fails at any one call, and what must be true then."""

import shutil

from longwave.collection import Collection
from longwave.storage import Files


class Failing(Files):
    """After so many calls that change something, every further one fails."""

    def __init__(self, calls):
        self.left = calls

    def _take(self):
        self.left -= 1
        if self.left < 0:
            raise OSError(5, "Input/output error")

    def mkdir(self, folder, name):
        self._take()
        super().mkdir(folder, name)

    def create(self, folder, name):
        self._take()
        return super().create(folder, name)

    def write(self, file, content):
        self._take()
        super().write(file, content)

    def sync(self, opened):
        self._take()
        super().sync(opened)

    def link(self, source, name, target, new):
        self._take()
        super().link(source, name, target, new)


def check_all_or_nothing(start, scratch, change, state):
    """Whichever call fails, the folder holds the old state or the new one. Returns how many calls there are.

    change: what is done to an open collection. state: of a folder, something that can be compared.
    """

    def attempt(calls):
        path = shutil.copytree(start, scratch / f"attempt-{calls}")
        try:
            with Collection(path, files=Failing(calls)) as collection:
                change(collection)
            told = True
        except OSError:
            told = False
        found = state(path)
        shutil.rmtree(path)
        return told, found

    before, (told, after) = state(start), attempt(10**9)
    assert told
    assert before != after
    calls = 0
    while True:
        told, found = attempt(calls)
        assert found == after if told else found in (before, after), calls
        if told:
            return calls
        calls += 1
