"""Commit state 2 and vacuum, and say so. Run by test_syscalls, which has it killed at some call of the system.

python killed_at.py FOLDER
"""

import sys

import samples

from longwave import storage as st


def main(path):
    with st.writer(path, create=True) as own:
        kept = st.Kept("ids") if own.state is not None else samples.arrays(1)["ids"]
        own.commit(samples.facts(2), {**samples.arrays(2), "ids": kept}, "state 2")
        print("committed", flush=True)
        own.vacuum(grace=0)
        print("cleared", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
