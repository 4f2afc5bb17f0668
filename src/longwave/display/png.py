"""Numbers as a grey picture: the bytes of a PNG file, without any library for pictures."""

from __future__ import annotations

import struct
import zlib

import numpy as np
from numpy.typing import ArrayLike

# The shorter side of what is drawn, in pixels, where the numbers are fewer.
_LEAST = 64


def draw_png(values: ArrayLike) -> bytes:
    """A grey picture of a matrix, 0 black and its largest entry white, each number a square. (height, width)"""
    rows = np.asarray(values, dtype=np.float64)
    peak = rows.max(initial=0)
    grey = np.rint(np.clip(rows / peak if peak > 0 else rows, 0, 1) * 255).astype(np.uint8)
    side = max(1, _LEAST // max(1, min(grey.shape)))
    grey = np.kron(grey, np.ones((side, side), dtype=np.uint8))
    height, width = grey.shape
    lines = np.hstack([np.zeros((height, 1), dtype=np.uint8), grey])  # each line begins with its filter, 0 for none
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)  # 8 bits, grey, deflate
    body = zlib.compress(lines.tobytes(), 6)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", head) + _chunk(b"IDAT", body) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
