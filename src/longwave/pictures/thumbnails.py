"""Small copies of pictures, for pages and contact sheets."""

from __future__ import annotations

from io import BytesIO

from longwave.checks import check_counts
from longwave.pictures.opening import Box, Picture, open_picture


def thumbnail(picture: Picture, *, size: int = 256, box: Box | None = None) -> bytes:
    """A picture, or a box of it, with its longest side at most `size`, as the bytes of a JPEG file.

    Upright, RGB, decoded in bounded memory as `open_picture` does. Its sides are at least 32 pixels.
    """
    check_counts(size=size)
    pixels = open_picture(picture, size=size, box=box)
    from PIL import Image

    file = BytesIO()
    Image.fromarray(pixels).save(file, "JPEG", quality=85)
    return file.getvalue()
