"""Turns a folder of pictures into descriptors, and query pictures in the same way."""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from longwave.checks import check_counts
from longwave.errors import DataWarning, FileError, InputError, plural
from longwave.pictures.encoders import DEFAULT, Encoder, Scale, open_encoder
from longwave.pictures.encoding import Chunk, encode
from longwave.pictures.finding import list_pictures
from longwave.pictures.opening import Box, Picture, open_picture, picture_name
from longwave.pictures.reduction import reduce_regions
from longwave.pictures.regions import pooled_regions
from longwave.pictures.treatment import Treatment
from longwave.pictures.whitening import Whitening, check_shrinkage, learn_pca, learn_supervised
from longwave.rows.vectors import normalize
from longwave.storage.checkpoints import open_checkpoint
from longwave.types import Array, Progress

#: Dimensions kept by default: of one vector per picture, and of each region.
GLOBAL, REGIONAL = 512, 128
# Whitening is learned on at most so many regions: 1,280 dimensions in float32 are 0.5 GB.
_SAMPLE = 100_000
# Regions for each dimension at least: those of one picture are much alike.
_PER_DIMENSION = 8
# Added to the variance of every direction, in units of the mean variance. On 100, 300 and 1,000 photographs of Oxford
# 3 to 10 is best along the manifold, 20 to 40 for nearest neighbours; without it both lose 6 to 17 points (512-d).
# Fewer pictures know less of what varies: 6 to 12 need 100, 20 need 20 (benchmarks.views).
_SHRINKAGE, _ENOUGH = 5.0, 100


@dataclass(frozen=True, eq=False)
class Description:
    """Descriptors of pictures.

    vectors: (m, d) unit float32. item_of: (m,) the picture of each, 0 … N−1; None where each has one. paths: (N,) in
    `folder`. skipped: path and reason of those that could not be read. files: (N, 4) what each was described from
    (`contents.rows_of`); None where that is not known.
    """

    vectors: NDArray[np.float32]
    item_of: NDArray[np.int64] | None
    paths: tuple[str, ...]
    folder: str
    treatment: Treatment
    whitening: Whitening | None
    skipped: tuple[tuple[str, str], ...] = ()
    files: NDArray[np.int64] | None = None


@dataclass(frozen=True)
class Learned:
    """How a whitening is learned on the pictures themselves; what is None is chosen by their number."""

    dimensions: int | None
    shrinkage: float | None
    pairs: Sequence[tuple[str, str]] | None

    def __post_init__(self) -> None:
        if self.shrinkage is not None:
            check_shrinkage(self.shrinkage)

    def on(self, chunks: list[Chunk], names: list[str], n_regions: int, *, most: int, seed: int) -> Whitening:
        """PCA of the regions, or from pairs of whole pictures. most: dimensions by default."""
        dimensions = self.dimensions or min(most, max(1, n_regions // _PER_DIMENSION))
        shrinkage = _SHRINKAGE * max(1.0, _ENOUGH / len(names)) if self.shrinkage is None else self.shrinkage
        if self.pairs is None:
            return learn_pca(_sample(chunks, n_regions, seed), dimensions=dimensions, shrinkage=shrinkage)
        place = {name: i for i, name in enumerate(names)}
        rows = [(place[one], place[two]) for one, two in self.pairs if one in place and two in place]
        if not rows:
            raise InputError("there is no pair of which both pictures can be read; give others, or leave the pairs out")
        return learn_supervised(_wholes(chunks), rows, dimensions=dimensions, shrinkage=shrinkage)


def describe_folder(
    folder: str | Path,
    encoder: Encoder | str | Path = DEFAULT,
    *,
    mean: Scale | None = None,
    std: Scale | None = None,
    size: int = 512,
    pool: str = "max",
    scales: int = 3,
    regions: bool = False,
    reduce: int | None = None,
    whitening: Whitening | None = None,
    whiten: bool = True,
    dimensions: int | None = None,
    shrinkage: float | None = None,
    recentre: bool = False,
    pairs: Sequence[tuple[str, str]] | None = None,
    workdir: str | Path | None = None,
    workers: int = 0,
    seed: int = 0,
    progress: Progress | None = None,
) -> Description:
    """Describe all pictures of a folder by vectors: one for each picture (R-MAC), or one for each of its regions.

    Pictures that cannot be read are left out with a warning, and listed in `skipped`.

    The picture:

    - encoder: "lite0", the path of an .onnx file, or an `Encoder`. mean, std: pixels an .onnx file takes, (x − mean) /
      std, where it does not say so itself.
    - size: longest side in pixels; larger pictures are made smaller.
    - pool: how a region of the feature map becomes a vector, "max", "gem" or "spoc". scales: how fine the regions are.
    - regions: keep the regions apart; else they are summed to one vector. reduce: at most so many for each picture;
      similar ones are merged by a Gaussian mixture.

    The whitening, which balances the dimensions:

    - whiten: learn it on these pictures, by PCA; or, where `pairs` names pictures that show the same, from those.
    - whitening: one that is known, instead. recentre: give it the mean of these pictures.
    - dimensions: how many it keeps. By default 512 of a picture and 128 of a region, fewer where pictures are few.
    - shrinkage: how cautious it is (`learn_pca`); 5 by default, and more below 100 pictures.

    The work: workdir is a folder for finished parts of 64 pictures; after a crash the same call goes on from there.
    workers: processes that decode; a script that uses them needs `if __name__ == "__main__":`.
    """
    if dimensions is not None:
        check_counts(dimensions=dimensions)
    learned = Learned(dimensions, shrinkage, pairs) if whiten and whitening is None else None
    if learned is None and (pairs is not None or shrinkage is not None):
        raise InputError(
            "pairs and shrinkage are for a whitening that is learned: leave them out, or let it be learned"
        )
    if recentre and whitening is None:
        raise InputError("recentre is for a whitening from elsewhere: give it (--whiten FILE.npz), or leave it out")
    if dimensions is not None and whitening is None and not whiten:
        raise InputError("dimensions are kept by a whitening, and there is none: leave them out, or whiten")
    names = list_pictures(folder)  # an empty folder is said before an encoder is opened
    _check_pairs(pairs, names)
    found = str(Path(encoder).absolute()) if isinstance(encoder, str | Path) and str(encoder) != DEFAULT else None
    if isinstance(encoder, str | Path):
        encoder = open_encoder(str(encoder), mean=mean, std=std)
    elif mean is not None or std is not None:
        raise InputError("mean and std are for the path of an .onnx file; an encoder that is open has its own")
    treatment = Treatment.of(encoder, size=size, pool=pool, scales=scales, regions=regions, reduce=reduce)
    if whitening is not None and len(whitening.mean) != treatment.channels:
        raise InputError(
            f"the whitening is for {len(whitening.mean)} channels, {encoder.name} has {treatment.channels}; "
            "take one that was learned with this encoder"
        )
    root = Path(folder).absolute()
    chunks = _encoded(root, names, treatment, encoder, workdir, workers, progress)
    counts, reasons, _ = _readings(chunks)
    readable = [name for name, count in zip(names, counts, strict=True) if count]
    if not readable:
        raise FileError(f"no picture of the {len(names)} in {folder} can be described; the first: {reasons[0]}")
    failed = [reason for reason in reasons if reason]
    if failed:
        warnings.warn(
            f"{len(failed)} of {len(names)} pictures are left out; the first: {failed[0]}", DataWarning, stacklevel=2
        )
    total = int(counts.sum())
    if learned is not None:
        whitening = learned.on(chunks, readable, total, most=REGIONAL if regions else GLOBAL, seed=seed)
    elif whitening is not None:
        whitening = whitening if dimensions is None else whitening.cut(dimensions)
        whitening = whitening.recentred(_sample(chunks, total, seed)) if recentre else whitening
    made = _described(root, names, chunks, treatment, whitening, seed, progress)
    return made if found is None else replace(made, treatment=replace(made.treatment, encoder=found))


def describe_more(
    folder: str | Path,
    names: Sequence[str],
    encoder: Encoder,
    treatment: Treatment,
    whitening: Whitening | None,
    *,
    workdir: str | Path | None = None,
    workers: int = 0,
    seed: int = 0,
    progress: Progress | None = None,
) -> Description:
    """Some pictures of a folder, described as others were. Those that cannot be read are listed in `skipped`.

    names: paths in the folder. Another encoder or whitening than the treatment's is an error. The work as for
    `describe_folder`.
    """
    _check_same(encoder, treatment, whitening)
    chunks = _encoded(Path(folder), names, treatment, encoder, workdir, workers, progress)
    return _described(Path(folder), names, chunks, treatment, whitening, seed, progress)


def describe_queries(
    pictures: Sequence[Picture],
    encoder: Encoder,
    treatment: Treatment,
    whitening: Whitening | None,
    *,
    boxes: Sequence[Box | None] | None = None,
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Query vectors by the treatment of a collection, and the picture of each: (m, d), (m,) 0 … Q−1.

    boxes: one for each picture, None for the whole. A picture that cannot be read, a box outside of it and another
    encoder or whitening than the treatment's are errors.
    """
    _check_same(encoder, treatment, whitening)
    crops: Sequence[Box | None] = [None] * len(pictures) if boxes is None else boxes
    if len(crops) != len(pictures):
        raise InputError(
            f"{plural(len(pictures), 'picture')} but {plural(len(crops), 'box', 'boxes')}: give one for each, or none"
        )
    parts = []
    for picture, box in zip(pictures, crops, strict=True):
        (feature_map,) = encoder(open_picture(picture, size=treatment.size, box=box)[None])
        if not np.isfinite(feature_map).all():
            name = picture_name(picture)
            raise InputError(f"the encoder gives values that are not finite (NaN or infinite) for {name}")
        own = pooled_regions(feature_map, pool=treatment.pool, scales=treatment.scales).astype(np.float16)
        made = _finished(own, np.array([len(own)]), treatment, whitening)
        seen = made.any(axis=1)  # regions without any feature have nothing to search for
        parts.append(made[seen] if seen.any() else made)
    return np.concatenate(parts), np.repeat(np.arange(len(parts)), [len(part) for part in parts])


def _check_same(encoder: Encoder, treatment: Treatment, whitening: Whitening | None) -> None:
    """Raise unless this encoder and whitening are those of the treatment."""
    known = Treatment.of(encoder)
    same = {name: getattr(known, name) for name in ("weights", "mean", "std", "channels", "answer")}
    treatment.check_same(replace(treatment, whitening=_name(whitening), **same))


def _encoded(
    root: Path,
    names: Sequence[str],
    treatment: Treatment,
    encoder: Encoder,
    workdir: str | Path | None,
    workers: int,
    progress: Progress | None,
) -> list[Chunk]:
    """Regions of some pictures, before whitening."""
    work = None if workdir is None else open_checkpoint(Path(workdir), np.zeros(0), {"kind": "pictures"})
    paths = [root / name for name in names]
    return encode(paths, treatment, encoder, checkpoint=work, workers=workers, progress=progress)


def _described(
    root: Path,
    names: Sequence[str],
    chunks: list[Chunk],
    treatment: Treatment,
    whitening: Whitening | None,
    seed: int,
    progress: Progress | None,
) -> Description:
    """The regions of pictures, whitened, and summed or reduced where that is their treatment."""
    counts, reasons, files = _readings(chunks)
    there = counts > 0
    paths = tuple(name for name, count in zip(names, counts, strict=True) if count)
    width = treatment.channels if whitening is None else whitening.dimensions
    vectors = np.empty((int(counts.sum()) if treatment.regions else len(paths), width), dtype=np.float32)
    filled = 0
    for raw in (chunk.raw() for chunk in chunks):
        if not raw.counts.any():
            continue
        own = _finished(raw.vectors, raw.counts[raw.counts > 0], treatment, whitening)
        vectors[filled : filled + len(own)] = own
        filled += len(own)
    item_of = np.repeat(np.arange(len(paths)), counts[there]) if treatment.regions else None
    if treatment.reduce is not None and item_of is not None and len(item_of):
        vectors, item_of = reduce_regions(vectors, item_of, count=treatment.reduce, seed=seed, progress=progress)
    treatment = replace(treatment, whitening=_name(whitening), dimensions=width)
    skipped = tuple((name, reason) for name, reason in zip(names, reasons, strict=True) if reason)
    return Description(vectors, item_of, paths, str(root), treatment, whitening, skipped, files[there])


def _readings(chunks: list[Chunk]) -> tuple[NDArray[np.int64], list[str], NDArray[np.int64]]:
    """Regions of each picture, why there are none, and the files."""
    read = [chunk.readings() for chunk in chunks]
    reasons = [reason for _, own, _ in read for reason in own]
    return np.concatenate([counts for counts, _, _ in read]), reasons, np.concatenate([files for _, _, files in read])


def _sample(chunks: list[Chunk], total: int, seed: int) -> NDArray[np.float32]:
    """All regions, or a random part where there are too many. (m, C)"""
    rng = np.random.default_rng(seed)
    share = min(1.0, _SAMPLE / total)
    parts = (chunk.raw().vectors for chunk in chunks)
    taken = [part if share == 1 else part[rng.random(len(part)) < share] for part in parts]
    return np.concatenate([part for part in taken if part.size]).astype(np.float32)


def _wholes(chunks: list[Chunk]) -> NDArray[np.float32]:
    """The first region of every picture, which is all of it. (pictures, C)"""
    parts = []
    for raw in (chunk.raw() for chunk in chunks):
        counts = raw.counts[raw.counts > 0]
        parts.append(raw.vectors[np.cumsum(counts) - counts].astype(np.float32))
    return np.concatenate(parts)


def _check_pairs(pairs: Sequence[tuple[str, str]] | None, names: list[str]) -> None:
    known = set(names)
    missing = [name for pair in pairs or () for name in pair if name not in known]
    if missing:
        raise InputError(
            f"a pair names {missing[0]!r}, which is not among the {len(names)} pictures of the folder; "
            f"give paths within it, such as {names[0]!r}"
        )


def _finished(
    regions: NDArray[np.float16], counts: NDArray[np.int64], treatment: Treatment, whitening: Whitening | None
) -> NDArray[np.float32]:
    """Whitened regions, or their sum for each picture. counts: regions of each. (m, C) -> (m or pictures, d)"""
    vectors = regions.astype(np.float32)
    unit = vectors if whitening is None else normalize(whitening(vectors))
    if treatment.regions:
        return unit
    return normalize(np.add.reduceat(unit, np.cumsum(counts) - counts, axis=0))


def _name(whitening: Whitening | None) -> str:
    """A checksum that tells one whitening from another."""
    if whitening is None:
        return "none"
    arrays: tuple[Array, ...] = (whitening.mean, whitening.projection)
    return f"{zlib.crc32(b''.join(np.ascontiguousarray(a, dtype=np.float32).tobytes() for a in arrays)):08x}"
