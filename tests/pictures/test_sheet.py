"""The contact sheet: the query apart from its hits, a rank on every hit."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from longwave.errors import FileError, InputError
from longwave.pictures import Answer, Cell, draw_sheet

SIDE, WIDE, HIGH, ASIDE = 160, 170, 202, 180
GREY = (233, 233, 233)


@pytest.fixture
def red(tmp_path):
    Image.new("RGB", (200, 200), "red").save(tmp_path / "red.png")
    return Cell(tmp_path / "red.png", "red.png", "0.0572")


def drawn(answers, tmp_path):
    gone = draw_sheet(answers, tmp_path / "sheet.png")
    with Image.open(tmp_path / "sheet.png") as sheet:
        return np.array(sheet), gone


def test_the_query_has_a_column_and_hits_have_ranks(red, tmp_path):
    pixels, gone = drawn([Answer([red], [red] * 12), Answer([red, red], [red])], tmp_path)
    assert gone == []
    assert pixels.shape == (4 * HIGH + 10, ASIDE + 10 + 10 * WIDE, 3)  # two lines of hits, two of queries
    assert (pixels[2:-2, 2] == GREY).all(axis=1).sum() >= len(pixels) - 5  # but for the rule between the answers
    query, hit = pixels[10:170, 10:170], pixels[10:170, 190:350]
    assert (query == (255, 0, 0)).all()
    corner = hit[:20, :10]
    assert (corner == 0).all(axis=-1).any()
    assert (hit[30:] == (255, 0, 0)).all()
    eleventh = pixels[10 + HIGH :, 190:350][:160]
    assert not (eleventh[:20, :30] == corner[0, 0]).all()
    assert (eleventh[30:] == (255, 0, 0)).all()
    assert (pixels[10 + HIGH : 2 * HIGH, ASIDE + 10 + 2 * WIDE :] == 255).all()  # no thirteenth


def test_what_is_gone_is_grey_and_returned(red, tmp_path):
    lost = Cell(Path("nowhere.jpg"), "nowhere.jpg", "0.1")
    pixels, gone = drawn([Answer([red], [lost])], tmp_path)
    assert gone == [Path("nowhere.jpg")]
    assert tuple(pixels[150, 200]) == (204, 204, 204)


def test_too_long_or_not_to_be_written(red, tmp_path):
    with pytest.raises(InputError, match="at most 300 lines of 10 hits, these are 301"):
        draw_sheet([Answer([red], [red])] * 301, tmp_path / "s.png")
    with pytest.raises(FileError, match="cannot write"):
        draw_sheet([Answer([red], [red])], tmp_path / "nowhere" / "s.png")
