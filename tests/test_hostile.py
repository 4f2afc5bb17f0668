"""Files that are damaged, or made to do harm: readers refuse them, in bounded time and memory, and run nothing."""

import io
import json
import os
import pickle
import shutil
import struct
import subprocess
import sys
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest

import hostile
import longwave as lw
from longwave import datasets
from longwave.errors import DataWarning, FileError, InputError, LongwaveError, StorageError
from longwave.evaluation import Judgement, judgements_from_file
from longwave.files.parquet_footer import announced_bytes
from longwave.pictures import open_picture
from longwave.spectrum import chebyshev
from longwave.storage.checkpoints import Checkpoint, open_checkpoint

X = hostile.X


# ---------------------------------------------------------------- altered files of every kind


def fuzz(kind: str, first: int, count: int) -> None:
    """Read altered files in a process of its own; its end by a signal names the seed that it died of."""
    command = [sys.executable, "-W", "error", hostile.__file__, kind, str(first), str(count)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1800)
    last = done.stdout.splitlines()[-1:]
    assert done.returncode == 0, f"exit {done.returncode} after {last}:\n{done.stderr[-4000:]}"
    assert len(done.stdout.splitlines()) == count


@pytest.mark.parametrize("kind", hostile.KINDS)
def test_altered_files(kind):
    fuzz(kind, 0, 300)


@pytest.mark.slow
@pytest.mark.parametrize("kind", hostile.KINDS)
def test_altered_files_by_the_thousand(kind):
    fuzz(kind, 10_000, 3000)


FAILING = """if True:
    import ctypes, sys
    sys.path.insert(0, sys.argv[1])
    import hostile, numpy as np
    from pathlib import Path
    from longwave.errors import FileError

    def full(path):
        try:
            bytearray(1 << 33)
        except MemoryError as error:
            raise FileError("too large") from error

    deeds = {"raise": lambda path: {}["x"], "memory": full, "shape": lambda path: hostile._is_vectors(np.zeros(3)),
             "die": lambda path: ctypes.string_at(0), "hang": lambda path: [None for i in iter(int, 1)]}
    hostile.SECONDS, begun = 1, set()

    def sample(deed):
        return "x", b"content", lambda path: deeds[deed](path) if deed in begun else begun.add(deed)

    hostile._samples = lambda kind: [sample(deed) for deed in sys.argv[3:]]
    sys.exit(hostile.run("x", 0, len(sys.argv) - 3, Path(sys.argv[2])))
"""


@pytest.mark.parametrize("deeds", [("raise", "memory", "shape"), ("die",), ("hang",)])
def test_the_fuzzer_sees_failures(deeds, tmp_path):
    """A reader that dies, hangs, takes memory or raises what it should not is told from one that refuses."""
    command = [sys.executable, "-c", FAILING, str(Path(hostile.__file__).parent), str(tmp_path), *deeds]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert len(done.stdout.splitlines()) == len(deeds)
    assert done.returncode == 3 if len(deeds) == 3 else done.returncode < 0


# ---------------------------------------------------------------- one by one, in a process of its own

ALONE = """if True:
    import resource, sys
    from pathlib import Path
    from longwave import datasets
    from longwave import pictures as descriptors
    from longwave.errors import LongwaveError

    def peak():
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))

    readers = {"pickle": datasets.read_plain_pickle, "vectors": datasets.read_vectors, "labels": datasets.read_labels,
            "truth": datasets.read_revisited, "picture": lambda path: descriptors.open_picture(path, size=64),
            "description": descriptors.read_description, "whitening": descriptors.read_whitening,
            "mat": datasets.read_mat_truth}
    resource.setrlimit(resource.RLIMIT_CPU, (100, 100))
    before = peak()
    for reader, path in zip(sys.argv[1::2], sys.argv[2::2]):
        try:
            answer = f"read: {type(readers[reader](path)).__name__}"
        except LongwaveError as error:
            answer = f"refused: {error}"
        print(f"{(peak() - before) // 1024}|{answer}", flush=True)
"""


def alone(*files: tuple[str, Path], most: int = 100) -> list[str]:
    """What becomes of files in a process of their own, if that takes less than 100 s of its time and `most` MiB."""
    command = [sys.executable, "-W", "error", "-c", ALONE, *(str(part) for file in files for part in file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900)
    lines = [line.partition("|") for line in done.stdout.splitlines()]
    assert done.returncode == 0, f"exit {done.returncode} at {files[len(lines) :][:1]}: {done.stderr}"
    assert max(int(mib) for mib, _, _ in lines) < most, lines
    return [answer for _, _, answer in lines]


def refused(reader: str, folder: Path, contents: dict[str, bytes], name: str, *, most: int = 100) -> list[str]:
    """The messages of files with these contents, all of which are refused."""
    files = []
    for number, content in enumerate(contents.values()):
        files.append((reader, folder / f"{number}{name}"))
        files[-1][1].write_bytes(content)
    answers = dict(zip(contents, alone(*files, most=most), strict=True))
    assert {what for what, answer in answers.items() if not answer.startswith("refused: ")} == set()
    return [*answers.values()]


def nested(levels: int) -> bytes:
    """Lists that hold the one before twice."""
    return b"\x80\x02]q\x00" + b"".join(
        b"](h" + bytes([i]) + b"h" + bytes([i]) + b"eq" + bytes([i + 1]) for i in range(levels)
    )


def as_bytes(code: bytes, size: int) -> bytes:
    return code + struct.pack("<Q", size) + b"x."


DEEP = b"]" * 100_000 + b"a" * 99_999 + b"."
PICKLES = {
    "a list that holds one list twice, thirty times over": nested(30) + b".",
    "a tuple of that kind as a key": b"\x80\x02}" + b")" + b"2\x86" * 60 + b"Ns.",
    "deep lists": DEEP,
    "deep tuples as a key": b"\x80\x02}" + b")" + b"\x85" * 200_000 + b"Ns.",
    "a list in itself": b"]q\x00h\x00a.",
    "bytes of 8 EiB": as_bytes(b"\x8e", 1 << 62),
    "bytes of 3 GiB": b"B" + struct.pack("<I", 3 << 30) + b"x.",
    "an array of bytes of 3 GiB": b"\x80\x05" + as_bytes(b"\x96", 3 << 30),
    "text of 3 GiB": as_bytes(b"\x8d", 3 << 30),
    "a frame of 3 GiB": b"\x80\x04" + as_bytes(b"\x95", 3 << 30),
    "bytes made of a number": (
        b"cnumpy.core.numeric\n_frombuffer\n(L3000000000L\ncnumpy\ndtype\n(S'u1'\ntR(I1\ntS'C'\ntR."
    ),
    "one text, encoded again and again": (
        b"\x80\x02(X" + struct.pack("<I", 1 << 20) + b"x" * (1 << 20) + b"q\x000c_codecs\nencode\nq\x010"
        + b"h\x01h\x00X\x06\x00\x00\x00latin1\x86R" * 3000 + b"t."
    ),
    "one list, made a set again and again": (
        b"\x80\x02(](" + b"K\x01" * 30_000 + b"eq\x000c__builtin__\nset\nq\x010" + b"h\x01h\x00\x85R" * 3000 + b"t."
    ),
    "a state for a function": b"cnumpy.core.numeric\n_frombuffer\n(N}S'__defaults__'\n)stb.",
}  # fmt: skip


def test_pickles_take_neither_time_nor_memory(tmp_path):
    refused("pickle", tmp_path, PICKLES, ".pkl")
    far = tmp_path / "x.pkl"
    far.write_bytes(
        b"\x80\x02Nr\xff\xff\xff\x7f."
    )  # to be remembered at place 2,147,483,647, of which there is no need
    assert alone(("pickle", far)) == ["read: NoneType"]


def test_pickles_that_hold_a_list_in_many_places_are_truth_of_bounded_size(tmp_path):
    """Each of 2,000 queries names the same 100,000 images."""
    easy = list(range(100_000))
    entry = {"easy": easy, "hard": [], "junk": [], "bbx": [0, 0, 1, 1]}
    gnd = {"imlist": [], "qimlist": [], "gnd": [entry | {"hard": []} for _ in range(2000)]}
    (tmp_path / "x.pkl").write_bytes(pickle.dumps(gnd))
    (answer,) = alone(("truth", tmp_path / "x.pkl"), most=200)
    assert "lists that hold the same lists" in answer


def test_pickles_with_ordinary_sharing_are_read(tmp_path):
    shared = list(range(50))
    (tmp_path / "x.pkl").write_bytes(pickle.dumps({"a": [shared] * 100, ("k", 1): shared, "s": {1, "x"}}))
    found = datasets.read_plain_pickle(tmp_path / "x.pkl")
    assert found["a"] == [shared] * 100
    assert found["k", 1] == shared


# ---------------------------------------------------------------- announced sizes


def npy(header: str, version: int = 1, length: int | None = None) -> bytes:
    text = header.encode() + b"\n"
    size = struct.pack("<H" if version == 1 else "<I", len(text) if length is None else length)
    return b"\x93NUMPY" + bytes([version, 0]) + size + text + bytes(64)


def shaped(shape: str, kind: str = "'<f4'") -> str:
    return f"{{'descr': {kind}, 'fortran_order': False, 'shape': {shape}, }}"


HEADERS = [
    npy(shaped("(1000000000000000, 4)")),
    npy(shaped("(-1, 4)")),
    npy(shaped(f"({2**62}, {2**62})")),
    npy(shaped("(4, 4)"), 2, 4_000_000_000),
    npy("{'descr': (" + "(" * 3000),
    npy("(" * 4000 + ")" * 4000),
    npy("[" * 90 + "]" * 90),
    npy("{'descr': '<f4'"),
    npy(shaped("(2, 2)", "'<f4,' * 9")),
    npy(shaped("(2, 2)", "('<f4', (99999999, 999999))")),
    npy(shaped("(2.5, 2)")),
    npy("\x00"),
]


def zipped(content: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("x.npy", content)
    return stream.getvalue()


def test_headers_of_npy(tmp_path):
    named = {str(number): content for number, content in enumerate(HEADERS)}
    refused("vectors", tmp_path, named, ".npy")
    refused("labels", tmp_path, {name: zipped(content) for name, content in named.items()}, ".npz")


def test_a_zip_bomb(tmp_path):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("x.npy", npy(shaped("(100000, 1000)"))[:-64] + bytes(400_000_000))
    (answer,) = refused("vectors", tmp_path, {"bomb": stream.getvalue()}, ".npz")
    assert "bytes but announces 400,000,000" in answer
    assert "save it as .npy" in answer


def test_zip_files_of_unknown_methods(tmp_path):
    """Of another version, or packed in a way that Python does not know."""
    np.savez(tmp_path / "x.npz", mean=X[0], projection=np.eye(4))
    whole = (tmp_path / "x.npz").read_bytes()
    at = whole.index(b"PK\x01\x02")
    altered = {str(place): whole[: at + place] + b"\xff\x00" + whole[at + place + 2 :] for place in (6, 10)}
    for reader in ("vectors", "whitening"):
        refused(reader, tmp_path, altered, ".npz")


@pytest.mark.parametrize("suffix", [".fvecs", ".bvecs", ".ivecs"])
@pytest.mark.parametrize("dimension", [0, -1, 2**31 - 1, -(2**31), 5])
def test_dimensions_of_vecs(suffix, dimension, tmp_path):
    (tmp_path / f"x{suffix}").write_bytes(struct.pack("<i", dimension) + bytes(12))
    with pytest.raises(FileError, match="cannot be read as"):
        datasets.read_vectors(tmp_path / f"x{suffix}")


def test_the_header_of_safetensors(tmp_path):
    lengths = (2**63, 2**40, 100_000_000)
    contents = {str(length): struct.pack("<Q", length) + b'{"x":{"dtype":"F32"}}' for length in lengths}
    refused("vectors", tmp_path, contents, ".safetensors")


def test_hdf5_that_announces_more_than_it_holds(tmp_path):
    h5py = pytest.importorskip("h5py", reason="h5py comes with the extra 'files'")
    with h5py.File(tmp_path / "x.h5", "w") as file:  # nothing is written, all is the fill value
        file.create_dataset("x", (10**9, 1000), "f4", chunks=(1000, 1000))
    with h5py.File(tmp_path / "y.h5", "w") as file:
        file.create_dataset("y", (10**8,), h5py.string_dtype())
    first, second = alone(("vectors", tmp_path / "x.h5"), ("labels", tmp_path / "y.h5"))
    assert "cannot hold" in first
    assert "cannot hold" in second


def test_hdf5_does_not_reach_into_other_files(tmp_path):
    h5py = pytest.importorskip("h5py", reason="h5py comes with the extra 'files'")
    (tmp_path / "secret").write_bytes(bytes(range(64)))
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["x"] = X
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("x", (8, 8), "u1", external=[(str(tmp_path / "secret"), 0, 64)])
    with h5py.File(tmp_path / "b.h5", "w") as file:
        layout = h5py.VirtualLayout(X.shape, "f4")
        layout[:] = h5py.VirtualSource(str(tmp_path / "other.h5"), "x", X.shape)
        file.create_virtual_dataset("x", layout)
    for name in ("a.h5", "b.h5"):
        with pytest.raises(FileError, match="in another file"):
            datasets.read_vectors(tmp_path / name)
    with h5py.File(tmp_path / "c.h5", "w") as file:
        file["x"] = h5py.ExternalLink(str(tmp_path / "other.h5"), "x")
    with pytest.raises(FileError, match="no 2-D arrays"):
        datasets.read_vectors(tmp_path / "c.h5")
    with pytest.raises(FileError, match="no array named 'x'"):
        datasets.read_vectors(tmp_path / "c.h5", name="x")
    with h5py.File(tmp_path / "d.mat", "w", userblock_size=512) as file:
        for name in ("gnd", "imlist", "qimlist"):
            file[name] = h5py.ExternalLink(str(tmp_path / "other.h5"), "x")
    with pytest.raises(FileError, match="link to another place"):
        datasets.read_mat_truth(tmp_path / "d.mat")


def test_cells_of_hdf5_that_hold_each_other(tmp_path):
    h5py = pytest.importorskip("h5py", reason="h5py comes with the extra 'files'")
    with h5py.File(tmp_path / "x.mat", "w", userblock_size=512) as file:
        cells = file.create_dataset("gnd", (2, 1), h5py.ref_dtype)
        cells[:, 0] = [cells.ref, cells.ref]
    assert alone(("mat", tmp_path / "x.mat"))[0].startswith("refused: ")


def test_an_hdf5_reader_that_hangs_or_dies_is_an_error(tmp_path, monkeypatch):
    h5py = pytest.importorskip("h5py", reason="h5py comes with the extra 'files'")
    from longwave.files.hdf5 import asking

    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["x"] = X
    for deed in ("sys.exit(1)", "os.kill(os.getpid(), 11)", "os.write(1, b'x' * 99)", "os.write(1, bytes(8) + b'{}')"):
        script = tmp_path / "answering.py"
        script.write_text(f"import os, sys; sys.stdin.readline(); {deed}")
        with monkeypatch.context() as patch:
            patch.setattr(asking, "__file__", str(tmp_path / "asking.py"))
            with pytest.raises(FileError, match="cannot be read as"):
                datasets.read_vectors(tmp_path / "x.h5")
    np.testing.assert_array_equal(datasets.read_vectors(tmp_path / "x.h5"), X)


def test_large_hdf5_arrays_come_over_in_blocks(tmp_path):
    h5py = pytest.importorskip("h5py", reason="h5py comes with the extra 'files'")
    from longwave.files.hdf5 import answering

    big = np.arange(3 * answering._BLOCK // 8, dtype="f4").reshape(-1, 12)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("x", data=big, chunks=(1000, 5))
        file["whole"] = big.T.astype(">i4")
        file["y"] = np.int64(3)
    np.testing.assert_array_equal(datasets.read_vectors(tmp_path / "x.h5", name="x"), big)
    np.testing.assert_array_equal(datasets.read_vectors(tmp_path / "x.h5", name="whole"), big.T)


def test_parquet_that_announces_more_than_it_holds(tmp_path):
    arrow = pytest.importorskip("pyarrow", reason="pyarrow comes with the extra 'files'")
    from pyarrow import parquet

    with parquet.ParquetWriter(tmp_path / "x.parquet", arrow.schema([("x", arrow.int64())])) as writer:
        table = arrow.table({"x": np.zeros(10_000_000, dtype=np.int64)})
        for _ in range(10):
            writer.write_table(table)
    footer = parquet.read_metadata(tmp_path / "x.parquet")
    columns = [footer.row_group(i).column(0) for i in range(footer.num_row_groups)]
    assert announced_bytes(tmp_path / "x.parquet") == sum(8 * c.num_values + c.total_uncompressed_size for c in columns)
    (answer,) = alone(("labels", tmp_path / "x.parquet"))
    assert "announces" in answer
    assert "at most 64 times" in answer


def test_parquet_footers_that_are_wrong(tmp_path):
    footers = {
        "a list in a list without end": b"\x19" * 9999,
        "a struct in a struct without end": b"\x1c" * 9999,
        "a list longer than the file": b"\x49\xf9" + b"\xff" * 8 + b"\x7f\0",
        "a number without end": b"\x15" + b"\xff" * 99,
        "no columns": b"\x15\x02\0",
        "columns that are numbers": b"\x49\x15\x02\0",
        "a type that there is not": b"\x1e\0",
        "nothing": b"",
    }
    contents = {what: b"PAR1" + f + struct.pack("<I", len(f)) + b"PAR1" for what, f in footers.items()}
    contents["a footer longer than the file"] = b"PAR1" + struct.pack("<I", 1 << 31) + b"PAR1"
    refused("vectors", tmp_path, contents, ".parquet")


def test_one_long_label_among_many(tmp_path):
    """numpy gives every label the room of the longest: 2 MB would become 80 GB."""
    arrow = pytest.importorskip("pyarrow", reason="pyarrow comes with the extra 'files'")
    from pyarrow import parquet

    labels = ["x" * 100_000, *["a"] * 200_000]
    parquet.write_table(arrow.table({"y": labels}), tmp_path / "y.parquet")
    (tmp_path / "y.json").write_text(json.dumps(labels))
    for name in ("y.txt", "y.csv"):
        (tmp_path / name).write_text("\n".join(labels))
    answers = alone(*(("labels", path) for path in sorted(tmp_path.iterdir())), most=300)
    assert all("at most 64 times" in answer for answer in answers)


def test_a_csv_of_very_many_columns(tmp_path):
    contents = {"a line": b"1," * 5_000_000, "many lines": b'"1\n",' * 1_200_000}
    for answer in refused("vectors", tmp_path, contents, ".csv", most=150):
        assert "more than 1,048,576 cells" in answer


def test_a_long_csv_takes_little_more_than_its_numbers(tmp_path):
    (tmp_path / "x.csv").write_text("1\n" * 1_000_000)  # 8 MB as numbers, 120 as an array for each line
    assert alone(("vectors", tmp_path / "x.csv"), most=80) == ["read: ndarray"]


# ---------------------------------------------------------------- MATLAB


def element(kind: int, content: bytes) -> bytes:
    return struct.pack("<II", kind, len(content)) + content + bytes(-len(content) % 8)


def variable(code: int, shape: tuple[int, ...], content: bytes, name: bytes = b"x", flags: int = 0) -> bytes:
    head = element(6, struct.pack("<II", code | flags, 0)) + element(5, struct.pack(f"<{len(shape)}i", *shape))
    return element(14, head + element(1, name) + content)


def mat(*variables: bytes) -> bytes:
    return b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM" + b"".join(variables)


def packed(content: bytes) -> bytes:
    made = zlib.compress(content)
    return struct.pack("<II", 15, len(made)) + made


NUMBERS = element(9, np.arange(4.0).tobytes())
DEEP_CELL = variable(6, (1, 1), element(9, bytes(8)), b"")
for _ in range(200):
    DEEP_CELL = variable(1, (1, 1), DEEP_CELL, b"")
MATS = {
    "a shape beyond all memory": variable(6, (2**31 - 1, 2**31 - 1), NUMBERS),
    "too few numbers": variable(6, (2, 3), NUMBERS),
    "too many numbers": variable(6, (1, 3), NUMBERS),
    "a negative shape": variable(6, (-2, -2), NUMBERS),
    "more dimensions than numpy has": variable(6, (1,) * 100, NUMBERS),
    "no dimensions": variable(6, (), NUMBERS),
    "numbers of no known type": variable(6, (2, 2), element(77, bytes(32))),
    "an element longer than the file": variable(6, (2, 2), NUMBERS)[:-8],
    "not a variable": element(9, bytes(32)),
    "compressed nonsense": struct.pack("<II", 15, 40) + bytes(40),
    "a compressed bomb": packed(struct.pack("<II", 14, 1 << 30) + variable(6, (2, 2), NUMBERS)[8:] + bytes(1 << 26)),
    "compressed and cut short": packed(variable(6, (20, 20), element(9, np.random.default_rng(0).bytes(3200))))[:-900],
}


CELLS = {
    "more cells than bytes": variable(1, (30_000, 30_000), b"", b"gnd"),
    "cells in cells without end": variable(1, (1, 1), DEEP_CELL, b"gnd"),
    "no cells in very many rows": variable(1, (2**31 - 1, 0), b"", b"gnd"),
    "structs without fields": variable(2, (30_000, 30_000), element(5, b"\x20\0\0\0") + element(1, b""), b"gnd"),
    "fields of no length": variable(2, (1, 1), element(5, bytes(4)) + element(1, b"ok"), b"gnd"),
    "cells that are not there": variable(1, (1, 2), element(14, b""), b"gnd"),
    "text that is not UTF-8": variable(4, (1, 2), element(16, b"\xff\xfe"), b"gnd"),
}


def test_mat_files_that_are_wrong(tmp_path):
    refused("vectors", tmp_path, {what: mat(content) for what, content in MATS.items()}, ".mat")
    refused("mat", tmp_path, {what: mat(content) for what, content in CELLS.items()}, ".mat")


KINDS = ("u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8")


@pytest.mark.parametrize("big", [False, True])
def test_mat_files_are_read_as_scipy_reads_them(big, tmp_path):
    """Every class and type, small elements, both orders of bytes: what scipy writes, and what it reads."""
    import scipy.io

    from longwave.files.mat5 import MatFile

    rng = np.random.default_rng(0)
    arrays = {f"x_{t}": rng.integers(0, 100, (3, 5)).astype(t) for t in KINDS}
    arrays |= {"one": np.ones((1, 1)), "none": np.zeros((0, 3)), "deep": rng.random((2, 3, 4)), "c": X + 1j * X}
    arrays |= {"t": X > 0, "small": np.array([[1, 2]], dtype="u2")}
    for options in ({}, {"do_compression": True}):
        scipy.io.savemat(tmp_path / "x.mat", arrays | {"text": "Zürich", "s": {"a": 1, "b": "u"}}, **options)
        file = MatFile(tmp_path / "x.mat")
        theirs = scipy.io.loadmat(tmp_path / "x.mat")
        for name in arrays:
            np.testing.assert_array_equal(file.read(name), theirs[name])
            assert file.read(name).dtype.kind == (theirs[name].dtype.kind if name != "t" else "b")
        assert file.read("text") == "Zürich"
        assert file.read("s") == {"a": 1, "b": "u"}
    content = b"MATLAB 5.0 MAT-file".ljust(124) + (b"\x01\x00MI" if big else b"\x00\x01IM")
    order = ">" if big else "<"
    parts = struct.pack(order + "IIII", 6, 8, 6, 0) + struct.pack(order + "IIii", 5, 8, 2, 2)
    parts += struct.pack(order + "HH", 1, 1) + b"x\0\0\0"  # a name in the tag itself
    parts += struct.pack(order + "II", 3, 8) + np.array([1, 2, 3, -4], dtype=order + "i2").tobytes()
    (tmp_path / "y.mat").write_bytes(content + struct.pack(order + "II", 14, len(parts)) + parts)
    np.testing.assert_array_equal(datasets.read_vectors(tmp_path / "y.mat"), [[1.0, 3.0], [2.0, -4.0]])
    np.testing.assert_array_equal(scipy.io.loadmat(tmp_path / "y.mat")["x"], [[1, 3], [2, -4]])


def test_variables_of_other_classes_do_not_matter(tmp_path):
    import scipy.io
    import scipy.sparse

    truth = {"gnd": hostile._cells({"ok": 1}), "imlist": hostile._cells("a"), "qimlist": hostile._cells("q")}
    entries = np.array(
        [(np.array([[1]]), np.zeros((0, 0)), np.ones((1, 4)))], dtype=[(n, "O") for n in ("ok", "junk", "bbx")]
    )
    scipy.io.savemat(tmp_path / "x.mat", truth | {"gnd": entries[None], "more": scipy.sparse.csc_array(np.eye(3))})
    found = datasets.read_mat_truth(tmp_path / "x.mat")  # of a single query, which MATLAB keeps as one struct
    assert found.judgements == (Judgement([0], []),)


def test_mat_v4(tmp_path):
    import scipy.io

    scipy.io.savemat(tmp_path / "x.mat", {"x": X.astype("f8"), "c": X * 1j, "t": "text"}, format="4")
    from longwave.files.mat5 import MatFile

    file = MatFile(tmp_path / "x.mat")
    np.testing.assert_array_equal(file.read("x"), X)
    np.testing.assert_array_equal(file.read("c"), X * 1j)
    assert file.read("t") == "text"
    values = np.arange(4, dtype=">i2")
    (tmp_path / "y.mat").write_bytes(struct.pack(">5i", 1030, 2, 2, 0, 2) + b"y\0" + values.tobytes())
    np.testing.assert_array_equal(datasets.read_vectors(tmp_path / "y.mat"), [[0, 2], [1, 3]])
    for numbers in ((0, 2**31 - 1, 2**31 - 1, 0, 2), (0, -1, -1, 0, 2), (0, 2, 2, 0, 2**31 - 1), (77, 2, 2, 0, 2)):
        (tmp_path / "z.mat").write_bytes(struct.pack("<5i", *numbers) + b"y\0" + bytes(32))
        with pytest.raises(FileError, match="cannot be read as"):
            datasets.read_vectors(tmp_path / "z.mat")


# ---------------------------------------------------------------- pictures


def test_postscript_is_not_run(tmp_path, monkeypatch):
    """Pillow hands EPS to Ghostscript, whatever the name of the file is."""
    from PIL import EpsImagePlugin

    monkeypatch.setattr(EpsImagePlugin, "Ghostscript", lambda *_, **__: pytest.fail("Ghostscript was started"))
    text = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 100 100\n%%EndComments\nshowpage\n%%EOF\n"
    for name in ("x.jpg", "x.png", "x.tif"):
        (tmp_path / name).write_bytes(text)
        with pytest.raises(FileError, match="cannot identify"):
            open_picture(tmp_path / name, size=64)


def saved(form: str, **options: object) -> bytearray:
    from PIL import Image

    stream = io.BytesIO()
    Image.new("P" if form == "GIF" else "RGB", (64, 64)).save(stream, form, **options)
    return bytearray(stream.getvalue())


def webp(kind: bytes, content: bytes) -> bytes:
    part = kind + struct.pack("<I", len(content)) + content
    return b"RIFF" + struct.pack("<I", 4 + len(part)) + b"WEBP" + part


def gigantic() -> dict[str, bytes]:
    """Small files that announce 250 megapixels or more."""
    side = 16_383
    made = {}
    wide = struct.pack("<I", side - 1)[:3]
    made["animated.webp"] = webp(b"VP8X", b"\x02\0\0\0" + wide + wide) + b"ANIM"
    made["lossless.webp"] = webp(b"VP8L", b"\x2f" + struct.pack("<I", (side - 1) | (side - 1) << 14) + bytes(9))
    made["lossy.webp"] = webp(b"VP8 ", b"\x10\x02\0\x9d\x01\x2a" + struct.pack("<HH", side, side) + bytes(20))
    gif = saved("GIF")
    gif[6:10] = struct.pack("<HH", side, side)
    made["x.gif"] = bytes(gif)
    for name, mark, options in (("x.jpg", b"\xff\xc0", {}), ("p.jpg", b"\xff\xc2", {"progressive": True})):
        jpeg = saved("JPEG", **options)
        at = jpeg.index(mark)
        jpeg[at + 5 : at + 9] = struct.pack(">HH", 60_000, 60_000)
        made[name] = bytes(jpeg)
    png = saved("PNG")
    png[16:24] = struct.pack(">II", side, side)
    png[29:33] = struct.pack(">I", zlib.crc32(png[12:29]))
    made["x.png"] = bytes(png)
    bmp = saved("BMP")
    bmp[18:26] = struct.pack("<ii", side, side)
    made["x.bmp"] = bytes(bmp)
    made["x.ppm"] = b"P6 16383 16383 255\n" + bytes(99)
    return made


def tiled(side: int) -> bytes:
    """A TIFF of 64 × 64 pixels, packed by LZW, with tiles of that side."""
    values = {256: 64, 257: 64, 258: 8, 259: 5, 262: 1, 277: 1, 322: side, 323: side, 324: 200, 325: 40}
    entries = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in values.items())
    head = b"II*\0" + struct.pack("<IH", 8, len(values)) + entries + bytes(4)
    return head.ljust(200, b"\0") + b"\x80" + bytes(39)


def test_a_few_bytes_do_not_become_gigabytes(tmp_path):
    made = gigantic()
    files = [("picture", tmp_path / name) for name in made]
    for (_, path), content in zip(files, made.values(), strict=True):
        path.write_bytes(content)
    answers = dict(zip(made, alone(*files, most=60), strict=True))
    assert {name for name, answer in answers.items() if "pixels" not in answer} == set()
    (answer,) = refused("picture", tmp_path, {"a large tile": tiled(1 << 15)}, ".tif", most=60)
    assert "1,074 megapixels" in answer


def test_decoders_that_take_more_memory_have_less_pixels(tmp_path, monkeypatch):
    from PIL import Image

    from longwave.pictures import opening

    monkeypatch.setattr(opening, "MAX_PIXELS", 8_000_000)
    Image.effect_noise((2000, 1500), 60).convert("RGB").save(tmp_path / "x.webp", quality=5, method=0)
    Image.effect_noise((2000, 1500), 60).save(tmp_path / "x.png")
    with pytest.raises(FileError, match="3 megapixels; at most 2 are decoded of WEBP"):
        open_picture(tmp_path / "x.webp", size=64)
    assert open_picture(tmp_path / "x.png", size=64).shape == (48, 64, 3)


# ---------------------------------------------------------------- what is not a file


def test_pipes_and_folders_are_refused(tmp_path):
    names = ["x.npy", "x.npz", "x.csv", "x.fvecs", "x.mat", "x.h5", "x.parquet", "x.safetensors"]
    files = [("vectors", tmp_path / name) for name in names]
    files += [("picture", tmp_path / "x.jpg"), ("pickle", tmp_path / "x.pkl"), ("labels", tmp_path / "x.json")]
    for _, path in files:
        os.mkfifo(path)
    files += [("mat", tmp_path / "x.mat"), ("whitening", tmp_path / "x.npz")]
    answers = alone(*files, ("description", tmp_path / "x.h5"))
    assert answers.pop() == "read: NoneType"
    assert all("pipe" in answer or "not a regular file" in answer for answer in answers)
    with pytest.raises(FileError, match="not a regular file"):
        judgements_from_file(tmp_path / "x.json", np.arange(3))
    (tmp_path / "d.npy").mkdir()
    with pytest.raises(FileError, match="is a directory"):
        datasets.read_vectors(tmp_path / "d.npy")
    with pytest.raises(FileError, match="cannot be opened"):
        datasets.read_vectors("x\0.npy")
    with pytest.raises(FileError, match="device"):
        open_picture("/dev/zero", size=64)


# ---------------------------------------------------------------- truth


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"queries": 5}',
        '{"queries": [{"positive": 5}]}',
        '{"queries": [{"positive": [1], "junk": null}]}',
        '{"queries": [5]}',
        '{"queries": [], "images": 5}',
        '{"queries": {"a": 1}}',
        "[]",
        "5",
        '{"queries": [{"positive": [' + "1" * 5000 + "]}]}",
        "\ud800",
    ],
)
def test_truth_of_another_form(text, tmp_path):
    (tmp_path / "t.json").write_bytes(text.encode("utf-8", "surrogatepass"))
    for ids in (np.arange(9), np.array(["a", "b"])):
        with pytest.raises(FileError, match="is not ground truth"):
            judgements_from_file(tmp_path / "t.json", ids)


@pytest.mark.parametrize("positive", ["[[1]]", "[null]", "[1.5]", "[{}]", "[99]", "[-1]", "[1, 1]", f"[{10**30}]"])
def test_truth_with_items_that_are_not_there(positive, tmp_path):
    (tmp_path / "t.json").write_text(f'{{"queries": [{{"positive": {positive}}}]}}')
    with pytest.raises(InputError):
        judgements_from_file(tmp_path / "t.json", np.arange(9))
    (tmp_path / "t.json").write_text(f'{{"images": ["a", "b"], "queries": [{{"positive": {positive}}}]}}')
    with pytest.raises(LongwaveError):
        judgements_from_file(tmp_path / "t.json", np.array(["a", "b"]))


def test_an_item_named_twice_is_found_in_a_long_list():
    """In time that grows with the list, not with its square: 10^11 comparisons would not end."""
    with pytest.raises(InputError, match="item 299999 is judged more than once"):
        Judgement([*range(300_000), 299_999])


@pytest.mark.parametrize(
    "change",
    [
        {"imlist": [1, 2, 3]},
        {"imlist": [["a"], ["b"], ["c"]]},
        {"imlist": 5},
        {"qimlist": None},
        {"gnd": [{"easy": [float("inf")], "hard": [], "junk": [], "bbx": [0, 0, 1, 1]}]},
        {"gnd": [{"easy": [float("nan")], "hard": [], "junk": [], "bbx": [0, 0, 1, 1]}]},
        {"gnd": [{"easy": [], "hard": [], "junk": [], "bbx": [10**400]}]},
        {"gnd": 5},
        {"gnd": [5]},
    ],
)
def test_revisited_truth_of_another_form(change, tmp_path):
    entry = {"bbx": [0, 0, 1, 1], "easy": [0], "hard": [1], "junk": [2]}
    content = {"imlist": ["a", "b", "c"], "qimlist": ["q"], "gnd": [entry]} | change
    (tmp_path / "x.pkl").write_bytes(pickle.dumps(content))
    with pytest.raises(LongwaveError):
        datasets.read_revisited(tmp_path / "x.pkl")


def test_an_empty_query_file_of_oxford(tmp_path):
    for name in ("query", "good", "ok", "junk"):
        (tmp_path / f"a_1_{name}.txt").write_text("")
    with pytest.raises(LongwaveError):
        datasets.read_oxford_text(tmp_path, ["a"])


# ---------------------------------------------------------------- work folders


def test_a_damaged_stage_counts_as_not_done(tmp_path):
    work = Checkpoint(tmp_path)
    for damage in (
        lambda path: path.write_bytes(path.read_bytes()[:-1] + b"\x01"),
        lambda path: path.write_bytes(path.read_bytes()[:-8]),
        lambda path: path.write_bytes(path.read_bytes() + bytes(8)),
        lambda path: path.write_bytes(b""),
        lambda path: np.save(path, np.ones(3, dtype=np.float32)),
        lambda path: path.unlink(),
    ):
        work.save("lists", {"a": np.arange(3.0)})
        damage(tmp_path / "lists-a.npy")
        with pytest.warns(DataWarning, match="stage lists in .* is damaged .*: it is computed again"):
            assert work.load("lists") is None
        assert work.load("lists") is None  # and without a second warning
    work.save("lists", {"a": np.arange(3.0)})
    np.testing.assert_array_equal(work.load("lists")["a"], np.arange(3.0))


@pytest.mark.parametrize("mark", ['["a"]', "{}", '{"arrays": {"a": 5}, "crc32": 0}', "[" * 100_000, "\xff", "5", ""])
def test_a_mark_that_is_damaged(mark, tmp_path):
    work = Checkpoint(tmp_path)
    work.save("lists", {"a": np.arange(3.0)})
    (tmp_path / "lists-done.json").write_text(mark, "latin-1")
    with pytest.warns(DataWarning, match="is damaged"):
        assert work.load("lists") is None


def test_a_mark_of_another_stage_is_not_taken(tmp_path):
    work = Checkpoint(tmp_path)
    work.save_round("round", 3, {"block": np.arange(3.0)})
    for path in list(tmp_path.iterdir()):
        shutil.copy(path, tmp_path / path.name.replace("round-3", "round-7"))
    (tmp_path / "round-x-done.json").write_text("{}")
    with pytest.warns(DataWarning, match="round-7"):
        number, _ = work.latest("round")
    assert number == 3


def test_links_and_pipes_in_a_work_folder_are_not_followed(tmp_path):
    work = open_checkpoint(tmp_path / "w", X, {"k": 5})
    np.save(tmp_path / "mine.npy", np.arange(3.0))
    work.save("lists", {"a": np.arange(3.0)})
    (tmp_path / "w" / "lists-a.npy").unlink()
    (tmp_path / "w" / "lists-a.npy").symlink_to(tmp_path / "mine.npy")
    with pytest.warns(DataWarning, match="is damaged"):
        assert work.load("lists") is None
    (tmp_path / "w" / "lists-a.partial").symlink_to(tmp_path / "mine.npy")
    work.save("lists", {"a": np.ones(3)})
    np.testing.assert_array_equal(np.load(tmp_path / "mine.npy"), np.arange(3.0))  # nothing is written through a link
    np.testing.assert_array_equal(work.load("lists")["a"], np.ones(3))
    (tmp_path / "w" / "lists-a.npy").unlink()
    os.mkfifo(tmp_path / "w" / "lists-a.npy")
    with pytest.warns(DataWarning, match="not a regular file"):
        assert work.load("lists") is None
    (tmp_path / "w" / "key.json").rename(tmp_path / "key.json")
    (tmp_path / "w" / "key.json").symlink_to(tmp_path / "key.json")
    with pytest.raises(StorageError, match="cannot use"):
        open_checkpoint(tmp_path / "w", X, {"k": 5})


@pytest.mark.parametrize("key", ["[]", "5", "{", "[" * 100_000, "null"])
def test_a_key_that_is_damaged(key, tmp_path):
    open_checkpoint(tmp_path, X, {"k": 5})
    (tmp_path / "key.json").write_text(key)
    with pytest.raises(StorageError):
        open_checkpoint(tmp_path, X, {"k": 5})


@pytest.mark.filterwarnings("ignore:the stage .* is damaged:longwave.errors.DataWarning")
def test_a_build_from_a_damaged_work_folder_is_the_same(tmp_path, digits_split, monkeypatch):
    """Sixty damages: the index is that of an undamaged build, or the folder is refused."""
    monkeypatch.setattr(chebyshev, "_DENSE_VERTICES", 0)
    monkeypatch.setattr(os, "fsync", lambda handle: None)
    vectors = digits_split[0][:300]

    def build():
        return lw.Index.build(vectors, k=5, spectrum=lw.Chebyshev(20), workdir=tmp_path / "w")

    expected = build().search(digits_split[2][:5], 20)
    shutil.copytree(tmp_path / "w", tmp_path / "whole")
    same = 0
    for seed in range(60):
        shutil.rmtree(tmp_path / "w")
        shutil.copytree(tmp_path / "whole", tmp_path / "w")
        hostile._damage_work(tmp_path / "w", np.random.default_rng(seed))
        try:
            hits = build().search(digits_split[2][:5], 20)
        except StorageError:
            continue
        np.testing.assert_array_equal(hits.ids, expected.ids, err_msg=f"seed {seed}")
        np.testing.assert_array_equal(hits.scores, expected.scores, err_msg=f"seed {seed}")
        same += 1
    assert same > 30
