"""All exceptions and warnings of Longwave, in one tree.

::

    LongwaveError
    ├── InputError (ValueError)        the data or a parameter is wrong
    │   └── FilterError                a transfer function cannot be used this way
    ├── StorageError (OSError)         an index folder cannot be read or written
    │   ├── NotAnIndexError            the path holds something else, or nothing
    │   ├── CorruptIndexError          a file is missing, cut short or altered
    │   ├── NewerIndexError            written by a later version of Longwave
    │   ├── IndexExistsError           refuses to overwrite
    │   └── ConflictError              another writer was first
    ├── FileError (OSError)            a file of vectors cannot be read
    ├── ConvergenceError (RuntimeError)
    ├── ResourceError (MemoryError)    the work would not fit; raised before it begins
    ├── RemoteError (OSError)          a server cannot be reached, or refuses
    └── MissingExtraError (ImportError)

    LongwaveWarning (UserWarning)
    ├── DataWarning                    the data are usable, but look again
    ├── StorageWarning                 an index folder can be used, but not all of it is whole
    ├── FilterWarning                  the filter does not suit a truncated basis
    └── ConvergenceWarning             stopped before the accuracy asked for

A message says what was wrong, the value, the allowed range and the remedy, in one line.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class LongwaveError(Exception):
    """Root of all errors raised on purpose."""


class InputError(LongwaveError, ValueError):
    """The data or a parameter is wrong."""


class FilterError(InputError):
    """A transfer function cannot be used this way."""


class StorageError(LongwaveError, OSError):
    """An index folder cannot be read or written."""


class NotAnIndexError(StorageError):
    """The path does not hold a Longwave index."""


class CorruptIndexError(StorageError):
    """A file of the index is missing, cut short or altered."""


class NewerIndexError(StorageError):
    """The index was written by a later version of Longwave."""


class IndexExistsError(StorageError):
    """The path is taken; nothing was overwritten."""


class ConflictError(StorageError):
    """Another writer holds the index folder, or has committed since; nothing was lost."""


class FileError(LongwaveError, OSError):
    """A file of vectors, ids or groups cannot be read."""


class ConvergenceError(LongwaveError, RuntimeError):
    """An iteration failed and no usable answer exists."""


class ResourceError(LongwaveError, MemoryError):
    """The work would not fit into memory; raised before it begins."""


class RemoteError(LongwaveError, OSError):
    """A server cannot be reached, or refuses."""


class MissingExtraError(LongwaveError, ImportError):
    """An optional dependency is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs the extra '{extra}'. Install it with: pip install 'longwave[{extra}]'")


def plural(count: int, one: str, many: str | None = None) -> str:
    """1 item, 1,597 items, 2 queries; many: where the word is not regular."""
    regular = f"{one[:-1]}ies" if re.search("[^aeiou]y$", one) else f"{one}s"
    return f"{count:,} {one if count == 1 else many or regular}"


def is_full(error: OSError) -> bool:
    """Whether the disk, or what a user may take of it, is full; numpy says only "100 requested and 52 written"."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT) or bool(re.search(r"\d+ requested and \d+ written", str(error)))


def reason(error: OSError) -> str:
    """Why the system refused, for the end of a message."""
    if is_full(error):
        return "the disk is full; free some space, or write elsewhere"
    return error.strerror or str(error)


@contextmanager
def writing(path: str | Path) -> Iterator[None]:
    """Turn what the system says while a file is written into an error that names the file."""
    try:
        yield
    except LongwaveError:
        raise
    except OSError as error:
        raise FileError(f"cannot write {path}: {reason(error)}") from error


class LongwaveWarning(UserWarning):
    """Root of all warnings."""


class DataWarning(LongwaveWarning):
    """The data are usable, but something about them deserves a look."""


class StorageWarning(LongwaveWarning):
    """An index folder can be used, but not all of it is whole."""


class FilterWarning(LongwaveWarning):
    """The filter does not suit a truncated basis."""


class ConvergenceWarning(LongwaveWarning):
    """An iteration stopped before it reached the accuracy asked for."""
