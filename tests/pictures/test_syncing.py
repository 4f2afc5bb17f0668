"""An index of pictures that follows its folder: what is new, changed, renamed, gone; and all of it or nothing."""

import io
import os
import shutil
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import longwave as lw
from failing_disk import check_all_or_nothing
from longwave.errors import ConflictError, CorruptIndexError, FileError, InputError
from longwave.pictures import Gallery, build_index, contents, describe_folder, open_encoder, relocate, sync, syncing

NAMES = ("china", "coins", "page", "astronaut", "moon", "flower", "camera", "grass", "text", "horse")
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*pictures are left out"),
    pytest.mark.filterwarnings("ignore:.*are outside of the graph"),
]


@pytest.fixture(scope="module")
def encoder(lite0):
    return open_encoder(str(lite0))


class Counted:
    """An encoder that counts the pictures it is given."""

    def __init__(self, encoder):
        self.encoder, self.count = encoder, 0
        self.name, self.weights, self.mean, self.std = encoder.name, encoder.weights, encoder.mean, encoder.std

    def __call__(self, pictures):
        if pictures.shape[1:3] != (224, 320):  # what every encoder is tried with
            self.count += len(pictures)
        return self.encoder(pictures)


@pytest.fixture
def counted(encoder):
    return Counted(encoder)


@pytest.fixture(scope="module")
def small(sample_pictures):
    """Ten small pictures as the bytes of JPEG files, and three more."""

    def made(path):
        picture = Image.open(path).convert("RGB")
        picture.thumbnail((160, 160))
        file = io.BytesIO()
        picture.save(file, "JPEG")
        return file.getvalue()

    return {name: made(sample_pictures[name]) for name in (*NAMES, "coffee", "retina", "brick")}


@pytest.fixture(scope="module")
def starts(small, encoder, tmp_path_factory):
    """Folders with pictures and an index of them beside it, by kind; not to be changed."""
    kinds = {
        "global": {"k": 4},
        "regional": {"regions": True, "k": 20},
        "reduced": {"regions": True, "reduce": 3, "k": 6},
    }

    @cache
    def start(kind):
        folder = tmp_path_factory.mktemp(kind) / "photos"
        (folder / "in").mkdir(parents=True)
        for name in NAMES:
            write(folder / f"{name}.jpg", small[name])
        write(folder / "in" / "brick.jpg", small["brick"])
        index = build_index(folder, encoder=encoder, size=128, spectrum=lw.Exact(), progress=False, **kinds[kind])
        index.with_metadata({"name": [Path(name).stem for name in index.ids]}).save(folder.parent / "i.longwave")
        return folder.parent.rename(folder.parent.with_name(f"{kind} moved"))  # nothing is where it was

    return start


@pytest.fixture
def place(request, starts, tmp_path):
    """A copy of such a folder, elsewhere."""
    return shutil.copytree(starts(getattr(request, "param", "global")), tmp_path / "place")


every_kind = pytest.mark.parametrize("place", ["global", "regional", "reduced"], indirect=True)


def write(path, content, *, ago=100.0):
    """A file that was last changed some time ago."""
    path.write_bytes(content)
    then = path.stat().st_mtime - ago
    os.utime(path, (then, then))


def rows(index, name):
    return index.vectors.rows(index.items.rows_of(index.items.places([name]))[0])


def stems(index):
    """What is known of every item, by id."""
    hits = index.search_by_id(index.ids[:1], len(index), include_self=True, columns=["name"])
    return dict(zip(hits.ids[0].tolist(), hits.columns["name"][0], strict=True))


def test_a_folder_as_it_was_is_not_read(place, monkeypatch):
    monkeypatch.setattr(syncing, "state_of", None)
    with lw.open(place / "i.longwave") as collection:
        done = sync(collection, encoder="nowhere.onnx", progress=False)
        assert collection.version == 1
    assert str(done) == "11 as they were"
    assert (done.new, done.changed, done.renamed, done.gone, done.skipped) == ((), (), (), (), ())


@every_kind
def test_everything_at_once(place, small, counted):
    photos = place / "photos"
    write(photos / "coffee.jpg", small["coffee"])
    write(photos / "coins.jpg", small["retina"])
    (photos / "moon.jpg").rename(photos / "in" / "luna.jpg")
    (photos / "page.jpg").unlink()
    write(photos / "broken.jpg", small["china"][:900])
    with lw.open(place / "i.longwave") as collection:
        before = collection.index
        done = sync(collection, encoder=counted, progress=False)
        assert str(done) == "1 new, 1 changed, 1 renamed, 1 gone, 8 as they were"
        assert (done.new, done.changed, done.gone) == (("coffee.jpg",), ("coins.jpg",), ("page.jpg",))
        assert done.renamed == (("moon.jpg", "in/luna.jpg"),)
        assert [name for name, _ in done.skipped] == ["broken.jpg"]
        assert "not a picture that can be read" in done.skipped[0][1]
        assert counted.count == 2
        assert collection.version == 2
        assert "page.jpg" in collection  # until it is asked for
        done = sync(collection, remove_gone=True, encoder=counted, progress=False)
        assert (collection.version, counted.count) == (3, 2)
        assert str(done) == "1 gone, 11 as they were"
        assert sync(collection, remove_gone=True, encoder=counted, progress=False).same == 11
        assert collection.version == 3
    index = lw.Index.load(place / "i.longwave", verify=True)
    gone = {"moon.jpg", "page.jpg"}
    assert set(index.ids.tolist()) == set(before.ids.tolist()) - gone | {"coffee.jpg", "in/luna.jpg"}
    np.testing.assert_array_equal(rows(index, "in/luna.jpg"), rows(before, "moon.jpg"))
    known = stems(index)
    assert [known[name] for name in ("in/luna.jpg", "coins.jpg", "coffee.jpg")] == ["moon", "coins", None]
    gallery = Gallery(index, encoder=counted)
    for name in ("coffee.jpg", "coins.jpg", "in/luna.jpg", "china.jpg"):
        assert gallery.search(photos / name, 1, solver=lw.Euclidean()).ids[0, 0] == name
        assert name in gallery.search(photos / name, 5).ids  # what is unlike all others is expressed badly by them
        assert gallery.path(name) == photos / name
        assert index.search_by_id([name], 3).ids.shape == (1, 3)
        told = index.explain(*(gallery.query(photos / name).vectors, name))
        assert told.score > 0


@every_kind
def test_a_picture_that_was_added_is_described_as_in_a_build(place, small, encoder):
    photos = place / "photos"
    with lw.open(place / "i.longwave") as collection:
        known = Gallery(collection.index)
        write(photos / "coffee.jpg", small["coffee"])
        sync(collection, encoder=encoder, progress=False)
        treatment = known.treatment
        choices = {name: getattr(treatment, name) for name in ("size", "pool", "scales", "regions", "reduce")}
        whole = describe_folder(photos, encoder, whitening=known.whitening, **choices)
        place_of = {name: i for i, name in enumerate(whole.paths)}
        for name in ("coffee.jpg", "china.jpg"):
            item = place_of[name]
            wanted = whole.vectors[[item] if whole.item_of is None else whole.item_of == item]
            found = rows(collection.index, name)
            assert found.shape == wanted.shape
            # A mixture of regions may come to rest a little elsewhere, after the last bit of a product.
            near = 0.05 if treatment.reduce else 1e-3
            np.testing.assert_allclose(np.sort(found @ wanted.T)[:, -1], 1, atol=near)


@every_kind
def test_names_that_go_round(place, small, counted):
    """Two names are exchanged, the numbers of three go up by one, and one is written over another."""
    photos = place / "photos"
    with lw.open(place / "i.longwave") as collection:
        before = collection.index
        (photos / "china.jpg").rename(photos / "x")
        (photos / "coins.jpg").rename(photos / "china.jpg")
        (photos / "x").rename(photos / "coins.jpg")
        (photos / "moon.jpg").rename(photos / "number.jpg")
        (photos / "grass.jpg").rename(photos / "moon.jpg")
        (photos / "text.jpg").rename(photos / "grass.jpg")
        write(photos / "text.jpg", small["coffee"])
        (photos / "page.jpg").replace(photos / "horse.jpg")
        done = sync(collection, encoder=counted, progress=False)
        assert str(done) == "1 new, 1 changed, 6 renamed, 4 as they were"
        assert (done.new, done.changed, counted.count) == (("text.jpg",), ("horse.jpg",), 1)
        was = {"china": "coins", "coins": "china", "number": "moon", "moon": "grass", "grass": "text", "horse": "page"}
        for name, old in (was | {"flower": "flower"}).items():
            np.testing.assert_array_equal(rows(collection.index, f"{name}.jpg"), rows(before, f"{old}.jpg"))
        assert {Path(name).stem for name in collection.index.ids} == {*NAMES, "number", "brick"} - {"page"}
        assert stems(collection.index)["horse.jpg"] == "page"
        assert sync(collection, encoder=counted, progress=False).same == 11
    assert sync(lw.open(place / "i.longwave"), by_content=True, encoder=counted, progress=False).same == 11


@every_kind
def test_renamed_pictures_stay_in_the_graph(place, counted):
    (place / "photos").rename(place / "old")
    (place / "photos").mkdir()
    (place / "old").rename(place / "photos" / "2026")
    with lw.open(place / "i.longwave") as collection:
        done = sync(collection, remove_gone=True, encoder=counted, progress=False)
        assert (len(done.renamed), len(done.gone), counted.count) == (11, 0, 0)
        assert collection.staleness().outside == 0
        assert "2026/in/brick.jpg" in collection
        assert Gallery(collection.index).path("2026/moon.jpg").is_file()


def test_copies_are_told_apart_by_their_names(place, small, counted):
    photos = place / "photos"
    for name in ("a.jpg", "b.jpg"):
        (photos / "in" / name).write_bytes(small["moon"])
    with lw.open(place / "i.longwave") as collection:
        assert sync(collection, encoder=counted, progress=False).new == ("in/a.jpg", "in/b.jpg")
        (photos / "in" / "b.jpg").rename(photos / "b.jpg")
        (photos / "in" / "a.jpg").rename(photos / "a.jpg")
        (photos / "moon.jpg").rename(photos / "0.jpg")
        done = sync(collection, encoder=counted, progress=False)
        assert dict(done.renamed) == {"in/a.jpg": "a.jpg", "in/b.jpg": "b.jpg", "moon.jpg": "0.jpg"}
        assert counted.count == 2


def test_only_what_may_have_changed_is_read(place, small, counted, monkeypatch):
    photos, read = place / "photos", []
    monkeypatch.setattr(syncing, "state_of", lambda path: read.append(path.name) or contents.state_of(path))
    with lw.open(place / "i.longwave") as collection:
        for name in ("moon.jpg", "coins.jpg"):  # touched, nothing else
            os.utime(photos / name, (1e9, 1e9))
        assert sync(collection, encoder=counted, progress=False).same == 11
        assert sorted(read) == ["coins.jpg", "moon.jpg"]
        assert sync(collection, encoder=counted, progress=False).same == 11
        assert len(read) == 2  # the new times are known
        assert counted.count == 0
        (photos / "moon.jpg").write_bytes(small["moon"])  # just now: its time says nothing yet
        for count in (3, 4):
            sync(collection, encoder=counted, progress=False)
            assert len(read) == count


def test_what_keeps_its_size_and_time_is_seen_by_content_alone(place, small, counted):
    path = place / "photos" / "moon.jpg"
    then, other = path.stat(), bytearray(small["moon"])
    other[-3] ^= 1
    path.write_bytes(other)
    os.utime(path, ns=(then.st_atime_ns, then.st_mtime_ns))
    with lw.open(place / "i.longwave") as collection:
        assert sync(collection, encoder=counted, progress=False).same == 11
        assert sync(collection, by_content=True, encoder=counted, progress=False).changed == ("moon.jpg",)
        assert counted.count == 1


def test_a_known_picture_that_cannot_be_read_stays_what_it_was(place, small, counted):
    photos = place / "photos"
    write(photos / "moon.jpg", small["moon"][:900])
    with lw.open(place / "i.longwave") as collection:
        before = rows(collection.index, "moon.jpg")
        done = sync(collection, remove_gone=True, encoder=counted, progress=False)
        assert (done.same, done.changed, [name for name, _ in done.skipped]) == (11, (), ["moon.jpg"])
        assert collection.version == 1
        np.testing.assert_array_equal(rows(collection.index, "moon.jpg"), before)
        write(photos / "moon.jpg", small["coffee"], ago=50)  # whole again
        assert sync(collection, encoder=counted, progress=False).changed == ("moon.jpg",)


def test_a_file_that_must_not_be_read_is_listed(place, counted, monkeypatch):
    def refused(path):
        raise PermissionError(13, "Permission denied", str(path))

    os.utime(place / "photos" / "moon.jpg", (1e9, 1e9))
    monkeypatch.setattr(syncing, "state_of", refused)
    with lw.open(place / "i.longwave") as collection:
        done = sync(collection, encoder=counted, progress=False)
    assert done.same == 11
    assert [name for name, _ in done.skipped] == ["moon.jpg"]
    assert "moon.jpg cannot be read (Permission denied); check its permissions" in done.skipped[0][1]


def test_what_is_written_while_it_is_described_is_seen_the_next_time(place, small, encoder, counted):
    path = place / "photos" / "coffee.jpg"
    write(path, small["coffee"])

    class Overtaken(Counted):
        def __call__(self, pictures):
            if pictures.shape[1:3] != (224, 320):
                write(path, small["retina"])
            return super().__call__(pictures)

    with lw.open(place / "i.longwave") as collection:
        assert sync(collection, encoder=Overtaken(encoder), progress=False).new == ("coffee.jpg",)
        assert sync(collection, encoder=counted, progress=False).changed == ("coffee.jpg",)
        found = Gallery(collection.index, encoder=counted).query(path).vectors
        np.testing.assert_allclose(rows(collection.index, "coffee.jpg") @ found.T, 1, atol=1e-3)


def test_a_folder_within(place, small, counted):
    photos = place / "photos"
    write(photos / "coffee.jpg", small["coffee"])
    write(photos / "in" / "retina.jpg", small["retina"])
    (photos / "in" / "brick.jpg").unlink()
    (photos / "page.jpg").unlink()
    with lw.open(place / "i.longwave") as collection:
        done = sync(collection, photos / "in", remove_gone=True, encoder=counted, progress=False)
        assert (done.new, done.gone, done.same) == (("in/retina.jpg",), ("in/brick.jpg",), 0)
        assert "page.jpg" in collection
        assert str(sync(collection, encoder=counted, progress=False)) == "1 new, 1 gone, 10 as they were"


def test_folders_that_are_not_that_of_the_index(place, counted, tmp_path):
    with lw.open(place / "i.longwave") as collection:
        with pytest.raises(InputError, match=r"does not lie in .*photos, the folder of this index.*relocate"):
            sync(collection, tmp_path, encoder=counted)
        shutil.rmtree(place / "photos")
        (place / "photos").mkdir()
        with pytest.raises(FileError, match="holds no pictures"):  # and nothing is removed
            sync(collection, remove_gone=True, encoder=counted)
        assert len(collection) == 11
    shutil.rmtree(place / "photos")
    with lw.open(place / "i.longwave") as collection, pytest.raises(FileError, match=r"photos, is gone.*relocate"):
        sync(collection, encoder=counted)


def test_others_are_refused(place, counted):
    lw.Index.build(np.eye(9), k=3, progress=False).save(place / "v.longwave")
    with lw.open(place / "v.longwave") as collection:
        for call in (lambda: sync(collection), lambda: relocate(collection, place / "photos")):
            with pytest.raises(InputError, match="built from vectors"):
                call()
    with lw.open(place / "i.longwave") as one, lw.open(place / "i.longwave") as two:
        one.lock()
        with pytest.raises(ConflictError, match="being written"):
            sync(two, encoder=counted)


def test_names_of_any_kind(place, small, counted):
    """What a file system takes for a name: dots, blanks, a dash, a line end, bytes that are no text; links."""
    photos = place / "photos"
    odd = ["a..b.jpg", " blank .jpg", "-dash.jpg", "line\nend.jpg", "ärger.JPG", os.fsdecode(b"\xff\xfe.jpg")]
    for number, name in enumerate(odd):
        write(photos / name, small["coffee"] + bytes([number]))  # what follows the end of a JPEG is not looked at
    write(place / "outside.jpg", small["retina"])
    (photos / "link.jpg").symlink_to(place / "outside.jpg")
    (photos / "dangling.jpg").symlink_to(place / "nowhere.jpg")
    (photos / "loop.jpg").symlink_to(photos / "loop.jpg")
    (photos / "up").symlink_to(place)
    os.mkfifo(photos / "pipe.jpg")
    (photos / "folder.jpg").mkdir()
    with lw.open(place / "i.longwave") as collection:
        done = sync(collection, encoder=counted, progress=False)
        assert (sorted(done.new), done.skipped) == (sorted([*odd, "link.jpg"]), ())
        for number, name in enumerate(odd):
            (photos / name).rename(photos / "in" / f"{number}.jpg")
        again = sync(collection, encoder=counted, progress=False)
        assert dict(again.renamed) == {name: f"in/{number}.jpg" for number, name in enumerate(odd)}
        assert counted.count == len(odd) + 1


def test_an_id_never_leads_out_of_the_folder(place, small, encoder, monkeypatch):
    """An index from elsewhere may have any id: only files that the folder lists are looked at."""
    write(place / "secret.jpg", small["coffee"])
    made = describe_folder(place / "photos", encoder, size=128)
    names = ("../secret.jpg", str(place / "secret.jpg"), *made.paths[2:])
    index = build_index(replace(made, paths=names), k=4, progress=False)
    index.save(place / "h.longwave")
    read = []
    monkeypatch.setattr(syncing, "state_of", lambda path: read.append(path) or contents.state_of(path))
    for call in (lambda c: sync(c, by_content=True, remove_gone=True, encoder=encoder, progress=False),
                 lambda c: relocate(c, place / "photos")):  # fmt: skip
        path = shutil.copytree(place / "h.longwave", place / "copy.longwave")
        with lw.open(path) as collection:
            call(collection)
        shutil.rmtree(path)
    assert read
    assert {path.parent for path in read} <= {place / "photos", place / "photos" / "in"}


def test_a_damaged_table_of_files_is_told(place, encoder):
    index = lw.Index.load(place / "i.longwave")
    index.attach(index.about, {**index.attached, contents.NAME: np.zeros(3)}).save(place / "d.longwave")
    with lw.open(place / "d.longwave") as collection, pytest.raises(CorruptIndexError, match="picture_files"):
        sync(collection, encoder=encoder)


def test_an_index_from_before_learns_what_its_files_are(place, small, counted):
    """Without checksums, and with the folder as an absolute path alone."""
    index = lw.Index.load(place / "i.longwave")
    arrays = {name: array for name, array in index.attached.items() if name != contents.NAME}
    index.attach({"pictures": index.about["pictures"]}, arrays).save(place / "old.longwave")
    photos = place / "photos"
    with lw.open(place / "old.longwave") as collection:
        done = sync(collection, encoder=counted, progress=False)
        assert (done.same, collection.version, counted.count) == (11, 2, 0)
        (photos / "moon.jpg").rename(photos / "luna.jpg")
        write(photos / "coins.jpg", small["coffee"])
        assert str(sync(collection, encoder=counted, progress=False)) == "1 changed, 1 renamed, 9 as they were"
        assert counted.count == 1


@every_kind
def test_what_is_kept_survives_removal_compaction_and_refresh(place, small, counted):
    photos = place / "photos"
    with lw.open(place / "i.longwave") as collection:
        write(photos / "coffee.jpg", small["coffee"])
        sync(collection, encoder=counted, progress=False)
        about = collection.index.about
        collection.remove(["page.jpg"])
        collection.compact(keep=1, grace=0)
        collection.refresh(progress=False)
        assert collection.index.about == about
        assert Gallery(collection.index).whitening is not None
        (photos / "coffee.jpg").rename(photos / "cup.jpg")
        (photos / "moon.jpg").rename(photos / "luna.jpg")
        done = sync(collection, encoder=counted, progress=False)
        assert str(done) == "1 new, 2 renamed, 9 as they were"  # the page was taken out, not its file
        assert (done.new, counted.count) == (("page.jpg",), 2)


def test_a_disk_that_fails_changes_all_or_nothing(place, small, encoder):
    photos = place / "photos"
    write(photos / "coffee.jpg", small["coffee"])
    write(photos / "coins.jpg", small["retina"])
    (photos / "moon.jpg").rename(photos / "luna.jpg")
    (photos / "page.jpg").unlink()

    def state(path):
        index = lw.Index.load(path)
        known = sorted(index.ids.tolist())
        return known, [rows(index, name).tolist() for name in known], index.attached[contents.NAME].tolist()

    def change(collection):
        sync(collection, remove_gone=True, encoder=encoder, progress=False)

    assert check_all_or_nothing(place / "i.longwave", place, change, state) > 20


def test_who_is_stopped_leaves_nothing_half_done_and_goes_on(place, small, encoder):
    photos = place / "photos"
    for number in range(70):  # two chunks
        write(photos / f"{number}.jpg", small["coffee"] + bytes([number]))
    (photos / "moon.jpg").rename(photos / "luna.jpg")

    class Stopped(Counted):
        def __call__(self, pictures):
            if self.count >= 64:
                raise KeyboardInterrupt
            return super().__call__(pictures)

    work = place / "work"
    with lw.open(place / "i.longwave") as collection:
        with pytest.raises(KeyboardInterrupt):
            sync(collection, encoder=Stopped(encoder), workdir=work, progress=False)
        assert collection.version == 1
        assert "luna.jpg" not in collection
    counted = Counted(encoder)
    with lw.open(place / "i.longwave") as collection:
        done = sync(collection, encoder=counted, workdir=work, progress=False)
        assert (len(done.new), len(done.renamed), counted.count, collection.version) == (70, 1, 6, 2)


def test_moved_together_moved_alone_and_copied(place, tmp_path, monkeypatch):
    here = tmp_path / "elsewhere" / "deep"
    here.parent.mkdir()
    place.rename(here)
    monkeypatch.chdir(here)
    for path in ("i.longwave", here / "i.longwave", "../deep/i.longwave"):
        assert Gallery(lw.Index.load(path)).path("moon.jpg") == here / "photos" / "moon.jpg"
    (tmp_path / "link").symlink_to(here / "i.longwave")
    assert Gallery(lw.Index.load(tmp_path / "link")).folder == here / "photos"
    lw.Index.load("i.longwave").save("j.longwave")  # a copy in another version knows them, too
    (here / "j.longwave").rename(tmp_path / "alone.longwave")
    index = lw.Index.load(tmp_path / "alone.longwave")
    assert Gallery(index).path("moon.jpg") == here / "photos" / "moon.jpg"
    assert sync(lw.open("i.longwave"), progress=False).same == 11


def test_the_encoder_moves_along(place, lite0, small):
    shutil.copy(lite0, place / "own.onnx")
    build_index(place / "photos", encoder=place / "own.onnx", size=128, k=4, progress=False).save(place / "e.longwave")
    there = place.rename(place.parent / "there")
    write(there / "photos" / "coffee.jpg", small["coffee"])
    with lw.open(there / "e.longwave") as collection:
        assert sync(collection, progress=False).new == ("coffee.jpg",)


def test_relocated_by_path_and_by_content(place, small, counted):
    photos, index = place / "photos", lw.Index.load(place / "i.longwave")
    moved = place.parent / "other tree" / "new"
    moved.mkdir(parents=True)
    for path in photos.glob("*.jpg"):
        shutil.copy(path, moved)  # with other times
    (moved / "moon.jpg").rename(moved / "luna.jpg")
    (moved / "page.jpg").unlink()
    write(moved / "coffee.jpg", small["coffee"])
    with lw.open(place / "i.longwave") as collection:
        done = relocate(collection, moved)
        assert str(done) == "8 found by path, 1 by content, 2 not found"
        assert (done.by_content, done.lost) == ((("moon.jpg", "luna.jpg"),), ("in/brick.jpg", "page.jpg"))
        assert collection.version == 2
        np.testing.assert_array_equal(rows(collection.index, "luna.jpg"), rows(index, "moon.jpg"))
        done = sync(collection, remove_gone=True, encoder=counted, progress=False)
        assert str(done) == "1 new, 2 gone, 9 as they were"
        assert counted.count == 1
    shutil.rmtree(photos)
    gallery = Gallery(lw.Index.load(place / "i.longwave"))
    assert {gallery.path(name).parent for name in gallery.names.paths} == {moved}


def test_relocate_refuses_a_folder_with_none_of_them(place, small):
    other = place / "other"
    other.mkdir()
    write(other / "coffee.jpg", small["coffee"])
    with lw.open(place / "i.longwave") as collection:
        with pytest.raises(FileError, match=r"other has none of the 11 pictures of .*, such as 'astronaut.jpg'"):
            relocate(collection, other)
        with pytest.raises(FileError, match="is not a folder"):
            relocate(collection, place / "nowhere")
        assert collection.version == 1


def test_descriptions_in_a_file_know_their_files(place, encoder, counted):
    from longwave.pictures import read_description, write_description

    made = describe_folder(place / "photos", encoder, size=128)
    write_description(made, place / "d.h5")
    again = read_description(place / "d.h5")
    np.testing.assert_array_equal(again.files, made.files)
    build_index(again, k=4, progress=False).save(place / "f.longwave")
    (place / "photos" / "moon.jpg").rename(place / "photos" / "luna.jpg")
    with lw.open(place / "f.longwave") as collection:
        assert sync(collection, encoder=counted, progress=False).renamed == (("moon.jpg", "luna.jpg"),)
    build_index(replace(made, files=None), k=4, progress=False).save(place / "g.longwave")
    with lw.open(place / "g.longwave") as collection:
        assert sync(collection, encoder=counted, progress=False).gone == ("moon.jpg",)
