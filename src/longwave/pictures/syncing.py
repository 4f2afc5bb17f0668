"""An index of pictures follows its folder: only what is new is described, and what was renamed is known again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longwave.collection import Collection
from longwave.errors import FileError, InputError, reason
from longwave.pictures.contents import NAME, FileState, matched, pack_states, state_of, states_from, unpack_states
from longwave.pictures.describe import describe_more
from longwave.pictures.encoders import Encoder
from longwave.pictures.encoding import CHUNK
from longwave.pictures.finding import list_pictures
from longwave.pictures.gallery import Gallery
from longwave.progress import shown
from longwave.types import Progress


@dataclass(frozen=True)
class Synced:
    """What `sync` found in a folder, and did.

    new: pictures that came. changed: paths that have another picture than before. renamed: old and new path of pictures
    whose file was renamed or moved. gone: pictures whose file is not there any more. same: how many are as they were.
    skipped: path and reason of files that cannot be read; a picture that was known stays what it was.
    """

    new: tuple[str, ...]
    changed: tuple[str, ...]
    renamed: tuple[tuple[str, str], ...]
    gone: tuple[str, ...]
    same: int
    skipped: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        counts = {name: len(getattr(self, name)) for name in ("new", "changed", "renamed", "gone")}
        told = [f"{count:,} {name}" for name, count in counts.items() if count]
        return ", ".join([*told, f"{self.same:,} as they were"])


def sync(
    collection: Collection,
    folder: str | Path | None = None,
    *,
    remove_gone: bool = False,
    by_content: bool = False,
    encoder: Encoder | str | Path | None = None,
    workdir: str | Path | None = None,
    workers: int = 0,
    progress: Progress | bool | None = None,
) -> Synced:
    """Bring an index of pictures up to its folder, in one commit: all of it or nothing.

    New pictures are described as the others were, and so are those whose file has changed. Pictures that were renamed
    or moved within the folder are known by their content: they get the new path as id, and keep all else. Files that
    have the size and time that they had are not read.

    - folder: one within that of the index, to look at this alone; by default all of it.
    - remove_gone: take out pictures whose file is not there any more; they stay otherwise.
    - by_content: read all files, whatever their size and time.
    - encoder: where the .onnx file is now, if it was moved, or an `Encoder`.
    - workdir, workers, progress: as for `build_index`. Up to 64 pictures are decoded without workers.
    """
    collection.lock()
    index = collection.index
    gallery = Gallery(index, encoder=encoder)
    inside = _inside(gallery.folder, folder)
    names = [inside + name for name in list_pictures(gallery.folder / inside)]
    known = {name for name in index.ids.tolist() if name.startswith(inside)}
    before = unpack_states(index.attached, index.ids.tolist())
    with shown(progress) as report:
        seen = _look(gallery.folder, names, known, before, by_content=by_content, report=report)
        wanted = [name for name in names if name in seen.other and name not in seen.moved]
        made = None
        if wanted:
            treated = gallery.encoder, gallery.treatment, gallery.whitening
            work: dict[str, Any] = {"workdir": workdir, "workers": workers if len(wanted) > CHUNK else 0}
            made = describe_more(gallery.folder, wanted, *treated, **work, seed=index.settings.seed, progress=report)
    batch: dict[str, Any] = {}
    described: dict[str, FileState | None] = {}
    if made is not None and made.files is not None and made.paths:
        batch = {"vectors": made.vectors, "ids": made.paths, "groups": made.item_of}
        described = dict(zip(made.paths, states_from(made.files), strict=True))
    changed = sorted((described.keys() | seen.moved.keys()) & known - seen.pairs.keys())
    gone = sorted(known.difference(names, seen.pairs))
    leaving = [*changed, *gone] if remove_gone else changed
    after = {**before, **seen.states}
    for name in (*leaving, *seen.pairs):
        after.pop(name, None)
    after |= {**seen.moved, **{name: state for name, state in described.items() if state is not None}}
    if batch or leaving or after != before:
        attach = {NAME: pack_states(after)}
        collection.change(**batch, remove=leaving or None, rename=seen.pairs, attach=attach)
    return Synced(
        new=tuple(name for name in described if name not in known or name in seen.pairs),
        changed=tuple(changed),
        renamed=tuple(seen.pairs.items()),
        gone=tuple(gone),
        same=len(known) - len(changed) - len(seen.pairs) - len(gone),
        skipped=(*seen.skipped, *(() if made is None else made.skipped)),
    )


@dataclass(frozen=True)
class _Seen:
    """states: of pictures that are as they were, where their files had to be read. other: files with what is not known.

    pairs: known pictures, and which of the other files has the content of each. moved: the states of these files.
    """

    states: Mapping[str, FileState]
    other: Set[str]
    pairs: Mapping[str, str]
    moved: Mapping[str, FileState]
    skipped: Sequence[tuple[str, str]]


def _look(
    root: Path,
    names: Sequence[str],
    known: Set[str],
    before: Mapping[str, FileState],
    *,
    by_content: bool,
    report: Progress,
) -> _Seen:
    """Read the files that may have changed. known: paths of pictures. before: what is known of their files."""
    states: dict[str, FileState] = {}
    other: dict[str, FileState] = {}
    skipped = []
    for done, name in enumerate(names, 1):
        path, was = root / name, before.get(name)
        try:
            if name in known and (was is None or by_content or not was.is_as_it_was(path.stat())):
                now = state_of(path)
                (states if was is None or was.same_content(now) else other)[name] = now
        except OSError as error:
            skipped.append((name, f"{path} cannot be read ({reason(error)}); check its permissions"))
        if not done % CHUNK or done == len(names):
            report("looking at pictures", done, len(names))
    there = set(names)
    missing = {name: was for name, was in before.items() if name in other or (name in known and name not in there)}
    sizes, fresh = {was.size for was in missing.values()}, there - known
    for name in fresh:
        with suppress(OSError):  # who describes it says why
            if (root / name).stat().st_size in sizes:
                other[name] = state_of(root / name)
    pairs = matched(missing, other)
    return _Seen(states, fresh | other.keys(), pairs, {name: other[name] for name in pairs.values()}, skipped)


def _inside(own: Path, folder: str | Path | None) -> str:
    """What paths in a folder begin with, as seen from the folder of the index."""
    if not own.is_dir():
        raise FileError(
            f"the folder of the pictures, {own}, is gone; if it was moved, say where: longwave relocate INDEX "
            "--pictures FOLDER, or pictures.relocate(collection, folder)"
        )
    root, given = own.resolve(), own.resolve() if folder is None else Path(folder).resolve()
    if given == root:
        return ""
    if root not in given.parents:
        raise InputError(
            f"{folder} does not lie in {own}, the folder of this index; bring the pictures there, or, if all of them "
            "were moved, say so: longwave relocate INDEX --pictures FOLDER"
        )
    return f"{given.relative_to(root).as_posix()}/"
