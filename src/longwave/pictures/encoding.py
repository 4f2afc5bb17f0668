"""Many pictures to region vectors: decoded by several processes, encoded in batches, kept part by part."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread

import numpy as np
from numpy.typing import NDArray

from longwave.errors import FileError, ResourceError
from longwave.files.bounded import read_json
from longwave.pictures.contents import FileState, rows_of, state_of
from longwave.pictures.encoders import Encoder
from longwave.pictures.opening import open_picture
from longwave.pictures.regions import pooled_regions
from longwave.pictures.treatment import Treatment
from longwave.storage.checkpoints import Checkpoint
from longwave.types import Array, Progress

# Pictures between checkpoints, and those of one size that are encoded together: 8 of 512 × 384 take 60 MB of maps.
CHUNK, _BATCH = 64, 8


@dataclass(frozen=True, eq=False)
class Raw:
    """Regions of a chunk of pictures before whitening.

    vectors: (m, C) float16 unit, of a picture the whole first. counts: (pictures,) regions of each, 0 for those that
    could not be read. reasons: (pictures,) why, else empty. files: (pictures, 4) their files, as `contents.rows_of` has
    them.
    """

    vectors: NDArray[np.float16]
    counts: NDArray[np.int64]
    reasons: Array
    files: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Decoded:
    """A picture that was read: its pixels, or the reason why there are none; and its file as it was before."""

    pixels: NDArray[np.uint8] | str
    file: FileState | None


@dataclass(frozen=True, eq=False)
class Chunk:
    """Regions that are held, or can be read."""

    name: str
    held: Raw | None
    checkpoint: Checkpoint | None

    def raw(self) -> Raw:
        """All of it."""
        return self.held or Raw(*self._read("vectors", "counts", "reasons", "files"))

    def readings(self) -> tuple[NDArray[np.int64], list[str], NDArray[np.int64]]:
        """counts, reasons and files alone."""
        held = self.held
        known = (held.counts, held.reasons, held.files) if held else self._read("counts", "reasons", "files")
        counts, reasons, files = known
        return counts, reasons.tolist(), files

    def _read(self, *names: str) -> list[Array]:
        arrays = None if self.checkpoint is None else self.checkpoint.load(self.name, names)
        if arrays is None:
            raise FileError(f"the work folder has lost its part {self.name}; run the same command again")
        return [arrays[name] for name in names]


def encode(
    paths: Sequence[Path],
    treatment: Treatment,
    encoder: Encoder,
    *,
    checkpoint: Checkpoint | None = None,
    workers: int = 0,
    progress: Progress | None = None,
) -> list[Chunk]:
    """Regions of all pictures, chunk by chunk: in memory, or in the checkpoint.

    workers: processes that decode, beside this one which encodes; 0 to decode here too.
    """
    chunks = [list(paths[start : start + CHUNK]) for start in range(0, len(paths), CHUNK)]
    names = [_stage(files, treatment) for files in chunks]
    wanted = [
        i for i, name in enumerate(names) if checkpoint is None or _is_open(checkpoint, name, chunks[i], treatment)
    ]
    made: dict[int, Raw] = {}
    done = len(paths) - sum(len(chunks[i]) for i in wanted)
    try:
        with _decoders(workers) as decoders:
            waiting = {i: _decode_all(decoders, chunks[i], treatment.size) for i in wanted[:1]}
            for place, i in enumerate(wanted):
                for later in wanted[place + 1 : place + 2]:  # decoded while this one is encoded
                    waiting[later] = _decode_all(decoders, chunks[later], treatment.size)
                raw = _encode_chunk(chunks[i], waiting.pop(i)(), treatment, encoder)
                if checkpoint is None:
                    made[i] = raw
                else:
                    checkpoint.save(names[i], vars(raw))
                done += len(chunks[i])
                if progress is not None:
                    progress("describing pictures", done, len(paths))
    except BrokenProcessPool as error:
        raise ResourceError(
            "a process that decodes pictures has died: for want of memory, or since the script that began it does not "
            'begin its work under `if __name__ == "__main__":`; use fewer workers, or 0: the work goes on'
        ) from error
    return [Chunk(name, made.get(i), checkpoint) for i, name in enumerate(names)]


def remove_finished(workdir: str | Path) -> None:
    """Remove a folder of finished parts; a folder that holds anything else is left alone."""
    folder = Path(workdir)
    with suppress(OSError, ValueError, AttributeError):
        if read_json(folder / "key.json", follow=False).get("kind") == "pictures":
            shutil.rmtree(folder, ignore_errors=True)


def _is_open(checkpoint: Checkpoint, name: str, paths: Sequence[Path], treatment: Treatment) -> bool:
    """Whether a chunk is to be encoded: it is not there, or a picture that failed can be read now."""
    saved = checkpoint.load(name)  # all of it: what is damaged is encoded again
    if saved is None or "files" not in saved:
        return True
    failed = [path for path, reason in zip(paths, saved["reasons"], strict=True) if reason]
    return any(not isinstance(_decode(path, treatment.size).pixels, str) for path in failed)


def _stage(paths: Sequence[Path], treatment: Treatment) -> str:
    """A name that changes with the files of a chunk and with what is done to them."""
    facts = [
        treatment.weights,
        treatment.answer,
        treatment.mean,
        treatment.std,
        treatment.size,
        treatment.pool,
        treatment.scales,
    ]
    states: list[tuple[str, int | None, int | None]] = []
    for path in paths:
        try:
            state = path.stat()
            states.append((str(path), state.st_size, state.st_mtime_ns))
        except OSError:
            states.append((str(path), None, None))
    return hashlib.blake2b(json.dumps([facts, states]).encode(), digest_size=16).hexdigest()


def _encode_chunk(paths: Sequence[Path], read: Sequence[Decoded], treatment: Treatment, encoder: Encoder) -> Raw:
    decoded = [one.pixels for one in read]
    by_shape: dict[tuple[int, ...], list[int]] = {}
    for i, picture in enumerate(decoded):
        if not isinstance(picture, str):
            by_shape.setdefault(picture.shape, []).append(i)
    regions: dict[int, NDArray[np.float16]] = {}
    for members in by_shape.values():
        for start in range(0, len(members), _BATCH):
            batch = members[start : start + _BATCH]
            maps = encoder(np.stack([np.asarray(decoded[i]) for i in batch]))
            for i, feature_map in zip(batch, maps, strict=True):
                if np.isfinite(feature_map).all():
                    regions[i] = pooled_regions(feature_map, pool=treatment.pool, scales=treatment.scales).astype(
                        np.float16
                    )
                else:
                    decoded[i] = f"{paths[i]} is given values that are not finite (NaN or infinite) by the encoder"
    vectors = (
        np.concatenate([regions[i] for i in sorted(regions)])
        if regions
        else np.zeros((0, treatment.channels), dtype=np.float16)
    )
    counts = np.array([len(regions.get(i, ())) for i in range(len(decoded))], dtype=np.int64)
    reasons = np.array([p if isinstance(p, str) else "" for p in decoded], dtype=str)
    return Raw(vectors, counts, reasons, rows_of(one.file for one in read))


def _decode(path: Path, size: int) -> Decoded:
    file = None
    with suppress(OSError):  # `open_picture` says why
        file = state_of(path)  # first: what is written to it meanwhile is seen by who looks at it again
    try:
        return Decoded(open_picture(path, size=size), file)
    except FileError as error:
        return Decoded(str(error), file)


@contextmanager
def _decoders(workers: int) -> Iterator[Executor | None]:
    if workers < 1:
        yield None
        return
    # spawn: encoders have threads, which do not survive a fork
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_live_with_parent) as pool:
        yield pool


def _live_with_parent() -> None:
    """Leave Ctrl-C to the process that began this one, and end with it however it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def follow() -> None:
        parent = parent_process()
        if parent is not None:
            parent.join()
            os._exit(1)

    Thread(target=follow, daemon=True).start()


def _decode_all(decoders: Executor | None, paths: list[Path], size: int) -> Callable[[], list[Decoded]]:
    """Begin to decode; the answer waits for the end."""
    if decoders is None:
        return lambda: [_decode(path, size) for path in paths]
    begun: list[Future[Decoded]] = [decoders.submit(_decode, path, size) for path in paths]
    return lambda: [future.result() for future in begun]
