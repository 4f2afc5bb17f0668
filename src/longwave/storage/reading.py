"""Reads the newest state of an index folder that is whole, or an earlier one. Nothing is changed on the disk."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from longwave.errors import CorruptIndexError, NewerIndexError, NotAnIndexError, StorageError
from longwave.storage.array_file import read_array
from longwave.storage.disk import Opened
from longwave.storage.manifest import MANIFEST_BYTES, Commit, Entry, Manifest, decode, is_ours
from longwave.storage.opening import (
    DATA,
    LOCK,
    MANIFESTS,
    OLD_MANIFEST,
    manifest_name,
    names,
    numbers,
    opened_file,
    opened_folder,
    opened_root,
    real_path,
    was_replaced,
)
from longwave.storage.warming import announce, warm
from longwave.types import Array

# A reader begins again where the folder has changed under it; so often in a row means something else.
_ATTEMPTS = 1000
_T = TypeVar("_T")


@dataclass(frozen=True, eq=False)
class State:
    """A committed state. Its arrays are read-only; large ones are memory maps, which outlive their files' names.

    passed_over: what was wrong with newer manifests, which are damaged. A crash leaves none of these; a failing disk,
    or a person, may.
    """

    commit: Commit
    facts: Mapping[str, Any]
    arrays: Mapping[str, Array]
    entries: Mapping[str, Entry]
    passed_over: tuple[str, ...] = ()

    @property
    def number(self) -> int:
        """Of the version. 0 is an index of format version 2 or 3."""
        return self.commit.number


@dataclass(frozen=True)
class Found:
    """The newest whole manifest, and what was wrong with newer ones."""

    manifest: Manifest
    passed_over: tuple[str, ...] = ()


@dataclass(frozen=True)
class Report:
    """What `verify` found in one version: arrays that are whole, and those that are lost, each with the reason.

    manifests: damaged ones in the folder, by number, with the reason.
    """

    commit: Commit
    whole: tuple[str, ...]
    lost: Mapping[str, str] = field(default_factory=dict)
    manifests: Mapping[int, str] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether nothing at all is damaged."""
        return not self.lost and not self.manifests


def read(path: str | Path, version: int | None = None, *, verify: bool = False, known: State | None = None) -> State:
    """Open the newest whole state of an index folder, or the given version.

    verify: compare every checksum, which reads everything. known: a state that was read before; arrays whose file is
    the same are taken from it (not with `verify`). Beside a writer, the state is a committed one. If a vacuum takes the
    files of the state that is being opened, a newer one is opened instead.

    Cost: the names of the manifests, one manifest, and the small arrays. Large ones are read behind the caller's back
    (`warming`).
    """

    def work(root: Opened, found: Found) -> State:
        ahead = not verify and (known is None or known.number > 0)  # of an old folder, nothing is known to be the same
        return load_state(root, found, verify=verify, known=known, warmed=ahead)

    return _steadily(Path(path), version, work)


def load_state(
    root: Opened, found: Found, *, verify: bool = False, known: State | None = None, warmed: bool = False
) -> State:
    """Open the arrays of a manifest. warmed: and have large ones read that are not known."""
    manifest = found.manifest
    old: dict[Entry, Array] = {}
    if known is not None and known.number and not verify:
        old = {entry: known.arrays[name] for name, entry in known.entries.items()}
    with _place(root, manifest) as place:
        if warmed:
            announce(place, (entry for entry in manifest.entries.values() if entry not in old))
        arrays = {
            name: old[entry] if entry in old else read_array(place, name, entry, verify)
            for name, entry in manifest.entries.items()
        }
        if warmed:
            warm(place, [(entry, arrays[name]) for name, entry in manifest.entries.items() if entry not in old])
    return State(manifest.commit, manifest.facts, arrays, manifest.entries, found.passed_over)


def history(path: str | Path) -> list[Commit]:
    """All versions that can be opened by `read(path, version)`, oldest first. Reads all manifests."""
    with opened_root(Path(path)) as root:
        while True:
            kept = []
            for number in [0, *numbers(root)]:
                try:
                    kept.append(load_manifest(root, number).commit)
                except NewerIndexError:
                    raise
                except (FileNotFoundError, StorageError):
                    continue
            if kept:
                return kept
            find(root)  # says why there is none; or a vacuum has just removed what was listed, and it is listed again


def verify(path: str | Path, version: int | None = None) -> Report:
    """Read everything of one version, and all manifests, and say what is lost and what is not."""

    def inspect(root: Opened, found: Found) -> Report:
        manifest, lost, damaged = found.manifest, {}, {}
        with _place(root, manifest) as place:
            for name, entry in manifest.entries.items():
                try:
                    read_array(place, name, entry, True)
                except StorageError as error:
                    lost[name] = str(error)
        for number in numbers(root):
            try:
                load_manifest(root, number)
            except FileNotFoundError:
                continue
            except StorageError as error:
                damaged[number] = str(error)
        report = Report(manifest.commit, tuple(n for n in manifest.entries if n not in lost), lost, damaged)
        if lost:
            raise _Damage(report)  # unless the folder has changed meanwhile
        return report

    try:
        return _steadily(Path(path), version, inspect)
    except _Damage as damage:
        return damage.report


def is_index(path: str | Path) -> bool:
    """Whether the path is a folder with a manifest of ours, readable or not."""
    try:
        with opened_root(Path(path)) as root:
            return standing(root) == "index"
    except (StorageError, OSError):
        return False


def standing(root: Opened) -> str:
    """What a folder is: an "index", "unfinished" (empty, or what a first writer left when it was killed), or "foreign".

    An index has a manifest of ours; or it has only damaged ones, and nothing that a writer would not make.
    """
    some = numbers(root)
    with opened_folder(root, MANIFESTS) if some else nullcontext(root) as manifests:
        files = [(manifests, manifest_name(number)) for number in reversed(some)]
        for folder, name in [*files, (root, OLD_MANIFEST)]:
            try:
                with opened_file(folder, name) as opened:
                    if is_ours(opened.read(MANIFEST_BYTES)):
                        return "index"
            except (FileNotFoundError, StorageError):
                continue
    if set(names(root)) <= {MANIFESTS, DATA, LOCK}:
        return "index" if some else "unfinished"
    return "foreign"


def find(root: Opened, version: int | None = None) -> Found:
    """The manifest of a version, or the newest that is whole. One removed meanwhile is a `FileNotFoundError`."""
    known = numbers(root)
    if version is not None:
        return Found(_version(root, version, known))
    troubles: list[StorageError] = []
    for number in reversed(known):
        try:
            return Found(load_manifest(root, number), tuple(map(str, troubles)))
        except (CorruptIndexError, NotAnIndexError) as error:
            troubles.append(error)
    try:
        return Found(load_manifest(root, 0), tuple(map(str, troubles)))
    except FileNotFoundError:
        if numbers(root) != known:
            raise
    if troubles:
        raise troubles[0]
    if MANIFESTS in names(root):
        raise NotAnIndexError(
            f"{root.path} is not yet a Longwave index: its first commit was not finished; write again"
        )
    raise NotAnIndexError(f"{root.path} is not a Longwave index: it has no {MANIFESTS} and no {OLD_MANIFEST}")


def load_manifest(root: Opened, number: int) -> Manifest:
    """Read and check one manifest; 0 is that of format versions 2 and 3."""
    name = manifest_name(number) if number else OLD_MANIFEST
    with opened_folder(root, MANIFESTS) if number else nullcontext(root) as folder, opened_file(folder, name) as opened:
        return decode(opened.read(MANIFEST_BYTES + 1), folder.path / name, number)


class _Damage(StorageError):
    """Carries what `verify` found out of the attempt, which is repeated if the folder has changed."""

    def __init__(self, report: Report) -> None:
        super().__init__("damaged")
        self.report = report


def _steadily(path: Path, version: int | None, work: Callable[[Opened, Found], _T]) -> _T:
    """Do the work on the manifest that counts now, and again if the folder has changed where it fails."""
    real, attempts = real_path(path), _ATTEMPTS
    while True:
        with opened_root(path) as root:
            before = numbers(root)
            try:
                return work(root, find(root, version))
            except NewerIndexError:
                raise
            except (StorageError, FileNotFoundError) as error:
                attempts -= 1
                if not attempts or (numbers(root) == before and not was_replaced(root, real)):
                    if isinstance(error, StorageError):
                        raise
                    raise CorruptIndexError(f"{path} lacks {error.filename}; copy the whole folder") from error


def _version(root: Opened, version: int, known: list[int]) -> Manifest:
    try:
        if version in known or version == 0:
            return load_manifest(root, version)
    except FileNotFoundError:
        if version:
            raise
    there = f"versions {known[0]} to {known[-1]}" if known else "version 0 only"
    raise StorageError(f"{root.path} has no version {version!r}; it has {there}, see history; old ones go by vacuum")


def _place(root: Opened, manifest: Manifest) -> AbstractContextManager[Opened]:
    """The folder with the files of a manifest, open."""
    if not manifest.commit.number or not manifest.entries:
        return nullcontext(root)
    return opened_folder(root, DATA)
