"""States that can be told apart, and folders that hold them."""

import earlier
import numpy as np

from longwave import storage as st


def facts(number):
    return {"settings": {"k": number, "name": f"é{number}"}, "about": {"list": [number, 0.5]}}


def arrays(number, rows=6):
    """Of every kind: numbers, text, bytes, no axis, no rows."""
    return {
        "vectors": np.random.default_rng(number).normal(size=(rows, 4)).astype(np.float32),
        "ids": np.array([f"ü{number}-{i}" for i in range(rows)]),
        "packed": np.frombuffer(f"packed {number}".encode(), np.uint8),
        "mean": np.float64(number),
        "none": np.zeros((0, 3), np.int32),
    }


def same(state, number, **others):
    """Whether a state is the one of this number; others: arrays that are of other numbers."""
    expected = {name: arrays(others.get(name, number))[name] for name in arrays(number)}
    return (
        state.facts == facts(number)
        and state.arrays.keys() == expected.keys()
        and all(np.array_equal(state.arrays[n], e) and state.arrays[n].dtype == e.dtype for n, e in expected.items())
    )


def which(state):
    """The number of a state whose arrays are all of one number."""
    number = state.facts["settings"]["k"]
    assert same(state, number)
    return number


def commit(path, number, **options):
    with st.writer(path, create=True, **options) as own:
        return own.commit(facts(number), arrays(number), f"state {number}")


def folder(path, *numbers):
    """A folder with a commit for each number."""
    for number in numbers:
        commit(path, number)
    return path


def old_folder(path, number, version=3):
    """A folder of format version 2 or 3."""
    return earlier.write(path, facts(number), arrays(number), version)


def tree(path):
    """Names of all files, for comparisons."""
    return sorted(str(p.relative_to(path)) for p in path.rglob("*"))


# What a writer does to a folder that holds state 1, or nothing.


def replace_all(path, files):
    commit(path, 2, files=files)


def commit_with_kept(path, files):
    with st.writer(path, files=files) as own:
        rest = {name: st.Kept(name) for name in arrays(1) if name != "vectors"}
        own.commit(facts(2), {"vectors": arrays(2)["vectors"], **rest})


def vacuum(path, files):
    st.vacuum(path, grace=0, files=files)
