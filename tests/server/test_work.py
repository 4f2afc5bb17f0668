"""Jobs in threads: bounded, gathered, each with its own answer or error."""

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from longwave.server.problems import Problem
from longwave.server.work import Work


def run_apart(body):
    """In a thread of its own: a browser of other tests may have a loop in this one."""
    with ThreadPoolExecutor(1) as apart:
        return apart.submit(lambda: asyncio.run(body())).result()


def run(test, **options):
    async def body():
        work = Work(**{"threads": 1, "queue": 8, "batch": 4, **options})
        try:
            return await test(work)
        finally:
            await work.close()

    return run_apart(body)


def test_jobs_of_one_key_are_done_in_one_call_and_only_while_others_run():
    calls, gate = [], threading.Event()

    def do(given):
        calls.append(list(given))
        if given == ["first"]:
            gate.wait(10)
        return [own.upper() for own in given]

    async def test(work):
        first = asyncio.create_task(work.join(do, "first", key="k"))
        await asyncio.sleep(0.05)  # taken at once: nothing waits to be gathered
        others = [asyncio.create_task(work.join(do, f"k{i}", key="k")) for i in range(5)]  # four, and one is left
        alone = asyncio.create_task(work.join(do, "alone", key="other"))
        lone = asyncio.create_task(work.join(do, "lone"))
        await asyncio.sleep(0.05)
        assert work.waiting == 7
        gate.set()
        done = await asyncio.gather(first, *others, alone, lone)
        assert [one.value for one in done] == ["FIRST", "K0", "K1", "K2", "K3", "K4", "ALONE", "LONE"]
        assert [one.together for one in done] == [1, 4, 4, 4, 4, 1, 1, 1]
        assert all(one.waited >= 0 for one in done)

    run(test)
    assert calls == [["first"], ["k0", "k1", "k2", "k3"], ["k4"], ["alone"], ["lone"]]


def test_a_full_queue_refuses_and_recovers():
    gate = threading.Event()

    async def test(work):
        held = [asyncio.create_task(work.run(lambda: gate.wait(10))) for _ in range(3)]
        await asyncio.sleep(0.05)
        with pytest.raises(Problem, match="2 requests are waiting") as refused:
            await work.run(int)
        assert refused.value.status == 429
        assert int(refused.value.headers["Retry-After"]) >= 1
        gate.set()
        await asyncio.gather(*held)
        assert await work.run(lambda: 5) == 5

    run(test, queue=2)


def test_who_waits_too_long_is_told_and_makes_room():
    gate = threading.Event()

    async def test(work):
        running = asyncio.create_task(work.run(lambda: gate.wait(10)))
        await asyncio.sleep(0.05)
        with pytest.raises(Problem, match=r"no answer within 0\.1 s") as late:
            await work.run(int, timeout=0.1)
        assert late.value.status == 503
        assert work.waiting == 0
        with pytest.raises(Problem, match="no answer"):  # one that runs cannot be stopped, but nobody waits for it
            await asyncio.create_task(work.run(lambda: gate.wait(10), timeout=0.1))
        gate.set()
        await running
        assert work.busy == 0

    run(test)


def test_every_job_has_its_own_error():
    def do(given):
        if len(given) > 1:
            raise ValueError("one of them")
        if given == ["bad"]:
            raise KeyError("bad")
        return given

    async def test(work):
        gate = threading.Event()
        first = asyncio.create_task(work.run(lambda: gate.wait(10)))
        await asyncio.sleep(0.05)
        jobs = [asyncio.create_task(work.join(do, own, key="k")) for own in ("a", "bad", "c")]
        await asyncio.sleep(0.05)
        gate.set()
        await first
        one, two, three = await asyncio.gather(*jobs, return_exceptions=True)
        assert (one.value, three.value) == ("a", "c")
        assert isinstance(two, KeyError)

    run(test)


def test_closing_waits_for_what_runs():
    ended = []

    def slow():
        time.sleep(0.2)
        ended.append(True)

    async def body():
        work = Work(threads=1, queue=1)
        task = asyncio.create_task(work.run(slow))
        await asyncio.sleep(0.05)
        await work.close()
        assert ended
        await task

    run_apart(body)


def test_a_thread_of_the_pool_works_alone():
    import faiss
    import numba

    def threads():
        return faiss.omp_get_max_threads(), numba.get_num_threads()

    async def test(work):
        assert await work.run(threads) == (1, 1)

    before = threads()
    run(test)
    assert threads() == before
