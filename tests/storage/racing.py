"""Add a name to a list in the facts, again and again, among others who do the same. Run by test_concurrent.

    python racing.py FOLDER LOCK NAME

Prints what was acknowledged. With "no lock" writers meet at the manifest's number alone.
"""

import os
import sys
import time

import numpy as np

from longwave import storage as st
from longwave.errors import ConflictError


class NoLock(st.Files):
    def lock(self, folder, name):
        return st.Opened(folder.path / name, os.open(name, os.O_RDWR | os.O_CREAT, dir_fd=folder.handle))


def main(path, lock, name):
    files = NoLock() if lock == "no lock" else st.Files()
    print("ready", flush=True)
    sys.stdin.readline()
    done, conflicts, end = [], 0, time.monotonic() + 60
    while len(done) < 15 and time.monotonic() < end:
        try:
            with st.writer(path, create=True, files=files) as own:
                names = own.state.facts["names"] if own.state else []
                own.commit({"names": [*names, f"{name}{len(done)}"]}, {"count": np.arange(len(names) + 1)})
            done.append(f"{name}{len(done)}")
        except ConflictError:
            conflicts += 1
            time.sleep(0.001)
    print(*done)


if __name__ == "__main__":
    main(*sys.argv[1:])
