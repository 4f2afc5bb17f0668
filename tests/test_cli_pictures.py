"""Pictures on the command line: one command to an index, one to hits; and what a user can get wrong."""

import json
import shutil

import numpy as np
import pytest
from PIL import Image

from test_cli import run


@pytest.fixture(scope="module")
def place(tmp_path_factory, views, lite0):
    """A copy of some views, and an index of them by one command."""
    folder = tmp_path_factory.mktemp("cli-pictures")
    (folder / "photos").mkdir()
    for path in views.iterdir():
        if path.name.split("-")[0] in ("china", "coins", "page", "astronaut", "moon", "flower", "truncated.jpg"):
            shutil.copy(path, folder / "photos")
    shutil.copy(lite0, folder / "lite0.onnx")
    options = ("--encoder", "lite0.onnx", "--size", 256, "--workers", 1)
    code, out, err = run("build", "--images", "photos", *options, "-o", "i", "--k", 5, "--rank", 20, cwd=folder)
    assert code == 0, err
    assert "24 items" in out
    assert "left out: truncated.jpg" in err
    assert not (folder / "i.work").exists()
    return folder


def hits(out):
    return [line.split("\t")[2] for line in out.splitlines()[1:] if line.count("\t") == 3]


def test_a_picture_finds_its_views_and_shows_them(place):
    code, out, err = run("search", "i", "photos/china-crop.jpg", "-k", 4, "--sheet", "s.png", cwd=place)
    assert code == 0, err
    assert {name.split("-")[0] for name in hits(out)} == {"china"}
    with Image.open(place / "s.png") as sheet:
        assert sheet.size[0] > 4 * 160


def test_boxes_several_pictures_and_together(place):
    code, out, err = run("search", "i", "photos/coins-whole.jpg", "--box", "40,40,300,250", "-k", 2, cwd=place)
    assert code == 0, err
    assert {name.split("-")[0] for name in hits(out)} == {"coins"}
    pair = ("photos/moon-whole.jpg", "photos/moon-half.jpg")
    _, out, _ = run("search", "i", *pair, "-k", 3, cwd=place)
    assert len(hits(out)) == 6
    _, out, _ = run("search", "i", *pair, "--together", "-k", 3, cwd=place)
    assert len(hits(out)) == 3
    assert {name.split("-")[0] for name in hits(out)[:2]} == {"moon"}


def test_a_small_object_is_found_by_regions_only(tmp_path, views, lite0, sample_pictures):
    """Tubs on a shelf, 2 % of the picture: one command to an index of each kind, one to the hits."""
    for kind, options in (("global", ()), ("regional", ("--regions",))):
        code, _, err = run(
            *("build", "--images", views, "--encoder", lite0, *options, "-o", kind, "--rank", 200),
            cwd=tmp_path,
        )
        assert code == 0, err
        code, out, err = run(
            *("search", kind, sample_pictures["motorcycle_left"], "--box", "600,120,700,200", "-k", 5), cwd=tmp_path
        )
        assert code == 0, err
        assert any(name.startswith("motorcycle_right") for name in hits(out)) == (kind == "regional")


def test_describe_then_build_then_search_with_the_file(place):
    options = ("--encoder", "lite0.onnx", "--size", 256, "--workers", 0)
    code, out, err = run("describe", "photos", "-o", "d.h5", *options, "--save-whitening", "w.npz", cwd=place)
    assert code == 0, err
    assert "24 pictures" in out
    code, _, err = run("build", "d.h5", "-o", "j", "--k", 5, "--rank", 20, cwd=place)
    assert code == 0, err
    code, out, err = run("search", "i", "d.h5", "-k", 1, cwd=place)  # the same recipe
    assert code == 0, err
    run("describe", "photos", "-o", "r.h5", *options, "--regions", "--reduce", 3, "--whiten", "w.npz", cwd=place)
    code, _, err = run("search", "i", "r.h5", "-k", 1, cwd=place)
    assert code == 1
    assert "regions True instead of False" in err


def test_evaluate_by_pictures(place):
    names = [*sorted(p.stem for p in (place / "photos").iterdir() if p.stem != "truncated"), "elsewhere"]
    same = {name: [i for i, n in enumerate(names) if n.split("-")[0] == name.split("-")[0]] for name in names}
    entries = [
        {"image": name, "box": [0, 0, 60, 60], "positive": [*same[name], len(names) - 1]}
        for name in ("china-whole", "moon-crop")
    ]
    (place / "t.json").write_text(json.dumps({"images": names, "queries": entries}))
    code, out, err = run("evaluate", "i", "photos", "--truth", "t.json", cwd=place)
    assert code == 0, err
    assert "over 2 queries" in out
    entries[0]["image"] = "gone"
    (place / "t.json").write_text(json.dumps({"images": names, "queries": entries}))
    code, _, err = run("evaluate", "i", "photos", "--truth", "t.json", cwd=place)
    assert code == 1
    assert "'gone'" in err


def test_a_picture_deleted_after_the_build(place, tmp_path):
    gone = place / "photos" / "flower-turned.jpg"
    kept = gone.read_bytes()
    gone.unlink()
    try:
        sheet = ("--sheet", tmp_path / "s.png")
        code, out, err = run("search", "i", "photos/flower-whole.jpg", "-k", 4, *sheet, cwd=place)
        assert code == 0, err
        assert "flower-turned.jpg" in out
        assert "1 pictures cannot be read any more" in err
        code, _, err = run("search", "i", "photos/flower-turned.jpg", cwd=place)
        assert code == 1
        assert "No such file" in err
    finally:
        gone.write_bytes(kept)


def test_what_a_user_can_get_wrong(place):
    (place / "empty").mkdir()
    (place / "broken").mkdir()
    (place / "broken" / "x.jpg").write_bytes(b"nothing")
    np.save(place / "v.npy", np.eye(24))
    run("build", "v.npy", "-o", "plain", "--k", 3, "--rank", 5, cwd=place)
    picture = "photos/china-whole.jpg"
    for arguments, words in (
        (("build", "--images", "empty", "-o", "x"), "holds no pictures"),
        (("build", "--images", "broken", "--encoder", "lite0.onnx", "-o", "x"), "none of the 1 pictures"),
        (("build", "-o", "x"), "either a file of vectors or --images"),
        (("describe", "photos", "-o", "x.npy"), "must be .h5"),
        (("describe", "photos", "-o", "x.h5", "--whiten", "zca"), "--whiten must be"),
        (("describe", "photos", "-o", "x.h5", "--encoder", "lite0.onnx", "--recentre"), "--whiten FILE.npz"),
        (("describe", "photos", "-o", "x.h5", "--encoder", "lite0.onnx", "--shrinkage", "-1"), "0 or more, got -1"),
        (("describe", "photos", "-o", "x.h5", "--encoder", "resnet"), ".onnx"),
        (("encoder", "-o", "x.pt"), "must be .onnx"),
        (("search", "i", picture, "--box", "0,0,9000,20"), "does not lie in"),
        (("search", "i", picture, "--box", "0,0,20"), "four numbers"),
        (("search", "i", picture, "--sheet", "x.gif"), ".png or .jpg"),
        (("search", "i", "v.npy", "--sheet", "x.png"), "--sheet shows pictures"),
        (("search", "i", "v.npy", "--together"), "are for pictures"),
        (("search", "plain", picture), "built from vectors"),
    ):
        code, _, err = run(*arguments, cwd=place)
        assert code == 1, arguments
        assert words in err, err
        assert len(err.strip().splitlines()) == 1, err
