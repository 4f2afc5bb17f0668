"""Opening picture files: every mode and orientation, boxes, sizes, and what cannot be read."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageOps

from longwave.errors import FileError, InputError, MissingExtraError
from longwave.pictures import list_pictures, open_picture, parse_box


@pytest.fixture(scope="module")
def cat():
    import skimage

    return Image.open(Path(skimage.__file__).parent / "data" / "chelsea.png").convert("RGB")  # 451 × 300


def near(first, second):
    return np.abs(first.astype(float) - np.asarray(second, dtype=float)).mean() < 4


@pytest.mark.parametrize("mode", ["RGB", "L", "CMYK", "RGBA", "P", "LA", "1", "I;16", "F"])
def test_every_mode_becomes_rgb(cat, mode, tmp_path):
    path = tmp_path / ("x.tif" if mode in ("CMYK", "F", "1") else "x.png")
    grey = np.asarray(cat.convert("L"))
    if mode == "I;16":
        Image.fromarray(grey.astype(np.uint16) * 257).save(path)
    elif mode == "F":
        Image.fromarray(grey.astype(np.float32) / 255).save(path)
    else:
        cat.convert(mode).save(path)
    seen = open_picture(path, size=512)
    assert seen.shape == (300, 451, 3)
    assert seen.dtype == np.uint8
    if mode in ("RGB", "RGBA", "CMYK"):
        assert near(seen, cat)
    elif mode in ("L", "LA", "I;16"):
        assert near(seen[:, :, 0], grey)
    elif mode == "F":  # from its own black to its own white
        assert seen.min() == 0
        assert seen.max() == 255
        assert np.corrcoef(seen[:, :, 0].ravel(), grey.ravel())[0, 1] > 0.999


def test_transparent_is_white(tmp_path):
    Image.new("RGBA", (40, 40), (255, 0, 0, 0)).save(tmp_path / "x.png")
    assert (open_picture(tmp_path / "x.png", size=512) == 255).all()


@pytest.mark.parametrize("orientation", range(1, 9))
def test_orientation_and_box(cat, orientation, tmp_path):
    exif = Image.Exif()
    exif[0x0112] = orientation
    cat.save(tmp_path / "x.png", exif=exif)
    upright = ImageOps.exif_transpose(Image.open(tmp_path / "x.png"))
    np.testing.assert_array_equal(open_picture(tmp_path / "x.png", size=512), np.asarray(upright))
    box = (20, 30, 200, 250)
    seen = open_picture(tmp_path / "x.png", size=512, box=box)
    np.testing.assert_array_equal(seen, np.asarray(upright.crop(box)))


def test_longest_side_and_scale_of_a_box(cat, tmp_path):
    large = cat.resize((1804, 1200))
    large.save(tmp_path / "x.jpg")
    assert open_picture(tmp_path / "x.jpg", size=256).shape == (170, 256, 3)
    # half of the picture is encoded at half of its size: objects keep their scale
    assert open_picture(tmp_path / "x.jpg", size=512, box=(0, 0, 902, 600)).shape == (170, 256, 3)
    # a small box is not made smaller than there is something to see
    assert open_picture(tmp_path / "x.jpg", size=512, box=(0, 0, 100, 80)).shape == (80, 100, 3)
    assert near(open_picture(tmp_path / "x.jpg", size=451), cat)


def test_small_pictures_are_enlarged(tmp_path):
    Image.new("RGB", (10, 20)).save(tmp_path / "x.png")
    assert open_picture(tmp_path / "x.png", size=512).shape == (64, 32, 3)


def test_what_cannot_be_read(cat, tmp_path):
    cat.save(tmp_path / "whole.jpg")
    data = (tmp_path / "whole.jpg").read_bytes()
    (tmp_path / "cut.jpg").write_bytes(data[: len(data) // 2])
    (tmp_path / "text.png").write_text("not a picture")
    (tmp_path / "empty.gif").write_bytes(b"")
    Image.new("RGB", (1, 1)).save(tmp_path / "dot.png")
    for name, word in (("cut.jpg", "truncated"), ("text.png", "identify"), ("empty.gif", "read"), ("dot.png", "1 × 1")):
        with pytest.raises(FileError, match=word):
            open_picture(tmp_path / name, size=512)
    with pytest.raises(FileError, match="no such file"):
        open_picture(tmp_path / "gone.jpg", size=512)


@pytest.mark.parametrize("box", ["0,0,452,100", "-2,0,10,10", "50,50,40,90", "0,0,5,100", "400,200,470,320"])
def test_box_outside(cat, box, tmp_path):
    cat.save(tmp_path / "x.png")
    with pytest.raises(InputError, match="box"):
        open_picture(tmp_path / "x.png", size=512, box=parse_box(box))


def test_box_text():
    assert parse_box("1,2.5,30,40") == (1, 2.5, 30, 40)
    for text in ("1,2,3", "a,b,c,d", ""):
        with pytest.raises(InputError, match="four numbers"):
            parse_box(text)


OPENED = """if True:
    import sys
    from pathlib import Path
    import PIL.Image
    from longwave.pictures import open_picture
    from longwave.errors import FileError

    def peak():
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))

    before = peak()
    try:
        shape = open_picture(sys.argv[1], size=512).shape
    except FileError as error:
        shape = error
    print(f"{shape}|{(peak() - before) // 1024}")
"""


def opened(path):
    """What a process of its own says of the picture, and the MiB it took."""
    command = [sys.executable, "-W", "error", "-c", OPENED, path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answer, mib = done.stdout.split("|")
    return answer, int(mib)


def test_200_megapixels_in_bounded_memory(tmp_path):
    Image.new("L", (20_000, 10_000), 90).save(tmp_path / "x.jpg")
    answer, mib = opened(tmp_path / "x.jpg")
    assert answer == "(256, 512, 3)"
    assert mib < 60  # 200 as they are
    Image.new("L", (20_000, 10_000), 90).save(tmp_path / "x.tif", compression="tiff_lzw")
    answer, mib = opened(tmp_path / "x.tif")
    assert answer == "(256, 512, 3)"
    assert mib < 400


def test_too_many_pixels_are_not_decoded(tmp_path):
    Image.new("1", (30_000, 10_000)).save(tmp_path / "x.png")
    answer, mib = opened(tmp_path / "x.png")
    assert "300 megapixels; at most 268 are decoded" in answer
    assert mib < 30


def test_damaged_metadata_do_not_matter(cat, tmp_path):
    exif = Image.Exif()
    exif[0x0112], exif[0x010E] = 6, "a description"
    cat.save(tmp_path / "x.jpg", exif=exif)
    data = (tmp_path / "x.jpg").read_bytes()
    where = data.index(b"Exif")
    length = int.from_bytes(data[where - 2 : where], "big")
    rng = np.random.default_rng(0)
    shapes = set()
    for _ in range(200):
        damaged = bytearray(data)
        damaged[where + 6 + rng.integers(length - 8)] = rng.integers(256)
        (tmp_path / "y.jpg").write_bytes(damaged)
        shapes.add(open_picture(tmp_path / "y.jpg", size=512).shape)
    assert shapes == {(300, 451, 3), (451, 300, 3)}


def test_values_of_more_than_eight_bits(tmp_path):
    ramp = np.linspace(0, 1, 64 * 64).reshape(64, 64)
    for top, brightest in ((255, 255), (1023, 255), (4095, 255), (65535, 255), (300, 75)):
        Image.fromarray((ramp * top).astype(np.uint16)).save(tmp_path / "x.png")
        seen = open_picture(tmp_path / "x.png", size=512)
        assert seen.max() == brightest
        assert len(np.unique(seen)) > 60
    values = ramp.astype(np.float32)
    values[0, 0], values[0, 1] = np.inf, np.nan
    Image.fromarray(values).save(tmp_path / "x.tif")
    assert np.median(open_picture(tmp_path / "x.tif", size=512)) == pytest.approx(127, abs=2)


def test_a_narrow_strip_is_not_lengthened(tmp_path):
    Image.new("L", (3_000, 20)).save(tmp_path / "x.png")
    assert open_picture(tmp_path / "x.png", size=512).shape == (32, 512, 3)
    Image.new("L", (100, 8)).save(tmp_path / "x.png")
    assert open_picture(tmp_path / "x.png", size=512).shape == (32, 400, 3)


def test_listing(tmp_path):
    for name in ("b.JPG", "a/c.png", ".hidden/d.png", "notes.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    assert list_pictures(tmp_path) == ["a/c.png", "b.JPG"]
    (tmp_path / "none").mkdir()
    with pytest.raises(FileError, match="holds no pictures"):
        list_pictures(tmp_path / "none")
    with pytest.raises(FileError, match="not a folder"):
        list_pictures(tmp_path / "notes.txt")


def test_without_the_extra(cat, tmp_path, monkeypatch):
    cat.save(tmp_path / "x.png")
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(MissingExtraError, match=r"longwave\[images\]"):
        open_picture(tmp_path / "x.png", size=512)
