"""Every format is written by its own library and read back; every error names the file and the remedy."""

from __future__ import annotations

import json
import re
import struct
import sys
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse

from longwave.errors import DataWarning, FileError, MissingExtraError
from longwave.files import formats
from longwave.files.vectors import read_labels, read_vectors, split_name

X = np.random.default_rng(7).standard_normal((9, 4)).astype(np.float32)
AGAIN = "write or download it again"


def optional(module: str) -> Any:
    return pytest.importorskip(module, reason=f"{module} comes with the extra 'files'")


def same(found: np.ndarray, expected: np.ndarray) -> None:
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


def refused(path: Path, *words: str, read: Any = read_vectors, name: str | None = None) -> FileError:
    """Reading fails in one line that names the file and all the words."""
    with pytest.raises(FileError) as caught:
        read(path, name=name)
    message = str(caught.value)
    assert "\n" not in message
    for word in (str(path), *words):
        assert word in message
    return caught.value


def write_vecs(path: Path, array: np.ndarray) -> Path:
    rows = (struct.pack("<i", len(row)) + row.tobytes() for row in array)
    path.write_bytes(b"".join(rows))
    return path


def write_mat73(path: Path, **arrays: np.ndarray) -> Path:
    """As MATLAB does: 512 bytes of header before the HDF5 content, and arrays transposed."""
    h5py = optional("h5py")
    classes = {"f8": "double", "f4": "single", "i4": "int32", "u2": "char", "u1": "logical"}
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, array in arrays.items():
            node = file.create_dataset(name, data=array.T)
            node.attrs["MATLAB_class"] = np.bytes_(classes[array.dtype.str[1:]])
    with path.open("r+b") as stream:
        text = b"MATLAB 7.3 MAT-file, Platform: GLNXA64, HDF5 schema 1.00 ."
        stream.write(text.ljust(116) + bytes(8) + struct.pack("<H", 0x0200) + b"IM")
    return path


def write_parquet(path: Path, columns: dict[str, Any]) -> Path:
    arrow, parquet = optional("pyarrow"), optional("pyarrow.parquet")
    parquet.write_table(arrow.table(columns), path)
    return path


def write_safetensors(path: Path, **arrays: np.ndarray) -> Path:
    optional("safetensors.numpy").save_file(arrays, path)
    return path


# ---------------------------------------------------------------- vectors


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "u1", "i8"])
def test_npy_is_memory_mapped(tmp_path, dtype):
    array = (X * 9).astype(dtype) if dtype != "u1" else np.arange(36, dtype="u1").reshape(9, 4)
    np.save(tmp_path / "x.npy", array)
    found = read_vectors(tmp_path / "x.npy")
    same(found, array)
    assert isinstance(found, np.memmap)
    assert not found.flags.writeable


def test_npy_in_fortran_order_upper_case_suffix_and_a_path_as_text(tmp_path):
    with (tmp_path / "x.NPY").open("wb") as stream:
        np.save(stream, np.asfortranarray(X))
    same(read_vectors(str(tmp_path / "x.NPY")), X)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz(tmp_path, save):
    path = tmp_path / "x.npz"
    save(path, vectors=X, ids=np.arange(9))
    same(read_vectors(path), X)
    same(read_vectors(path, name="vectors"), X)


def test_npz_passes_over_members_that_are_not_arrays(tmp_path):
    np.savez(tmp_path / "x.npz", vectors=X)
    with zipfile.ZipFile(tmp_path / "x.npz", "a") as archive:
        archive.writestr("readme.txt", "hello")
    same(read_vectors(tmp_path / "x.npz"), X)


@pytest.mark.parametrize(("suffix", "dtype"), [(".fvecs", "<f4"), (".ivecs", "<i4"), (".bvecs", "u1")])
@pytest.mark.parametrize("dimension", [1, 3, 4])
def test_vecs_are_memory_mapped(tmp_path, suffix, dtype, dimension):
    array = np.arange(5 * dimension).reshape(5, dimension).astype(dtype)
    found = read_vectors(write_vecs(tmp_path / f"x{suffix}", array))
    same(found, array)
    assert isinstance(found, np.memmap)
    assert not found.flags.writeable
    assert not found.flags.owndata


@pytest.mark.parametrize("options", [{}, {"do_compression": True}])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i2", "u1"])
def test_mat(tmp_path, options, dtype):
    path = tmp_path / "x.mat"
    array = np.abs(X * 9).astype(dtype)
    scipy.io.savemat(path, {"vectors": array, "note": "hello"}, **options)
    same(read_vectors(path), array)
    same(read_vectors(path, name="vectors"), array)


def test_mat_v4_holds_doubles(tmp_path):
    scipy.io.savemat(tmp_path / "x.mat", {"x": X}, format="4")
    same(read_vectors(tmp_path / "x.mat"), X.astype(np.float64))


def test_mat_doubles_stored_as_bytes_are_doubles_again(tmp_path):
    """MATLAB writes an array of class double as uint8 when its values fit."""
    path = tmp_path / "x.mat"
    scipy.io.savemat(path, {"x": np.array([[1, 2], [3, 4]], dtype=np.uint8)})
    content = path.read_bytes()
    flags = content.index(struct.pack("<III", 6, 8, 9))  # the element of array flags: class 9 is uint8, 6 double
    path.write_bytes(content[: flags + 8] + struct.pack("<I", 6) + content[flags + 12 :])
    assert scipy.io.loadmat(path)["x"].dtype == np.uint8
    same(read_vectors(path), np.array([[1.0, 3.0], [2.0, 4.0]]).T)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4"])
def test_mat_v73_is_transposed_back(tmp_path, dtype):
    array = (X * 9).astype(dtype)
    text = np.array([[104, 105]], dtype="u2")
    truth = np.eye(3, dtype="u1")
    path = write_mat73(tmp_path / "x.mat", x=array, text=text, truth=truth)
    assert path.read_bytes()[:10] == b"MATLAB 7.3"
    same(read_vectors(path), array)
    refused(path, "text", "char", "real numbers", name="text")
    refused(path, "truth", "logical", "real numbers", name="truth")


def test_mat_v73_passes_over_the_references_of_cells(tmp_path):
    path = write_mat73(tmp_path / "x.mat", x=X)
    with optional("h5py").File(path, "r+") as file:
        file["#refs#/a"] = X
    same(read_vectors(path), X)


@pytest.mark.parametrize("suffix", [".h5", ".hdf5"])
def test_hdf5(tmp_path, suffix):
    path = tmp_path / f"x{suffix}"
    with optional("h5py").File(path, "w") as file:
        file["ids"] = np.arange(9)
        file.create_dataset("group/vectors", data=X, compression="gzip")
        file["scalar"] = 3.0
        file["nothing"] = optional("h5py").Empty("f4")
        file["reference"] = file["ids"].ref
    same(read_vectors(path), X)
    same(read_vectors(path, name="group/vectors"), X)
    refused(path, "nothing", "scalar", "reshape", name="nothing")
    refused(path, "reference", "real numbers", name="reference")


def test_parquet_lists(tmp_path):
    arrow = optional("pyarrow")
    fixed = arrow.FixedSizeListArray.from_arrays(arrow.array(X.ravel()), 4)
    columns = {"id": list(range(9)), "fixed": fixed, "title": ["t"] * 9}
    same(read_vectors(write_parquet(tmp_path / "a.parquet", columns)), X)
    for kind in (arrow.list_(arrow.float32()), arrow.large_list(arrow.float32())):
        plain = arrow.array(X.tolist(), type=kind)
        same(read_vectors(write_parquet(tmp_path / "b.parquet", {"plain": plain})), X)
        same(read_vectors(tmp_path / "b.parquet", name="plain"), X)


def test_parquet_lists_in_several_row_groups(tmp_path):
    arrow, parquet = optional("pyarrow"), optional("pyarrow.parquet")
    table = arrow.table({"v": arrow.FixedSizeListArray.from_arrays(arrow.array(X.ravel()), 4)})
    parquet.write_table(table, tmp_path / "x.parquet", row_group_size=2)
    same(read_vectors(tmp_path / "x.parquet"), X)


def test_parquet_numeric_columns_are_the_dimensions(tmp_path):
    columns = {f"d{i}": X[:, i] for i in range(4)}
    same(read_vectors(write_parquet(tmp_path / "a.parquet", columns)), X)
    path = write_parquet(tmp_path / "b.parquet", {"title": ["t"] * 9, **columns})
    same(read_vectors(path), X)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i4"])
def test_safetensors(tmp_path, dtype):
    array = (X * 9).astype(dtype)
    path = write_safetensors(tmp_path / "x.safetensors", vectors=array, bias=X[0])
    same(read_vectors(path), array)
    same(read_vectors(path, name="vectors"), array)


def test_safetensors_bfloat16_becomes_float32(tmp_path):
    half = X.astype(optional("ml_dtypes").bfloat16)
    path = write_safetensors(tmp_path / "x.safetensors", vectors=half)
    same(read_vectors(path), half.astype(np.float32))


@pytest.mark.parametrize("header", ["", "a,b,c,d\n", '"a","b","c","d"\r\n', "\ufeff"])
def test_csv(tmp_path, header):
    path = tmp_path / "x.csv"
    lines = [",".join(repr(float(value)) for value in row) for row in X]
    path.write_text(header + "\n\n".join(lines) + "\n", encoding="utf-8")
    same(read_vectors(path), X.astype(np.float64))


def test_csv_of_one_number(tmp_path):
    (tmp_path / "x.csv").write_text("3")
    same(read_vectors(tmp_path / "x.csv"), np.array([[3.0]]))


# ---------------------------------------------------------------- choosing an array


def write_two(tmp_path: Path, suffix: str, two: bool) -> Path:
    """A container with two 2-D arrays, or with none."""
    path = tmp_path / f"x{suffix}"
    arrays = {"one": X, "two": X[:3] * 2} if two else {"line": X[0], "block": X.reshape(3, 3, 4)}
    if suffix == ".npz":
        np.savez(path, **arrays)
    elif suffix == ".mat":
        scipy.io.savemat(path, arrays if two else {"block": arrays["block"]})
    elif suffix == ".safetensors":
        write_safetensors(path, **arrays)
    else:
        with optional("h5py").File(path, "w") as file:
            for name, array in arrays.items():
                file[name] = array
    return path


@pytest.mark.parametrize("suffix", [".npz", ".mat", ".h5", ".safetensors"])
def test_several_or_no_arrays_ask_for_the_name(tmp_path, suffix):
    path = write_two(tmp_path, suffix, two=True)
    refused(path, "several", "one (9 × 4", "two (3 × 4", f"pass the name, as in x{suffix}:NAME")
    same(read_vectors(path, name="two"), X[:3] * 2)
    refused(path, "'three'", "one (9 × 4", "two (3 × 4", "pass the name", name="three")
    path = write_two(tmp_path, suffix, two=False)
    refused(path, "no 2-D arrays of numbers", "block (3 × 3 × 4", "pass the name")
    refused(path, "block", "3 × 3 × 4", "rows × dimensions", "reshape", name="block")


def test_parquet_asks_for_the_name(tmp_path):
    lists = X.tolist()
    path = write_parquet(tmp_path / "x.parquet", {"one": lists, "two": lists, "id": list(range(9))})
    refused(path, "several", "one (9 × ?", "two (9 × ?", "id (9, int64)", "x.parquet:NAME")
    same(read_vectors(path, name="two"), X.astype(np.float64))
    refused(path, "id", "rows × dimensions", name="id")
    path = write_parquet(tmp_path / "y.parquet", {"title": ["t"] * 9})
    refused(path, "no 2-D arrays of numbers", "title (9, string)", "pass the name")


def test_long_listings_are_cut(tmp_path):
    np.savez(tmp_path / "x.npz", **{f"a{i}": X for i in range(15)})
    refused(tmp_path / "x.npz", "a11 (9 × 4, float32) and 3 more")


def test_a_name_is_only_for_containers(tmp_path):
    np.save(tmp_path / "x.npy", X)
    refused(tmp_path / "x.npy", "single array", "leave out the name 'v'", name="v")


def test_split_name(tmp_path, monkeypatch):
    for suffix in (".npz", ".mat", ".h5", ".hdf5", ".parquet", ".safetensors", ".H5"):
        assert split_name(f"d/x{suffix}:group/v") == (Path(f"d/x{suffix}"), "group/v")
        assert split_name(f"d/x{suffix}") == (Path(f"d/x{suffix}"), None)
    assert split_name("x.npy:v") == (Path("x.npy:v"), None)
    assert split_name("x.h5:") == (Path("x.h5"), None)
    assert split_name("plain") == (Path("plain"), None)
    monkeypatch.chdir(tmp_path)
    Path("x.h5:v").write_bytes(b"1")
    assert split_name("x.h5:v") == (Path("x.h5:v"), None)


# ---------------------------------------------------------------- labels

IDS = np.array([5, -3, 2**40], dtype=np.int64)
TEXTS = np.array(["Zürich", "a b", "007"])


@pytest.mark.parametrize("labels", [IDS, TEXTS, IDS[:, None], IDS[None]])
def test_labels_npy_npz(tmp_path, labels):
    np.save(tmp_path / "y.npy", labels)
    np.savez(tmp_path / "y.npz", vectors=X, labels=labels)
    for name in ("y.npy", "y.npz"):
        found = read_labels(tmp_path / name)
        same(found, labels.ravel())
        assert type(found) is np.ndarray


@pytest.mark.parametrize("dtype", ["i1", "u2", "u8", "f2", "f8", ">i4"])
def test_numbers_become_int64(tmp_path, dtype):
    np.save(tmp_path / "y.npy", np.array([3, 0, 7], dtype=dtype))
    same(read_labels(tmp_path / "y.npy"), np.array([3, 0, 7], dtype=np.int64))


def test_bytes_become_text(tmp_path):
    np.save(tmp_path / "y.npy", np.strings.encode(TEXTS, "utf-8"))
    same(read_labels(tmp_path / "y.npy"), TEXTS)
    np.save(tmp_path / "y.npy", np.array([b"\xff"]))
    refused(tmp_path / "y.npy", AGAIN, read=read_labels)


@pytest.mark.parametrize("values", [[1.0, 2.5], [np.nan], [np.inf]])
def test_fractions_are_refused(tmp_path, values):
    np.save(tmp_path / "y.npy", np.array(values))
    refused(tmp_path / "y.npy", "fractions or NaN", "round them", read=read_labels)


@pytest.mark.parametrize("values", [np.array([2**63], dtype="u8"), np.array([1e19])])
def test_labels_over_64_bits_are_refused(tmp_path, values):
    np.save(tmp_path / "y.npy", values)
    refused(tmp_path / "y.npy", "64-bit", "as text", read=read_labels)


def test_labels_mat(tmp_path):
    scipy.io.savemat(tmp_path / "y.mat", {"X": X, "y": IDS})
    same(read_labels(tmp_path / "y.mat"), IDS)
    doubles = np.array([[3.0], [1.0]])
    same(read_labels(write_mat73(tmp_path / "z.mat", X=X, y=doubles)), np.array([3, 1], dtype=np.int64))


@pytest.mark.parametrize("labels", [IDS, TEXTS])
def test_labels_hdf5(tmp_path, labels):
    with optional("h5py").File(tmp_path / "y.h5", "w") as file:
        file["vectors"] = X
        file["labels"] = labels.tolist()
    same(read_labels(tmp_path / "y.h5"), labels)


@pytest.mark.parametrize("labels", [IDS, TEXTS])
def test_labels_parquet(tmp_path, labels):
    arrow = optional("pyarrow")
    column = arrow.array(labels.tolist())
    path = write_parquet(tmp_path / "y.parquet", {"v": X[:3].tolist(), "y": column})
    same(read_labels(path), labels)
    path = write_parquet(tmp_path / "y.parquet", {"y": column.dictionary_encode(), "z": column})
    same(read_labels(path, name="y"), labels)
    refused(path, "several", "y (3, ", "z (3, ", "pass the name", read=read_labels)


@pytest.mark.parametrize("labels", [IDS, TEXTS])
def test_labels_json(tmp_path, labels):
    (tmp_path / "y.json").write_text(json.dumps(labels.tolist(), ensure_ascii=False), encoding="utf-8")
    same(read_labels(tmp_path / "y.json"), labels)


def test_whole_floats_in_json(tmp_path):
    (tmp_path / "y.json").write_text("[1.0, 2.0]")
    same(read_labels(tmp_path / "y.json"), np.array([1, 2], dtype=np.int64))
    (tmp_path / "y.json").write_text("[1.0, 2.5]")
    refused(tmp_path / "y.json", "fractions or NaN", read=read_labels)


@pytest.mark.parametrize("suffix", [".csv", ".txt"])
@pytest.mark.parametrize("end", ["", "\n", "\r\n", "\n\n"])
def test_labels_lines(tmp_path, suffix, end):
    path = tmp_path / f"y{suffix}"
    path.write_bytes(("5\n-3\n1234567890123456789" + end).encode())
    same(read_labels(path), np.array([5, -3, 1234567890123456789], dtype=np.int64))
    path.write_bytes(("\n".join(TEXTS) + end).encode())
    same(read_labels(path), TEXTS)


@pytest.mark.parametrize("odd", ["007", "1.5", "9223372036854775808", "1_0", "x"])
def test_one_label_that_is_not_an_integer_makes_all_text(tmp_path, odd):
    (tmp_path / "y.txt").write_text(f"5\n{odd}\n")
    same(read_labels(tmp_path / "y.txt"), np.array(["5", odd]))


def test_commas_are_columns_in_csv_but_text_in_txt(tmp_path):
    (tmp_path / "y.csv").write_text('"Bern, BE"\nBasel\n')
    same(read_labels(tmp_path / "y.csv"), np.array(["Bern, BE", "Basel"]))
    (tmp_path / "y.txt").write_text("Bern, BE\nBasel\n")
    same(read_labels(tmp_path / "y.txt"), np.array(["Bern, BE", "Basel"]))
    (tmp_path / "y.csv").write_text("Basel\nBern,BE\n")
    refused(tmp_path / "y.csv", "line 2", "one label on each line", read=read_labels)


@pytest.mark.parametrize("suffix", [".csv", ".txt"])
def test_an_empty_line_between_labels_is_refused(tmp_path, suffix):
    (tmp_path / f"y{suffix}").write_text("a\n\nb\n")
    refused(tmp_path / f"y{suffix}", "line 2", "one label on each line", read=read_labels)


@pytest.mark.parametrize("content", ['{"a": 1}', "[[1]]", '[1, "a"]', "[true]", "[null]", "3"])
def test_json_must_be_a_flat_list(tmp_path, content):
    (tmp_path / "y.json").write_text(content)
    refused(tmp_path / "y.json", "flat list of integers or of strings", read=read_labels)


@pytest.mark.parametrize("content", ["[1, 2", "hello", "[" * 100_000])
def test_broken_json(tmp_path, content):
    (tmp_path / "y.json").write_text(content)
    error = refused(tmp_path / "y.json", ".json", AGAIN, read=read_labels)
    assert isinstance(error.__cause__, ValueError | RecursionError)


def test_other_errors_of_labels(tmp_path):
    (tmp_path / "y.json").write_text("[]")
    refused(tmp_path / "y.json", "empty", "at least one", read=read_labels)
    (tmp_path / "y.json").write_text(f"[{2**70}]")
    refused(tmp_path / "y.json", "64-bit", "quote them", read=read_labels)
    np.save(tmp_path / "y.npy", X)
    refused(tmp_path / "y.npy", "9 × 4", "single row or column", "reshape", read=read_labels)
    np.save(tmp_path / "y.npy", np.array([1j]))
    refused(tmp_path / "y.npy", "complex128", "integers or text", read=read_labels)
    write_vecs(tmp_path / "y.fvecs", X)
    refused(tmp_path / "y.fvecs", "unknown suffix", ".json", ".txt", read=read_labels)
    np.savez(tmp_path / "y.npz", x=X)
    refused(tmp_path / "y.npz", "no 1-D arrays of integers or text", "x (9 × 4", "pass the name", read=read_labels)


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize("read", [read_vectors, read_labels])
def test_paths_that_are_no_file(tmp_path, read):
    refused(tmp_path / "x.npy", "no such file", "check the path", read=read)
    (tmp_path / "d.npy").mkdir()
    refused(tmp_path / "d.npy", "is a directory", "a file in it", read=read)
    (tmp_path / "f").write_text("1")
    refused(tmp_path / "f" / "x.npy", "cannot be opened", "permissions", read=read)


@pytest.mark.parametrize("name", ["x.pkl", "x"])
def test_unknown_suffix_lists_the_known(tmp_path, name):
    (tmp_path / name).write_text("1")
    refused(tmp_path / name, "unknown suffix", "convert or rename", *formats.READERS)
    refused(tmp_path / name, "unknown suffix", "convert or rename", *formats.LABEL_READERS, read=read_labels)


SINGLE = [suffix for suffix in formats.READERS if suffix != ".zarr"]  # one file; folders are in test_zarr.py


@pytest.mark.parametrize("suffix", SINGLE)
def test_empty_files(tmp_path, suffix):
    (tmp_path / f"x{suffix}").touch()
    refused(tmp_path / f"x{suffix}", "empty (0 bytes)", AGAIN)


@pytest.mark.parametrize("suffix", list(formats.LABEL_READERS))
def test_empty_files_of_labels(tmp_path, suffix):
    (tmp_path / f"y{suffix}").touch()
    refused(tmp_path / f"y{suffix}", "empty (0 bytes)", AGAIN, read=read_labels)


def write_any(path: Path) -> Path:
    """X in the format of the suffix."""
    suffix = path.suffix
    if suffix == ".npy":
        np.save(path, X)
    elif suffix == ".npz":
        np.savez_compressed(path, x=X)
    elif suffix in {".fvecs", ".bvecs", ".ivecs"}:
        write_vecs(path, X)
    elif suffix == ".mat":
        scipy.io.savemat(path, {"x": X}, do_compression="zip" in path.stem, format="4" if "v4" in path.stem else "5")
    elif suffix == ".parquet":
        write_parquet(path, {"x": X.tolist()})
    elif suffix == ".safetensors":
        write_safetensors(path, x=X)
    else:
        with optional("h5py").File(path, "w") as file:
            file["x"] = X
    return path


BINARY = [suffix for suffix in SINGLE if suffix not in {".csv", ".bvecs", ".ivecs"}]


@pytest.mark.parametrize("name", [f"x{suffix}" for suffix in BINARY] + ["zip.mat", "v4.mat"])
@pytest.mark.parametrize("share", [0.003, 0.1, 0.4, 0.8, 0.99])
def test_truncated_files(tmp_path, name, share):
    path = write_any(tmp_path / name)
    content = path.read_bytes()
    path.write_bytes(content[: 1 + int(share * (len(content) - 5))])
    refused(path, f"cannot be read as {path.suffix}", "cut short", AGAIN)


def test_truncated_mat_v73(tmp_path):
    path = write_mat73(tmp_path / "x.mat", x=X)
    path.write_bytes(path.read_bytes()[:900])
    refused(path, "cannot be read as .mat", AGAIN)


@pytest.mark.parametrize("suffix", BINARY)
@pytest.mark.parametrize("content", [b"<!DOCTYPE html><html>Not found</html>" * 30, b"\xff" * 999, bytes(999)])
def test_files_of_another_format(tmp_path, suffix, content):
    write_any(tmp_path / f"x{suffix}")  # skips where the library is missing
    path = tmp_path / f"x{suffix}"
    path.write_bytes(content)
    refused(path, *([] if suffix == ".mat" and not any(content) else [AGAIN]))


@pytest.mark.parametrize("name", ["x.npz", "zip.mat", "x.npy"])
def test_altered_files(tmp_path, name):
    path = write_any(tmp_path / name)
    content = bytearray(path.read_bytes())
    middle = 20 if name == "x.npy" else len(content) // 2  # the data of .npy have no checksum, its header a form
    content[middle : middle + 4] = bytes(byte ^ 0x5A for byte in content[middle : middle + 4])
    path.write_bytes(content)
    refused(path, f"cannot be read as {path.suffix}", AGAIN)


def test_every_altered_byte_of_a_header_is_an_array_or_a_file_error(tmp_path):
    for name in ("x.npy", "x.npz", "x.fvecs", "x.parquet", "x.safetensors"):
        path = write_any(tmp_path / name)
        content = path.read_bytes()
        for place in range(0, min(len(content), 200), 3):
            path.write_bytes(content[:place] + bytes([content[place] ^ 0xA5]) + content[place + 1 :])
            with suppress(FileError):
                assert read_vectors(path).ndim == 2


def test_vecs_of_unequal_dimensions(tmp_path):
    path = tmp_path / "x.fvecs"
    row = struct.pack("<i4f", 4, 1, 2, 3, 4)
    path.write_bytes(row + row + struct.pack("<i4f", 5, 1, 2, 3, 4))
    refused(path, "row 3", "4 dimensions", AGAIN)
    path.write_bytes(row + row[:-4])
    refused(path, "36 bytes", "whole number of rows", AGAIN)
    path.write_bytes(struct.pack("<i", -1) + row)
    refused(path, "does not begin with a dimension", AGAIN)
    path.write_bytes(b"\1\0")
    refused(path, "does not begin with a dimension", AGAIN)


class Trap:
    def __reduce__(self):
        return (pytest.fail, ("unpickled",))


@pytest.mark.parametrize("read", [read_vectors, read_labels])
def test_pickles_are_never_loaded(tmp_path, read):
    trap = np.array([[Trap()]], dtype=object)
    np.save(tmp_path / "x.npy", trap, allow_pickle=True)
    refused(tmp_path / "x.npy", "never unpickled", "save", read=read)
    np.savez(tmp_path / "x.npz", trap=trap)
    refused(tmp_path / "x.npz", "trap", "never unpickled", "save", read=read, name="trap")
    refused(tmp_path / "x.npz", "trap (1 × 1, object)", "pass the name", read=read)
    (tmp_path / "y.npy").write_bytes(b"\x80\x04N.")
    refused(tmp_path / "y.npy", "cannot be read as .npy", read=read)


@pytest.mark.parametrize("array", [X * 1j, X > 0, X.astype(str), X.view([("a", "f4")]), X.astype("M8[s]")])
def test_types_that_are_no_vectors(tmp_path, array):
    np.save(tmp_path / "x.npy", array)
    refused(tmp_path / "x.npy", "is of type", "real numbers", "convert")
    np.savez(tmp_path / "x.npz", x=array)
    refused(tmp_path / "x.npz", "x is of type", "real numbers", "convert", name="x")


def test_npy_of_every_header_version(tmp_path):
    for version in [(1, 0), (2, 0), (3, 0)]:
        with (tmp_path / "x.npy").open("wb") as stream:
            np.lib.format.write_array(stream, X, version=version)
        same(read_vectors(tmp_path / "x.npy"), X)


def test_mat_types_that_are_no_vectors(tmp_path):
    path = tmp_path / "x.mat"
    sparse = scipy.sparse.csc_array(np.eye(3))
    scipy.io.savemat(path, {"c": X * 1j, "s": sparse, "t": "hi", "b": X > 0, "e": np.array([1, "a"], dtype=object)})
    for name, kind in {"c": "complex", "s": "sparse", "t": "char", "b": "logical", "e": "cell"}.items():
        refused(path, kind, "real numbers", "convert", name=name)


def test_safetensors_types_that_are_no_vectors(tmp_path):
    path = write_safetensors(tmp_path / "x.safetensors", b=X > 0)
    refused(path, "b (9 × 4, BOOL)", "pass the name")
    refused(path, "BOOL", "real numbers", name="b")
    header = json.dumps({"x": {"dtype": "F8_E5M2", "shape": [2, 2], "data_offsets": [0, 4]}}).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + bytes(4))
    refused(path, "F8_E5M2", "real numbers", name="x")


@pytest.mark.parametrize("array", [np.zeros((0, 4)), np.zeros((4, 0))])
def test_arrays_without_numbers(tmp_path, array):
    np.save(tmp_path / "x.npy", array)
    refused(tmp_path / "x.npy", "empty", "at least one row")
    np.savez(tmp_path / "x.npz", x=array)
    refused(tmp_path / "x.npz", "x is empty", "at least one row")


def test_one_dimension_is_not_enough(tmp_path):
    np.save(tmp_path / "x.npy", X[0])
    refused(tmp_path / "x.npy", "shape 4", "rows × dimensions", "reshape")


def test_parquet_with_missing_or_ragged_rows(tmp_path):
    path = tmp_path / "x.parquet"
    write_parquet(path, {"v": [[1.0, 2.0], [3.0]]})
    refused(path, "column v", "row 2 has 1 numbers", "one length")
    for column in ([[1.0, 2.0], None], [[1.0, 2.0], [3.0, None]], [1.0, None]):
        write_parquet(path, {"v": column})
        refused(path, "column v", "missing values", "fill them")
    write_parquet(path, {"v": ["a", None]})
    refused(path, "column v", "missing values", "fill them", read=read_labels)
    write_parquet(path, {"v": optional("pyarrow").array([], type="float32")})
    refused(path, "empty", "at least one row")
    write_parquet(path, {"v": [[["deep"]]]})
    refused(path, "v", "real numbers", name="v")
    arrow, parquet = optional("pyarrow"), optional("pyarrow.parquet")
    parquet.write_table(arrow.table([[1.0], [2.0]], names=["v", "v"]), path)
    refused(path, "cannot be read as .parquet")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("1,2\n3,4\n5\n", ("line 3", "1 numbers where the first row has 2", "one length")),
        ("a,b\n1,2\n3,4,5\n", ("line 3", "3 numbers where the first row has 2")),
        ("1,2\n3,x\n", ("line 2", "'x' is not a number", "commas")),
        ("1,2\n\n3,\n", ("line 3", "'' is not a number")),
        ("1,x\n3,4\n", ("line 1", "'x' is not a number")),
        ("a;b\n1;2\n", ("line 2", "'1;2' is not a number", "commas")),
        ("a,b\n", ("empty", "one vector on each line")),
        ("\n\n", ("empty", "one vector on each line")),
        (",f0,f1\n0,1,2\n1,3,4\n", ("line 1", "the first column is called ''", "index=False")),
        ("id,a,b\n10,1,0\n", ("line 1", "the first column is called 'id'")),
    ],
)
def test_csv_errors_name_the_line(tmp_path, content, words):
    (tmp_path / "x.csv").write_text(content)
    refused(tmp_path / "x.csv", *words)


@pytest.mark.parametrize(("name", "read"), [("x.csv", read_vectors), ("y.txt", read_labels), ("y.json", read_labels)])
def test_text_must_be_utf8(tmp_path, name, read):
    (tmp_path / name).write_bytes("é,1".encode("latin-1"))
    refused(tmp_path / name, "not UTF-8", "save it as UTF-8", read=read)


def test_csv_cell_beyond_the_limit(tmp_path):
    (tmp_path / "x.csv").write_text("1" * 200_000)
    refused(tmp_path / "x.csv", "cannot be read as .csv", "field larger than field limit", AGAIN)


def test_arrays_larger_than_memory(tmp_path, monkeypatch):
    def full(*_: Any, **__: Any) -> None:
        raise MemoryError

    np.savez(tmp_path / "x.npz", x=X)
    monkeypatch.setattr(np.lib.format, "read_array", full)
    refused(tmp_path / "x.npz", "more memory than there is", "save it as .npy")


@pytest.mark.parametrize(
    ("suffix", "module"),
    [
        (".h5", "h5py"),
        (".hdf5", "h5py"),
        (".parquet", "pyarrow.parquet"),
        (".safetensors", "safetensors"),
        (".safetensors", "ml_dtypes"),
    ],
)
def test_missing_libraries_name_the_extra(tmp_path, monkeypatch, suffix, module):
    path = write_any(tmp_path / f"x{suffix}")
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=re.escape(f"reading {path} needs the extra 'files'")):
        read_vectors(path)


def test_missing_h5py_for_mat_v73(tmp_path, monkeypatch):
    path = write_mat73(tmp_path / "x.mat", x=X)
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(MissingExtraError, match="longwave\\[files\\]"):
        read_vectors(path)


def test_csv_column_numbers_are_a_header(tmp_path):
    (tmp_path / "v.csv").write_text("0,1,2\n0.5,1,2\n3,4,5\n")
    assert read_vectors(tmp_path / "v.csv").tolist() == [[0.5, 1, 2], [3, 4, 5]]
    (tmp_path / "v.csv").write_text("0,1,2\n2,1,2\n3,4,5\n")
    with pytest.warns(DataWarning, match="line 1 counts 0, 1, 2 .* if it is a vector"):
        assert len(read_vectors(tmp_path / "v.csv")) == 2


def test_a_csv_with_another_separator_is_a_short_message(tmp_path):
    (tmp_path / "v.csv").write_text("\n".join(";".join(["0.123456"] * 500) for _ in range(3)))
    with pytest.raises(FileError, match="separated by commas") as error:
        read_vectors(tmp_path / "v.csv")
    assert len(str(error.value)) < 400
