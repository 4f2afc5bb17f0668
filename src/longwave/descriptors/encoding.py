"""Many pictures to raw region vectors: decoded by several processes, encoded in batches, kept chunk by chunk."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from longwave.checkpoint import Checkpoint
from longwave.descriptors.encoders import Encoder
from longwave.descriptors.pictures import Box, open_picture
from longwave.descriptors.recipe import Recipe
from longwave.descriptors.regions import pooled_regions
from longwave.errors import FileError, ResourceError
from longwave.types import Array, Progress

# Pictures between checkpoints, and those of one size that are encoded together: 8 of 512 × 384 take 60 MB of maps.
CHUNK, _BATCH = 64, 8


@dataclass(frozen=True, eq=False)
class Raw:
    """Regions of a chunk of pictures before whitening.

    vectors: (m, C) float16 unit, of a picture the whole first. counts: (pictures,) regions of each, 0 for those that
    could not be read. reasons: (pictures,) why, else empty.
    """

    vectors: NDArray[np.float16]
    counts: NDArray[np.int64]
    reasons: Array


def encode(
    paths: Sequence[Path],
    recipe: Recipe,
    encoder: Encoder,
    *,
    boxes: Sequence[Box | None] | None = None,
    checkpoint: Checkpoint | None = None,
    workers: int = 0,
    progress: Progress | None = None,
) -> list[Callable[[], Raw]]:
    """Regions of all pictures, as one function per chunk that gives them: from memory, or read from the checkpoint.

    workers: processes that decode, beside this one which encodes; 0 to decode here too.
    """
    crops: list[Box | None] = [None] * len(paths) if boxes is None else list(boxes)
    starts = range(0, len(paths), CHUNK)
    chunks = [(list(paths[s : s + CHUNK]), crops[s : s + CHUNK]) for s in starts]
    names = [_stage(files, parts, recipe) for files, parts in chunks]
    wanted = [i for i, name in enumerate(names) if checkpoint is None or checkpoint.load(name) is None]
    made: dict[int, Raw] = {}
    done = len(paths) - sum(len(chunks[i][0]) for i in wanted)
    with _decoders(workers) as decoders:
        waiting = {i: _decode_all(decoders, *chunks[i], recipe.size) for i in wanted[:1]}
        for place, i in enumerate(wanted):
            for later in wanted[place + 1 : place + 2]:  # decoded while this one is encoded
                waiting[later] = _decode_all(decoders, *chunks[later], recipe.size)
            raw = _encode_chunk(waiting.pop(i)(), recipe, encoder)
            if checkpoint is None:
                made[i] = raw
            else:
                arrays: dict[str, Array] = {"vectors": raw.vectors, "counts": raw.counts, "reasons": raw.reasons}
                checkpoint.save(names[i], arrays)
            done += len(chunks[i][0])
            if progress is not None:
                progress("describing pictures", done, len(paths))
    return [_giver(made.get(i), checkpoint, name) for i, name in enumerate(names)]


def _giver(raw: Raw | None, checkpoint: Checkpoint | None, name: str) -> Callable[[], Raw]:
    if raw is not None:
        return lambda: raw

    def read() -> Raw:
        arrays = None if checkpoint is None else checkpoint.load(name)
        if arrays is None:
            raise FileError(f"the work folder has lost its part {name}; run the same command again")
        return Raw(arrays["vectors"], arrays["counts"], arrays["reasons"])

    return read


def _stage(paths: Sequence[Path], boxes: Sequence[Box | None], recipe: Recipe) -> str:
    """A name that changes with the files of a chunk and with what is done to them."""
    facts = [recipe.weights, recipe.mean, recipe.std, recipe.size, recipe.pool, recipe.scales]
    states = []
    for path, box in zip(paths, boxes, strict=True):
        try:
            state = path.stat()
            states.append([str(path), state.st_size, state.st_mtime_ns, box])
        except OSError:
            states.append([str(path), None, None, box])
    return f"{zlib.crc32(json.dumps([facts, states]).encode()):08x}"


def _encode_chunk(decoded: list[NDArray[np.uint8] | str], recipe: Recipe, encoder: Encoder) -> Raw:
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
                regions[i] = pooled_regions(feature_map, pool=recipe.pool, scales=recipe.scales).astype(np.float16)
    vectors = np.concatenate([regions[i] for i in sorted(regions)]) if regions else np.zeros((0, 0), dtype=np.float16)
    counts = np.array([len(regions.get(i, ())) for i in range(len(decoded))], dtype=np.int64)
    return Raw(vectors, counts, np.array([p if isinstance(p, str) else "" for p in decoded], dtype=str))


def _decode(path: Path, box: Box | None, size: int) -> NDArray[np.uint8] | str:
    try:
        return open_picture(path, size=size, box=box)
    except FileError as error:
        return str(error)


@contextmanager
def _decoders(workers: int) -> Iterator[Executor | None]:
    if workers < 1:
        yield None
        return
    # spawn: encoders have threads, which do not survive a fork
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield pool


def _decode_all(
    decoders: Executor | None, paths: list[Path], boxes: list[Box | None], size: int
) -> Callable[[], list[NDArray[np.uint8] | str]]:
    """Begin to decode; the answer waits for the end."""
    jobs = list(zip(paths, boxes, strict=True))
    if decoders is None:
        return lambda: [_decode(path, box, size) for path, box in jobs]
    begun: list[Future[NDArray[np.uint8] | str]] = [decoders.submit(_decode, path, box, size) for path, box in jobs]

    def finish() -> list[NDArray[np.uint8] | str]:
        try:
            return [future.result() for future in begun]
        except BrokenProcessPool as error:
            raise ResourceError(
                "a process that decodes pictures has died: for want of memory, or since the script that began it does "
                'not begin its work under `if __name__ == "__main__":`; use fewer workers, or 0: the work goes on'
            ) from error

    return finish
