"""Index folders as earlier versions of Longwave wrote them: one `manifest.json`, and the arrays beside it."""

import hashlib
import json
import zlib

import numpy as np

from longwave.search import packing


def write(path, facts, arrays, version=3):
    """The folder of format version 3; version 2 was the same without a checksum of its manifest."""
    path.mkdir()
    entries = {}
    for name, array in arrays.items():
        array = np.asarray(array, order="C")
        np.save(path / f"{name}.npy", array, allow_pickle=False)
        content = (path / f"{name}.npy").read_bytes()
        entries[name] = {
            "shape": list(array.shape),
            "dtype": array.dtype.str,
            "bytes": len(content),
            "crc32": zlib.crc32(content),
        }
    said = {"format": "longwave index", "format_version": version, **facts, "arrays": entries}
    if version > 2:
        text = json.dumps(said, sort_keys=True, separators=(",", ":"))
        said["sha256"] = hashlib.sha256(text.encode()).hexdigest()
    (path / "manifest.json").write_text(json.dumps(said, indent=1))
    return path


def save(index, path, version=3):
    """`Index.save` of that time: the searches of an index stood in its settings by themselves, without a plan."""
    facts = packing.facts(index, path)
    plan = facts["settings"].pop("plan")
    facts["settings"] |= {"first": plan["vectors"], "second": plan["coordinates"]}
    return write(path, facts, packing.pack(index), version)
