"""Texts: a file or a folder of them to an index of passages, a question to a query (extra `texts`).

`build_index` makes the index, `Library` searches it by text and adds to it. Below them: passages, encoders, and the
recipe that an index keeps. Leans on index and collection.
"""

from longwave.texts.building import build_index
from longwave.texts.encoders import (
    Endpoint,
    OnnxTextEncoder,
    SentenceEncoder,
    TextEncoder,
    default_encoder,
    open_encoder,
)
from longwave.texts.library import Library, is_of_texts
from longwave.texts.passages import SUFFIXES, Passage, cut, passages_of, read_texts
from longwave.texts.recipe import Recipe

__all__ = [
    "build_index", "Library", "is_of_texts", "Recipe",
    "TextEncoder", "SentenceEncoder", "OnnxTextEncoder", "Endpoint", "default_encoder", "open_encoder",
    "Passage", "cut", "passages_of", "read_texts", "SUFFIXES",
]  # fmt: skip
