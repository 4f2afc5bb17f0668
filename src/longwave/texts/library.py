"""The texts behind an index: searched with a question, and added to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from longwave.collection import Collection
from longwave.errors import InputError
from longwave.hits import Hits
from longwave.index import Index
from longwave.texts.building import encode
from longwave.texts.encoders import TextEncoder, open_encoder
from longwave.texts.passages import SOURCE, TEXT, Passage, read_texts
from longwave.texts.recipe import KEY, Recipe
from longwave.types import Array, Progress


def is_of_texts(about: Mapping[str, Any]) -> bool:
    """Whether an index was built from texts, by `index.about`."""
    return KEY in about


class Library:
    """An index of texts, searched by text.

    index: one that `build_index` or `longwave build --texts` has made, or a living collection of it, which can be added
    to. encoder: where the model is now, if it was moved, or a `TextEncoder`. It is opened when first needed, compared
    with that of the index, and kept: make one library and use it for many searches.

        library = Library(Index.load("notes.longwave"))
        hits = library.search("how deep is the sea?", 5)
        hits.columns["text"]
    """

    def __init__(self, index: Index | Collection, *, encoder: TextEncoder | str | Path | None = None) -> None:
        self._source = index
        self.recipe = Recipe.from_about(self.index.about)
        self._encoder = encoder

    @property
    def index(self) -> Index:
        """What is searched now."""
        return self._source.index if isinstance(self._source, Collection) else self._source

    @cached_property
    def encoder(self) -> TextEncoder:
        """The encoder that the index was made with."""
        given = self.recipe.encoder if self._encoder is None else self._encoder
        opened = open_encoder(given) if isinstance(given, str | Path) else given
        self.recipe.check_same(Recipe.of(opened, words=self.recipe.words))
        return opened

    def query(self, texts: str | Sequence[str]) -> Array:
        """Questions as query vectors, encoded as the collection was. (m, d)"""
        asked = [texts] if isinstance(texts, str) else list(texts)
        if not all(text.strip() for text in asked):
            raise InputError("a question has no words in it; ask with some")
        return self.encoder(asked, query=True)

    def search(self, texts: str | Sequence[str], k: int | str = 10, **options: Any) -> Hits:
        """The k best passages for each text; `hits.columns` has `text` and `source`. options: of `Index.search`."""
        return self.index.search(self.query(texts), k, **{"columns": [TEXT, SOURCE], **options})

    def add(
        self,
        texts: str | Path | Sequence[Passage],
        *,
        remove_gone: bool = False,
        progress: Progress | None = None,
    ) -> Array:
        """Add texts to the collection; those of a known source take its place. One commit. Returns the new ids.

        Texts that are there as they are given stay as they are, in the graph. remove_gone: also remove the texts that
        are not among those given.
        """
        if not isinstance(self._source, Collection):
            raise InputError("an index never changes; open the folder to add to it: Library(longwave.open(path))")
        passages = read_texts(texts, words=self.recipe.words) if isinstance(texts, str | Path) else list(texts)
        given: dict[str, dict[str, dict[str, Any]]] = {}
        for passage in passages:
            given.setdefault(passage.source, {})[passage.id] = passage.row()
        there = self._there()
        same = {source for source, rows in given.items() if there.get(source) == rows}
        passages = [passage for passage in passages if passage.source not in same]
        out = {source for source in there if source not in same and (remove_gone or source in given)}
        gone = [name for source in out for name in there[source]]
        if not passages:
            if gone:
                self._source.remove(gone)
            return self.index.ids[:0]
        return self._source.change(
            encode(passages, self.encoder, progress),
            ids=np.array([passage.id for passage in passages]),
            metadata=[passage.row() for passage in passages],
            remove=gone or None,
        )

    def _there(self) -> dict[str, dict[str, dict[str, Any]]]:
        """The passages of every source that are in the collection, by id: what is known of each."""
        index = self.index
        assert index.metadata is not None  # `build_index` gave it
        rows = index.metadata.table.to_pylist()
        found: dict[str, dict[str, dict[str, Any]]] = {}
        for item in index.items.live_numbers():
            row = {name: value for name, value in rows[item].items() if value is not None}
            found.setdefault(row[SOURCE], {})[index.items.ids[item].item()] = row
        return found
