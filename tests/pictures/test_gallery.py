"""A folder of pictures to an index, and that index searched by picture, from Python."""

import io
import shutil
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

import longwave as lw
from longwave.errors import FileError, InputError
from longwave.pictures import Gallery, build_index, describe_folder, query, thumbnail

NAMES = ("china", "coins", "page", "astronaut", "moon")
pytestmark = pytest.mark.filterwarnings("ignore:.*pictures are left out")


@pytest.fixture(scope="module")
def place(tmp_path_factory, views):
    """A copy of some views, and a file that fails."""
    folder = tmp_path_factory.mktemp("gallery") / "photos"
    folder.mkdir()
    for path in views.iterdir():
        if path.name.split("-")[0] in (*NAMES, "truncated.jpg"):
            shutil.copy(path, folder)
    return folder


@pytest.fixture(scope="module")
def index(place, lite0):
    return build_index(place, encoder=lite0, size=128, k=5, spectrum=lw.Exact(), progress=False)


@pytest.fixture(scope="module")
def gallery(index):
    return Gallery(index)


def kind(name):
    return str(name).split("-")[0]


def test_one_call_makes_the_index(index, place, lite0):
    assert len(index) == 4 * len(NAMES)
    assert {kind(name) for name in index.ids} == set(NAMES)
    described = describe_folder(place, lite0, size=128)
    np.testing.assert_allclose(index.vectors.rows(slice(None)), described.vectors, atol=1e-5)
    assert described.treatment.encoder == str(lite0)
    again = build_index(described, k=5, spectrum=lw.Exact(), progress=False)
    assert again.about == index.about
    np.testing.assert_array_equal(again.ids, index.ids)


def test_saved_and_loaded_it_is_searched_by_picture_box_and_bytes(index, place, tmp_path):
    index.save(tmp_path / "i")
    gallery = Gallery(lw.Index.load(tmp_path / "i"))
    picture = place / "china-crop.jpg"
    hits = gallery.search(picture, 4)
    assert hits.n_queries == 1
    assert {kind(name) for name in hits.ids[0]} == {"china"}
    np.testing.assert_array_equal(gallery.search(picture.read_bytes(), 4).ids, hits.ids)
    vectors, groups = query(gallery.index, picture, encoder=gallery.encoder)
    np.testing.assert_array_equal(gallery.index.search(vectors, 4, query_groups=groups).ids, hits.ids)
    boxed = gallery.search(place / "coins-whole.jpg", 2, box=(40, 40, 300, 250))
    assert {kind(name) for name in boxed.ids[0]} == {"coins"}


def test_several_pictures_apart_and_together(gallery, place):
    pair = [place / "moon-whole.jpg", place / "moon-half.jpg"]
    apart, together = gallery.query(pair), gallery.query(pair, together=True)
    assert (apart.n_queries, together.n_queries) == (2, 1)
    assert apart.names == [str(path) for path in pair]
    assert together.names == [f"{pair[0]} + {pair[1]}"]
    assert [len(parts) for parts in together.parts] == [2]
    assert gallery.search(pair, 3, together=True, filter=lw.Heat(3)).ids.shape == (1, 3)
    mixed = gallery.query(pair, box=[None, (0, 0, 60, 60)])
    assert [box for _, box in mixed.shown] == [None, (0, 0, 60, 60)]


def test_pictures_that_cannot_be_read(gallery, place):
    good, bad = place / "moon-half.jpg", place / "truncated.jpg"
    with pytest.raises(FileError, match="truncated"):
        gallery.query([good, bad])
    asked = gallery.query([bad, good], skip=True)
    assert asked.names == [str(good)]
    assert asked.skipped[0][0] == str(bad)
    with pytest.raises(FileError, match="no picture of the 1 can be read"):
        gallery.query(bad, skip=True)
    with pytest.raises(FileError, match="the picture is not a picture that can be read") as raised:
        gallery.query(b"nothing at all")
    assert "nothing at all" not in str(raised.value)
    with pytest.raises(FileError, match="give at least one"):
        gallery.query([])
    bomb = io.BytesIO()
    Image.new("1", (30_000, 30_000)).save(bomb, "PNG")
    with pytest.raises(FileError, match="the picture has 900 megapixels"):
        gallery.query(bomb.getvalue())


def test_boxes_that_do_not_fit(gallery, place):
    picture = place / "moon-half.jpg"
    for box, words in (
        ([(0, 0, 50, 50)] * 2, "1 picture but 2 boxes"),
        ((0, 0, 50), "four numbers"),
        ([(0, 0, 50)], "four numbers"),
        ((0, 0, 9999, 50), "does not lie in"),
    ):
        with pytest.raises(InputError, match=words):
            gallery.query(picture, box=box)


def test_items_are_found_by_the_names_people_use(gallery, place):
    for name in (
        "moon-crop.jpg",
        "moon-crop",
        "photos/moon-crop.jpg",
        "./photos/moon-crop.jpg",
        place / "moon-crop.jpg",
    ):
        assert gallery.item(name) == "moon-crop.jpg"
    assert gallery.item("gone.jpg") is None
    assert gallery.id_of_file("/elsewhere/moon-crop.jpg") is None


def test_files_and_small_copies_of_items(gallery, place):
    assert gallery.path("moon-crop.jpg") == place / "moon-crop.jpg"
    small = Image.open(io.BytesIO(gallery.thumbnail("moon-crop.jpg", size=100)))
    assert small.format == "JPEG"
    assert max(small.size) == 100
    part = Image.open(io.BytesIO(thumbnail(place / "china-whole.jpg", size=64, box=(0, 0, 200, 100))))
    assert part.size == (64, 32)
    with pytest.raises(InputError, match=r"no item 'gone\.jpg'; its ids look like"):
        gallery.path("gone.jpg")


def test_pictures_that_were_moved(index, place, tmp_path):
    moved = tmp_path / "moved"
    shutil.copytree(place, moved)
    there = Gallery(index, folder=moved)
    assert there.path("moon-crop.jpg") == moved / "moon-crop.jpg"
    (moved / "moon-crop.jpg").unlink()
    with pytest.raises(FileError, match=r"moon-crop.jpg is gone: the picture was .* Gallery\(index, folder="):
        there.path("moon-crop.jpg")
    with pytest.raises(FileError, match="is gone: the folder of the pictures was moved"):
        Gallery(index, folder=tmp_path / "nowhere").thumbnail("moon-crop.jpg")


def test_an_id_never_leads_out_of_the_folder(place, lite0, tmp_path):
    (tmp_path / "secret.jpg").write_bytes((place / "moon-crop.jpg").read_bytes())
    made = describe_folder(place, lite0, size=128)
    for name in ("../secret.jpg", "/etc/passwd"):
        altered = replace(made, paths=(name, *made.paths[1:]), folder=str(tmp_path / "photos"))
        with pytest.raises(FileError, match="does not lie in the folder of the pictures"):
            Gallery(build_index(altered, k=5, progress=False)).path(name)


def test_a_sheet_shows_queries_and_hits_and_tells_what_is_gone(gallery, index, place, tmp_path):
    asked = gallery.query([place / "moon-whole.jpg", (place / "coins-half.jpg").read_bytes()])
    hits = gallery.search([place / "moon-whole.jpg", place / "coins-half.jpg"], 3)
    assert gallery.draw(asked.parts, hits, tmp_path / "s.png") == []
    gone = Gallery(index, folder=tmp_path / "nowhere").draw(asked.parts, hits, tmp_path / "t.png")
    assert len(gone) == 6


def test_what_build_index_refuses(place, lite0):
    with pytest.raises(InputError, match="leave out ids and groups"):
        build_index(place, encoder=lite0, ids=[1], groups=[1])
    made = describe_folder(place, lite0, size=128)
    with pytest.raises(InputError, match="described already; leave out size, regions"):
        build_index(made, size=128, regions=True)
    with pytest.raises(InputError, match="an encoder that is open has its own"):
        describe_folder(place, lw.pictures.open_encoder(str(lite0)), mean=1.0)
    with pytest.raises(InputError, match="built from vectors"):
        Gallery(lw.Index.build(np.eye(4), k=2))


def test_a_build_goes_on_where_it_was_stopped(place, lite0, tmp_path):
    options = {"encoder": lite0, "size": 128, "k": 5, "progress": False, "workdir": tmp_path / "work"}
    first = build_index(place, **options)
    assert {path.name for path in (tmp_path / "work").iterdir()} == {"pictures", "graph"}
    again = build_index(place, **options)
    np.testing.assert_array_equal(again.vectors.rows(slice(None)), first.vectors.rows(slice(None)))


def test_an_encoder_that_was_moved(place, lite0, tmp_path):
    here = tmp_path / "here.onnx"
    shutil.copy(lite0, here)
    index = build_index(place, encoder=here, size=128, k=5, progress=False)
    here.rename(tmp_path / "there.onnx")
    with pytest.raises(FileError, match="which is gone"):
        Gallery(index).query(place / "moon-half.jpg")
    assert Gallery(index, encoder=tmp_path / "there.onnx").search(place / "moon-half.jpg", 1).n_queries == 1


def test_a_notebook_shows_the_pictures_of_hits(gallery, place):
    hits = gallery.search(place / "coins-crop.jpg", 3)
    text = gallery.show(hits)._repr_html_()
    assert text.count("data:image/jpeg;base64,") == 3
    assert all(name in text for name in hits.ids[0])
    moved = Gallery(gallery.index, folder=place / "elsewhere")
    assert moved.show(hits)._repr_html_().count("the file is gone") == 3
