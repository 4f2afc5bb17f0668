"""The way of the data through the house: modules that a build and a search pass, and calls from one to another.

    python -m benchmarks.ways

A call counts once for each pair of functions, however often it happens. Calls into a room count as crossing where the
caller's module is in another folder.
"""

import sys
from pathlib import Path

import numpy as np

import longwave
from benchmarks import measure

ROOT = Path(longwave.__file__).parent


def module_of(code):
    path = Path(code.co_filename)
    return ".".join(path.relative_to(ROOT).with_suffix("").parts) if ROOT in path.parents else None


def walked(function):
    """Modules passed, pairs of functions that call each other across modules, and across rooms."""
    modules, calls, rooms = set(), set(), set()

    def seen(frame, event, _):
        if event != "call" or frame.f_back is None or frame.f_code.co_name == "<module>":
            return
        own, caller = module_of(frame.f_code), module_of(frame.f_back.f_code)
        if own is None or caller is None:
            return
        modules.update((own, caller))
        pair = caller, frame.f_back.f_code.co_name, own, frame.f_code.co_name
        if own != caller:
            calls.add(pair)
        if own.split(".")[0] != caller.split(".")[0]:
            rooms.add(pair)

    sys.setprofile(seen)
    try:
        result = function()
    finally:
        sys.setprofile(None)
    return result, {"modules": len(modules), "calls": len(calls), "calls_across_rooms": len(rooms)}


def main():
    vectors = np.random.default_rng(0).normal(size=(3000, 16)).astype(np.float32)
    longwave.Index.build(vectors, progress=False).search(vectors[:1])  # everything is imported and compiled
    index, built = walked(lambda: longwave.Index.build(vectors, progress=False))
    _, searched = walked(lambda: index.search(vectors[:1]))
    fast = index.accelerate()
    _, quick = walked(lambda: fast.search(vectors[:1]))
    facts = {"build": built, "search": searched, "search, sublinear": quick}
    print(facts)
    measure.save("ways", facts)


if __name__ == "__main__":
    main()
