"""Altered files, one after the other, in a process that may die of them: ``python hostile.py KIND FIRST COUNT``.

Of every seed a sample is altered and read. It must end in a `LongwaveError`, or in a result of valid shape and type.
The process has little memory beyond what it takes to begin with and a limit of processor time for every file; the seed
is named before it is tried, so that a crash, a hang or a full memory is known by it. `test_hostile.py` starts it.
"""

from __future__ import annotations

import atexit
import io
import json
import os
import pickle
import resource
import shutil
import signal
import struct
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import numpy as np

from longwave import datasets
from longwave.errors import DataWarning, LongwaveError

#: Bytes beyond what the process has when it begins, and seconds of processor time for one file.
MEMORY, SECONDS = 768 << 20, 20
X = np.random.default_rng(7).standard_normal((9, 4)).astype(np.float32)
_NUMBERS = (0, 1, 2, 7, 127, 128, 255, 256, 32767, 65535, 1 << 24, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 40)
_LARGE = ((1 << 62), (1 << 63) - 1, (1 << 63), (1 << 64) - 1)


# ---------------------------------------------------------------- how a file is altered


def alter(content: bytes, rng: np.random.Generator) -> bytes:
    """One to three changes."""
    for _ in range(int(rng.integers(1, 4))):
        content = _CHANGES[int(rng.integers(len(_CHANGES)))](content, rng)
    return content


def _place(content: bytes, rng: np.random.Generator) -> int:
    """Anywhere; half of the time near the beginning or the end, where headers and footers are."""
    n = max(1, len(content))
    near = int(rng.integers(min(n, 160)))
    return (int(rng.integers(n)), int(rng.integers(n)), near, n - 1 - near)[int(rng.integers(4))]


def _flip(content: bytes, rng: np.random.Generator) -> bytes:
    made = bytearray(content)
    for _ in range(int(rng.integers(1, 5)) if made else 0):
        made[_place(content, rng)] ^= 1 << int(rng.integers(8))
    return bytes(made)


def _put(content: bytes, rng: np.random.Generator) -> bytes:
    at, size = _place(content, rng), int(rng.integers(1, 9))
    return content[:at] + rng.bytes(size) + content[at + size :]


def _number(content: bytes, rng: np.random.Generator) -> bytes:
    """A length, a count or an offset that is not true."""
    size = (1, 2, 4, 4, 8)[int(rng.integers(5))]
    known = (*_NUMBERS, *_LARGE, len(content), len(content) + 1, max(0, len(content) - 1))
    value = known[int(rng.integers(len(known)))] & ((1 << 8 * size) - 1)
    at = _place(content, rng)
    at -= at % size if rng.integers(2) else 0
    return content[:at] + value.to_bytes(size, ("little", "big")[int(rng.integers(2))]) + content[at + size :]


def _digits(content: bytes, rng: np.random.Generator) -> bytes:
    """Another number where the text has one."""
    places = [i for i in range(len(content)) if content[i : i + 1].isdigit()]
    if not places:
        return _flip(content, rng)
    at = places[int(rng.integers(len(places)))]
    value = (b"0", b"-1", b"99999999999", b"1e999", b"9" * 30, b"", b"null", b"[", b'"')[int(rng.integers(9))]
    return content[:at] + value + content[at + 1 :]


def _cut(content: bytes, rng: np.random.Generator) -> bytes:
    return content[: _place(content, rng)]


def _extend(content: bytes, rng: np.random.Generator) -> bytes:
    size = int(rng.integers(1, 600))
    return content + (rng.bytes(size), bytes(size), content[-size:])[int(rng.integers(3))]


def _zero(content: bytes, rng: np.random.Generator) -> bytes:
    at, size = _place(content, rng), int(rng.integers(1, 65))
    return content[:at] + bytes(min(size, len(content) - at)) + content[at + size :]


def _remove(content: bytes, rng: np.random.Generator) -> bytes:
    at = _place(content, rng)
    return content[:at] + content[at + int(rng.integers(1, 33)) :]


def _copy(content: bytes, rng: np.random.Generator) -> bytes:
    """A part of the file, once more in another place."""
    a, b, size = _place(content, rng), _place(content, rng), int(rng.integers(1, 65))
    return content[:b] + content[a : a + size] + content[b + (size if rng.integers(2) else 0) :]


def _swap(content: bytes, rng: np.random.Generator) -> bytes:
    a, b = sorted((_place(content, rng), _place(content, rng)))
    size = min(int(rng.integers(1, 65)), b - a)
    return content[:a] + content[b : b + size] + content[a + size : b] + content[a : a + size] + content[b + size :]


_CHANGES = (_flip, _flip, _put, _number, _number, _number, _digits, _cut, _extend, _zero, _remove, _copy, _swap)


# ---------------------------------------------------------------- what is read, and what may come out


def _is_vectors(array: Any) -> None:
    assert array.ndim == 2, array.shape
    assert 0 not in array.shape, array.shape
    assert array.dtype.kind in "iuf", array.dtype
    np.asarray(array, dtype=np.float64).sum()  # all of it can be read


def _is_labels(array: Any) -> None:
    assert array.ndim == 1, array.shape
    assert array.size
    assert array.dtype == np.int64 or array.dtype.kind == "U", array.dtype


def _vectors(path: Path) -> None:
    with np.errstate(all="ignore"):
        _is_vectors(datasets.read_vectors(path))


def _named(path: Path) -> None:
    with np.errstate(all="ignore"):
        _is_vectors(datasets.read_vectors(path, name="x"))


def _labels(path: Path) -> None:
    _is_labels(datasets.read_labels(path))


def _is_truth(truth: Any) -> None:
    assert isinstance(truth, datasets.GroundTruth)
    assert len(truth.queries) == len(truth.judgements)
    assert all(isinstance(name, str) for name in (*truth.images, *truth.queries))
    assert truth.left_out >= 0


def _mat_truth(path: Path) -> None:
    _is_truth(datasets.read_mat_truth(path))


def _author(path: Path) -> None:
    found = datasets.read_author_descriptors(path)
    _is_vectors(found.vectors)
    _is_vectors(found.queries)
    assert len(found.item_of) == len(found.vectors)
    assert found.vectors.dtype == np.float32


def _plain(path: Path) -> None:
    def check(value: Any) -> None:
        if isinstance(value, dict):
            for key, entry in value.items():
                check(key)
                check(entry)
        elif isinstance(value, list | tuple | set | frozenset):
            for entry in value:
                check(entry)
        elif isinstance(value, np.ndarray):
            assert value.dtype.kind in "biufUS"
        else:
            assert value is None or isinstance(value, bool | int | float | complex | str | bytes), type(value)

    check(datasets.read_plain_pickle(path))


def _revisited(path: Path) -> None:
    _is_truth(datasets.read_revisited(path))


def _oxford(path: Path) -> None:
    _is_truth(datasets.read_oxford_text(path.parent, ["a_1", "a_2", "a_3", "b_1"]))


def _truth_numbers(path: Path) -> None:
    from longwave.evaluation import Judgement, judgements_from_file

    found = judgements_from_file(path, np.arange(9))
    assert all(isinstance(judged, Judgement) for judged in found)
    assert {i for judged in found for i in (*judged.positive, *judged.junk)} <= set(range(9))


def _truth_names(path: Path) -> None:
    from longwave.evaluation import judgements_from_file

    ids = np.array([f"d/{i}.jpg" for i in range(9)])
    found = judgements_from_file(path, ids)
    assert {i for judged in found for i in (*judged.positive, *judged.junk)} <= set(ids.tolist())


def _picture(path: Path) -> None:
    from longwave.pictures import open_picture

    seen = open_picture(path, size=64)
    assert seen.dtype == np.uint8
    assert seen.ndim == 3
    assert seen.shape[2] == 3
    assert min(seen.shape[:2]) >= 32
    assert max(seen.shape[:2]) <= 64


def _description(path: Path) -> None:
    from longwave.pictures import Description, index_facts, read_description

    found = read_description(path)
    if found is None:
        return
    assert isinstance(found, Description)
    _is_vectors(found.vectors)
    rows = len(found.vectors) if found.item_of is None else int(found.item_of.max()) + 1
    assert rows <= len(found.paths)
    assert all(isinstance(name, str) for name in found.paths)
    index_facts(found)


def _whitening(path: Path) -> None:
    from longwave.pictures import read_whitening

    found = read_whitening(path)
    assert found.mean.dtype == found.projection.dtype == np.float32
    assert np.isfinite(found.mean).all()
    assert np.isfinite(found.projection).all()
    assert found.projection.shape[0] == len(found.mean)


# ---------------------------------------------------------------- samples


def _saved(write: Callable[[Any], None]) -> bytes:
    stream = io.BytesIO()
    write(stream)
    return stream.getvalue()


def _vecs(array: Any) -> bytes:
    return b"".join(struct.pack("<i", len(row)) + row.tobytes() for row in array)


def _cells(*values: Any) -> Any:
    made = np.empty((1, len(values)), dtype=object)
    made[0, :] = values
    return made


def _mats() -> Iterator[bytes]:
    import scipy.io

    variables = {"x": X, "note": "hello", "c": _cells(X, "a"), "s": {"a": X, "b": "t"}}
    for options in ({}, {"do_compression": True}):
        yield _saved(lambda s, o=options: scipy.io.savemat(s, variables, **o))
    yield _saved(lambda s: scipy.io.savemat(s, {"x": X, "note": "hello"}, format="4"))
    yield _mat73({"x": X.T.astype("f8")})


def _mat73(arrays: dict[str, Any]) -> bytes:
    import h5py

    stream = io.BytesIO()
    with h5py.File(stream, "w", userblock_size=512) as file:
        for name, array in arrays.items():
            file.create_dataset(name, data=array).attrs["MATLAB_class"] = np.bytes_("double")
    made = stream.getvalue()
    return b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM" + made[128:]


def _mat_truths() -> Iterator[bytes]:
    import scipy.io

    kinds = [(name, object) for name in ("ok", "junk", "bbx")]
    entries = [(np.array([[1, 3]]), np.array([[2]]), np.ones((1, 4))), (np.zeros((0, 0)), np.array([[1]]), X[:1])]
    found = {
        "gnd": np.array(entries, dtype=kinds)[None, :],
        "imlist": _cells("a", "b", "c"),
        "qimlist": _cells("p", "q"),
    }
    for options in ({}, {"do_compression": True}):
        yield _saved(lambda s, o=options: scipy.io.savemat(s, found, **o))


def _authors() -> Iterator[bytes]:
    import h5py
    import scipy.io

    part = {"V": _cells(X.T, X.T[:, :1]), "Q": _cells(X.T[:, 1:3])}
    yield _saved(lambda s: scipy.io.savemat(s, {"glob": part}))
    stream = io.BytesIO()
    with h5py.File(stream, "w", userblock_size=512) as file:
        for field, values in (("V", [X, X[:1]]), ("Q", [X[1:3]])):
            refs = [file.create_dataset(f"#refs#/{field}{i}", data=value).ref for i, value in enumerate(values)]
            made = file.create_dataset(f"glob/{field}", (len(values), 1), dtype=h5py.ref_dtype)
            made[:, 0] = refs
            made.attrs["MATLAB_class"] = np.bytes_("cell")
    yield stream.getvalue()


def _h5s() -> Iterator[bytes]:
    import h5py

    for options in ({}, {"compression": "gzip", "chunks": (4, 2)}, {"shuffle": True, "fletcher32": True}):
        stream = io.BytesIO()
        with h5py.File(stream, "w") as file:
            file.create_dataset("group/x", data=X, **options)
            file["ids"] = np.arange(9)
            file["names"] = [f"n{i}" for i in range(9)]
        yield stream.getvalue()
    stream = io.BytesIO()
    with h5py.File(stream, "w", libver="latest") as file:
        file.create_dataset("x", data=X, maxshape=(None, 4), chunks=(3, 4))
    yield stream.getvalue()


def _parquets() -> Iterator[bytes]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    fixed = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), 4)
    tables = [{"x": X.tolist(), "id": list(range(9))}, {"x": fixed}, {f"d{i}": X[:, i] for i in range(4)}]
    for table in tables:
        for codec in ("none", "snappy", "zstd", "gzip"):
            yield _saved(lambda s, t=table, c=codec: pq.write_table(pa.table(t), s, compression=c))


def _label_parquets() -> Iterator[bytes]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    words = pa.array(["Zürich", "b", "b", "c"])
    for column in (words, words.dictionary_encode(), pa.array([1, 2, 3, 4])):
        yield _saved(lambda s, c=column: pq.write_table(pa.table({"y": c}), s, compression="none"))


def _safetensors() -> Iterator[bytes]:
    import ml_dtypes
    from safetensors.numpy import save

    yield save({"x": X, "bias": X[0]})
    yield save({"x": X.astype(ml_dtypes.bfloat16)})


def _pictures() -> Iterator[tuple[str, bytes]]:
    from PIL import Image

    ramp = np.add.outer(np.arange(48), np.arange(40)).astype(np.uint8)
    colour = Image.fromarray(np.stack([ramp, ramp[::-1], 255 - ramp], axis=2))
    exif = Image.Exif()
    exif[0x0112] = 6
    frames = [colour.rotate(90 * i) for i in range(3)]
    for suffix, image, options in (
        (".jpg", colour, {"exif": exif}),
        (".jpg", colour, {"progressive": True}),
        (".png", colour, {"exif": exif}),
        (".png", colour.convert("P"), {}),
        (".png", Image.fromarray(ramp.astype(np.uint16)), {}),
        (".png", frames[0], {"save_all": True, "append_images": frames[1:]}),
        (".webp", colour, {}),
        (".webp", colour, {"lossless": True}),
        (".webp", frames[0], {"save_all": True, "append_images": frames[1:]}),
        (".gif", colour.convert("P"), {}),
        (".gif", frames[0].convert("P"), {"save_all": True, "append_images": [f.convert("P") for f in frames[1:]]}),
        (".tif", colour, {}),
        (".tif", colour, {"compression": "tiff_lzw"}),
        (".tif", colour, {"compression": "jpeg"}),
        (".tif", Image.fromarray(ramp.astype(np.float32)), {}),
        (".tif", frames[0], {"save_all": True, "append_images": frames[1:]}),
        (".bmp", colour, {}),
        (".ppm", colour, {}),
        (".pgm", colour.convert("L"), {}),
        (".jp2", colour, {}),
        (".avif", colour, {}),
    ):
        stream = io.BytesIO()
        image.save(stream, format={".pgm": "PPM"}.get(suffix) or Image.registered_extensions()[suffix], **options)
        yield suffix, stream.getvalue()


def _truth_files() -> Iterator[bytes]:
    entries = [{"positive": [3, 5], "junk": [1]}, {"positive": [0]}]
    yield json.dumps({"queries": entries}).encode()
    yield json.dumps({"queries": entries, "images": [f"d/{i}" for i in range(9)]}).encode()
    yield json.dumps({"queries": [{"positive": ["d/3", "5.jpg"], "junk": ["d/1.jpg"]}]}).encode()
    yield b"301 0 d/3 2\n301 0 5.jpg 1\n302 0 d/1.jpg 0\n"


def _pickles() -> Iterator[bytes]:
    value = {
        "a": [1, 2.5, None, True, "é", b"x", (1,), {3}, 1 << 70],
        "b": np.arange(6).reshape(2, 3),
        "c": np.array(["u"]),
        "d": np.float32(2),
    }
    value["e"] = value["a"]
    for protocol in range(6):
        yield pickle.dumps(value, protocol=protocol)


def _revisited_pickles() -> Iterator[bytes]:
    entry = {"bbx": [0, 0, 1, 1], "easy": np.array([0]), "hard": [np.int64(1)], "junk": [2]}
    for protocol in (0, 2, 4, 5):
        yield pickle.dumps({"imlist": ["a", "b", "c"], "qimlist": ["q"], "gnd": [entry]}, protocol=protocol)


def _descriptions() -> Iterator[bytes]:
    from longwave.pictures import Description, Treatment, Whitening, write_description

    treatment = Treatment("e", "w", 0.5, 0.5, 4, (0.6, 0.8), dimensions=4)
    paths = tuple(f"{i}.jpg" for i in range(9))
    known = Whitening(X[0], np.eye(4, dtype=np.float32))
    files = np.arange(36).reshape(9, 4)
    for more in ({"item_of": None, "whitening": None}, {"item_of": np.arange(9), "whitening": known, "files": files}):
        made = Description(vectors=X, paths=paths, folder="folder", treatment=treatment, **more)
        with tempfile.TemporaryDirectory() as folder:
            write_description(made, Path(folder) / "d.h5")
            yield (Path(folder) / "d.h5").read_bytes()


_CSV = ("a,b,c,d\n" + "\n".join(",".join(map(repr, row)) for row in X.tolist())).encode()
Sample = tuple[str, bytes, Callable[[Path], None]]
Try = tuple[int, str, Callable[[], None]]


def _samples(kind: str) -> list[Sample]:
    """File name, content and reader."""
    match kind:
        case "npy":
            plain, turned, text = (
                _saved(lambda s, a=a: np.save(s, a)) for a in (X, np.asfortranarray(X), np.array(["a", "bc"]))
            )
            return [("x.npy", plain, _vectors), ("x.npy", turned, _vectors), ("y.npy", text, _labels)]
        case "npz":
            stored, packed = (
                _saved(lambda s, w=w: w(s, x=X, ids=np.arange(9))) for w in (np.savez, np.savez_compressed)
            )
            white = _saved(lambda s: np.savez(s, mean=X[0], projection=np.eye(4)))
            return [
                *(("x.npz", content, read) for content in (stored, packed) for read in (_vectors, _labels)),
                ("w.npz", white, _whitening),
            ]
        case "vecs":
            return [
                ("x.fvecs", _vecs(X), _vectors),
                ("x.ivecs", _vecs(X.astype("<i4")), _vectors),
                ("x.bvecs", _vecs(X.astype("u1")), _vectors),
            ]
        case "mat":
            return [
                *(("x.mat", content, read) for content in _mats() for read in (_vectors, _named, _labels)),
                *(("gnd.mat", content, _mat_truth) for content in _mat_truths()),
                *(("a.mat", content, _author) for content in _authors()),
            ]
        case "h5":
            return [
                *(("x.h5", content, read) for content in _h5s() for read in (_vectors, _labels)),
                *(("d.h5", content, _description) for content in _descriptions()),
            ]
        case "parquet":
            return [
                *(("x.parquet", content, _vectors) for content in _parquets()),
                *(("y.parquet", content, _labels) for content in _label_parquets()),
            ]
        case "safetensors":
            return [("x.safetensors", content, _vectors) for content in _safetensors()]
        case "csv":
            return [
                ("x.csv", _CSV, _vectors),
                ("y.csv", b"1\n2\n3\n", _labels),
                ("y.txt", b"a\nb\n\xc3\xa9\n", _labels),
                ("y.json", b"[1, 2, 3]", _labels),
                ("y.json", b'["a", "b"]', _labels),
            ]
        case "truth":
            return [
                *(("t.json", content, _truth_names) for content in _truth_files()),
                *(("t.json", content, _truth_numbers) for content in list(_truth_files())[:1]),
                ("a_1_query.txt", b"oxc1_a_1 1 2 3.5 4\n", _oxford),
                ("a_1_good.txt", b"a_2\na_3\n", _oxford),
            ]
        case "pickle":
            return [
                *(("x.pkl", content, _plain) for content in _pickles()),
                *(("g.pkl", content, _revisited) for content in _revisited_pickles()),
            ]
        case "picture":
            return [(f"x{suffix}", content, _picture) for suffix, content in _pictures()]
    raise ValueError(kind)


# ---------------------------------------------------------------- work folders

_STAGES: dict[str, dict[str, Any]] = {
    "lists": {"ids": np.arange(36).reshape(9, 4), "similarities": X, "recall": np.ones(1)},
    "component-3-round-2": {"block": np.asfortranarray(X), "numbers": np.arange(3.0)},
    "chunk": {"reasons": np.array(["", "not a picture"]), "vectors": X.astype(np.float16)},
}
_VECTORS, _SETTINGS = X, {"k": 5, "spectrum": "Chebyshev(rank=50)"}


def _write_work(folder: Path) -> None:
    from longwave.storage.checkpoints import open_checkpoint

    work = open_checkpoint(folder, _VECTORS, _SETTINGS)
    for stage, arrays in _STAGES.items():
        work.save(stage, arrays)


def _read_work(folder: Path) -> None:
    """Every stage is what was written, or not there."""
    from longwave.storage.checkpoints import open_checkpoint

    work = open_checkpoint(folder, _VECTORS, _SETTINGS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        latest = work.at("component-3").latest("round")
        found = {stage: work.load(stage) for stage in ("lists", "chunk")}
    assert latest is None or latest[0] == 2
    for stage, arrays in {**found, "component-3-round-2": latest and latest[1]}.items():
        if arrays is not None:
            assert list(arrays) == list(_STAGES[stage])
            for name, array in arrays.items():
                assert array.dtype == _STAGES[stage][name].dtype
                np.testing.assert_array_equal(array, _STAGES[stage][name])
    work.save("lists", _STAGES["lists"])  # and what is not there can be written again
    np.testing.assert_array_equal(work.load("lists")["similarities"], X)


def _damage_work(folder: Path, rng: np.random.Generator) -> str:
    """Alter a file, or put something else in its place; its name."""
    files = sorted(folder.iterdir())
    path, other = (files[int(i)] for i in rng.integers(len(files), size=2))
    what = int(rng.integers(12))
    content = path.read_bytes()
    if what < 8:
        path.write_bytes(alter(content, rng))
        return path.name
    if what == 8:
        path.write_bytes(other.read_bytes())
        return path.name
    path.unlink()
    if what == 9:
        path.symlink_to(other.name)
    elif what == 10:
        os.mkfifo(path)
    elif rng.integers(2):
        path.with_suffix(".partial").symlink_to(other.name)
    return path.name


#: Everything that is read from a single file, work folders, and folders of Zarr.
KINDS = (
    "npy",
    "npz",
    "vecs",
    "mat",
    "h5",
    "parquet",
    "safetensors",
    "csv",
    "truth",
    "pickle",
    "picture",
    "work",
    "zarr",
)


def _zarr_tries(first: int, count: int, folder: Path) -> Iterator[Try]:
    """One file of a folder is altered: what describes the array, or a chunk."""
    import zarr

    blosc = zarr.codecs.BloscCodec(cname="lz4")
    forms: list[dict[str, Any]] = [{}, {"shards": (6, 4)}, {"compressors": blosc}, {"zarr_format": 2}]
    forms += [{"compressors": zarr.codecs.GzipCodec()}, {"zarr_format": 2, "compressors": None}]
    for number, form in enumerate(forms):
        made = zarr.create_array(folder / f"{number}.zarr", shape=X.shape, dtype=X.dtype, chunks=(3, 4), **form)
        made[...] = X
        _vectors(folder / f"{number}.zarr")
    for seed in range(first, first + count):
        rng = np.random.default_rng(seed)
        path = folder / f"{seed % len(forms)}.zarr"
        files = sorted(own for own in path.rglob("*") if own.is_file())
        file = files[int(rng.integers(len(files)))]
        content = file.read_bytes()
        file.write_bytes(alter(content, rng))
        yield seed, f"{file.relative_to(folder)}", lambda path=path: _vectors(path)
        file.write_bytes(content)


def _work_tries(first: int, count: int, folder: Path) -> Iterator[Try]:
    os.fsync = lambda handle: None  # nothing here is to outlive the machine
    for seed in range(first, first + count):
        shutil.rmtree(folder / "w", ignore_errors=True)
        _write_work(folder / "w")
        name = _damage_work(folder / "w", np.random.default_rng(seed))
        yield seed, f"{name} of a work folder", lambda: _read_work(folder / "w")


def _file_tries(kind: str, first: int, count: int, folder: Path) -> Iterator[Try]:
    _share_hdf5()
    samples = _samples(kind)
    for stem, content in (("query", b"oxc1_a_1 1 2 3 4"), ("good", b"a_2"), ("ok", b""), ("junk", b"")):
        (folder / f"a_1_{stem}.txt").write_bytes(content)
    for name, content, read in samples:  # whole ones are read; this also loads every library
        (folder / name).write_bytes(content)
        with suppress(LongwaveError) if read in (_vectors, _labels) else nullcontext():  # some have none, or several
            read(folder / name)
    for seed in range(first, first + count):
        name, content, read = samples[seed % len(samples)]
        (folder / name).write_bytes(alter(content, np.random.default_rng(seed)))
        yield seed, f"{name}, {read.__name__}", lambda name=name, read=read: read(folder / name)
        (folder / name).write_bytes(content)


def _wants_memory(error: BaseException | None) -> bool:
    """Whether memory ran out on the way to this error: a size was believed before it was checked."""
    while error is not None:
        if isinstance(error, MemoryError):
            return True
        error = error.__cause__ or error.__context__
    return False


def run(kind: str, first: int, count: int, folder: Path) -> int:
    """Read `count` altered files; the number of those that ended otherwise than they may."""
    wrong, limited = 0, False
    others = {"work": _work_tries, "zarr": _zarr_tries}
    tries = others[kind](first, count, folder) if kind in others else _file_tries(kind, first, count, folder)
    for seed, what, read in tries:
        if not limited:
            limited = True
            _limit()
        print(f"seed {seed} of {kind}: {what}", flush=True)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)  # the process ends with the signal, also in compiled code
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                read()
            failure = ""
        except LongwaveError as error:
            failure = f"asks for memory: {error}" if _wants_memory(error) else ""
        except BaseException:
            failure = traceback.format_exc(limit=-6, chain=False)
        signal.setitimer(signal.ITIMER_PROF, 0)
        if failure:
            wrong += 1
            print(f"seed {seed} of {kind}: {what}: {failure}", file=sys.stderr, flush=True)
    return wrong


def _share_hdf5() -> None:
    """One process for many HDF5 files, until it ends: to begin a new one takes longer than all the rest."""
    from longwave.datasets import matlab
    from longwave.files import formats
    from longwave.files.hdf5 import open_reader
    from longwave.pictures import description_file as files

    held = ExitStack()
    atexit.register(held.close)
    readers: list[Any] = []

    @contextmanager
    def shared(path: Path, **_: Any) -> Iterator[Any]:
        if not readers or readers[-1].process.poll() is not None:
            readers.append(held.enter_context(open_reader(path)))
        yield readers[-1]

    for module in (formats, matlab, files):
        module.open_reader = shared


def _limit() -> None:
    """At most so much more memory than now."""
    size = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmPeak"))
    most = int(size.split()[1]) * 1024 + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        sys.exit(bool(run(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(place))))
