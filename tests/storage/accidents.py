"""Random accidents to the files of a folder, for the programs that damage one."""

import os


def pick(rng, options):
    return options[int(rng.integers(len(options)))]


def files_of(folder, ending=""):
    """All files but the lock, in which nothing is written."""
    return sorted(p for p in folder.rglob(f"*{ending}") if p.is_file() and p.name != "lock")


def exchange(rng, folder):
    """Two files take the place of each other."""
    one, two = pick(rng, files_of(folder)), pick(rng, files_of(folder))
    content = one.read_bytes()
    one.write_bytes(two.read_bytes())
    two.write_bytes(content)


def no_file(rng, folder):
    """Nothing, a folder, a pipe or a link, in the place of a file or of a folder."""
    places = [p for p in sorted(folder.rglob("*")) if p.name != "lock"]
    place, how = pick(rng, places), int(rng.integers(4))
    moved = folder.parent / "moved"
    place.rename(moved)
    if how == 1:
        place.mkdir()
    elif how == 2:
        os.mkfifo(place)
    elif how == 3:
        place.symlink_to(moved)
