"""Passages: what is searched in texts. A file or a folder of texts, cut where a reader would pause."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from longwave.checks import check_counts
from longwave.errors import DataWarning, FileError, InputError, reason

#: Files of a folder that are read as texts.
SUFFIXES = (".txt", ".md")
#: Words of a passage at most: what the default encoder reads of a text, 256 tokens, with some to spare.
WORDS = 150
#: Columns that every passage has.
TEXT, SOURCE = "text", "source"
_LINES = (".jsonl", ".ndjson")


@dataclass(frozen=True)
class Passage:
    """id: that of its text, with #1, #2 … where there are several. source: the id of the text. metadata: of the text.

    The id of a text is its path within the folder, or what the line of a .jsonl says.
    """

    id: str
    text: str
    source: str
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def row(self) -> dict[str, Any]:
        """As the metadata of an index have it."""
        return {TEXT: self.text, SOURCE: self.source, **self.metadata}


def read_texts(path: str | Path, *, words: int = WORDS) -> list[Passage]:
    """The passages of a .jsonl, of a .txt or .md, or of a folder of these, in order.

    A line of a .jsonl is {"text": "…", "id": "…"}; without an id it is called by its number, from 1. What else it has
    becomes metadata. words: of a passage at most.
    """
    check_counts(words=words)
    place = Path(path)
    texts: list[tuple[str, str, dict[str, Any]]]
    if place.is_dir():
        files = sorted(file for file in place.rglob("*") if file.suffix.lower() in SUFFIXES and file.is_file())
        texts = list(_readable(place, files))
    elif place.suffix.lower() in _LINES:
        texts = list(_lines(place))
    elif place.suffix.lower() in SUFFIXES:
        texts = [(place.name, _read(place), {})]
    else:
        raise FileError(f"{path} must be a folder of {' and '.join(SUFFIXES)} files, one of these, or a .jsonl file")
    found = [passage for name, text, about in texts for passage in passages_of(name, text, about, words=words)]
    if not found:
        raise FileError(f"{path} has no text in it; give a folder with {' or '.join(SUFFIXES)} files, or a .jsonl file")
    return found


def cut(text: str, words: int = WORDS) -> list[str]:
    """A text as pieces of so many words at most: whole paragraphs together, a heading with what follows it.

    Only a paragraph that is too long is cut between sentences, and only a sentence that is too long between words.

    >>> cut("# Sea\\n\\nIt is wide. It is deep.\\n\\n# Hill\\n\\nIt is high.", words=6)
    ['# Sea\\n\\nIt is wide.', 'It is deep.', '# Hill\\n\\nIt is high.']
    """
    pieces: list[str] = []
    size = 0
    for block, joint in _blocks(text, words):
        length = len(block.split())
        if pieces and joint is not None and size + length <= words:
            pieces[-1] += joint + block
            size += length
        else:
            pieces.append(block)
            size = length
    return pieces


def _blocks(text: str, words: int) -> Iterator[tuple[str, str | None]]:
    """Parts that are not cut further, and what joins each to the one before; None where a passage begins.

    What follows a heading leaves room for it.
    """
    lead = 0  # words of the headings just before
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        block = paragraph.strip()
        length = len(block.split())
        if re.match(r"#{1,6} ", block) and "\n" not in block and lead + length < words:
            yield block, "\n\n" if lead else None
            lead += length
            continue
        if length <= words - lead:
            if block:
                yield block, "\n\n"
        else:
            joint = "\n\n"
            for part in _parts(block, words - lead, words):
                yield part, joint
                joint = " "
        lead = 0


def _parts(paragraph: str, first: int, words: int) -> Iterator[str]:
    """Sentences, and pieces of those that are too long. first: words that the first of them may have."""
    room = first
    for sentence in re.split(r"(?<=[.!?…])\s+", paragraph):
        rest = sentence.split()
        while rest:
            yield " ".join(rest[:room])
            rest, room = rest[room:], words


def passages_of(name: str, text: str, metadata: Mapping[str, Any], *, words: int = WORDS) -> list[Passage]:
    """The passages of one text. name: its id."""
    pieces = cut(text, words)
    names = [name] if len(pieces) == 1 else [f"{name}#{number}" for number in range(1, len(pieces) + 1)]
    return [Passage(own, piece, name, metadata) for own, piece in zip(names, pieces, strict=True)]


def _readable(place: Path, files: list[Path]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """The files of a folder that are texts. A warning names those that are not, and they are left out."""
    wrong = []
    for file in files:
        try:
            yield file.relative_to(place).as_posix(), _read(file), {}
        except FileError as error:
            wrong.append(str(error))
    if wrong and len(wrong) == len(files):
        raise FileError(wrong[0])
    if wrong:
        more = f"; and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        warnings.warn(f"{len(wrong)} of {len(files)} files are left out: {wrong[0]}{more}", DataWarning, stacklevel=4)


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig")
    except OSError as error:
        raise FileError(f"cannot read {path}: {reason(error)}") from error
    except UnicodeDecodeError as error:
        raise FileError(f"{path} is not text in UTF-8 (byte {error.start}); save it in UTF-8") from error


def _lines(path: Path) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """The texts of a .jsonl file: id, text, and what else is known of each."""
    for number, line in enumerate(_read(path).split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise FileError(f"{path}: line {number} is not JSON: {error}") from error
        if not isinstance(row, dict) or not isinstance(row.get(TEXT), str):
            raise FileError(f'{path}: line {number} must be an object with a "text", as in {{"text": "…", "id": "a"}}')
        if SOURCE in row:
            raise InputError(f"{path}: line {number} has the key {SOURCE!r}, which Longwave uses; give it another name")
        name = str(row.pop("id", number))
        yield name, row.pop(TEXT), row
