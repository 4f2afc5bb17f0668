"""Opening picture files: every mode and orientation, boxes, sizes, and what cannot be read."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageOps

from longwave.descriptors import list_pictures, open_picture, parse_box
from longwave.errors import FileError, InputError, MissingExtraError


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
    with pytest.raises(FileError, match="No such file"):
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


def test_200_megapixels_in_bounded_memory(tmp_path):
    Image.new("L", (20_000, 10_000), 90).save(tmp_path / "x.jpg")
    code = """if True:
        import sys
        from pathlib import Path
        import PIL.Image
        from longwave.descriptors import open_picture

        def peak():
            lines = Path("/proc/self/status").read_text().splitlines()
            return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))

        before = peak()
        print(*open_picture(sys.argv[1], size=512).shape, peak() - before)
    """
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, tmp_path / "x.jpg"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    height, width, _, kib = map(int, done.stdout.split())
    assert (height, width) == (256, 512)
    assert kib < 60 * 1024  # 200 MB as they are


def test_too_many_pixels(tmp_path, monkeypatch):
    from longwave.descriptors import pictures

    monkeypatch.setattr(pictures, "MAX_PIXELS", 10_000)
    Image.new("L", (200, 100)).save(tmp_path / "x.png")
    with pytest.raises(FileError, match="megapixels"):
        open_picture(tmp_path / "x.png", size=512)


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
