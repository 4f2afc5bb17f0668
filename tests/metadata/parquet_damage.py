"""Seeded damage to the bytes of a table. Run as a program: if pyarrow ends the process, it is not that of the tests.

    python tests/metadata/parquet_damage.py accident|crafted|file FIRST COUNT

It prints each seed before the work, and a line with "wrong" for a failure. accident: bytes as a disk may lose them.
crafted: the checksum is made right again. file: the same, as the .parquet of a user.
"""

import datetime
import io
import signal
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa

from longwave.errors import LongwaveError
from longwave.files.parquet_footer import announced
from longwave.metadata import as_table, from_bytes, parse, select, to_bytes
from longwave.metadata import parquet as internals

COUNT = 300
SECONDS = 60


def sample(n=COUNT):
    """A table with all types."""
    rng = np.random.default_rng(3)
    hole = rng.random(n) < 0.2
    day = datetime.date(2020, 1, 1)
    return as_table(
        {
            "year": pa.array(rng.integers(1990, 2030, n), pa.int16(), mask=hole),
            "size": pa.array(rng.integers(0, 1 << 60, n), pa.int64()),
            "score": pa.array(rng.normal(size=n), pa.float32(), mask=hole),
            "weight": pa.array(rng.normal(size=n)),
            "city": pa.array(rng.choice(["Oxford", "Paris", "Zürich"], n), mask=hole),
            "kind": pa.array(rng.choice(["a", "b"], n), mask=hole).dictionary_encode(),
            "flag": pa.array(rng.random(n) < 0.5, mask=hole),
            "day": pa.array([day + datetime.timedelta(int(i)) for i in rng.integers(0, 999, n)], mask=hole),
            "seen": pa.array(rng.integers(0, 1 << 50, n), pa.timestamp("us", "UTC")),
            "tags": [["x", "y"][: i % 3] if i % 5 else None for i in range(n)],
            "nothing": [None] * n,
        },
        count=n,
    )


def damaged(rng, content):
    content = bytearray(content)
    footer = announced(io.BytesIO(bytes(content))).start
    how = int(rng.integers(7))
    # Half of all damage is in the footer, where it does most harm.
    first = footer if rng.random() < 0.5 else 0
    if how <= 2:
        for _ in range(int(rng.integers(1, 4))):
            content[int(rng.integers(first, len(content)))] ^= 1 << int(rng.integers(8))
    elif how == 3:
        content = content[: int(rng.integers(len(content)))]
    elif how == 4:
        at = int(rng.integers(first, len(content)))
        content[at:at] = bytes(rng.integers(0, 256, int(rng.integers(1, 40)), dtype=np.uint8))
    elif how == 5:
        at = int(rng.integers(first, len(content)))
        del content[at : at + int(rng.integers(1, 40))]
    else:
        at = int(rng.integers(first, len(content) - 8))
        value = [b"\0", b"\xff", b"\x7f", b"\x80"][int(rng.integers(4))]
        content[at : at + 8] = value * 8
    return bytes(content)


def resealed(content):
    """With the right checksum, as one would who means harm."""
    try:
        start = announced(io.BytesIO(content)).start
    except ValueError:
        return content
    head, footer = content[: max(0, start - 8)], content[start:]
    return head + internals._seal(head, footer) + footer


def use(table):
    for where in ({"year": {"$gt": 2000}}, {"city": ["Paris"]}, {"kind": "a"}, {"tags": "x"}, {"day": "2020-05-01"}):
        if next(iter(where)) in table.column_names:
            parse(where).mask(table)
    select(table, range(table.num_rows), table.column_names)


def one_seed(seed, how, whole, content, folder):
    """What went wrong, or nothing."""
    bad = damaged(np.random.default_rng(seed), content)
    try:
        if how == "file":
            path = folder / "bad.parquet"
            path.write_bytes(bad)
            use(as_table(path, count=COUNT))
        else:
            found = from_bytes(resealed(bad) if how == "crafted" else bad, count=COUNT)
            if how == "accident" and not found.equals(whole):
                return "wrong content"
            use(found)
    except LongwaveError as error:
        if not str(error) or "\n" in str(error):
            return f"wrong message: {error}"
    except Exception as error:
        return f"wrong: {type(error).__name__}: {error}"
    return None


def main(how, first, count):
    whole = sample()
    content = to_bytes(whole)
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(int(first), int(first) + int(count)):
            print(seed, flush=True)
            signal.alarm(SECONDS)
            if problem := one_seed(seed, how, whole, content, Path(folder)):
                print(f"{problem}, seed {seed}", flush=True)
    signal.alarm(0)
    print("done", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
