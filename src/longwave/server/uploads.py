"""Pictures that clients have uploaded to search with: kept in memory for a while, within bounds."""

from __future__ import annotations

import secrets
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, field

from longwave.pictures import Gallery, PictureQuery
from longwave.pictures.opening import Box
from longwave.server.problems import Problem

#: How long an upload is kept, in seconds, and how many bytes all of them may take.
KEPT_FOR, MOST_BYTES = 3600.0, 256 << 20
# Boxes of one picture whose vectors are kept.
_BOXES = 16


@dataclass(eq=False)
class Upload:
    """The bytes of a picture, and what its parts are as queries."""

    data: bytes
    since: float
    _described: OrderedDict[tuple[object, ...], PictureQuery] = field(default_factory=OrderedDict)
    _turn: threading.Lock = field(default_factory=threading.Lock)

    def query(self, gallery: Gallery, version: int, box: Box | None) -> PictureQuery:
        """The picture, or a box of it, as a query; described once for each version of the collection."""
        key = (gallery.folder, version, box)
        with self._turn:
            if key not in self._described:
                self._described[key] = gallery.query(self.data, box=box)
                while len(self._described) > _BOXES:
                    self._described.popitem(last=False)
            return self._described[key]


class Uploads:
    """Uploads by a name that nobody guesses. The oldest go first, for their age or their bytes."""

    def __init__(self, *, kept_for: float = KEPT_FOR, most_bytes: int = MOST_BYTES) -> None:
        self._kept_for, self._most = kept_for, most_bytes
        self._held: OrderedDict[str, Upload] = OrderedDict()
        self._turn = threading.Lock()

    def add(self, data: bytes) -> str:
        """Keep the bytes of a picture; returns the name to ask for it with."""
        name = secrets.token_urlsafe(16)
        with self._turn:
            self._held[name] = Upload(data, time.monotonic())
            self._tidy()
        return name

    def find(self, name: str) -> Upload:
        """The upload of this name; Problem 422 where there is none any more."""
        with self._turn:
            self._tidy()
            found = self._held.get(name)
        if found is None:
            raise Problem(422, "there is no such upload, or not any more; upload the picture again")
        return found

    def _tidy(self) -> None:
        now, total = time.monotonic(), sum(len(upload.data) for upload in self._held.values())
        while self._held:
            name, oldest = next(iter(self._held.items()))
            if total <= self._most and now - oldest.since <= self._kept_for:
                return
            del self._held[name]
            total -= len(oldest.data)
