"""Index folders and seeded damage to them. Run as a program it damages, loads and searches: a crash is then its own.

    python tests/storage/mutations.py FOLDER FIRST COUNT

FOLDER holds what `make_folders` has made. It prints each seed before the work, and a line with "wrong" for a failure.
"""

import json
import shutil
import signal
import sys
import tempfile
import warnings
import zlib
from pathlib import Path

import accidents
import earlier
import numpy as np
from accidents import files_of, pick

import longwave as lw
from longwave.errors import LongwaveError
from longwave.storage import array_file
from longwave.storage import manifest as manifests

SECONDS = 60  # for one seed; then it hangs


def make_folders(folder):
    """Save one index of every kind, by name."""
    rng = np.random.default_rng(5)
    vectors = rng.normal(size=(140, 16)) + 0.7  # one large component
    far = np.repeat(rng.normal(size=(4, 16)) * 5, 4, axis=0) + 0.01 * rng.normal(size=(16, 16))  # small components
    every, basis = np.vstack([vectors, far]), lw.Lanczos(24)
    plain = lw.Index.build(every, k=6, spectrum=basis)
    accelerated = plain.accelerate(first="IVF4,SQfp16", second="IVF4,SQfp16")
    kinds = {
        "plain": plain.attach({"made": "here", "of": [1, 2.5]}, {"paths": np.array(["ü.jpg", "b.jpg"])}),
        "names": lw.Index.build(every, k=6, spectrum=basis, ids=[f"é{i}" for i in range(len(every))]),
        "regional": lw.Index.build(every, k=6, spectrum=basis, groups=np.arange(len(every)) // 2),
        "extended": plain.extend(vectors[:9] + 0.1),
        "float16": plain.compress(basis="float16", vectors="float16"),
        "int8": plain.compress(basis="int8", vectors="int8"),
        "quantized": plain.compress(vectors="PQ4x4"),
        "accelerated": accelerated,
        "linked": plain.accelerate(first="HNSW8", second=None),
        "walked": lw.Index.build(every, k=6).accelerate(),
        "precomputed": plain.precompute(top=20),
        "sparse": lw.Index.build(every, k=6, spectrum=basis, sparsity=0.5),
        "graph": lw.Index.build(every, k=6, spectrum=None),
    }
    kinds["both"] = kinds["regional"].extend(vectors[:6] + 0.1, groups=900 + np.arange(6) // 2)
    for name, index in kinds.items():
        index.save(folder / name)
    kinds["plain"].save(folder / "versions")
    kinds["names"].save(folder / "versions", force=True)
    earlier.save(accelerated, folder / "earlier")
    earlier.save(kinds["regional"], folder / "converted")
    kinds["both"].save(folder / "converted", force=True)


def manifest_of(folder):
    """The file of the newest manifest."""
    return max((folder / "manifests").glob("*.json"), default=folder / "manifest.json")


def manifests_of(folder):
    return [*sorted((folder / "manifests").glob("*.json")), *folder.glob("manifest.json")]


def file_of(folder, name):
    """The file of an array of the newest version."""
    manifest = manifest_of(folder)
    if manifest.name == "manifest.json":
        return folder / f"{name}.npy"
    return folder / "data" / json.loads(manifest.read_text("utf-8"))["arrays"][name]["file"]


def queries_of(folder):
    return np.random.default_rng(6).normal(size=(3, 16)) + lw.Index.load(folder / "plain").vectors.rows(
        np.array([3, 40, 90])
    )


def answers(index, queries):
    """Everything that is asked of an index."""
    known = index.settings.search
    basis = index.spectrum is not None
    ways = [{"solver": lw.Euclidean()}, {"solver": lw.ConjugateGradient(max_steps=5, tolerance=0)}]
    if basis:
        ways += [{}, {"blend": 0.5}, {"blend": "anchor", "neighbors": 3}, {"solver": lw.Hybrid(0, max_steps=3)}]
    if index.stored is not None:
        ways.append({"solver": lw.Precomputed()})
    found = [known]
    for way in ways:
        for asked in (queries, queries[0]):
            hits = index.search(asked, 5, **way)
            found += [hits.ids.tolist(), hits.scores.tobytes()]
    if basis:
        found.append(index.search_by_id(index.ids[:2], 60).ids.tolist())
        found.append(index.embed(queries).tobytes())
    return [*found, dict(index.about), {name: array.tolist() for name, array in index.attached.items()}]


def reseal(folder):
    """Make all sizes and checksums right again, as one would who means harm."""
    known = {p.name: p for p in files_of(folder, ".npy")}
    for file in manifests_of(folder):
        try:
            said = json.loads(file.read_text("utf-8"))
        except ValueError:
            continue
        said.pop("sha256", None)
        arrays = said.get("arrays")
        for name, entry in arrays.items() if isinstance(arrays, dict) else ():
            if isinstance(entry, dict) and (own := known.get(str(entry.get("file", f"{name}.npy")))):
                content = own.read_bytes()
                entry |= {"bytes": len(content), "crc32": zlib.crc32(content)}
        file.write_text(json.dumps({**said, "sha256": manifests._seal(said)}), "utf-8")


def edit_manifest(folder, change):
    """Let a function change what the newest manifest says, then make its checksum right."""
    file = manifest_of(folder)
    said = json.loads(file.read_text("utf-8"))
    said.pop("sha256", None)
    change(said)
    file.write_text(json.dumps({**said, "sha256": manifests._seal(said)}), "utf-8")


def replace_array(folder, name, array):
    """Write another array in its place, and say so in the manifest."""
    np.save(file_of(folder, name), array)
    described = {"shape": list(array.shape), "dtype": array.dtype.str}
    edit_manifest(folder, lambda said: said["arrays"][name].update(described))
    reseal(folder)


def flip(rng, content):
    for _ in range(int(rng.integers(1, 4))):
        content[int(rng.integers(len(content)))] ^= 1 << int(rng.integers(8))
    return content


def cut(rng, content):
    return content[: int(rng.integers(len(content)))]


def lengthen(rng, content):
    return content + bytes(rng.integers(0, 256, size=int(rng.integers(1, 200)), dtype=np.uint8))


def fill(rng, content):
    """Overwrite a block, mostly of the numbers: with zeros, NaN, the largest or the smallest."""
    start = int(rng.integers(min(128, len(content) - 1), len(content)))
    stop = min(len(content), start + int(rng.integers(1, 400)))
    pattern = pick(rng, [b"\0", b"\xff", b"\x7f", b"\x80", b"\0\0\xc0\x7f", b"\xff\xff\xff\x7f\0\0\0\x80"])
    content[start:stop] = (pattern * 400)[: stop - start]
    return content


def edit_header(rng, content):
    old, new = pick(
        rng,
        [
            (b"False", b"True "),
            (b"(", b"(1"),
            (b"'shape': (", b"'shape': (("),
            (b"<f4", b"<f8"),
            (b"<i4", b"|O8"),
            (b"<i8", b">i8"),
            (b"descr", b"decsr"),
            (b"\x93NUMPY\x01", b"\x93NUMPY\x02"),
            (b"\x93NUMPY\x01\x00v", b"\x93NUMPY\x01\x00\xff"),
            (b"}", b"'''"),
            (b", }", b"[" * 100),
            (b",)", b"-)"),
        ],
    )
    return bytearray(bytes(content[:256]).replace(old, new, 1) + content[256:])


def change_bytes(rng, folder, others):
    file = pick(rng, files_of(folder))
    change = pick(rng, [flip, flip, cut, lengthen, fill, fill])
    file.write_bytes(change(rng, bytearray(file.read_bytes())))


def change_header(rng, folder, others):
    file = pick(rng, files_of(folder, ".npy"))
    file.write_bytes(edit_header(rng, bytearray(file.read_bytes())))


def take_from_another(rng, folder, others):
    """The manifest of another index, or its array of the same name."""
    other, name = pick(rng, others), pick(rng, ["", *array_names(folder)])
    if not name:
        manifest_of(folder).write_bytes(manifest_of(other).read_bytes())
    elif name in array_names(other):
        file_of(folder, name).write_bytes(file_of(other, name).read_bytes())


def exchange_files(rng, folder, others):
    accidents.exchange(rng, folder)


def no_file(rng, folder, others):
    accidents.no_file(rng, folder)


def array_names(folder):
    return sorted(json.loads(manifest_of(folder).read_text("utf-8"))["arrays"])


def change_manifest(rng, folder, others):
    """Put something else at some place of a manifest."""
    file = pick(rng, manifests_of(folder))
    manifest = json.loads(file.read_text("utf-8"))
    place, steps = manifest, int(rng.integers(1, 5))
    values = [None, True, -1, 0, 3, 2**40, 10**30, 1.5, float("nan"), float("inf"), "", "../ids", [], {}, [[1]], [0, 3]]
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key, steps = pick(rng, keys), steps - 1
        if steps == 0 or not isinstance(place[key], dict | list) or not place[key]:
            break
        place = place[key]
    if rng.random() < 0.2 and isinstance(place, dict):
        value = place.pop(key)
        if rng.random() < 0.5:
            place[pick(rng, ["x", "../x", "/etc/passwd", "\ud800", "a\0b", "a" * 300])] = value
    else:
        place[key] = pick(rng, values)
    file.write_text(json.dumps(manifest), "utf-8")


def change_array(rng, folder, others):
    """Another array in the place of one, which the manifest describes rightly."""
    name = pick(rng, [name for name in array_names(folder) if not is_packed(name)])
    array = np.load(file_of(folder, name))
    how = int(rng.integers(7))
    if how == 0:
        array = array[: int(rng.integers(len(array) + 1))]
    elif how == 1:
        array = np.concatenate([array, array[:3]])
    elif how == 2:
        array = array[..., None] if rng.random() < 0.5 else array.reshape(-1)
    elif how == 3 and array.dtype.kind != "U":
        array = array.astype(pick(rng, [">f4", "<f8", "<i4", "<i8", "<u8", "|b1", "<c16", "<f2", "|i1"]))
    elif how == 4 and array.size and array.dtype.kind != "U":
        array = np.array(array)
        some = rng.integers(array.size, size=3)
        value = pick(rng, [0, 1, -1, 99, 2**31 - 1, -(2**31)])
        array.reshape(-1)[some] = np.int64(value).astype(array.dtype)
    elif how == 5:
        array = array[::-1]
    elif how == 6 and array.dtype.kind == "f" and array.size:
        array = np.array(array)
        array.reshape(-1)[rng.integers(array.size, size=5)] = pick(rng, [np.nan, np.inf, -np.inf, 1e30])
    replace_array(folder, name, np.ascontiguousarray(array))


def is_packed(name):
    """Whether faiss reads it: it trusts what it reads, so nothing but the checksum can help."""
    return name == "first" or name.startswith("second_") or name.endswith("_codes")


# What a checksum finds, and what it cannot find.
ACCIDENTS = [change_bytes, change_bytes, change_bytes, change_header, exchange_files, take_from_another, no_file]
ACCIDENTS += [change_manifest]
CRAFTED = [change_array, change_array, change_manifest]


def one_seed(seed, folder, expected, queries):
    """Damage one index and use it. Returns what went wrong, or nothing."""
    rng = np.random.default_rng(seed)
    kinds = sorted(expected)
    kind = pick(rng, kinds)
    crafted = seed % 3 == 0
    with tempfile.TemporaryDirectory() as scratch:
        damaged = Path(scratch) / "i"
        shutil.copytree(folder / kind, damaged)
        change = pick(rng, CRAFTED if crafted else ACCIDENTS)
        change(rng, damaged, [folder / other for other in kinds if other != kind])
        if crafted:
            reseal(damaged)
        for verify, small in ((True, array_file.SMALL), (False, array_file.SMALL), (False, 0)):
            usual, array_file.SMALL = array_file.SMALL, small  # 0: every file counts as large
            what = f"seed {seed}: {kind}, {change.__name__}, crafted={crafted}, verify={verify}, small={small}"
            try:
                found = answers(lw.Index.load(damaged, verify=verify), queries)
                # With the manifest of another index, all files may be that index, whole.
                if verify and not crafted and found not in expected.values():
                    return f"wrong answers after verify, {what}"
            except LongwaveError as error:
                if not str(error):
                    return f"wrong: no message, {what}"
            except Exception as error:
                return f"wrong: {type(error).__name__}: {error}, {what}"
            finally:
                array_file.SMALL = usual
    return None


def main(folder, first, count):
    folder = Path(folder)
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    queries = queries_of(folder)
    expected = {p.name: answers(lw.Index.load(p), queries) for p in sorted(folder.iterdir())}
    for seed in range(int(first), int(first) + int(count)):
        print(seed, flush=True)
        signal.alarm(SECONDS)
        if problem := one_seed(seed, folder, expected, queries):
            print(problem, flush=True)
    signal.alarm(0)
    print("done", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
