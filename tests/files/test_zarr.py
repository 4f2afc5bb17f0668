"""Folders of Zarr, written by its own library: some rows, chunk by chunk; every error names the remedy."""

import json
import os
import pickle
import re
import sys

import numpy as np
import pytest

from commands import run
from longwave import Index
from longwave.cluster.engine import InProcess
from longwave.cluster.source import Piece, files_of, read_source, table_of
from longwave.errors import FileError, MissingExtraError
from longwave.files import zarr_folders
from longwave.files.vectors import layout_of, read_vectors, split_name

zarr = pytest.importorskip("zarr", reason="zarr comes with the extra 'files'")
X = np.random.default_rng(7).standard_normal((90, 4)).astype(np.float32)
FORMS = {
    "plain": {"chunks": (20, 4)},
    "columns": {"chunks": (20, 3), "compressors": zarr.codecs.BloscCodec(cname="lz4")},
    "shards": {"chunks": (10, 4), "shards": (40, 4)},
    "second": {"chunks": (20, 4), "zarr_format": 2},
    "bare": {"chunks": (90, 4), "compressors": None},
}


def written(path, array=X, **options):
    made = zarr.create_array(path, shape=array.shape, dtype=array.dtype, **options)
    made[...] = array
    return path


def refused(path, *words, name=None):
    with pytest.raises(FileError) as caught:
        read_vectors(path, name=name)
    message = str(caught.value)
    assert "\n" not in message
    for word in (str(path), *words):
        assert word in message


@pytest.mark.parametrize("form", FORMS)
def test_the_same_numbers_whole_and_by_rows(form, tmp_path, monkeypatch):
    path = written(tmp_path / "x.zarr", **FORMS[form])
    found = read_vectors(path)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, X)
    monkeypatch.setattr(zarr_folders, "_PART", 100)  # less than a chunk
    np.testing.assert_array_equal(read_vectors(path), X)
    for rows in (slice(0, 20), slice(15, 61), slice(80, 90), slice(33, 34)):
        np.testing.assert_array_equal(read_vectors(path, rows=rows), X[rows])
    assert layout_of(path)[:2] == X.shape


def test_types_and_byte_orders(tmp_path):
    for number, kind in enumerate(("f2", "f8", ">f4", "u1", "i8")):
        array = np.abs(X * 9).astype(kind) + np.array(1, dtype=kind)
        found = read_vectors(written(tmp_path / f"{number}.zarr", array))
        assert found.dtype == array.dtype.newbyteorder("=")
        np.testing.assert_array_equal(found, array)


def test_only_the_chunks_asked_for_are_read(tmp_path):
    path = written(tmp_path / "x.zarr", chunks=(10, 4))
    for chunk in range(1, 9):
        (path / f"c/{chunk}/0").write_bytes(b"no chunk")
    np.testing.assert_array_equal(read_vectors(path, rows=slice(0, 10)), X[:10])
    assert layout_of(path) == (90, 4, 10)


def test_an_array_of_a_group_is_named(tmp_path):
    group = zarr.create_group(tmp_path / "g.zarr")
    group.create_array("ids", data=np.arange(90))
    group.create_group("deep").create_array("x", data=X)
    np.testing.assert_array_equal(read_vectors(tmp_path / "g.zarr"), X)
    group.create_array("other", data=X[:, :2])
    assert split_name(f"{tmp_path}/g.zarr:deep/x") == (tmp_path / "g.zarr", "deep/x")
    np.testing.assert_array_equal(read_vectors(tmp_path / "g.zarr", name="deep/x"), X)
    refused(tmp_path / "g.zarr", "several 2-D arrays", "deep/x (90 × 4, float32)", "g.zarr:NAME")
    refused(tmp_path / "g.zarr", "no array named 'y'", name="y")
    refused(written(tmp_path / "x.zarr"), "leave out the name", name="x")


def test_what_are_no_vectors(tmp_path):
    refused(written(tmp_path / "a.zarr", X[0]), "shape 4", "2-D", "reshape")
    refused(written(tmp_path / "b.zarr", X.reshape(9, 10, 4)), "shape 9 × 10 × 4", "reshape")
    refused(written(tmp_path / "c.zarr", X > 0), "type bool", "convert")
    refused(written(tmp_path / "d.zarr", X.astype(np.complex64)), "complex64", "convert")
    zarr.create_array(tmp_path / "e.zarr", shape=(0, 4), dtype="f4")
    refused(tmp_path / "e.zarr", "is empty", "at least one row")
    refused(tmp_path / "none.zarr", "no such file", "check the path")
    (tmp_path / "f.zarr").write_bytes(b"PK")
    refused(tmp_path / "f.zarr", "is a file, and Zarr is a folder", "unpack")
    (tmp_path / "g.zarr").mkdir()
    refused(tmp_path / "g.zarr", "cannot be read as .zarr", "write or download it again")


@pytest.mark.parametrize("form", FORMS)
def test_damaged_and_half_written(form, tmp_path):
    path = written(tmp_path / "x.zarr", **FORMS[form])
    chunks = [own for own in path.rglob("*") if own.is_file() and re.fullmatch(r"\d+(\.\d+)?", own.name)]
    content = chunks[0].read_bytes()
    chunks[0].write_bytes(content[: len(content) // 2])
    refused(path, "cannot be read as .zarr", "write or download it again")
    chunks[0].write_bytes(content)
    if form != "bare":
        for own in chunks:
            if int(re.findall(r"\d+", str(own.relative_to(path)))[0]) == 1:
                own.unlink()
        refused(path, "rows 40 to 49" if form == "shards" else "rows 20 to 39", "not written to the end")
    for own in path.rglob("*"):
        if own.name in ("zarr.json", ".zarray"):
            own.write_text(own.read_text()[:50])
    refused(path, "cannot be read as .zarr", "write or download it again")


class Deed:
    def __reduce__(self):
        return os.mkdir, ("done-by-pickle",)


def test_nothing_is_unpickled(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = written(tmp_path / "x.zarr", zarr_format=2, chunks=(90, 4))
    known = json.loads((path / ".zarray").read_text())
    for place in ({"compressor": {"id": "pickle"}}, {"compressor": None, "filters": [{"id": "pickle"}]}):
        (path / ".zarray").write_text(json.dumps(known | place))
        (path / "0.0").write_bytes(pickle.dumps(Deed()))
        refused(path, "pickle", "write")
    assert not (tmp_path / "done-by-pickle").exists()


def test_blosc_in_shards_cannot_be_checked(tmp_path):
    path = written(tmp_path / "x.zarr", chunks=(10, 4), shards=(40, 4), compressors=zarr.codecs.BloscCodec())
    refused(path, "blosc inside of sharding_indexed", "write it with zstd")


def test_no_size_is_believed(tmp_path):
    path = written(tmp_path / "x.zarr", chunks=(90, 4))
    known = json.loads((path / "zarr.json").read_text())
    for shape, chunk in (([10**9, 400], [90, 4]), ([90, 4], [10**9, 400])):
        grid = {"name": "regular", "configuration": {"chunk_shape": chunk}}
        (path / "zarr.json").write_text(json.dumps(known | {"shape": shape, "chunk_grid": grid}))
        refused(path, "but announces 1,600,000,000,000", "write it again")
        with pytest.raises(FileError, match="announces"):
            layout_of(path)


def test_a_missing_library_names_the_extra(tmp_path, monkeypatch):
    path = written(tmp_path / "x.zarr")
    monkeypatch.setitem(sys.modules, "zarr", None)
    with pytest.raises(MissingExtraError, match=re.escape(f"reading {path} needs the extra 'files'")):
        read_vectors(path)


def test_pieces_do_not_share_a_chunk(tmp_path, monkeypatch):
    from longwave.cluster import source

    monkeypatch.setattr(source, "_ROWS", 30)
    written(tmp_path / "a.zarr", chunks=(20, 4))
    written(tmp_path / "b.zarr", X[:50], chunks=(50, 4))
    np.save(tmp_path / "c.npy", X)
    files = files_of(tmp_path)
    assert [name[-6:] for name in files] == ["a.zarr", "b.zarr", "/c.npy"]
    assert files_of(tmp_path / "a.zarr") == [str(tmp_path / "a.zarr")]
    found = read_source(InProcess(), files)
    cuts = [(piece.start, piece.stop, piece.first) for piece in found.pieces]
    assert cuts == [(0, 40, 0), (40, 80, 40), (80, 90, 80), (0, 50, 90), (0, 30, 140), (30, 60, 170), (60, 90, 200)]
    assert found.shape == (230, 4)
    unit = np.concatenate([piece.unit() for piece in found.pieces])
    np.testing.assert_allclose(unit[:90], X / np.linalg.norm(X, axis=1, keepdims=True), atol=1e-6)
    np.testing.assert_array_equal(unit[90:140], unit[:50])
    before = table_of(files)
    (tmp_path / "a.zarr/c/1/0").write_bytes(b"other")
    assert (table_of(files) != before).any(axis=1).tolist() == [True, False, False]
    with pytest.raises(FileError, match=r"a\.zarr cannot be read"):
        Piece(files[0], 0, 40, 0).unit()


def test_the_command_line(digits_split, tmp_path):
    vectors, queries = digits_split[0], digits_split[2]
    group = zarr.create_group(tmp_path / "v.zarr")
    group.create_array("x", data=vectors, chunks=(100, 64))
    (tmp_path / "shards").mkdir()
    for number, start in enumerate(range(0, len(vectors), 600)):
        written(tmp_path / f"shards/{number}.zarr", vectors[start : start + 600], chunks=(250, 64))
    written(tmp_path / "q.zarr", queries[:5])
    here = Index.build(vectors, k=10, progress=False)
    for name, more in ((f"{tmp_path}/v.zarr:x", []), (tmp_path / "shards", ["--cluster", "local"])):
        code, _, told = run("build", name, "-o", tmp_path / "i.longwave", "--k", 10, "--force", *more)
        assert code == 0, told
        assert len(Index.load(tmp_path / "i.longwave")) == len(here)
    code, _, told = run("search", tmp_path / "i.longwave", tmp_path / "q.zarr", "-k", 3, "-o", tmp_path / "h.npz")
    assert code == 0, told
    wanted = here.search(queries[:5], 3).ids
    assert (np.load(tmp_path / "h.npz")["ids"] == wanted).mean() > 0.9
