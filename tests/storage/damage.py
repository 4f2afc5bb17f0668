"""Damage an index folder at random, then open it: a clear error, or what was committed. Run by test_damage.

    python damage.py SCRATCH FIRST COUNT

A seed is one damage. Prints each seed before it begins, so that a crash names its seed, and what went wrong.
"""

import json
import shutil
import signal
import sys
import warnings
import zlib
from pathlib import Path

import numpy as np
import samples
import simulated
from accidents import exchange, files_of, no_file, pick

from longwave import storage as st
from longwave.errors import LongwaveError, StorageError
from longwave.storage import array_file
from longwave.storage import manifest as manifests

SECONDS = 60  # for one seed: more, and it hangs


def make_folders(scratch):
    """One folder of every kind, with the states that are in it."""
    samples.folder(scratch / "one", 1)
    samples.folder(scratch / "some", 1, 2, 3)
    samples.folder(samples.old_folder(scratch / "converted", 1), 2)
    samples.old_folder(scratch / "old", 1)
    samples.old_folder(scratch / "older", 1, version=2)
    samples.folder(scratch / "kept", 1)
    with st.writer(scratch / "kept") as own:
        own.commit(samples.facts(1), {name: st.Kept(name) for name in samples.arrays(1)})


def change_bytes(rng, folder):
    file = pick(rng, files_of(folder))
    content = bytearray(file.read_bytes())
    how, place = int(rng.integers(5)), int(rng.integers(len(content)))
    if how == 0:
        content[place] ^= 1 << int(rng.integers(8))
    elif how == 1:
        content = content[:place]
    elif how == 2:
        content += bytes(rng.integers(0, 256, size=int(rng.integers(1, 200)), dtype=np.uint8))
    elif how == 3:
        stop = min(len(content), place + int(rng.integers(1, 600)))
        content[place:stop] = bytes(stop - place)
    else:
        stop = min(len(content), place + int(rng.integers(1, 100)))
        content[place:stop] = bytes(rng.integers(0, 256, size=stop - place, dtype=np.uint8))
    file.write_bytes(content)


def change_header(rng, folder):
    edits = [(b"False", b"True "), (b"(", b"(1"), (b"<f4", b"<f8"), (b"<f4", b"|O8"), (b"descr", b"decsr")]
    edits += [(b"\x93NUMPY\x01", b"\x93NUMPY\x02"), (b"\x01\x00v", b"\x01\x00\xff"), (b"}", b"'''"), (b"(", b"((((")]
    file, (old, new) = pick(rng, files_of(folder, ".npy")), pick(rng, edits)
    content = file.read_bytes()
    file.write_bytes(content[:128].replace(old, new, 1)[:128].ljust(128) + content[128:])


def add_file(rng, folder):
    """Files that nobody asked for, with names as writers give them."""
    place = folder / "manifests"
    place.mkdir(exist_ok=True)
    name = pick(rng, ["00000009.json", "00000000.json", "99999999.json", "٠٠٠٠٠٠٠٩.json", f"{'a' * 32}.partial"])
    other = pick(rng, files_of(folder)).read_bytes()
    content = pick(rng, [b"", b"{}", b"null", b"[" * 100_000, b"\xff", b"9" * 10_000, other])
    (place / name).write_bytes(content)


def change_manifest(rng, folder):
    """Put something else at some place of a manifest, and make its checksum right again."""
    file = pick(rng, files_of(folder, ".json"))
    said = json.loads(file.read_bytes())
    place, steps = said, int(rng.integers(1, 5))
    while True:
        key, steps = pick(rng, list(place) if isinstance(place, dict) else list(range(len(place)))), steps - 1
        if steps == 0 or not isinstance(place[key], dict | list) or not place[key]:
            break
        place = place[key]
    values = [None, True, -1, 0, 3, 2**40, 10**30, 1.5, float("nan"), "", "x", [], {}, [[1]], [0, 3], [0, 2**70], "|O8"]
    values += [
        "<U999999999",
        "<M8[x]",
        "<U0",
        "../../secret.npy",
        "/etc/passwd",
        ".",
        "data/x.npy",
        "\ud800",
    ]
    if rng.random() < 0.3 and isinstance(place, dict):
        value = place.pop(key)
        place[pick(rng, ["x", "../x", "/etc/passwd", "\ud800", "a\0b", "a" * 300, ""])] = value
    else:
        place[key] = pick(rng, values)
    said.pop("sha256", None)
    file.write_text(json.dumps({**said, "sha256": manifests._seal(said)}))


def change_array(rng, folder):
    """Other bytes in the place of an array, with size and checksums made right."""
    file = pick(rng, files_of(folder, ".npy"))
    content = bytearray(file.read_bytes())
    start = int(rng.integers(len(content)))
    content[start : start + 40] = pick(rng, [b"\xff" * 40, bytes(40), b"", b"\x7f" * 90])
    file.write_bytes(content)
    for place in files_of(folder, ".json"):
        said = json.loads(place.read_bytes())
        for name, entry in said["arrays"].items():
            if entry.get("file", f"{name}.npy") == file.name:
                entry |= {"bytes": len(content), "crc32": zlib.crc32(content)}
        said.pop("sha256", None)
        place.write_text(json.dumps({**said, "sha256": manifests._seal(said)}))


ACCIDENTS = [change_bytes, change_bytes, change_bytes, change_header, exchange, no_file, add_file]
CRAFTED = [change_manifest, change_array]


def same_bytes(one, other):
    return one.is_file() and one.read_bytes() == other.read_bytes()


def one_seed(seed, scratch):
    """What went wrong, or nothing."""
    rng = np.random.default_rng(seed)
    kinds = sorted(p.name for p in scratch.iterdir() if p.is_dir() and p.name != "trial")
    kind, crafted = pick(rng, kinds), seed % 4 == 0
    trial = scratch / "trial"
    shutil.rmtree(trial, ignore_errors=True)
    shutil.copytree(scratch / kind, trial / "i")
    change = pick(rng, CRAFTED if crafted else ACCIDENTS)
    change(rng, trial / "i")
    # Version 2 has no checksum of its manifest: what it says may be altered and nobody can know.
    unsealed = kind == "older" and not same_bytes(trial / "i" / "manifest.json", scratch / kind / "manifest.json")
    usual = array_file.SMALL
    for verify, small in ((True, usual), (False, usual), (False, 0)):
        array_file.SMALL = small  # 0: every file counts as large
        what = f"seed {seed}: {kind}, {change.__name__}, verify={verify}, small={small}"
        try:
            state = st.read(trial / "i", verify=verify)
            for array in state.arrays.values():
                array.tolist()
            right = any(samples.same(state, number) for number in (1, 2, 3))
            if not right and (verify or small) and not (crafted or unsealed):
                return f"wrong: another state, {what}"
        except StorageError as error:
            if str(trial) not in str(error) or "\n" in str(error):
                return f"wrong: the message is {error}, {what}"
        except Exception as error:
            return f"wrong: {type(error).__name__}: {error}, {what}"
        finally:
            array_file.SMALL = usual
    return life_goes_on(trial / "i", f"seed {seed}: {kind}, {change.__name__}")


def life_goes_on(path, what):
    """Everything else that is asked of a folder, and another commit."""
    files = simulated.Careless()
    for work in (st.verify, st.history, st.is_index, lambda path: st.check_target(path, force=True)):
        try:
            work(path)
        except LongwaveError:
            pass
        except Exception as error:
            return f"wrong: {type(error).__name__}: {error}, {what}"
    secret = path.parent / "secret.npy"
    secret.write_text("not of the index")
    try:
        samples.commit(path, 7, files=files)
        if not samples.same(st.read(path, verify=True), 7):
            return f"wrong: not what was committed, {what}"
        st.vacuum(path, grace=0, files=files)
        if not samples.same(st.read(path, verify=True), 7):
            return f"wrong: not there after a vacuum, {what}"
    except LongwaveError:
        pass
    except Exception as error:
        return f"wrong: {type(error).__name__}: {error}, {what}"
    return None if secret.exists() else f"wrong: a file outside is gone, {what}"


def main(scratch, first, count):
    scratch = Path(scratch)
    make_folders(scratch)
    warnings.simplefilter("error")
    for seed in range(int(first), int(first) + int(count)):
        print(seed, flush=True)
        signal.alarm(SECONDS)
        if problem := one_seed(seed, scratch):
            print(problem, flush=True)
    signal.alarm(0)
    print("done", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
