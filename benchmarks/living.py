"""A living collection: mAP with a part of the items in the graph and the rest added, and the cost of adding.

    python -m benchmarks.living [shares] [fashion] [favour] [batches] [commits] [folding]   default: all

shares: Oxford (the paper's setting beside the default one), digits and USPS with 90 to 10 % in the graph, the rest
added, and (at 50 %) after `refresh`; what `collection.staleness` is calibrated on. fashion: the same on the 60,000
pictures of Fashion-MNIST, 500 test pictures as queries, refreshed at 90 %; staleness was not fitted to it. favour: the
share of the first 20 places that 1.6 % added items of Fashion-MNIST take, and how many of them find themselves first.
batches: 1,000 batches of 1,000 (d = 64) to 100,000. commits: 1,000 commits of one item, files and bytes of each. Times
are medians of ten, memory is that of the process after the first and the last ten. folding: Fashion-MNIST with 20,000
of 60,000 pictures added; one query with none of them, with them scanned, after `compact`, and after `refresh`.
"""

import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

import longwave as lw
from benchmarks import measure
from longwave.collection import Collection
from longwave.datasets import digits, fashion_mnist, held_out, shared
from longwave.errors import DataWarning
from longwave.evaluation import label_judgements, mean_over_queries
from longwave.experiments.measure import EUCLIDEAN, PRINTED
from longwave.storage import Files

SHARES = (90, 70, 50, 30, 10)
PAPER_ROWS = {100: 80.5, 90: 80.1, 70: 78.3, 50: 75.8, 30: 70.2, 10: 40.6}
LARGE, DIMENSION = 100_000, 64


def sets():
    known = digits()
    asked, rest = held_out(len(known.vectors), n_queries=200)
    judged = label_judgements(known.labels[asked], known.labels[rest], np.arange(len(rest)))
    yield "digits", known.vectors[rest], known.vectors[asked], judged
    letters = shared.labelled("usps")
    yield "usps", letters.vectors, letters.queries, letters.judgements
    buildings = shared.oxford()
    yield "oxford", buildings.vectors, buildings.queries, buildings.judgements


def precision(index, queries, judgements, ranker=None):
    hits = index.search(queries, len(index)) if ranker is None else ranker(index, queries, len(index))
    return round(100 * float(np.nanmean(mean_over_queries(hits.ids, judgements).per_query)), 2)


def fashion():
    known = fashion_mnist()
    asked = slice(60_000, 60_500)
    judged = label_judgements(known.labels[asked], known.labels[:60_000], np.arange(60_000))
    yield "fashion", known.vectors[:60_000].astype(np.float32), known.vectors[asked].astype(np.float32), judged


def shares(add, wanted=sets, refreshed=50):
    for name, vectors, queries, judgements in wanted():
        n = len(vectors)
        for setting in ("default", "paper") if name == "oxford" else ("default",):
            ranker = PRINTED if setting == "paper" else None
            for share in (100, *SHARES):
                order = np.random.default_rng(0).permutation(n)
                inside, outside = np.sort(order[: n * share // 100]), np.sort(order[n * share // 100 :])
                options = {}
                if setting == "paper":
                    options = {**lw.PAPER, "spectrum": lw.Chebyshev(min(500, len(inside) // 2))}
                with tempfile.TemporaryDirectory() as folder:
                    path = Path(folder) / "x.longwave"
                    began = time.perf_counter()
                    with lw.create(path, vectors[inside], ids=inside, progress=False, **options) as living:
                        row = {"set": name, "setting": setting, "share": share}
                        row["build_seconds"] = round(time.perf_counter() - began, 2)
                        if share == 100:
                            row["euclidean"] = precision(living.index, queries, judgements, EUCLIDEAN)
                        else:
                            for part in np.array_split(outside, 10):
                                living.add(vectors[part], ids=part)
                            row["expressed"] = round(living.staleness().expressed, 3)
                        row["mAP"] = precision(living.index, queries, judgements, ranker)
                        if setting == "paper":
                            row["paper_INSTRE"] = PAPER_ROWS[share]
                        if share == refreshed and setting == "default":
                            began = time.perf_counter()
                            living.refresh(progress=False)
                            row["refresh_seconds"] = round(time.perf_counter() - began, 2)
                            row["mAP_refreshed"] = precision(living.index, queries, judgements)
                add("shares", **row)


def favour(add, n=10_000):
    vectors = fashion_mnist().vectors[:n].astype(np.float32)
    order = np.random.default_rng(0).permutation(n)
    few, asked = n * 16 // 1000, vectors[order[:2000]]
    outside, inside = np.sort(order[-few:]), np.sort(order[:-few])
    for setting, options in (("default", {}), ("paper", dict(lw.PAPER))):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "x.longwave"
            with lw.create(path, vectors[inside], ids=inside, progress=False, **options) as living:
                living.add(vectors[outside], ids=outside)
                top = living.search(asked, 20).ids
                own = living.search(vectors[outside], 1).ids[:, 0]
                took = float(np.isin(top, outside).mean())
        add(
            "favour", setting=setting, items=n, share_of_items=few / n, share_of_places=round(took, 4),
            finds_itself=round(float((own == outside).mean()), 4),
        )  # fmt: skip


def large(n, seed=0):
    """Vectors around 200 centres, so that there is something to search along."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(1).standard_normal((200, DIMENSION))
    return (centres[rng.integers(200, size=n)] + 0.6 * rng.standard_normal((n, DIMENSION))).astype(np.float32)


class Counted(Files):
    """The file layer, counting."""

    created = written = 0

    def create(self, folder, name):
        self.created += 1
        return super().create(folder, name)

    def write(self, file, content):
        self.written += len(content)
        super().write(file, content)


def spread(times):
    return {"first": round(float(np.median(times[:10])), 4), "last": round(float(np.median(times[-10:])), 4)}


def batches(add, count=1000):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.longwave"
        began = time.perf_counter()
        lw.create(path, large(LARGE), spectrum=lw.Chebyshev(100), k=20, fast=False, progress=False).close()
        built = time.perf_counter() - began
        more = large(1000 * count, seed=2)
        times, held, layer = [], [], Counted()
        with Collection(path, files=layer) as living:
            living.add(more[:1])  # takes the lock, sorts the ids once
            for start in range(0, len(more), 1000):
                began = time.perf_counter()
                living.add(more[start : start + 1000])
                times.append(time.perf_counter() - began)
                held.append(measure.resident_mib())
            began = time.perf_counter()
            hits = living.search(more[:1], 10)
            seconds = time.perf_counter() - began
            assert hits.n_queries == 1
            add(
                "batches", n=LARGE, batches=count, seconds_per_batch=spread(times), worst=round(max(times), 3),
                segments=len(living._living.segments), build_seconds=round(built, 1),
                first_search_seconds=round(seconds, 3), bytes_written=layer.written, peak_mib=round(measure.peak_mib()),
                resident_mib=spread(held),
                by_hundred=[round(float(np.median(part)), 3) for part in np.array_split(times, 10)],
            )  # fmt: skip


def commits(add, count=1000):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.longwave"
        lw.create(path, large(5000), spectrum=lw.Chebyshev(100), k=20, progress=False).close()
        more, times, files, sizes, layer = large(count, seed=3), [], [], [], Counted()
        with Collection(path, files=layer) as living:
            living.add(large(1, seed=4))
            for row in more:
                layer.created = layer.written = 0
                began = time.perf_counter()
                living.add(row[None])
                times.append(time.perf_counter() - began)
                files.append(layer.created)
                sizes.append(layer.written)
            add(
                "commits", commits=count, seconds_per_commit=spread(times), worst=round(max(times), 3),
                files=spread(files), bytes=spread(sizes), most_bytes=max(sizes),
                segments=len(living._living.segments),
            )  # fmt: skip


def folding(add, inside=40_000, n=60_000):
    vectors = fashion_mnist().vectors.astype(np.float32)
    asked = vectors[n : n + 500]
    with tempfile.TemporaryDirectory() as folder, lw.create(Path(folder) / "x", vectors[:inside]) as living:
        found = {}

        def told(state, began):
            took = time.perf_counter() - began
            one = measure.milliseconds(lambda row: living.search(row, 20), asked)
            found[state] = np.array([living.search(row, 20).ids[0] for row in asked])
            like = [np.isin(a, b).mean() for a, b in zip(found[state], found.get("scanned", found[state]), strict=True)]
            add("folding", state=state, items=len(living), seconds=round(took, 1), one_ms=round(one, 2),
                as_scanned=round(float(np.mean(like)), 4))  # fmt: skip

        told("none added", time.perf_counter())
        began = time.perf_counter()
        living.add(vectors[inside:n])
        told("scanned", began)
        began = time.perf_counter()
        living.compact()
        told("compacted", began)
        began = time.perf_counter()
        living.refresh(progress=False)
        told("refreshed", began)


def main(*wanted):
    warnings.simplefilter("ignore", DataWarning)
    add = measure.recorder("-".join(["living", *wanted]), parts=list(wanted))
    parts = {
        "commits": commits,
        "favour": favour,
        "batches": batches,
        "folding": folding,
        "shares": shares,
        "fashion": lambda add: shares(add, fashion, refreshed=90),
    }
    for name in wanted or parts:
        parts[name](add)


if __name__ == "__main__":
    main(*sys.argv[1:])
