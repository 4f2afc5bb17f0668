"""The server under load: 1, 8 and 64 clients on loopback, and more than it takes on.

    python -m benchmarks.serve [N [SECONDS [CLIENTS ...]]]       default: 100,000, 60 and 1 8 64
    python -m benchmarks.serve memory [N [SECONDS]]              8 clients for 600 s: what the server holds meanwhile

N vectors of 512 dimensions (those of `benchmarks.online`; below 20,000 the first of `benchmarks.regional`, shuffled).
Each client has one connection and sends its next query when it has the answer to the last one: k = 10, the vector as
base64. The clients are one process, the server is another; both share the cores. Rows: milliseconds from the first
byte sent to the last one received, answers a second, statuses, memory of the server every few seconds.

longwave: the index's own plan, whose queries are answered one by one, with one thread and with one for each core.
basis: plan "basis", which scores all items, one by one and gathered (--batch 32). hnsw: faiss's HNSW (nearest
neighbours, efSearch for a recall of 0.98) behind the same server, one by one and gathered.
overload: a queue of 16 and 256 clients; how many are refused, what the others wait, and one client afterwards.
The index is kept in serve-N.longwave.
"""

import asyncio
import base64
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks import measure

DIMENSIONS, K, WARM = 512, 10, 2.0
SMALL = 20_000
CORES = os.cpu_count()


def vectors_of(n):
    """Vectors (n, 512), and queries that are some of them with noise of a tenth."""
    if n > SMALL:
        from benchmarks.online import collection

        return collection(n, DIMENSIONS)
    from benchmarks.regional import enlarged
    from longwave.rows.vectors import normalize

    rng = np.random.default_rng(0)
    vectors = normalize(enlarged(n)[rng.permutation(n)])
    chosen = vectors[rng.choice(n, 200, replace=False)]
    return vectors, normalize(chosen + rng.standard_normal(chosen.shape) * (0.1 / np.sqrt(DIMENSIONS)))


class Hnsw:
    """What the routes ask of an index, answered by faiss."""

    def __init__(self, vectors):
        import faiss

        self.dimension = vectors.shape[1]
        self._found = faiss.index_factory(self.dimension, "HNSW32", faiss.METRIC_INNER_PRODUCT)
        self._found.hnsw.efConstruction = 100
        self._found.add(vectors)
        exact = faiss.IndexFlatIP(self.dimension)
        exact.add(vectors)
        asked = vectors[:200]
        truth = exact.search(asked, K)[1]
        for effort in (10, 16, 24, 32, 48, 64, 128, 256):
            self._effort = faiss.SearchParametersHNSW(efSearch=effort)
            found = self._found.search(asked, K, params=self._effort)[1]
            self.recall = float(np.mean([len(np.intersect1d(a, b)) / K for a, b in zip(found, truth, strict=True)]))
            self.effort = effort
            if self.recall >= 0.98:
                break

    def search(self, queries, k, **_):
        from longwave.hits import Hits
        from longwave.rows.vectors import unit_queries

        scores, ids = self._found.search(unit_queries(queries, dimension=self.dimension), k, params=self._effort)
        return Hits(ids, scores)


def serve(folder, engine, batch, queue, threads):
    """The server's own process; prints where it listens."""
    from longwave.server import Options, Shelf, application, searching
    from longwave.server.running import Server

    options = Options(port=0, batch=int(batch), queue=int(queue), threads=int(threads))
    shelf = Shelf.open([folder])
    if engine == "hnsw":
        (served,) = shelf
        made = Hnsw(np.ascontiguousarray(served.now.index.vectors.rows(slice(None))))
        print(json.dumps({"efSearch": made.effort, "recall": made.recall}), flush=True)
        served.now = replace(served.now, index=made)
        served.follow = lambda: False
        served.now.__dict__["map"] = None
        searching.scores_all = lambda *_: True
    Server(application(shelf, options), options, lambda url: print(url, flush=True)).run()


class Running:
    """A server in a process of its own."""

    def __init__(self, folder, engine, batch, queue=1000, threads=CORES):
        told = [str(folder), engine, str(batch), str(queue), str(threads)]
        command = [sys.executable, "-m", "benchmarks.serve", "--serve", *told]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.facts, line = {}, self.process.stdout.readline()
        while not line.startswith("http"):
            self.facts |= json.loads(line)
            line = self.process.stdout.readline()
        self.host, self.port = line.strip().strip("/").removeprefix("http://").split(":")

    def memory(self):
        """MiB that the process holds of its own."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(round(int(line.split()[1]) / 1024, 1) for line in lines if line.startswith("RssAnon"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


def requests_of(name, queries, **options):
    """Every query as the bytes of a request."""
    found = []
    for row in queries:
        data = base64.b64encode(row.astype("<f4").tobytes()).decode()
        body = json.dumps({"npy": data, "dimension": len(row), "k": K, **options}).encode()
        head = (
            f"POST /v1/collections/{name}/search HTTP/1.1\r\nHost: localhost\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        found.append(head.encode() + body)
    return found


async def client(running, requests, first, until, seen):
    """One connection, one request after the other. seen: (when, milliseconds, status) of each."""
    reader, writer = await asyncio.open_connection(running.host, running.port)
    place = first
    while time.perf_counter() < until:
        began = time.perf_counter()
        writer.write(requests[place % len(requests)])
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        await reader.readexactly(length)
        status = int(head[9:12])
        seen.append((began, 1000 * (time.perf_counter() - began), status))
        if status == 429:
            await asyncio.sleep(0.05)  # sooner than it asks for, or nothing would be overloaded
        place += 1
    writer.close()


async def watch(running, until, every, held):
    while time.perf_counter() < until:
        held.append(running.memory())
        await asyncio.sleep(every)


def load(running, requests, clients, seconds):
    """What so many clients see."""
    seen, held = [], []
    start = time.perf_counter()
    until = start + WARM + seconds

    async def all_of_them():
        step = len(requests) // clients + 1
        asked = [client(running, requests, place * step, until, seen) for place in range(clients)]
        await asyncio.gather(*asked, watch(running, until, max(1.0, seconds / 12), held))

    before = os.getloadavg()[0]
    asyncio.run(all_of_them())
    rows = [row for row in seen if row[0] >= start + WARM]
    times = np.array([row[1] for row in rows if row[2] == 200])
    statuses = Counter(row[2] for row in rows)
    return {
        "clients": clients,
        "seconds": seconds,
        "p50_ms": round(float(np.percentile(times, 50)), 2),
        "p99_ms": round(float(np.percentile(times, 99)), 2),
        "answers_a_second": round(len(times) / seconds, 1),
        "statuses": {str(status): count for status, count in sorted(statuses.items())},
        "memory_mib": held,
        "load_before": before,
    }


def built(n, folder):
    """The index, once, and its queries."""
    import longwave

    vectors, queries = vectors_of(n)
    if not folder.is_dir():
        longwave.Index.build(vectors).save(folder)
    return longwave.Index.load(folder), queries


def checked(running, request, index, query):
    """The first answer is that of the library."""
    import httpx

    head, _, body = request.partition(b"\r\n\r\n")
    path = head.split()[1].decode()
    answer = httpx.post(
        f"http://{running.host}:{running.port}{path}", content=body, headers={"Content-Type": "application/json"}
    )
    assert answer.json()["hits"][0]["ids"] == index.search(query, K).ids[0].tolist()


def main(n="100000", seconds="60", *clients):
    n, seconds, numbers = int(n), float(seconds), [int(count) for count in clients] or [1, 8, 64]
    folder = Path(f"serve-{n}.longwave")
    index, queries = built(n, folder)
    alone = measure.milliseconds(lambda row: index.search(row, K), queries)
    facts = {"vectors": [n, DIMENSIONS], "plan": str(index.settings.plan), "rank": index.spectrum.rank}
    add = measure.recorder(f"serve-{n}", **facts)
    add("in this process", one_ms=round(alone, 3))
    requests, basis = (requests_of(folder.stem, queries, **told) for told in ({}, {"plan": "basis"}))
    for engine, batch, threads in (
        *(("longwave", 32, threads) for threads in sorted({1, CORES})),
        *((engine, batch, CORES) for engine in ("basis", "hnsw") for batch in (1, 32)),
    ):
        with Running(folder, engine, batch, threads=threads) as running:
            if engine == "longwave":
                checked(running, requests[0], index, queries[0])
            told = {"engine": engine, "batch": batch, "threads": threads, **running.facts}
            for count in numbers:
                add("load", **told, **load(running, basis if engine == "basis" else requests, count, seconds))
    with Running(folder, "longwave", 32, queue=16) as running:
        before = load(running, requests, 1, min(seconds, 10))
        crowd = load(running, requests, 256, min(seconds, 30))
        after = load(running, requests, 1, min(seconds, 10))
        add("overload", queue=16, before=before, crowd=crowd, after=after)
        assert crowd["statuses"].get("429", 0) > 0
        assert set(crowd["statuses"]) <= {"200", "429"}
        assert set(after["statuses"]) == {"200"}


def memory(n="100000", seconds="600"):
    folder = Path(f"serve-{n}.longwave")
    index, queries = built(int(n), folder)
    add = measure.recorder(f"serve-memory-{n}", vectors=[int(n), DIMENSIONS], plan=str(index.settings.plan))
    with Running(folder, "longwave", 32) as running:
        add("memory", **load(running, requests_of(folder.stem, queries), 8, float(seconds)))


if __name__ == "__main__":
    named = {"--serve": serve, "memory": memory}.get(sys.argv[1] if sys.argv[1:] else "")
    main(*sys.argv[1:]) if named is None else named(*sys.argv[2:])
