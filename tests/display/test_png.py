"""Numbers as PNG files."""

import io

import numpy as np
import pytest
from PIL import Image

from longwave.display.png import draw_png


@pytest.mark.parametrize("shape", [(8, 8), (1, 1), (3, 200), (100, 70)])
def test_any_reader_of_png_sees_the_numbers(shape):
    values = np.random.default_rng(0).random(shape)
    pixels = np.asarray(Image.open(io.BytesIO(draw_png(values))))
    side = pixels.shape[0] // shape[0]
    assert pixels.shape == (side * shape[0], side * shape[1])
    assert np.array_equal(pixels[::side, ::side], np.rint(255 * values / values.max()).astype(np.uint8))


def test_below_zero_and_nothing_at_all_are_black():
    assert not np.asarray(Image.open(io.BytesIO(draw_png(np.zeros((8, 8)))))).any()
    pixels = np.asarray(Image.open(io.BytesIO(draw_png(np.array([[-1.0, 2.0]])))))
    assert pixels.min() == 0
    assert pixels.max() == 255
