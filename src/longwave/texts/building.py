"""From texts to an index that can be searched with text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from longwave.errors import InputError
from longwave.index import Index
from longwave.progress import shown
from longwave.texts.encoders import DEFAULT, TextEncoder, open_encoder
from longwave.texts.passages import WORDS, Passage, read_texts
from longwave.texts.recipe import KEY, Recipe
from longwave.types import Array, Progress

# Passages that are encoded between two reports of progress.
_CHUNK = 256


def build_index(
    texts: str | Path | Sequence[Passage],
    *,
    encoder: TextEncoder | str | Path = DEFAULT,
    words: int = WORDS,
    progress: Progress | bool | None = None,
    **options: Any,
) -> Index:
    """An index of the passages of some texts, which hits carry in the columns `text` and `source`.

    - texts: a .jsonl file, a .txt or .md file, a folder of these (`read_texts`), or passages.
    - encoder: "minilm", a model of sentence-transformers, an .onnx file, URL#MODEL of an endpoint, or a `TextEncoder`.
    - words: of a passage at most. options: those of `Index.build`.

    The index keeps how texts were encoded, so that `Library(index)` can search it with other texts.
    """
    taken = [name for name in ("ids", "groups") if name in options]
    if taken:
        raise InputError(f"passages have ids of their own; leave out {' and '.join(taken)}")
    passages = read_texts(texts, words=words) if isinstance(texts, str | Path) else list(texts)
    opened = open_encoder(encoder) if isinstance(encoder, str | Path) else encoder
    recipe = Recipe.of(opened, words=words)
    with shown(progress) as report:
        vectors = encode(passages, opened, report)
    index = Index.build(vectors, ids=[passage.id for passage in passages], progress=progress, **options)
    about: dict[str, Any] = {KEY: {"recipe": recipe.facts()}}
    if Path(recipe.encoder).is_absolute():
        about["paths"] = [f"{KEY}.recipe.encoder"]
    return index.with_metadata([passage.row() for passage in passages]).attach(about)


def encode(passages: Sequence[Passage], encoder: TextEncoder, progress: Progress | None = None) -> Array:
    """The vectors of passages. (m, d)"""
    parts = []
    for start in range(0, len(passages), _CHUNK):
        parts.append(encoder([passage.text for passage in passages[start : start + _CHUNK]]))
        if progress is not None:
            progress("texts", min(start + _CHUNK, len(passages)), len(passages))
    return np.concatenate(parts)
