"""Errors as problem documents (RFC 9457), with the library's own texts."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from http import HTTPStatus

import msgspec
from starlette.responses import Response

from longwave.errors import (
    ConflictError,
    FileError,
    InputError,
    LongwaveError,
    MissingExtraError,
    ResourceError,
)

log = logging.getLogger("longwave.server")

#: The media type of a problem document.
MEDIA_TYPE = "application/problem+json"
# What the library raises, most special first, and what that is over HTTP.
_STATUS: tuple[tuple[type[LongwaveError], int], ...] = (
    (InputError, 422),
    (ConflictError, 409),
    (MissingExtraError, 501),
    (ResourceError, 503),
    (FileError, 422),
)


class Document(msgspec.Struct, kw_only=True):
    """What a client reads of an error."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str


class Problem(Exception):
    """An error with the status that it has over HTTP."""

    def __init__(self, status: int, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status, self.detail, self.headers = status, detail, dict(headers or {})

    def response(self) -> Response:
        """The problem document."""
        known = Document(title=HTTPStatus(self.status).phrase, status=self.status, detail=self.detail)
        return Response(msgspec.json.encode(known), self.status, self.headers, MEDIA_TYPE)


def problem_of(error: Exception) -> Problem:
    """An error as a problem; an unexpected one is written to the log, and the answer says nothing about it."""
    if isinstance(error, Problem):
        return error
    for kind, status in _STATUS:
        if isinstance(error, kind):
            return Problem(status, str(error))
    log.error("an unexpected error", exc_info=error)
    return Problem(500, "the server failed; its log says why")
