"""Opens picture files upright, as RGB, at the size that is encoded, in bounded memory."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from longwave.errors import FileError, InputError, LongwaveError, MissingExtraError
from longwave.files.bounded import check_regular, open_regular

#: Pixels of the upright picture: left, top, right, bottom.
Box: TypeAlias = tuple[float, float, float, float]
#: A path, or the bytes of a file.
Picture: TypeAlias = str | Path | bytes

# What is opened, by Pillow's names: of all that it knows, one starts another program (EPS), and some are seldom tested.
# HEIF and JXL come with plugins.
_FORMATS = ("JPEG", "MPO", "PNG", "WEBP", "TIFF", "BMP", "GIF", "JPEG2000", "PPM", "AVIF", "HEIF", "JXL")
# Pixels that are decoded: 2^28 take 1 GB as Pillow holds them, 2 GB where some are transparent. A JPEG is decoded at an
# eighth where that is enough.
MAX_PIXELS = 1 << 28
# Formats whose decoders hold several copies, or wider numbers, beside what Pillow holds.
_COPIES = {"WEBP": 4, "AVIF": 4, "JPEG2000": 4, "HEIF": 4, "JXL": 4}
# Pixels that any file may announce, and that each of its bytes may stand for: a JPEG of one colour has 90.
_ALWAYS_PIXELS, _PIXELS_A_BYTE = 1 << 22, 4096
# Formats that decode at a part of their size.
_DRAFTED = ("JPEG", "MPO")
# Below this there is nothing to see; encoders of stride 32 need the other.
_LEAST_SIDE, _LEAST_ENCODED = 8, 32
# A box is encoded at the scale of the whole picture, but not so small that nothing is left of it.
_LEAST_BOX = 128
_ORIENTATION, _TILE_WIDTH, _TILE_HEIGHT = 0x0112, 322, 323
_OPENING = Lock()


def picture_name(picture: Picture) -> str:
    """What messages call it: its path, or "the picture"."""
    return "the picture" if isinstance(picture, bytes) else str(picture)


def open_picture(picture: Picture, *, size: int, box: Box | None = None) -> NDArray[np.uint8]:
    """A picture, or a box of it, as (height, width, 3): upright, RGB, its longest side at most `size`.

    picture: its path, or the bytes of its file.

    A box is in pixels of the upright picture and is brought to the scale of the whole. Transparent pixels become white;
    of an animation the first frame is taken; sides below 32 pixels are enlarged to that. Decodes at most 2^28 pixels,
    so 1 to 2 GB; a JPEG at the smallest of 1, 1/2, 1/4, 1/8 that is enough.
    """
    path = picture_name(picture)
    with _checked(picture) as (image, turned):
        from PIL import Image

        upright = image.size[::-1] if turned in (5, 6, 7, 8) else image.size
        part = _checked_box(box, upright, path)
        target = _target_size(upright, part, size)
        factor = max(t / s for t, s in zip(target, _extent(part), strict=True))
        image.draft(None, tuple(max(1, round(2 * factor * side)) for side in image.size))
        _check_pixels(image.size, path)
        relative = tuple(value / side for value, side in zip(part, (*upright, *upright), strict=True))
        stored = _stored_box(relative, turned)
        area = tuple(value * side for value, side in zip(stored, (*image.size, *image.size), strict=True))
        shape = target[::-1] if turned in (5, 6, 7, 8) else target
        small = _plain(image).resize(shape, Image.Resampling.BICUBIC, box=area, reducing_gap=3.0)
        way = _UPRIGHT.get(turned)
        return np.array(_flat(small if way is None else small.transpose(Image.Transpose[way])))


def picture_size(picture: Picture) -> tuple[int, int]:
    """Width and height of a picture, upright, which is one that `open_picture` would begin to decode."""
    with _checked(picture) as (image, turned):
        upright: tuple[int, int] = image.size[::-1] if turned in (5, 6, 7, 8) else image.size
        _checked_box(None, upright, picture_name(picture))
        return upright


@contextmanager
def _checked(picture: Picture) -> Iterator[tuple[Any, int]]:
    """The picture, within limits, and EXIF's Orientation; whatever a decoder raises of it is a FileError."""
    if find_spec("PIL") is None:
        raise MissingExtraError("opening pictures", "images")
    path = picture_name(picture)
    length = len(picture) if isinstance(picture, bytes) else check_regular(picture)
    try:
        _check_webp(picture, length, path)
        with _opened(picture) as image:
            if image.format not in _DRAFTED or "progressive" in image.info:  # progressive: all of it is held
                _check_pixels(
                    image.size, path, image.format
                )  # before the orientation is asked for: PNG decodes for that
            _check_pixels(_tile(image), path)
            _check_density(image.size, length, path)
            yield image, _orientation(image)
    except LongwaveError:
        raise
    except MemoryError as error:
        raise FileError(f"{path} does not fit into memory") from error
    except Exception as error:  # damaged files raise whatever the decoder stumbles over: there is no common root
        reason = getattr(error, "strerror", None) or str(error).partition("\n")[0].partition(" <")[0]
        raise FileError(f"{path} is not a picture that can be read ({reason}); write it again, or remove it") from error


def parse_box(text: str) -> Box:
    """The text x0,y0,x1,y1 as four numbers."""
    try:
        left, top, right, bottom = (float(part) for part in text.split(","))
    except ValueError as error:
        raise InputError(f"a box is four numbers x0,y0,x1,y1 in pixels, got '{text}'") from error
    return left, top, right, bottom


@contextmanager
def _opened(picture: Picture) -> Iterator[Any]:
    """The picture with its header read, whatever its size; nothing is decoded yet."""
    from PIL import Image

    with _stream(picture) as file:
        with _of_any_size():
            Image.init()  # all plugins; a format that none brings must not be named
            image = Image.open(file, formats=[name for name in _FORMATS if name in Image.OPEN])
        with image:
            yield image


@contextmanager
def _of_any_size() -> Iterator[None]:
    """Lift Pillow's own limit, which is one for all threads; ours is `MAX_PIXELS`."""
    from PIL import Image

    with _OPENING, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of damaged metadata
        allowed, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, None
        try:
            yield
        finally:
            Image.MAX_IMAGE_PIXELS = allowed


def _check_pixels(size: tuple[int, int], path: str | Path, form: str | None = None) -> None:
    most = MAX_PIXELS // _COPIES.get(form or "", 1)
    if size[0] * size[1] > most:
        raise FileError(
            f"{path} has {size[0] * size[1] / 1e6:,.0f} megapixels; at most {most / 1e6:,.0f} are decoded"
            f"{f' of {form}' if form in _COPIES else ''}: make it smaller, or write it as JPEG"
        )


def _check_density(size: tuple[int, int], length: int, path: str | Path) -> None:
    """Raise where a file of few bytes announces many pixels: these take memory, and there is no picture in them."""
    if size[0] * size[1] > max(_ALWAYS_PIXELS, _PIXELS_A_BYTE * length):
        raise FileError(
            f"{path} announces {size[0]:,} × {size[1]:,} pixels in {length:,} bytes, more than {_PIXELS_A_BYTE:,} for "
            "each; it is damaged or of a single colour: write it again, or remove it"
        )


def _stream(picture: Picture) -> AbstractContextManager[BinaryIO]:
    return BytesIO(picture) if isinstance(picture, bytes) else open_regular(picture)


def _check_webp(picture: Picture, length: int, path: str) -> None:
    """The announced size of a WebP: Pillow's decoder takes its memory when it is made, before anyone can look."""
    with _stream(picture) as file:
        head = file.read(30).ljust(30, b"\0")
    if head[:4] + head[8:12] != b"RIFFWEBP":
        return
    kind, numbers = head[12:16], int.from_bytes(head[21:25], "little")
    if kind == b"VP8X":
        size = tuple(1 + int.from_bytes(head[at : at + 3], "little") for at in (24, 27))
    elif kind == b"VP8L":
        size = 1 + (numbers & 0x3FFF), 1 + (numbers >> 14 & 0x3FFF)
    else:
        size = tuple(int.from_bytes(head[at : at + 2], "little") & 0x3FFF for at in (26, 28))
    _check_density((size[0], size[1]), length, path)
    _check_pixels((size[0], size[1]), path, "WEBP")


def _tile(image: Any) -> tuple[int, int]:
    """Width and height of the tiles of a TIFF, which are decoded as a whole however large the picture is."""
    tags = getattr(image, "tag_v2", {}) if image.format == "TIFF" else {}
    return int(tags.get(_TILE_WIDTH, 0)), int(tags.get(_TILE_HEIGHT, 0))


def _orientation(image: Any) -> int:
    """EXIF's Orientation; 1, upright, where there is none or it cannot be read."""
    try:
        return int(image.getexif().get(_ORIENTATION, 1))
    except OSError:
        raise  # the pixels themselves
    except Exception:
        return 1


def _checked_box(box: Box | None, size: tuple[int, int], path: str | Path) -> Box:
    width, height = size
    if min(size) < _LEAST_SIDE:
        raise FileError(f"{path} is {width} × {height} pixels; at least {_LEAST_SIDE} × {_LEAST_SIDE} are needed")
    if box is None:
        return 0.0, 0.0, float(width), float(height)
    left, top, right, bottom = box
    # Boxes are often rounded: half a pixel beyond the edge is meant to be the edge.
    if not (-0.5 <= left < right <= width + 0.5 and -0.5 <= top < bottom <= height + 0.5):
        raise InputError(
            f"the box {','.join(f'{v:g}' for v in box)} does not lie in {path}, which is {width} × {height} pixels; "
            f"give x0 < x1 from 0 to {width} and y0 < y1 from 0 to {height}"
        )
    if min(right - left, bottom - top) < _LEAST_SIDE:
        raise InputError(
            f"the box {','.join(f'{v:g}' for v in box)} must be at least {_LEAST_SIDE} pixels wide and high"
        )
    inside = max(0.0, left), max(0.0, top), min(float(width), right), min(float(height), bottom)
    return float(round(inside[0])), float(round(inside[1])), float(round(inside[2])), float(round(inside[3]))


def _extent(box: Box) -> tuple[float, float]:
    return box[2] - box[0], box[3] - box[1]


def _target_size(upright: tuple[int, int], part: Box, size: int) -> tuple[int, int]:
    """Width and height at which the part is encoded."""
    extent = _extent(part)
    scale = min(1.0, max(size / max(upright), min(size, _LEAST_BOX) / max(extent)))
    enlarged = scale * max(1.0, _LEAST_ENCODED / max(1.0, scale * min(extent)))
    scale = min(enlarged, max(scale, size / max(extent)))  # a narrow strip is widened, not lengthened
    return max(_LEAST_ENCODED, round(scale * extent[0])), max(_LEAST_ENCODED, round(scale * extent[1]))


def _stored_box(box: tuple[float, ...], orientation: int) -> tuple[float, ...]:
    """A box of the upright picture where the file has it, both in [0, 1]."""
    corners = [(box[0], box[1]), (box[2], box[3])]
    moved = [_STORED.get(orientation, _STORED[1])(u, v) for u, v in corners]
    (u0, v0), (u1, v1) = moved
    return min(u0, u1), min(v0, v1), max(u0, u1), max(v0, v1)


#: How a picture is turned upright, by the value of EXIF's Orientation.
_UPRIGHT = {
    2: "FLIP_LEFT_RIGHT",
    3: "ROTATE_180",
    4: "FLIP_TOP_BOTTOM",
    5: "TRANSPOSE",
    6: "ROTATE_270",
    7: "TRANSVERSE",
    8: "ROTATE_90",
}

#: Where a point of the upright picture is in the file, for each value of EXIF's Orientation.
_STORED: dict[int, Any] = {
    1: lambda u, v: (u, v),
    2: lambda u, v: (1 - u, v),
    3: lambda u, v: (1 - u, 1 - v),
    4: lambda u, v: (u, 1 - v),
    5: lambda u, v: (v, u),
    6: lambda u, v: (v, 1 - u),
    7: lambda u, v: (1 - v, 1 - u),
    8: lambda u, v: (1 - v, u),
}


def _plain(image: Any) -> Any:
    """A mode that can be resized smoothly: L, LA, RGB, RGBA, CMYK, …; 16-bit and float values become 8-bit."""
    from PIL import Image

    with _of_any_size() if image.size[0] * image.size[1] > (Image.MAX_IMAGE_PIXELS or MAX_PIXELS) else nullcontext():
        image.load()
    if image.mode in ("P", "PA", "1"):
        return image.convert("RGBA" if "transparency" in image.info or image.mode == "PA" else "RGB")
    if not image.mode.startswith(("I", "F")):
        return image
    values = np.asarray(image)
    if image.mode.startswith("I") and values.min() >= 0 and values.max() < 1 << 16:
        bits = next(b for b in (8, 10, 12, 14, 16) if values.max() < 1 << b)  # what cameras and scanners have
        return Image.fromarray((values >> (bits - 8)).astype(np.uint8))
    # No common range: from the least value to the largest.
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    scaled = (values - np.float32(low)) * np.float32(255 / max(high - low, 1e-12))
    return Image.fromarray(np.nan_to_num(np.clip(scaled, 0, 255)).astype(np.uint8))


def _flat(image: Any) -> Any:
    """RGB, what is transparent on white."""
    from PIL import Image

    if image.mode in ("LA", "RGBA", "La", "RGBa") or "transparency" in image.info:
        clear = image.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", clear.size, "white"), clear).convert("RGB")
    return image.convert("RGB")
