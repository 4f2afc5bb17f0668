"""Loaders of official files: the published ones where they are at hand, else small ones in the same layout."""

import io
import pickle

import h5py
import numpy as np
import pytest
import scipy.io

from longwave import datasets
from longwave.datasets import oxford as oxford_files
from longwave.datasets import shared
from longwave.errors import FileError, InputError
from longwave.evaluation import Graded, Judgement

# --- text files of Oxford and Paris ---


def write_query(folder, name, *, image="oxc1_a_1", good=("a_2",), ok=("a_3",), junk=("b_1",), box="1 2 30.5 40"):
    (folder / f"{name}_query.txt").write_text(f"{image} {box}\n")
    for kind, names in (("good", good), ("ok", ok), ("junk", junk)):
        (folder / f"{name}_{kind}.txt").write_text("".join(f"{n}\n" for n in names))


IMAGES = ["a_1", "a_2", "a_3", "b_1"]


def test_oxford_text_by_hand(tmp_path):
    write_query(tmp_path, "a_college_1")
    write_query(tmp_path, "a_college_2", good=(), ok=())
    truth = datasets.read_oxford_text(tmp_path, [f"{name}.jpg" for name in IMAGES])
    assert truth.queries == ("a_college_1", "a_college_2")
    assert truth.judgements == (Judgement([1, 2], [3]), Judgement([], [3]))
    assert truth.boxes[0] == (1, 2, 30.5, 40)
    assert truth.left_out == 1
    assert oxford_files.landmark("a_college_2") == "a_college"


def test_oxford_text_equals_the_json_of_the_same(shared_data):
    names = shared.oxford_names(shared_data)
    truth = datasets.read_oxford_text(shared_data / "oxford5k" / "official_ground_truth", names)
    benchmark = shared.oxford(shared_data)
    assert len(truth.queries) == 55
    assert [oxford_files.landmark(q) for q in truth.queries] == benchmark.classes
    for ours, theirs in zip(truth.judgements, benchmark.judgements, strict=True):
        assert set(ours.positive) == set(theirs.positive)
        assert set(ours.junk) == set(theirs.junk)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"good": ("z_9",)}, InputError, "good.txt names image 'z_9', which is not among the 4 images"),
        ({"image": "oxc1_z_9"}, InputError, "query.txt names image 'z_9'"),
        ({"good": ("a_2", "a_2")}, InputError, "item 1 is judged more than once"),
        ({"box": "1 2 3"}, FileError, "four corners"),
    ],
)
def test_oxford_text_that_is_wrong(tmp_path, change, error, words):
    write_query(tmp_path, "a_1", **change)
    with pytest.raises(error, match=words):
        datasets.read_oxford_text(tmp_path, IMAGES)


def test_oxford_text_that_is_not_there(tmp_path):
    with pytest.raises(FileError, match=r"has no \*_query.txt"):
        datasets.read_oxford_text(tmp_path, IMAGES)
    write_query(tmp_path, "a_1")
    (tmp_path / "a_1_junk.txt").unlink()
    with pytest.raises(FileError, match="the four files of every query"):
        datasets.read_oxford_text(tmp_path, IMAGES)
    with pytest.raises(InputError, match="image 'a_2' is listed more than once"):
        datasets.read_oxford_text(tmp_path, ["a_2", "a_2"])


# --- ground truth in MATLAB files ---


@pytest.mark.parametrize(
    ("name", "images", "queries", "first", "n_first"),
    [
        ("gnd_paris6k.mat", 6392, 55, "paris_defense_000605", 117),
        ("gnd_instre.mat", 27293, 1250, "INSTRE-S1/01a_canada_book/013.jpg", 197),
        ("gnd_holidays.mat", 1491, 500, "100000", 2),
    ],
)
def test_published_mat_truth(shared_data, name, images, queries, first, n_first):
    truth = datasets.read_mat_truth(shared_data / "official_ground_truth" / name)
    assert (len(truth.images), len(truth.queries), truth.queries[0]) == (images, queries, first)
    assert len(truth.judgements[0].positive) == n_first
    assert truth.left_out == 0
    if name == "gnd_paris6k.mat":
        assert truth.images[372] == first  # query_list says 373, from 1
        assert truth.boxes[0] == (130, 17, 843, 732)
    if name == "gnd_holidays.mat":
        assert truth.boxes is None
        assert truth.judgements[0] == Judgement([1, 2], [0])


def gnd_struct(*entries):
    kinds = [(name, object) for name in entries[0]]
    return np.array([tuple(entry.values()) for entry in entries], dtype=kinds)[None, :]


def cells(*values):
    made = np.empty((1, len(values)), dtype=object)
    made[0, :] = values
    return made


def write_mat(path, **variables):
    scipy.io.savemat(path, variables)
    return path


def two_entries():
    return gnd_struct(
        {"ok": np.array([[1, 3]]), "junk": np.array([[2]]), "bbx": np.array([[0, 0, 5, 5]])},
        {"ok": np.zeros((0, 0)), "junk": np.array([[1]]), "bbx": np.array([[1, 1, 2, 2]])},
    )


def test_mat_truth_by_hand(tmp_path):
    path = write_mat(tmp_path / "gnd.mat", gnd=two_entries(), imlist=cells("a", "b", "c"), qimlist=cells("p", "q"))
    truth = datasets.read_mat_truth(path)
    assert truth.images == ("a", "b", "c")
    assert truth.judgements == (Judgement([0, 2], [1]), Judgement([], [0]))
    assert truth.left_out == 1


@pytest.mark.parametrize(
    ("variables", "error", "words"),
    [
        ({"imlist": cells("a", "b")}, FileError, "no variable 'gnd'; it has imlist"),
        ({"gnd": two_entries(), "other": 1}, FileError, "no variable 'imlist' or 'feature_name'; it has gnd, other"),
        (
            {"gnd": two_entries(), "imlist": cells("a", "b"), "qimlist": cells("p", "q")},
            InputError,
            "query 0 names item 2, but items are 0 … 1",
        ),
        (
            {"gnd": two_entries(), "imlist": cells("a", "b", "a"), "qimlist": cells("p", "q")},
            InputError,
            "image 'a' is listed more than once",
        ),
        (
            {"gnd": two_entries(), "imlist": cells("a", "b", "c"), "qimlist": cells("p", "q", "r")},
            InputError,
            "3 queries but judgements for 2",
        ),
        (
            {
                "gnd": gnd_struct({"good": np.ones((1, 1))}, {"good": np.ones((1, 1))}),
                "imlist": cells("a", "b"),
                "qimlist": cells("p", "q"),
            },
            FileError,
            "must have the fields ok, junk and bbx; it has good",
        ),
    ],
)
def test_mat_truth_that_is_wrong(tmp_path, variables, error, words):
    with pytest.raises(error, match=words):
        datasets.read_mat_truth(write_mat(tmp_path / "gnd.mat", **variables))


# --- descriptors in MATLAB files ---

REGIONS = [np.arange(6.0).reshape(3, 2), np.arange(3.0).reshape(3, 1)]  # d × m: two regions, then one
QUERIES = [np.ones((3, 1)), np.full((3, 2), 2.0)]


def write_author_v5(path):
    part = {"V": cells(*REGIONS), "Q": cells(*QUERIES)}
    return write_mat(path, reg=part, glob={"V": cells(*[r[:, :1] for r in REGIONS]), "Q": cells(*QUERIES[:1] * 2)})


def write_author_v73(path):
    """As MATLAB writes it: a header of 512 bytes, groups for structs, references for cells, arrays transposed."""
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, take in (("reg", lambda a: a), ("glob", lambda a: a[:, :1])):
            for field, values in (("V", REGIONS), ("Q", QUERIES)):
                references = []
                for number, value in enumerate(values):
                    stored = file.create_dataset(f"#refs#/{name}{field}{number}", data=take(value).T)
                    references.append(stored.ref)
                made = file.create_dataset(f"{name}/{field}", (len(values), 1), dtype=h5py.ref_dtype)
                made[:, 0] = references
                made.attrs["MATLAB_class"] = np.bytes_("cell")
    with path.open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file")
    return path


@pytest.mark.parametrize("write", [write_author_v5, write_author_v73])
def test_author_descriptors(tmp_path, write):
    path = write(tmp_path / "oxford5k_resnet.mat")
    regional = datasets.read_author_descriptors(path, regional=True)
    np.testing.assert_array_equal(regional.vectors, [[0, 2, 4], [1, 3, 5], [0, 1, 2]])
    np.testing.assert_array_equal(regional.item_of, [0, 0, 1])
    np.testing.assert_array_equal(regional.query_of, [0, 1, 1])
    assert regional.vectors.dtype == np.float32
    whole = datasets.read_author_descriptors(path)
    np.testing.assert_array_equal(whole.vectors, [[0, 2, 4], [0, 1, 2]])
    np.testing.assert_array_equal(whole.item_of, [0, 1])


def test_author_descriptors_that_are_wrong(tmp_path):
    path = write_mat(tmp_path / "a.mat", X=np.ones((2, 2)))
    with pytest.raises(FileError, match="no variable 'glob'; it has X"):
        datasets.read_author_descriptors(path)
    path = write_mat(tmp_path / "b.mat", glob={"V": cells(np.ones((2, 1)), np.ones((2, 1)))})
    with pytest.raises(FileError, match=r"struct of V \(images\) and Q \(queries\); it has V"):
        datasets.read_author_descriptors(path)
    path = write_mat(tmp_path / "c.mat", glob={"V": cells(np.ones((2, 1)), np.ones((3, 1))), "Q": cells(*QUERIES)})
    with pytest.raises(FileError, match=r"\[2, 3\] dimensions"):
        datasets.read_author_descriptors(path)
    (tmp_path / "d.mat").write_bytes(b"no")
    with pytest.raises(FileError, match=r"cannot be read as \.mat"):
        datasets.read_author_descriptors(tmp_path / "d.mat")


def test_revisitop_features(tmp_path):
    path = write_mat(tmp_path / "roxford5k_resnet_rsfm120k_gem.mat", X=np.arange(6.0).reshape(2, 3), Q=np.ones((2, 1)))
    images, queries = datasets.read_revisitop_features(path)
    assert images.shape == (3, 2)
    assert queries.shape == (1, 2)
    with pytest.raises(FileError, match=r"no array named 'X': it has V \(2 × 2, double\)"):
        datasets.read_revisitop_features(write_mat(tmp_path / "v.mat", V=np.ones((2, 2))))


# --- the revisited sets ---


def test_published_revisited_paris(shared_data):
    truth = datasets.read_revisited(shared_data / "official_ground_truth" / "gnd_rparis6k.pkl")
    assert (len(truth.images), len(truth.queries)) == (6322, 70)
    first = truth.judgements[0]
    with (shared_data / "official_ground_truth" / "gnd_rparis6k.pkl").open("rb") as file:
        entry = pickle.load(file)["gnd"][0]  # a published file of plain data
    assert (list(first.easy), list(first.hard), list(first.junk)) == (entry["easy"], entry["hard"], entry["junk"])
    assert truth.boxes[0] == tuple(entry["bbx"])


def revisited(**changes):
    entry = {"bbx": [0, 0, 1, 1], "easy": [0], "hard": [1], "junk": [2]}
    return {"imlist": ["a", "b", "c"], "qimlist": ["q"], "gnd": [entry | changes]}


def write_pickle(path, value, protocol=2):
    path.write_bytes(pickle.dumps(value, protocol=protocol))
    return path


def test_revisited_by_hand_with_arrays(tmp_path):
    for protocol in range(6):
        value = revisited(easy=np.array([0]), bbx=np.array([0.5, 1, 2, 3], dtype=">f4"))
        value["gnd"][0]["hard"] = [np.int64(1)]
        truth = datasets.read_revisited(write_pickle(tmp_path / "gnd.pkl", value, protocol))
        assert truth.judgements == (Graded([0], [1], [2]),)
        assert truth.boxes == ((0.5, 1, 2, 3),)


def test_revisited_that_is_wrong(tmp_path):
    with pytest.raises(InputError, match="query 0 names item 7, but items are 0 … 2"):
        datasets.read_revisited(write_pickle(tmp_path / "a.pkl", revisited(easy=[7])))
    with pytest.raises(FileError, match=r"expected imlist, qimlist and gnd .* found images"):
        datasets.read_revisited(write_pickle(tmp_path / "b.pkl", {"images": []}))


class Evil:
    def __init__(self, *parts):
        self.parts = parts

    def __reduce__(self):
        return self.parts


def hostile():
    import builtins
    import os

    yield "a call", Evil(os.system, ("true",))
    yield "eval", Evil(builtins.eval, ("1",))
    yield "getattr", Evil(getattr, ("a", "upper"))
    yield "an object", np.random.default_rng(0)
    yield "an array of objects", np.array([{}, []], dtype=object)
    yield "a record array", np.zeros(2, dtype=[("a", "i4")])
    yield "deep", {"gnd": [Evil(os.getcwd, ())]}
    yield "a function", len
    yield "a slice", slice(1, 2)
    yield "the load itself", Evil(pickle.loads, (b"N.",))


@pytest.mark.parametrize(("what", "value"), list(hostile()), ids=[what for what, _ in hostile()])
def test_a_pickle_with_anything_but_plain_data_is_refused(tmp_path, what, value):
    for protocol in (0, 2, 4, 5):
        path = write_pickle(tmp_path / "x.pkl", value, protocol)
        with pytest.raises(FileError, match=r"other than plain data|not a whole pickle"):
            datasets.read_plain_pickle(path)


def test_handmade_opcodes_are_refused(tmp_path):
    """References, classes without arguments, attributes set by BUILD, arrays whose bytes do not fit."""
    path = tmp_path / "x.pkl"
    for content in (
        b"Pab\n.",
        b"cbuiltins\nobject\n.",
        b"cnumpy\nndarray\n.",
        b"cnumpy\ndtype\n)\x81}b.",
        b"(I1\nI2\nl",
        b"cnumpy\ndtype\n(S'f8'\nI0\nI1\ntRcnumpy.core.multiarray\nscalar\n.",
        b"\x80\x02\x82\x01.",
        b"",
    ):
        path.write_bytes(content)
        with pytest.raises(FileError):
            datasets.read_plain_pickle(path)


def test_plain_pickles(tmp_path):
    value = {
        "a": [1, 2.5, None, True, "é", b"x", (1,), {3}],
        "b": np.arange(6).reshape(2, 3)[:, ::-1],
        "c": np.array(["u"]),
    }
    for protocol in range(6):
        got = datasets.read_plain_pickle(write_pickle(tmp_path / "x.pkl", value, protocol))
        assert got["a"] == value["a"]
        np.testing.assert_array_equal(got["b"], value["b"])
        np.testing.assert_array_equal(got["c"], value["c"])
    with pytest.raises(FileError, match="cannot read"):
        datasets.read_plain_pickle(tmp_path / "absent.pkl")


# --- named sets and distractors ---


def test_shared_sets(shared_data):
    for name, items, queries in (("oxford", 5063, 55), ("oxford_regions", 5063, 55)):
        benchmark = getattr(shared, name)(shared_data)
        assert (benchmark.n_items, len(benchmark.judgements)) == (items, queries)
    for name in shared.LABELLED:
        assert shared.labelled(name, shared_data).vectors.dtype == np.float32
    assert [shared.text(n, shared_data).n_items for n in shared.CLASSIC_TEXTS] == [1400, 1033, 1460, 11426]
    assert len(shared.labelled("digits").queries) == 200


def test_distractors(shared_data):
    base, extra = shared.oxford(shared_data), shared.oxford_distractors(shared_data)
    some = base.with_distractors(extra, 100, seed=1)
    assert some.n_items == 5163
    assert some.name == "oxford5k + 100"
    np.testing.assert_array_equal(some.vectors[:5063], base.vectors)
    assert base.with_distractors(extra).n_items == 5063 + 9144
    with pytest.raises(InputError, match="from 0 to 9144"):
        base.with_distractors(extra, 9145)
    with pytest.raises(InputError, match="3 dimensions but oxford5k 512"):
        base.with_distractors(np.ones((2, 3)))
    with pytest.raises(InputError, match="several vectors per item"):
        shared.oxford_regions(shared_data).with_distractors(extra)


def test_benchmarks_that_are_wrong():
    with pytest.raises(InputError, match="2 queries but ground truth for 1"):
        datasets.Benchmark("x", np.ones((3, 2)), np.ones((2, 2)), [Judgement([0])])
    with pytest.raises(InputError, match="query 0 names item 3, but items are 0 … 2"):
        datasets.Benchmark("x", np.ones((3, 2)), np.ones((1, 2)), [Judgement([3])])


def test_the_data_folder(tmp_path, monkeypatch):
    monkeypatch.setenv(shared.VARIABLE, str(tmp_path))
    assert shared.data_folder() == tmp_path
    assert shared.data_folder(tmp_path / "..") == tmp_path / ".."
    with pytest.raises(FileError, match="LONGWAVE_DATA"):
        shared.data_folder(tmp_path / "absent")
    monkeypatch.delenv(shared.VARIABLE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(shared, "__file__", str(tmp_path / "env/lib/python3/site-packages/longwave/datasets/shared.py"))
    assert shared.data_place() == tmp_path / "shared" / "data"  # nothing inside of the installation
    monkeypatch.setattr(shared, "__file__", str(tmp_path / "clone/src/longwave/datasets/shared.py"))
    (tmp_path / "clone").mkdir()
    (tmp_path / "clone" / "pyproject.toml").touch()
    monkeypatch.chdir("/")
    assert shared.data_place() == tmp_path / "shared" / "data"
    with pytest.raises(InputError, match=r"cran, med, cisi, npl, .*, got 'x'"):
        shared.text("x", tmp_path)
    with pytest.raises(InputError, match="digits or one of"):
        shared.labelled("x", tmp_path)
    with pytest.raises(FileError, match="no such file"):
        shared.text("cran", tmp_path)


def test_vecs_files(tmp_path):
    rows = np.arange(6, dtype="<f4").reshape(2, 3)
    buffer = io.BytesIO()
    for row in rows:
        buffer.write(np.int32(3).tobytes() + row.tobytes())
    (tmp_path / "x.fvecs").write_bytes(buffer.getvalue())
    np.testing.assert_array_equal(datasets.read_vectors(tmp_path / "x.fvecs"), rows)
