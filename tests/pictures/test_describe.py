"""A folder of pictures to descriptors and an index, from Python."""

import multiprocessing
from dataclasses import replace

import numpy as np
import pytest

import longwave as lw
from longwave import pictures as descriptors
from longwave.errors import DataWarning, FileError, InputError, ResourceError
from longwave.pictures import describe_folder, describe_queries, encoding
from longwave.pictures.encoding import _stage

VIEWS = ("whole", "crop", "turned", "half")

pytestmark = pytest.mark.filterwarnings("ignore:.*pictures are left out")


@pytest.fixture(scope="module")
def encoder(lite0):
    return descriptors.OnnxEncoder.open(lite0)


@pytest.fixture(scope="module")
def workdir(tmp_path_factory):
    return tmp_path_factory.mktemp("work") / "chunks"


@pytest.fixture(scope="module")
def described(views, encoder, workdir):
    with pytest.warns(DataWarning, match="2 of 78 pictures are left out"):
        return describe_folder(views, encoder, workdir=workdir)


@pytest.fixture(scope="module")
def regional(views, encoder, workdir, described):
    return describe_folder(views, encoder, workdir=workdir, regions=True)


def index_of(made):
    spectrum = lw.Chebyshev(200)
    index = lw.Index.build(made.vectors, groups=made.item_of, ids=np.array(made.paths), spectrum=spectrum)
    return index.attach(*descriptors.index_facts(made))


def test_shapes_and_what_was_left_out(described, regional):
    assert len(described.paths) == 76
    assert described.vectors.shape[0] == 76
    assert described.item_of is None
    np.testing.assert_allclose(np.linalg.norm(described.vectors, axis=1), 1, rtol=1e-5)
    assert [name for name, _ in described.skipped] == ["dot.png", "truncated.jpg"]
    assert "truncated" in described.skipped[1][1]
    assert "1 × 1" in described.skipped[0][1]
    counts = np.bincount(regional.item_of)
    assert set(counts) >= {15, 21}  # square pictures, and 4:3
    assert regional.paths == described.paths


def test_the_sum_of_the_regions_is_the_global_descriptor(views, encoder, workdir, described):
    apart = describe_folder(views, encoder, workdir=workdir, regions=True, whitening=described.whitening)
    summed = np.zeros_like(described.vectors)
    np.add.at(summed, apart.item_of, apart.vectors)
    summed /= np.linalg.norm(summed, axis=1, keepdims=True)
    np.testing.assert_allclose(summed, described.vectors, atol=1e-5)


def test_views_of_one_picture_find_each_other(described, regional):
    for made in (described, regional):
        for solver in (lw.Euclidean(), lw.Spectral()):
            hits = index_of(made).search_by_id(list(made.paths), 3, solver=solver).ids
            found = zip(made.paths, hits, strict=True)
            same = [hit.split("-")[0] == name.split("-")[0] for name, row in found for hit in row]
            assert np.mean(same) > 0.95


# Cut from the picture of the left camera, 2 % of it each; the collection has that of the right one.
SMALL = {"tubs": (600, 120, 700, 200), "white tub": (560, 120, 660, 200), "boards": (80, 40, 180, 120)}


@pytest.mark.parametrize("solver", [lw.Euclidean(), lw.Spectral()], ids=["euclidean", "manifold"])
def test_a_small_object_needs_regions(described, regional, encoder, sample_pictures, solver):
    places = {}
    for kind, made in (("global", described), ("regional", regional)):
        index = index_of(made)
        pictures = [sample_pictures["motorcycle_left"]] * len(SMALL)
        asked = describe_queries(pictures, encoder, made.treatment, made.whitening, boxes=list(SMALL.values()))
        ids = index.search(asked[0], len(index), query_groups=asked[1], solver=solver).ids
        places[kind] = [min(row.tolist().index(f"motorcycle_right-{view}.jpg") for view in VIEWS) for row in ids]
    assert places["regional"] == [0, 0, 0] or (isinstance(solver, lw.Euclidean) and max(places["regional"]) <= 1)
    assert min(places["global"]) > 0
    assert places["global"][0] >= 4


def test_reduction_keeps_at_most_five(views, encoder, workdir, regional):
    made = describe_folder(views, encoder, workdir=workdir, regions=True, reduce=5)
    assert np.bincount(made.item_of).max() == 5
    assert made.vectors.shape[1] == regional.vectors.shape[1]
    made.treatment.check_same(regional.treatment)  # queries keep all regions: they are comparable


def test_resumes_and_sees_changes(tmp_path, views, encoder):
    calls = []

    class Counted:
        name, weights, mean, std = encoder.name, encoder.weights, encoder.mean, encoder.std

        def __call__(self, pictures):
            if pictures.shape[1:3] != (224, 320):  # what every encoder is tried with
                calls.append(len(pictures))
            return encoder(pictures)

    folder = tmp_path / "some"
    folder.mkdir()
    for name in ("china-whole.jpg", "coins-crop.jpg", "page-half.jpg"):
        (folder / name).write_bytes((views / name).read_bytes())
    choices = {"size": 128, "workdir": tmp_path / "work", "dimensions": 8}
    first = describe_folder(folder, Counted(), **choices)
    assert sum(calls) == 3
    again = describe_folder(folder, Counted(), **choices)
    assert sum(calls) == 3
    np.testing.assert_array_equal(first.vectors, again.vectors)
    (folder / "page-half.jpg").write_bytes((views / "moon-half.jpg").read_bytes())
    describe_folder(folder, Counted(), **choices)
    assert sum(calls) == 6


def test_worker_processes_give_the_same(tmp_path, views, encoder):
    for name in ("china-whole.jpg", "coins-crop.jpg", "dot.png", "page-half.jpg"):
        (tmp_path / name).write_bytes((views / name).read_bytes())
    here = describe_folder(tmp_path, encoder, size=128, dimensions=8)
    there = describe_folder(tmp_path, encoder, size=128, dimensions=8, workers=2)
    np.testing.assert_allclose(here.vectors, there.vectors, atol=1e-6)
    assert here.skipped == there.skipped


def test_supervised_whitening_from_pairs(views, encoder, workdir, described):
    names = [name for name in described.paths if name.endswith("-whole.jpg")]
    pairs = [(name, name.replace("whole", view)) for name in names for view in ("crop", "turned", "half")]
    with pytest.warns(DataWarning, match="give more pairs"):
        describe_folder(views, encoder, workdir=workdir, pairs=pairs, dimensions=32, shrinkage=0)
    made = describe_folder(views, encoder, workdir=workdir, pairs=pairs, dimensions=32)
    assert made.vectors.shape == (76, 32)
    with pytest.raises(InputError, match="not among the"):
        describe_folder(views, encoder, workdir=workdir, pairs=[("a.jpg", "b.jpg")])


def test_a_whitening_from_elsewhere_is_recentred(views, encoder, workdir, described):
    moved = descriptors.Whitening(described.whitening.mean + np.float32(0.01), described.whitening.projection)
    made = describe_folder(views, encoder, workdir=workdir, whitening=moved, recentre=True)
    np.testing.assert_allclose(made.vectors, described.vectors, atol=1e-3)
    with pytest.raises(InputError, match="from elsewhere"):
        describe_folder(views, encoder, workdir=workdir, recentre=True)


def test_other_treatments_are_refused_by_name(described, regional, encoder, sample_pictures):
    with pytest.raises(InputError, match="dimensions 128 instead of 183; regions True instead of False"):
        described.treatment.check_same(regional.treatment)
    other = descriptors.Treatment.from_facts({**described.treatment.facts(), "weights": "0" * 16})
    with pytest.raises(InputError, match=r"weights '.*' instead of '0000"):
        describe_queries([sample_pictures["coffee"]], encoder, other, described.whitening)
    with pytest.raises(InputError, match="whitening 'none' instead of"):
        describe_queries([sample_pictures["coffee"]], encoder, described.treatment, None)
    with pytest.raises(InputError, match="is missing"):
        descriptors.Treatment.from_facts({})


def test_files_keep_everything(tmp_path, regional):
    descriptors.write_description(regional, tmp_path / "d.h5")
    read = descriptors.read_description(tmp_path / "d.h5")
    np.testing.assert_array_equal(read.vectors, regional.vectors)
    np.testing.assert_array_equal(read.item_of, regional.item_of)
    np.testing.assert_array_equal(read.whitening.projection, regional.whitening.projection)
    assert (read.paths, read.treatment, read.skipped) == (regional.paths, regional.treatment, regional.skipped)
    # and any reader of vectors finds its matrix
    np.testing.assert_array_equal(lw.datasets.read_vectors(tmp_path / "d.h5"), regional.vectors)
    (tmp_path / "d.h5").write_bytes((tmp_path / "d.h5").read_bytes()[:2000])
    with pytest.raises(FileError, match="cut short"):
        descriptors.read_description(tmp_path / "d.h5")


def test_an_index_remembers(tmp_path, regional, encoder, sample_pictures):
    index = index_of(regional)
    index.save(tmp_path / "i")
    loaded = lw.Index.load(tmp_path / "i")
    treatment, folder = descriptors.treatment_from(loaded.about)
    assert treatment == regional.treatment
    assert str(folder) == regional.folder
    whitening = descriptors.whitening_from(loaded.attached)
    vectors, _ = describe_queries([sample_pictures["coffee"]], encoder, treatment, whitening)
    assert vectors.shape[1] == index.dimension
    with pytest.raises(InputError, match="built from vectors"):
        descriptors.treatment_from({})


def test_bad_choices(views, encoder, tmp_path):
    for choices, words in (
        ({"size": 10}, "at least 64"),
        ({"pool": "min"}, "max, gem, spoc"),
        ({"scales": 9}, "from 0 to 6"),
        ({"reduce": 5}, "is for regions"),
    ):
        with pytest.raises(InputError, match=words):
            describe_folder(views, encoder, **choices)
    (tmp_path / "x.jpg").write_bytes(b"nothing")
    with pytest.raises(FileError, match="no picture of the 1 in"):
        describe_folder(tmp_path, encoder)


@pytest.fixture
def three(tmp_path, views):
    """A folder of three pictures."""
    folder = tmp_path / "three"
    folder.mkdir()
    for name in ("china-whole.jpg", "coins-crop.jpg", "page-half.jpg"):
        (folder / name).write_bytes((views / name).read_bytes())
    return folder


CHANGES = {"weights": "x", "mean": 1.0, "std": 2.0, "size": 100, "pool": "gem", "scales": 2}


@pytest.mark.parametrize("name", CHANGES)
def test_every_part_of_the_recipe_counts(described, three, name):
    """For what is resumed, and for what is compared."""
    other = replace(described.treatment, **{name: CHANGES[name]})
    paths = sorted(three.iterdir())
    assert _stage(paths, other) != _stage(paths, described.treatment)
    with pytest.raises(InputError, match=name):
        described.treatment.check_same(other)


def test_an_encoder_that_answers_otherwise_is_another(described, three, tmp_path):
    import torch

    def encoder(pool):
        return descriptors.TorchEncoder(torch.nn.Sequential(pool), "mine", mean=0.0, std=1.0)

    largest, mean = encoder(torch.nn.MaxPool2d(8)), encoder(torch.nn.AvgPool2d(8))
    assert largest.weights == mean.weights  # there are none
    choices = {"size": 128, "workdir": tmp_path / "work", "whiten": False}
    first, second = describe_folder(three, largest, **choices), describe_folder(three, mean, **choices)
    assert np.abs(first.vectors - second.vectors).max() > 0.01
    with pytest.raises(InputError, match="answer to the same picture has the cosine"):
        describe_queries([three / "china-whole.jpg"], mean, first.treatment, None)


@pytest.mark.parametrize("regions", [False, True])
def test_a_picture_finds_itself(three, encoder, regions):
    made = describe_folder(three, encoder, size=128, pool="gem", scales=2, regions=regions, dimensions=6)
    np.testing.assert_allclose(np.linalg.norm(made.vectors, axis=1), 1, rtol=1e-5)
    pictures = [three / path for path in made.paths]
    vectors, query_of = describe_queries(pictures, encoder, made.treatment, made.whitening)
    np.testing.assert_allclose((vectors * made.vectors).sum(axis=1), 1, atol=1e-4)
    np.testing.assert_array_equal(query_of, np.arange(3) if made.item_of is None else made.item_of)


def test_what_failed_once_is_tried_again(three, encoder, tmp_path, monkeypatch):
    choices = {"size": 128, "workdir": tmp_path / "work", "dimensions": 6}
    opened = encoding.open_picture

    def short_of_memory(path, *, size):
        if path.name == "coins-crop.jpg":
            raise FileError(f"{path} does not fit into memory")
        return opened(path, size=size)

    with monkeypatch.context() as patch:
        patch.setattr(encoding, "open_picture", short_of_memory)
        assert len(describe_folder(three, encoder, **choices).paths) == 2
        assert len(describe_folder(three, encoder, **choices).paths) == 2
    assert len(describe_folder(three, encoder, **choices).paths) == 3


@pytest.mark.parametrize("choices", [{}, {"regions": True}, {"whiten": False}, {"regions": True, "whiten": False}])
def test_a_chunk_of_bad_pictures(three, encoder, tmp_path, monkeypatch, choices):
    monkeypatch.setattr(encoding, "CHUNK", 1)
    for name in ("a.jpg", "d.heic", "z.png"):
        (three / name).write_bytes(b"nothing")
    for _ in range(2):
        made = describe_folder(three, encoder, size=128, workdir=tmp_path / "work", **choices)
        assert len(made.paths) == 3
        assert [name for name, _ in made.skipped] == ["a.jpg", "d.heic", "z.png"]
        assert np.isfinite(made.vectors).all()


def test_a_decoder_that_dies(three, encoder, monkeypatch, tmp_path):
    monkeypatch.setattr(encoding, "CHUNK", 1)
    name, weights, mean, std = encoder.name, encoder.weights, encoder.mean, encoder.std

    class Killing:
        def __init__(self):
            self.name, self.weights, self.mean, self.std = name, weights, mean, std

        def __call__(self, pictures):
            for child in multiprocessing.active_children():
                child.kill()
                child.join()
            return encoder(pictures)

    with pytest.raises(ResourceError, match="has died"):
        describe_folder(three, Killing(), size=128, dimensions=6, workers=1)


def test_a_map_that_is_not_finite_is_left_out(three, encoder):
    class Broken:
        name, weights, mean, std = encoder.name, encoder.weights, encoder.mean, encoder.std

        def __call__(self, pictures):
            maps = encoder(pictures)
            return np.full_like(maps, np.nan) if pictures.shape[1] > pictures.shape[2] else maps

    from PIL import Image

    Image.open(three / "china-whole.jpg").transpose(Image.Transpose.ROTATE_90).save(three / "upright.jpg")
    made = describe_folder(three, Broken(), size=128, dimensions=6)
    assert [name for name, _ in made.skipped] == ["upright.jpg"]
    assert "upright.jpg is given values that are not finite" in made.skipped[0][1]
    with pytest.raises(InputError, match=r"not finite .* for .*upright"):
        describe_queries([three / "upright.jpg"], Broken(), made.treatment, made.whitening)


def test_choices_that_do_not_fit(three, encoder):
    known = descriptors.Whitening(np.zeros(64, dtype=np.float32), np.eye(64, 8, dtype=np.float32))
    for choices, words in (
        ({"dimensions": 0}, "dimensions"),
        ({"dimensions": 5, "whiten": False}, "there is none"),
        ({"shrinkage": 3, "whiten": False}, "a whitening that is learned"),
        ({"pairs": [("china-whole.jpg", "page-half.jpg")], "whiten": False}, "a whitening that is learned"),
        ({"pairs": [("china-whole.jpg", "b.jpg")]}, "give paths within it, such as 'china-whole.jpg'"),
        ({"whitening": known}, "for 64 channels, lite0.onnx has 1280"),
    ):
        with pytest.raises(InputError, match=words):
            describe_folder(three, encoder, size=128, **choices)


def test_a_handful_of_pictures_is_connected(tmp_path, views, encoder):
    for name in ("china-whole", "china-crop", "china-half", "coins-whole", "moon-crop", "page-half"):
        (tmp_path / f"{name}.jpg").write_bytes((views / f"{name}.jpg").read_bytes())
    index = index_of(describe_folder(tmp_path, encoder))
    hits = index.search_by_id(["china-whole.jpg", "china-crop.jpg", "china-half.jpg"], 2).ids
    assert all(name.startswith("china") for name in hits.ravel())
