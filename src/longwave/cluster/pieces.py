"""Arrays of blocks as files in a folder that all machines see: what one stage leaves to the next, and checkpoints."""

from __future__ import annotations

import os
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from longwave.cluster.engine import Cluster, Handle
from longwave.errors import StorageError, reason
from longwave.types import Array


@dataclass(frozen=True)
class Kept:
    """A folder of blocks. A block appears under its name whole or not at all."""

    cluster: Cluster
    folder: Path

    def save(self, rows: Sequence[Handle]) -> str:
        """Let the workers write a piece each; the name of all of them. The names before the last one are removed."""
        token = uuid.uuid4().hex[:12]
        paths = [str(self.folder / f"round-{token}-{number}.npy") for number in range(len(rows))]
        self.cluster.gather([self.cluster.submit(save, path, own) for path, own in zip(paths, rows, strict=True)])
        order = sorted({path.name.split("-")[1] for path in self.folder.glob("round-*-0.npy")}, key=self._age)
        for old in order[:-2]:  # the last one is named by a checkpoint until this one is
            for path in self.folder.glob(f"round-{old}-*.npy"):
                path.unlink(missing_ok=True)
        return token

    def load(self, token: str, count: int) -> list[Handle]:
        """Let the workers read what `save` has named."""
        paths = [self.folder / f"round-{token}-{number}.npy" for number in range(count)]
        missing = [path for path in paths if not path.is_file()]
        if missing:
            raise StorageError(f"{missing[0]} is missing; remove the workdir, and begin anew")
        return [self.cluster.submit(load, str(path)) for path in paths]

    def _age(self, token: str) -> float:
        return (self.folder / f"round-{token}-0.npy").stat().st_mtime_ns


def save(path: str, array: Array) -> None:
    """Write an array beside its place, then rename it: two workers may write the same."""
    partial = f"{path}.{uuid.uuid4().hex[:8]}.partial"
    try:
        with Path(partial).open("wb") as file:
            np.save(file, array, allow_pickle=False)
            file.flush()
            os.fsync(file.fileno())
        Path(partial).replace(path)
    except OSError as error:
        Path(partial).unlink(missing_ok=True)
        raise StorageError(f"cannot write {path}: {reason(error)}; all machines must see this folder") from error


def load(path: str) -> Array:
    """Read an array."""
    try:
        return np.asarray(np.load(path, allow_pickle=False))
    except (OSError, ValueError) as error:
        raise StorageError(f"cannot read {path}: {error}; all machines must see this folder") from error
