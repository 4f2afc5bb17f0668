"""Pictures that were moved to another folder: found again by their paths, or else by their content."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from longwave.collection import Collection
from longwave.errors import FileError, plural
from longwave.pictures.contents import NAME, matched, pack_states, state_of, unpack_states
from longwave.pictures.facts import moved_to, treatment_from
from longwave.pictures.finding import list_pictures


@dataclass(frozen=True)
class Relocated:
    """How many pictures `relocate` found by path; old and new path of those found by content; and those not found."""

    by_path: int
    by_content: tuple[tuple[str, str], ...]
    lost: tuple[str, ...]

    def __str__(self) -> str:
        told = [f"{self.by_path:,} found by path"]
        told += [f"{len(self.by_content):,} by content"] if self.by_content else []
        told += [f"{len(self.lost):,} not found"] if self.lost else []
        return ", ".join(told)


def relocate(collection: Collection, folder: str | Path) -> Relocated:
    """Tell an index of pictures where they are now, in one commit.

    A picture that is not under its path is known by the content of its file, and gets the new path as id. Those that
    are not found stay in the index; nothing is described, added or removed: `sync` does that.
    """
    collection.lock()
    index, root = collection.index, Path(folder)
    treatment_from(index.about)  # an error that says what to do where these are no pictures
    names, known = set(list_pictures(root)), set(index.ids.tolist())
    states = unpack_states(index.attached, known)
    missing = {name: state for name, state in states.items() if name not in names}
    sizes, found = {state.size for state in missing.values()}, {}
    for name in names - known:
        with suppress(OSError):  # what cannot be read is not found
            if (root / name).stat().st_size in sizes:
                found[name] = state_of(root / name)
    pairs = matched(missing, found)
    lost = known - names - pairs.keys()
    if lost == known:
        raise FileError(
            f"{root} has none of the {plural(len(known), 'picture')} of {collection.path}, such as {min(known)!r}; "
            "give the folder that they are in"
        )
    after = {name: state for name, state in states.items() if name not in pairs}
    after |= {new: found[new] for new in pairs.values()}
    attached = {NAME: pack_states(after)} if pairs else None
    collection.change(rename=pairs, about=moved_to(root, index.about), attach=attached)
    return Relocated(len(known & names), tuple(sorted(pairs.items())), tuple(sorted(lost)))
