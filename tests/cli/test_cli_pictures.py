"""Pictures on the command line: one command to an index, one to hits; and what a user can get wrong."""

import json
import os
import shutil

import numpy as np
import pytest
from PIL import Image

from commands import instead_of, run


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
    assert "left out: truncated.jpg is not a picture that can be read" in err
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
    code, _, err = run("build", "d.h5", "-o", "k", "--regions", "--rank", 20, cwd=place)
    assert code == 1
    assert "d.h5 is described already" in err
    code, out, err = run("search", "i", "d.h5", "-k", 1, cwd=place)  # described alike
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


def test_boxes_and_names_in_the_truth(place):
    for entry, words in (
        ({"image": "china-whole", "box": [1, 2, 3]}, "four numbers [x0, y0, x1, y1]"),
        ({"image": "china-whole", "box": ["a", 0, 9, 9]}, "four numbers [x0, y0, x1, y1]"),
        ({"image": "china-whole", "box": 5}, "query 0 has the box 5"),
    ):
        (place / "b.json").write_text(json.dumps({"queries": [{**entry, "positive": ["china-crop"]}]}))
        code, _, err = run("evaluate", "i", "photos", "--truth", "b.json", cwd=place)
        assert code == 1
        assert words in err
        assert "Traceback" not in err
    entry = {"image": "china-whole", "box": "0,0,60,60", "positive": ["china-crop", "china-half.jpg"]}
    (place / "b.json").write_text(json.dumps({"queries": [entry]}))
    code, out, err = run("evaluate", "i", "photos", "--truth", "b.json", "--per-query", cwd=place)
    assert code == 0, err
    assert "china-whole.jpg: " in out


def test_a_name_that_may_be_two():
    from longwave.errors import InputError
    from longwave.files.names import Names

    names = Names(["x/a.jpg", "y/a.jpg", "y/b.png"])
    assert names.find("b") == names.find("y/b") == names.find("b.png") == "y/b.png"
    assert names.find("x/a") == "x/a.jpg"
    for paths in (["a.jpg", "z/a.jpg", "a", "."], [".", "a", "z/a.jpg", "a.jpg"]):
        both = Names(paths)
        assert [both.find(path) for path in paths] == paths  # a whole path is never ambiguous
    assert names.find("c") is None
    with pytest.raises(InputError, match=r"may be 'x/a\.jpg' or 'y/a\.jpg'"):
        names.find("a")


def test_a_folder_of_queries_with_a_bad_one(place, tmp_path):
    shutil.copy(place / "photos" / "moon-crop.jpg", tmp_path / "moon.jpg")
    shutil.copy(place / "photos" / "coins-crop.jpg", os.fsencode(tmp_path) + b"/m\xfcnze.jpg")  # not UTF-8
    (tmp_path / "bad.jpg").write_bytes(b"nothing")
    code, _, err = run("search", "i", tmp_path, "-k", 2, "-o", "h.csv", cwd=place)
    assert code == 0, err
    assert "pictures left out: 1 of 3" in err
    lines = (place / "h.csv").read_bytes().decode("utf-8", "surrogateescape").splitlines()
    assert [line.split(",")[0].rpartition("/")[2] for line in lines[1::2]] == ["moon.jpg", "m\udcfcnze.jpg"]
    code, _, err = run("search", "i", "elsewhere.avifx", cwd=place)
    assert code == 1
    assert "neither a picture" in err


def test_similar_explain_and_info_know_pictures(place, tmp_path):
    sheet = tmp_path / "s.png"
    code, out, err = run("similar", "i", "china-whole.jpg", "-k", 2, "--sheet", sheet, cwd=place)
    assert code == 0, err
    assert sheet.exists()
    assert [line.split("\t")[0] for line in out.splitlines()[1:]] == ["china-whole.jpg"] * 2
    code, out, err = run("explain", "i", "photos/china-crop.jpg", "china-whole.jpg", cwd=place)
    assert code == 0, err
    assert "china" in out
    code, _, err = run("explain", "i", "photos/china-crop.jpg", "china-whole.jpg", "--row", 1, cwd=place)
    assert code == 1
    assert "--row must be from 0 to 0" in err
    code, out, err = run("info", "i", "--details", cwd=place)
    assert code == 0, err
    assert "256 pixels, max over 3 scales, globally" in " ".join(out.split())


def test_a_sheet_without_pillow_names_the_extra(place, tmp_path):
    without = instead_of("PIL", "raise ImportError", tmp_path)
    code, _, err = run("similar", "i", "china-whole.jpg", "--sheet", tmp_path / "s.png", cwd=place, **without)
    assert code == 1
    assert (
        err == "longwave: a contact sheet needs the extra 'images'. Install it with: pip install 'longwave[images]'\n"
    )


@pytest.mark.parametrize(
    ("name", "inside"),
    [
        ("photos/moon-crop.jpg", "."),
        ("./photos/moon-crop.jpg", "."),
        ("moon-crop.jpg", "photos"),
        ("../photos/moon-crop.jpg", "photos"),
        ("photos/moon-crop.jpg", "/"),
        ("moon-crop", "/"),
        ("link/moon-crop.jpg", "."),
    ],
)
def test_items_are_named_as_the_shell_completes_them(place, name, inside):
    link = place / "link"
    if not link.is_symlink():
        link.symlink_to("photos")
    code, out, err = run("similar", place / "i", name, "-k", 1, cwd=place / inside)
    assert code == 0, err
    assert out.splitlines()[1].split("\t")[0] == "moon-crop.jpg"
    code, _, err = run("explain", place / "i", place / "photos" / "moon-whole.jpg", name, cwd=place / inside)
    assert code == 0, err


def test_what_is_there_already_is_kept(place, tmp_path):
    np.save(tmp_path / "v.npy", np.abs(np.random.default_rng(0).normal(size=(40, 5))))
    code, _, err = run("build", "v.npy", "-o", "v", "--workdir", "v.work", "--k", 5, "--rank", 5, cwd=tmp_path)
    assert code == 0, err
    assert (tmp_path / "v.work" / "key.json").exists()
    (tmp_path / "there.h5").write_bytes(b"mine")
    code, _, err = run("describe", place / "photos", "-o", "there.h5", cwd=tmp_path)
    assert code == 1
    assert "--force" in err
    assert (tmp_path / "there.h5").read_bytes() == b"mine"


def test_a_picture_deleted_after_the_build(place, tmp_path):
    gone = place / "photos" / "flower-turned.jpg"
    kept = gone.read_bytes()
    gone.unlink()
    try:
        sheet = ("--sheet", tmp_path / "s.png")
        code, out, err = run("search", "i", "photos/flower-whole.jpg", "-k", 4, *sheet, cwd=place)
        assert code == 0, err
        assert "flower-turned.jpg" in out
        assert "1 picture cannot be read any more" in err
        code, _, err = run("search", "i", "photos/flower-turned.jpg", cwd=place)
        assert code == 1
        assert "no such file" in err
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
        (("build", "--images", "broken", "--encoder", "lite0.onnx", "-o", "x"), "no picture of the 1 in broken"),
        (("build", "-o", "x"), "either a file of vectors, --images"),
        (("describe", "photos", "-o", "x.npy"), "must be .h5"),
        (("describe", "photos", "-o", "x.h5", "--whiten", "none", "--save-whitening", "w2.npz"), "nothing to save"),
        (("describe", "photos", "-o", "x.h5", "--save-whitening", "none/w.npz"), "no folder none"),
        (("search", "i", "gone.jpg"), "no such file: gone.jpg"),
        (("search", "i", picture, "--encoder", "gone.onnx"), "no such file: gone.onnx"),
        (("describe", "photos", "-o", "x.h5", "--whiten", "zca"), "--whiten must be"),
        (("describe", "photos", "-o", "x.h5", "--encoder", "lite0.onnx", "--recentre"), "--whiten FILE.npz"),
        (("describe", "photos", "-o", "x.h5", "--encoder", "lite0.onnx", "--shrinkage", "-1"), "0 or more, got -1"),
        (("describe", "photos", "-o", "x.h5", "--encoder", "resnet"), ".onnx"),
        (("encoder", "-o", "x.pt"), "must be .onnx"),
        (("search", "i", picture, "--box", "0,0,9000,20"), "does not lie in"),
        (("search", "i", picture, "--box", "0,0,20"), "four numbers"),
        (("search", "i", picture, "--sheet", "x.gif"), ".png or .jpg"),
        (("search", "i", picture, "--sheet", picture), "is the input"),
        (("similar", "i", "moon-crop.jpg", "--sheet", picture), "a picture of the collection"),
        (("similar", "plain", "3", "--sheet", "x.png"), "built from vectors"),
        (("similar", "i", "gone.jpg"), "no item 'gone.jpg'; its ids look like 'astronaut-crop.jpg'"),
        (("search", "i", "v.npy", "--sheet", "x.png"), "--sheet shows pictures"),
        (("search", "i", "v.npy", "--together"), "are for pictures"),
        (("search", "plain", picture), "built from vectors"),
    ):
        code, _, err = run(*arguments, cwd=place)
        assert code == 1, arguments
        assert words in err, err
        assert len(err.strip().splitlines()) == 1, err
