"""The file layer: every call by which a writer changes the disk is a method here, and nowhere else.

A test hands in a subclass that records the calls, or lets one of them fail. Names are relative to an open folder, so
that no call can be led elsewhere by a link that was put in the way.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from longwave.errors import StorageError

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_LOCK = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True)
class Opened:
    """An open file or folder, and the path by which errors name it."""

    path: Path
    handle: int


class Files:
    """The calls of the system that change something. Each does one thing, and raises what the system says."""

    def mkdir(self, folder: Opened, name: str) -> None:
        """Make a folder, if there is nothing of that name."""
        os.mkdir(name, dir_fd=folder.handle)

    def create(self, folder: Opened, name: str) -> Opened:
        """Make a new, empty file. One that is there is an error."""
        return Opened(folder.path / name, os.open(name, _NEW, 0o666, dir_fd=folder.handle))

    def write(self, file: Opened, content: memoryview) -> None:
        """Append all of it. The system may take a part at a time."""
        while len(content):
            content = content[os.write(file.handle, content) :]

    def sync(self, opened: Opened) -> None:
        """Return when the content of a file, or the names in a folder, would survive a loss of power."""
        os.fsync(opened.handle)

    def close(self, opened: Opened) -> None:
        """Give the handle back."""
        os.close(opened.handle)

    def link(self, source: Opened, name: str, target: Opened, new: str) -> None:
        """Give a file a second name, if that is free. Of two who try, one succeeds."""
        os.link(name, new, src_dir_fd=source.handle, dst_dir_fd=target.handle, follow_symlinks=False)

    def rename(self, folder: Opened, name: str, new: str) -> None:
        """Change a name."""
        os.rename(name, new, src_dir_fd=folder.handle, dst_dir_fd=folder.handle)

    def unlink(self, folder: Opened, name: str) -> None:
        """Remove a name. The content stays for those who have it open or mapped."""
        os.unlink(name, dir_fd=folder.handle)

    def lock(self, folder: Opened, name: str) -> Opened:
        """Lock a file for this open handle, or raise `BlockingIOError` if another has it locked.

        The kernel frees the lock when the process ends, however it ends. Threads, processes and containers exclude each
        other alike.
        """
        import fcntl  # only on systems that have it, and only writers need it

        lock = Opened(folder.path / name, os.open(name, _LOCK, 0o666, dir_fd=folder.handle))
        try:
            if not stat.S_ISREG(os.fstat(lock.handle).st_mode):
                raise StorageError(f"{lock.path} is not a plain file; remove it, then write again")
            try:
                fcntl.flock(lock.handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise
            except OSError as error:
                raise StorageError(
                    f"cannot lock {lock.path}: {error.strerror}; write to a file system with locks and copy the folder"
                ) from error
        except BaseException:
            os.close(lock.handle)
            raise
        return lock

    def unlock(self, lock: Opened) -> None:
        """Free the lock, also where a forked process still has the handle."""
        import fcntl

        try:
            fcntl.flock(lock.handle, fcntl.LOCK_UN)
        finally:
            os.close(lock.handle)


#: The layer that does what it says, and nothing else.
DISK = Files()


@contextmanager
def created(files: Files, folder: Opened, name: str) -> Iterator[Opened]:
    """A new file that is on the disk, not only in memory, when the block ends."""
    file = files.create(folder, name)
    try:
        yield file
        files.sync(file)
    except BaseException:
        os.close(file.handle)
        raise
    files.close(file)


def free_bytes(folder: Opened) -> int:
    """What the file system of a folder still takes from this user."""
    known = os.fstatvfs(folder.handle)
    return known.f_bavail * known.f_frsize
