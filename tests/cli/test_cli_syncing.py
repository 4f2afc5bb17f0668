"""An index of pictures follows its folder, from the command line."""

import os
import shutil

import numpy as np
import pytest
from PIL import Image

from commands import run


@pytest.fixture(scope="module")
def start(tmp_path_factory, sample_pictures, lite0):
    """Pictures, their encoder and an index of them in one folder, not to be changed."""
    folder = tmp_path_factory.mktemp("cli-sync") / "first"
    (folder / "photos" / "in").mkdir(parents=True)
    for name in ("china", "coins", "page", "astronaut", "moon", "flower", "camera", "grass", "text"):
        save(sample_pictures[name], folder / "photos" / f"{name}.jpg")
    shutil.copy(lite0, folder / "lite0.onnx")
    options = ("--encoder", "lite0.onnx", "--size", 128, "--workers", 0, "--k", 4)
    code, _, err = run("build", "--images", "photos", *options, "-o", "i", cwd=folder)
    assert code == 0, err
    return folder.rename(folder.parent / "moved")  # nothing is where it was


def save(source, target):
    picture = Image.open(source).convert("RGB")
    picture.thumbnail((160, 160))
    picture.save(target)
    os.utime(target, (1e9, 1e9))


@pytest.fixture
def place(start, tmp_path):
    """A copy of all of it."""
    return shutil.copytree(start, tmp_path / "place")


def hits(out):
    return [line.split("\t")[2] for line in out.splitlines()[1:] if line.count("\t") == 3]


def test_add_takes_what_is_new_and_knows_what_was_renamed(place, sample_pictures):
    photos = place / "photos"
    code, out, err = run("add", "i", cwd=place)
    assert (code, err) == (0, "")
    assert out.strip() == "i: 9 as they were; 9 items, version 1"
    save(sample_pictures["coffee"], photos / "coffee.jpg")
    save(sample_pictures["retina"], photos / "coins.jpg")
    (photos / "moon.jpg").rename(photos / "in" / "luna.jpg")
    (photos / "page.jpg").unlink()
    (photos / "broken.jpg").write_bytes((photos / "china.jpg").read_bytes()[:800])
    code, out, err = run("add", "i", "--images", "photos", "--workers", 2, cwd=place)
    assert code == 0, err
    assert "i: 1 new, 1 changed, 1 renamed, 1 gone, 6 as they were; 10 items, version 2" in out
    assert "left out: broken.jpg is not a picture that can be read" in err
    assert "stay in the index; --sync removes them" in err
    assert not (place / "i.add.work").exists()
    code, out, err = run("add", "i", "--sync", cwd=place)
    assert "i: 1 gone, 9 as they were; 9 items, version 3" in out
    code, out, err = run("history", "i", cwd=place)
    assert "add 1 item, replace 1 item, rename 1 item" in out

    code, out, err = run("search", "i", "photos/coffee.jpg", "-k", 2, "--sheet", "s.png", cwd=place)
    assert (code, hits(out)[0]) == (0, "coffee.jpg"), err
    assert "cannot be read" not in err
    code, out, err = run("similar", "i", "photos/in/luna.jpg", "coffee", "-k", 2, "--sheet", "t.png", cwd=place)
    assert (code, len(hits(out))) == (0, 4), err
    assert "cannot be read" not in err
    code, out, err = run("explain", "i", "photos/coins.jpg", "photos/in/luna.jpg", cwd=place)
    assert code == 0, err
    assert "in/luna.jpg" in out
    code, out, err = run("remove", "i", "photos/in/luna.jpg", "./photos/coffee.jpg", cwd=place)
    assert "2 items removed; 7 items" in out
    code, out, err = run("refresh", "i", cwd=place)
    assert code == 0, err
    code, out, err = run("add", "i", "--by-content", cwd=place)
    assert "2 new, 7 as they were" in out, err


def test_moved_together_or_relocated(place):
    there = place.rename(place.parent / "there")
    code, out, err = run("info", there / "i", COLUMNS=300)
    assert code == 0, err
    assert str(there / "photos") in out
    code, out, err = run("similar", there / "i", "moon.jpg", "-k", 1, "--sheet", there / "s.png")
    assert (code, len(hits(out))) == (0, 1), err
    assert "cannot be read" not in err

    moved = there.parent / "moved"
    (there / "photos").rename(moved)
    (moved / "moon.jpg").rename(moved / "luna.jpg")
    (moved / "page.jpg").unlink()
    code, out, err = run("add", there / "i")
    assert code == 1
    assert "longwave relocate INDEX --pictures FOLDER" in err
    code, out, err = run("relocate", there / "i", "--pictures", there)
    assert code == 1
    assert "none of the 9 pictures" in err
    code, out, err = run("relocate", "i", "--pictures", "../moved", cwd=there)
    assert code == 0, err
    assert "i: 7 found by path, 1 by content, 1 not found; 9 items, version 2" in out
    assert "not found: page.jpg" in err
    code, out, err = run("similar", there / "i", moved / "luna.jpg", "-k", 1, "--sheet", there / "s.png")
    assert (code, len(hits(out))) == (0, 1), err
    code, out, err = run("add", there / "i", "--sync")
    assert "1 gone, 8 as they were; 8 items, version 3" in out, err


def test_what_does_not_go_together(place, tmp_path):
    np.save(place / "v.npy", np.eye(8, dtype=np.float32))
    run("build", "v.npy", "-o", "v", "--k", 3, cwd=place)
    for arguments, words in (
        (("v",), "v was built from vectors: give a file of new ones"),
        (("v", "v.npy", "--sync", "--images", "photos"), "--images and --sync are for an index of pictures"),
        (("i", "--ids", "v.npy"), "--ids is for VECTORS"),
        (("i", "--images", tmp_path), "the folder of this index; bring the pictures there"),
        (("i", "--workers", -1), "--workers must be at least 0, got -1"),
    ):
        code, _, err = run("add", *arguments, cwd=place)
        assert code == 1
        assert words in err
        assert "Traceback" not in err
