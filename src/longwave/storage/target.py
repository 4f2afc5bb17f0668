"""Where an index is to be written: whether the path can take it, and the folder itself."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from longwave.errors import IndexExistsError, LongwaveError, StorageError, is_full, reason
from longwave.storage.disk import Files, Opened, free_bytes
from longwave.storage.opening import opened_root, real_path, set_aside
from longwave.storage.reading import is_index, standing


def check_target(path: str | Path, *, force: bool) -> None:
    """Raise before any work if the path cannot take an index; `force` allows an existing index, nothing else.

    Files of others in the folder of an index do not matter: no commit and no vacuum touches them.
    """
    path, real = Path(path), real_path(path)
    if not os.path.lexists(real) and not is_index(path):
        if not real.parent.is_dir():
            raise StorageError(f"cannot write {path}: there is no folder {real.parent}; create it first")
        _check_access(path, real.parent)
        return
    known = "file"
    if not os.path.lexists(real) or real.is_dir():
        with opened_root(path) as root:
            known = standing(root)
    if known in ("file", "foreign"):
        raise IndexExistsError(
            f"{path} is a {'folder' if real.is_dir() else 'file'} that is not a Longwave index, and is left as it is; "
            f"choose another name for the index, such as {real.stem or 'index'}.longwave"
        )
    if known == "index" and not force:
        raise IndexExistsError(f"{path} exists; choose another path, or overwrite it with force=True or --force")
    _check_access(path, real if real.is_dir() else real.parent)


def make_folder(files: Files, path: Path) -> None:
    """Make the index folder, if there is none. It becomes an index by its first commit."""
    real = real_path(path)
    with opened_root(real.parent) as parent, suppress(FileExistsError):
        files.mkdir(parent, real.name)


def bring_back(files: Files, path: Path) -> None:
    """Undo what a writer of versions 2 and 3 left that was killed between two renames."""
    real = real_path(path)
    if not os.path.lexists(real) and is_index(set_aside(real)):
        with opened_root(real.parent) as parent:
            files.rename(parent, set_aside(real).name, real.name)


@contextmanager
def said_clearly(path: Path, root: Opened | None = None, needed: int = 0) -> Iterator[None]:
    """Turn what the system says while a folder is written into an error that names the folder and the remedy."""
    try:
        yield
    except LongwaveError:
        raise
    except PermissionError as error:
        raise StorageError(
            f"cannot write {path}: {reason(error)}; check its permissions, or write elsewhere"
        ) from error
    except OSError as error:
        if is_full(error) and root is not None:
            raise StorageError(no_space(path, needed, free_bytes(root))) from error
        raise StorageError(f"cannot write {path}: {reason(error)}") from error


def no_space(path: Path, needed: int, free: int) -> str:
    """The message where a disk is full."""
    return (
        f"not enough space to write {path}: {needed / 2**20:,.1f} MiB needed, {free / 2**20:,.1f} MiB free; "
        "free some, or write elsewhere"
    )


def _check_access(path: Path, folder: Path) -> None:
    if not os.access(folder, os.W_OK | os.X_OK):
        raise StorageError(f"cannot write {path}: you may not write to {folder}; choose another folder")
