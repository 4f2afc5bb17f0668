"""Finds the picture files in a folder, by their names."""

from __future__ import annotations

from pathlib import Path

from longwave.errors import FileError

# Those that Pillow may lack a decoder for are left out by name, not without a word.
_ASKED_FOR = {".avif", ".heic", ".heif", ".jxl"}
SUFFIXES = frozenset(
    {".jpg", ".jpeg", ".png", ".webp", ".tif", ".tiff", ".bmp", ".gif", ".jp2", ".ppm", ".pgm"} | _ASKED_FOR
)


def is_picture(path: str | Path) -> bool:
    """Whether the name ends like that of a picture."""
    return Path(path).suffix.lower() in SUFFIXES


def list_pictures(folder: str | Path) -> list[str]:
    """The pictures of a folder and of those in it, by name: paths within it, sorted. Hidden ones are left out."""
    root = Path(folder)
    if not root.is_dir():
        raise FileError(f"{root} is not a folder; give the folder that holds the pictures")
    try:
        inside = (p.relative_to(root) for p in root.rglob("*") if is_picture(p) and p.is_file())
        found = sorted(p.as_posix() for p in inside if not any(part.startswith(".") for part in p.parts))
    except OSError as error:
        raise FileError(f"{root} cannot be read: {error.strerror}") from error
    if not found:
        raise FileError(f"{root} holds no pictures; their names must end in one of {' '.join(sorted(SUFFIXES))}")
    return found
