"""Questions in words to a collection of texts: its encoder, opened once, and what was asked last."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np

from longwave.errors import InputError, LongwaveError, MissingExtraError
from longwave.index import Index
from longwave.server.problems import Problem
from longwave.texts import Library, is_of_texts
from longwave.types import Array

log = logging.getLogger("longwave.server")
# Questions whose vectors are kept: the page asks hits, map and reasons with the same one.
_KEPT = 256
# Seconds for which an encoder that could not be opened is not tried again.
_PAUSE = 30.0


class Questions:
    """What a collection of texts is asked with. Where its encoder lies is told to the log, never to clients."""

    def __init__(self, library: Library) -> None:
        self._library, self._turn = library, threading.Lock()
        self._kept: OrderedDict[str, Array] = OrderedDict()
        self._refused: tuple[float, Problem] | None = None

    @classmethod
    def of(cls, index: Index, before: Questions | None) -> Questions | None:
        """Those of an index; None where it has no texts. before: of an older version, whose encoder is kept."""
        if not is_of_texts(index.about):
            return None
        try:
            made = Library(index)
        except InputError as error:
            log.warning("no questions can be asked: %s", error)
            return None
        if before is not None and before.is_open and before._library.recipe == made.recipe:
            made = Library(index, encoder=before._library.encoder)
        return cls(made)

    @property
    def is_open(self) -> bool:
        """Whether the encoder is there."""
        return "encoder" in vars(self._library)

    @property
    def is_refused(self) -> bool:
        """Whether the encoder was tried, and cannot be used."""
        return self._refused is not None

    def open(self) -> None:
        """Open the encoder, and compare it with that of the texts; Problem 501 or 503 where it cannot be used."""
        with self._turn:
            self._open()

    def vectors(self, texts: Sequence[str]) -> Array:
        """The query vector of each text. (m, d)"""
        if not all(text.strip() for text in texts):
            raise Problem(422, "a question has no words in it; ask with some")
        with self._turn:
            self._open()
            new = [text for text in dict.fromkeys(texts) if text not in self._kept]
            try:
                found = dict(zip(new, self._library.query(new), strict=True)) if new else {}
            except LongwaveError as error:
                raise self._problem(error) from error
            rows = np.stack([found[text] if text in found else self._kept[text] for text in texts])
            self._kept.update(found)
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
            return rows

    def _open(self) -> None:
        if self._refused is not None and time.monotonic() - self._refused[0] < _PAUSE:
            raise self._refused[1]
        try:
            _ = self._library.encoder
        except LongwaveError as error:
            self._refused = time.monotonic(), self._problem(error)
            raise self._refused[1] from error
        self._refused = None

    def _problem(self, error: LongwaveError) -> Problem:
        if isinstance(error, MissingExtraError):
            return Problem(501, str(error))
        log.warning("no questions can be asked: %s", error)
        return Problem(503, "the encoder of this collection cannot be used now; the log of the server says why")
