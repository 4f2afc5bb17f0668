"""A disk in memory that can lose power: what a writer did is recorded, and replayed up to any call.

A file has what was written, and what of it was synced; a folder has its names, and those that were synced. At the crash
the disk has all that was synced. What was not synced is there, or lost, or worse: as `Crash` says.
"""

import os
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from longwave.storage import Files


class Recorder(Files):
    """Does what it is told, and remembers it, with paths relative to `base`."""

    def __init__(self, base):
        self.base, self.calls = Path(base), []

    def _note(self, what, path, *more):
        self.calls.append((what, path.relative_to(self.base).parts, *more))

    def mkdir(self, folder, name):
        super().mkdir(folder, name)
        self._note("mkdir", folder.path / name)

    def create(self, folder, name):
        file = super().create(folder, name)
        self._note("create", file.path)
        return file

    def write(self, file, content):
        super().write(file, content)
        self._note("write", file.path, bytes(content))

    def sync(self, opened):
        self._note("sync", opened.path)  # noted, which is what the simulated disk goes by

    def link(self, source, name, target, new):
        super().link(source, name, target, new)
        self._note("link", source.path / name, (target.path / new).relative_to(self.base).parts)

    def rename(self, folder, name, new):
        super().rename(folder, name, new)
        self._note("rename", folder.path / name, (folder.path / new).relative_to(self.base).parts)

    def unlink(self, folder, name):
        super().unlink(folder, name)
        self._note("unlink", folder.path / name)


class Careless(Files):
    """Syncs nothing, which is quick: for what happens after the crash."""

    def sync(self, opened):
        pass


@dataclass(eq=False)
class File:
    content: bytes = b""
    synced: bytes = b""


@dataclass(eq=False)
class Folder:
    entries: dict = field(default_factory=dict)
    synced: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Crash:
    """What becomes of what was not synced.

    content: "kept", "lost", "zeros" or "half". names: of each change of a folder since its last sync, whether it
    reached the disk: "kept", "lost", or the seed of a coin that is thrown for each.
    """

    content: str
    names: str | int


CRASHES = [Crash(content, names) for content in ("kept", "lost", "zeros", "half") for names in ("kept", "lost", 1, 2)]
CRASHES += [Crash("half", coin) for coin in range(3, 20)]


def from_disk(path):
    """A folder as it is, all of it synced."""
    if path.is_dir():
        entries = {p.name: from_disk(p) for p in sorted(path.iterdir())}
        return Folder(dict(entries), dict(entries))
    content = path.read_bytes()
    return File(content, content)


def replay(before, calls):
    """The disk after some calls; `before` is a function that makes the disk as it was."""
    top = before()
    for what, path, *more in calls:
        node = None if what in ("mkdir", "create") else _at(top, path)
        if what == "mkdir":
            _at(top, path[:-1]).entries[path[-1]] = Folder()
        elif what == "create":
            _at(top, path[:-1]).entries[path[-1]] = File()
        elif what == "write":
            node.content += more[0]
        elif what == "sync":
            if isinstance(node, File):
                node.synced = node.content
            else:
                node.synced = dict(node.entries)
        elif what == "link":
            _at(top, more[0][:-1]).entries[more[0][-1]] = node
        elif what == "rename":
            _at(top, more[0][:-1]).entries[more[0][-1]] = _at(top, path[:-1]).entries.pop(path[-1])
        elif what == "unlink":
            del _at(top, path[:-1]).entries[path[-1]]
    return top


def _at(node, parts):
    for part in parts:
        node = node.entries[part]
    return node


def after(node, crash):
    """What a crash leaves, as nested dicts and bytes."""
    coin = np.random.default_rng(crash.names if isinstance(crash.names, int) else 0)
    return _left(node, crash, coin)


def _left(node, crash, coin):
    if isinstance(node, File):
        pending = node.content[len(node.synced) :]
        assert node.content.startswith(node.synced)
        worse = {"kept": pending, "lost": b"", "zeros": bytes(len(pending)), "half": pending[: len(pending) // 2]}
        return node.synced + worse[crash.content]
    left = {}
    for name in sorted(node.entries.keys() | node.synced.keys()):
        now, then = node.entries.get(name), node.synced.get(name)
        if now is then:
            chosen = now
        elif crash.names in ("kept", "lost"):
            chosen = now if crash.names == "kept" else then
        else:
            chosen = now if coin.random() < 0.5 else then
        if chosen is not None:
            left[name] = _left(chosen, crash, coin)
    return left


def key(left):
    """Something to tell two disks apart by."""
    return left if isinstance(left, bytes) else tuple((name, key(inner)) for name, inner in left.items())


def to_disk(left, path):
    if isinstance(left, bytes):
        path.write_bytes(left)
        return
    path.mkdir()
    for name, inner in left.items():
        to_disk(inner, path / name)


class Failing(Files):
    """Lets the call of a given number fail, or all from it on; `calls` counts them, and names the one that failed.

    A write that fails has written half.
    """

    def __init__(self, at, code, *, forever=False):
        self.at, self.code, self.forever = at, code, forever
        self.calls, self.failed = 0, None

    def _may_fail(self, what, before=lambda: None):
        number, self.calls = self.calls, self.calls + 1
        if number == self.at or (self.forever and number > self.at):
            self.failed = self.failed or what
            before()
            raise OSError(self.code, os.strerror(self.code))

    def mkdir(self, folder, name):
        self._may_fail("mkdir")
        super().mkdir(folder, name)

    def create(self, folder, name):
        self._may_fail("create")
        return super().create(folder, name)

    def write(self, file, content):
        self._may_fail("write", lambda: super(Failing, self).write(file, content[: len(content) // 2]))
        super().write(file, content)

    def sync(self, opened):
        self._may_fail(f"sync {opened.path.name}")
        super().sync(opened)

    def close(self, opened):
        self._may_fail("close", lambda: super(Failing, self).close(opened))
        super().close(opened)

    def link(self, source, name, target, new):
        self._may_fail("link")
        super().link(source, name, target, new)

    def rename(self, folder, name, new):
        self._may_fail("rename")
        super().rename(folder, name, new)

    def unlink(self, folder, name):
        self._may_fail("unlink")
        super().unlink(folder, name)

    def lock(self, folder, name):
        self._may_fail("lock")
        return super().lock(folder, name)
