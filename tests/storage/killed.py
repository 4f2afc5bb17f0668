"""Kill a committing process at random moments, and look at what it leaves. Run by test_crashes.

    python killed.py FOLDER COUNT SEED

A child commits and vacuums without end. It writes every number to a pipe when its commit has returned. It is killed;
then the folder must hold the last number in the pipe, or the one after it. The next child goes on in the same folder.
"""

import os
import random
import signal
import sys
import time

import samples

from longwave import storage as st


def work(path, number, pipe):
    while True:
        with st.writer(path, create=True) as own:
            for _ in range(3):
                number += 1
                if number % 2 and own.state is not None:
                    kept = {name: st.Kept(name) for name in samples.arrays(0)}
                    own.commit(samples.facts(samples.which(own.state)), kept, str(number))
                else:
                    own.commit(samples.facts(number), samples.arrays(number), str(number))
                os.write(pipe, b"%d\n" % number)
            own.vacuum(keep=2, grace=0)


def main(path, count, seed):
    chance, number = random.Random(seed), 0
    for _ in range(count):
        read, write = os.pipe()
        child = os.fork()
        if not child:
            os.close(read)
            try:
                work(path, number, write)
            finally:
                os._exit(1)
        os.close(write)
        time.sleep(chance.expovariate(1 / 0.03))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status), "the child ended by itself"
        with os.fdopen(read) as pipe:
            told = [int(line) for line in pipe.read().splitlines()]
        before, number = number, max([number, *told])
        if st.is_index(path):
            state = st.read(path, verify=True)
            samples.which(state)
            found = int(state.commit.message)
            assert found in (number, number + 1), f"acknowledged {number}, found {found}"
            assert st.verify(path).ok
            number = found
        else:
            assert number == 0, f"acknowledged {number}, found nothing"
        print(number - before, number, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
