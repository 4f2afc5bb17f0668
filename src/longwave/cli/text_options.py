"""Options of commands that take texts, and how passages are shown."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from longwave.display import readable
from longwave.texts import SUFFIXES, is_of_texts
from longwave.texts.passages import TEXT
from longwave.types import Hits

Texts = Annotated[
    Path | None,
    typer.Option(
        metavar="F",
        help=f"Texts: a .jsonl file with a text in each line, or a folder of {' and '.join(SUFFIXES)} files.",
    ),
]
TextEncoder = Annotated[
    str | None,
    typer.Option(
        metavar="E",
        help="Network that encodes texts: minilm (comes with the extra texts), the folder or name of a model of "
        "sentence-transformers, an .onnx file with its tokenizer.json, or URL#MODEL of an endpoint like OpenAI's.",
    ),
]
Words = Annotated[int, typer.Option(help="With --texts: words of a passage at most.")]
Question = Annotated[
    list[str] | None,
    typer.Option("--text", metavar="TEXT", help="Question to an index of texts, instead of QUERIES; or several."),
]


def with_passages(chosen: dict[str, Any], about: Any) -> dict[str, Any]:
    """Options of a search whose hits carry their passages, where the index is one of texts and nothing else is said."""
    return {**chosen, "columns": [TEXT]} if is_of_texts(about) and chosen.get("columns") is None else chosen


def print_passages(hits: Hits, names: Sequence[Any]) -> None:
    """Each passage below its rank, score and id, as wide as the terminal."""
    width = max(40, min(100, shutil.get_terminal_size().columns))
    for name, found in zip(names, hits.records(), strict=True):
        print(name)
        for hit in found:
            more = {key: value for key, value in hit["columns"].items() if key != TEXT and value is not None}
            told = "  ".join([readable(hit["score"]), str(hit["id"]), *(f"{key} {more[key]}" for key in more)])
            body = " ".join(str(hit["columns"][TEXT] or "").split())
            print(f"{hit['rank']:>4}  {told}")
            print(textwrap.fill(body, width, initial_indent=" " * 6, subsequent_indent=" " * 6))
