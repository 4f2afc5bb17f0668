"""Read a folder again and again until told to stop; every state must be a whole one, and never an older one.

    python polling.py FOLDER

Prints how often it read, and how many states it saw. Run by test_concurrent.
"""

import select
import sys

import samples

from longwave import storage as st


def main(path):
    state, reads, seen = None, 0, set()
    print("ready", flush=True)
    while not select.select([sys.stdin], [], [], 0)[0]:
        last = state.number if state else 0
        state = st.read(path, verify=reads % 2 == 0, known=state if reads % 3 else None)
        samples.which(state)
        assert state.number >= last, f"version {state.number} after {last}"
        assert not state.passed_over
        reads += 1
        seen.add(state.number)
        if reads % 10 == 0:
            assert st.verify(path).ok
            assert st.history(path)
            assert st.is_index(path)
    print(reads, len(seen))


if __name__ == "__main__":
    main(sys.argv[1])
