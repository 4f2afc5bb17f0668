"""PostgreSQL itself: the function in SQL, indexes, rights, and what goes wrong."""

import numpy as np
import pytest

import longwave as lw
from engines.conftest import QUERIES, Place, described, rows
from engines.test_remote import same
from longwave.errors import InputError, RemoteError
from longwave.hits import Hits

psycopg = pytest.importorskip("psycopg")


@pytest.fixture(scope="module")
def base(postgresql):
    with psycopg.connect(postgresql, autocommit=True) as opened:
        yield opened


@pytest.fixture(scope="module")
def there(postgresql, index):
    place = Place("postgresql", postgresql, "asked")
    place.export(index)
    return place


def text(vector):
    return str(np.asarray(vector, dtype=float).tolist())


def asked(base, schema, queries, k, more=""):
    """Hits of the function, by plain SQL."""
    find = f"SELECT id, score FROM {schema}.manifold_search(%s::vector, %s{more})"
    found = [base.execute(find, [text(query), k]).fetchall() for query in queries]
    return Hits(
        np.array([[row[0] for row in own] for own in found]), np.array([[row[1] for row in own] for own in found])
    )


@pytest.mark.parametrize(
    ("more", "filter"),
    [
        ("", None),
        (", 0.9", lw.LowPass(0.9)),
        (", filter => 'heat:4'", lw.Heat(4)),
        (", filter => 'walk:0.95,6'", lw.Walk(0.95, 6)),
        (", filter => 'ideal:0.97'", lw.Ideal(0.97)),
    ],
)
@pytest.mark.filterwarnings("ignore::longwave.errors.FilterWarning")
def test_the_function_gives_what_the_index_gives(base, there, index, more, filter):
    same(asked(base, "asked", QUERIES, 20, more), index.search(QUERIES, 20, filter=filter, plan="basis"))


def test_the_function_counts_neighbours_and_copies(base, there, index):
    wanted = index.search(QUERIES, 12, neighbors=9, plan="basis")
    same(asked(base, "asked", QUERIES, 12, ", neighbors => 9"), wanted)
    itself = asked(base, "asked", index.vectors.rows(np.array([3])), 5)
    same(itself, index.search(index.vectors.rows(np.array([3])), 5, plan="basis"))


@pytest.mark.parametrize("options", [lw.PAPER, {"blend": 0.5}, {"blend": "none"}], ids=["paper", "fsrw", "none"])
def test_the_function_knows_other_settings(base, postgresql, options):
    built = lw.Index.build(rows(0, 150), **{**options, "k": 8, "spectrum": lw.Chebyshev(30)}, progress=False)
    built.export(postgresql, name="other", progress=False)
    same(asked(base, "other", QUERIES, 15), built.search(QUERIES, 15, plan="basis"))


def test_the_function_follows(base, postgresql, living):
    living.export(postgresql, name="followed", progress=False)
    living.add(rows(500, 40), ids=[f"x{i}" for i in range(40)], metadata=described(0, 40))
    living.remove(["d3", "d10"])
    living.export(postgresql, name="followed", progress=False)
    same(asked(base, "followed", QUERIES, 20), living.search(QUERIES, 20, plan="basis"), least=0.98)


def test_the_function_joins_with_other_tables(base, there):
    base.execute("CREATE TABLE prices (id text PRIMARY KEY, price int)")
    base.execute("INSERT INTO prices SELECT id, number FROM asked.items")
    find = (
        "SELECT m.id, p.price FROM asked.manifold_search(%s::vector, 5) m JOIN prices p USING (id) WHERE p.price >= 0"
    )
    assert len(base.execute(find, [text(QUERIES[0])]).fetchall()) == 5


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("'[1,2]', 5", "64 numbers"),
        ("NULL, 5", "64 numbers"),
        ("{q}, 0", "at least 1"),
        ("{q}, 5, 1.5", "alpha must be"),
        ("{q}, 5, filter => 'heat:-1'", "time must be"),
        ("{q}, 5, filter => 'ideal:3'", "cutoff must be"),
        ("{q}, 5, filter => 'walk:0.9,0.5'", "steps must be"),
        ("{q}, 5, filter => 'magic:1'", "filter must be"),
    ],
)
def test_the_function_says_what_is_wrong(base, there, arguments, told):
    with pytest.raises(psycopg.errors.RaiseException, match=told):
        base.execute(f"SELECT * FROM asked.manifold_search({arguments.format(q=repr(text(QUERIES[0])))})")


def test_the_function_leaves_settings_alone_and_uses_its_indexes(base, there):
    with psycopg.connect(there.url) as own:  # one transaction
        own.execute("SELECT count(*) FROM asked.manifold_search(%s::vector, 300)", [text(QUERIES[0])])
        assert own.execute("SHOW hnsw.ef_search").fetchone() == ("40",)
    number = base.execute("SELECT max(number) FROM asked.exports").fetchone()[0]
    base.execute("SET enable_seqscan = off")
    z = text(np.ones(41))
    plan = base.execute(f"EXPLAIN SELECT number FROM asked.items_{number} ORDER BY coordinates <#> '{z}' LIMIT 9")
    assert "hnsw" in str(
        base.execute("SELECT string_agg(indexdef, ' ') FROM pg_indexes WHERE schemaname = 'asked'").fetchone()
    )
    assert "Index Scan" in str(plan.fetchall())
    base.execute("RESET enable_seqscan")
    assert len(asked(base, "asked", QUERIES[:1], 300).ids[0]) == 300  # HNSW alone would give 40


def test_wide_rows_are_indexed_in_two_bytes(base, postgresql):
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(60, 2100)).astype(np.float32) + np.repeat(rng.normal(size=(6, 2100)), 10, axis=0)
    built = lw.Index.build(wide, k=5, spectrum=lw.Chebyshev(10), progress=False)
    built.export(postgresql, name="wide", progress=False)
    kinds = base.execute("SELECT string_agg(indexdef, ' ') FROM pg_indexes WHERE schemaname = 'wide'").fetchone()[0]
    assert "halfvec" in kinds
    with lw.Remote(postgresql, "wide") as remote:
        same(remote.search(wide[:4], 5), built.search(wide[:4], 5, plan="basis"))
    same(asked(base, "wide", wide[:4], 5), built.search(wide[:4], 5, plan="basis"))
    wider = lw.Index.build(np.hstack([wide, wide]), k=5, spectrum=lw.Chebyshev(10), progress=False)
    with pytest.raises(InputError, match=r"4,000 numbers.*4,200.*--exact"):
        wider.export(postgresql, name="wider", progress=False)
    wider.export(postgresql, name="wider", approximate=False, progress=False)


def test_rights(base, postgresql, index):
    base.execute("CREATE ROLE stranger LOGIN")
    base.execute("CREATE ROLE reader LOGIN")
    stranger = postgresql.replace("postgres:@", "stranger@")
    with pytest.raises(RemoteError, match=r"lacks a right.*docs/engines.md"):
        index.export(stranger, name="theirs", progress=False)
    index.export(postgresql, name="guarded", progress=False)
    reader = postgresql.replace("postgres:@", "reader@")
    with pytest.raises(RemoteError, match="lacks a right"):
        lw.Remote(reader, "guarded").search(QUERIES, 3)
    base.execute("GRANT USAGE ON SCHEMA guarded TO reader")
    base.execute("GRANT SELECT ON ALL TABLES IN SCHEMA guarded TO reader")
    with lw.Remote(reader, "guarded") as remote:
        same(remote.search(QUERIES, 5), index.search(QUERIES, 5, plan="basis"))
    with psycopg.connect(reader) as own:
        same(asked(own, "guarded", QUERIES, 5), index.search(QUERIES, 5, plan="basis"))
    # a role that owns a schema, and no more, can export
    base.execute("CREATE ROLE writer LOGIN")
    base.execute("CREATE SCHEMA written AUTHORIZATION writer")
    index.export(postgresql.replace("postgres:@", "writer@"), name="written", progress=False)


def test_a_server_that_is_down(tmp_path):
    with pytest.raises(RemoteError, match=r"cannot reach.*server runs"):
        lw.Remote(f"postgresql://me:secret@/db?host={tmp_path}")
    with pytest.raises(RemoteError) as failed:
        lw.Remote("postgresql://me:secret@127.0.0.1:1/db")
    assert "secret" not in str(failed.value)
    pytest.importorskip("qdrant_client")
    with pytest.raises(RemoteError, match=r"cannot reach.*6333"):
        lw.Remote("qdrant://127.0.0.1:1")


def test_a_server_that_is_slow(postgresql, there):
    slow = f"{postgresql}&options=-c%20statement_timeout%3D1"
    with pytest.raises(RemoteError, match=r"took too long.*statement_timeout"), lw.Remote(slow, "asked") as remote:
        remote.search(np.repeat(QUERIES, 50, axis=0), 400)


def test_no_extension(base, postgresql, index):
    base.execute("CREATE DATABASE bare")
    bare = postgresql.replace("/postgres?", "/bare?")
    with psycopg.connect(bare, autocommit=True) as own:
        own.execute("CREATE ROLE plain LOGIN")
        own.execute("GRANT CREATE ON DATABASE bare TO plain")
    with pytest.raises(RemoteError, match=r"lacks a right.*vector"):
        index.export(bare.replace("postgres:@", "plain@"), progress=False)


def test_tables_that_somebody_changed(base, postgresql, index):
    index.export(postgresql, name="harmed", progress=False)
    with lw.Remote(postgresql, "harmed") as remote:
        base.execute("DROP TABLE harmed.items_1 CASCADE")
        with pytest.raises(RemoteError, match=r"changed or is damaged.*export again"):
            remote.search(QUERIES, 3)
    index.export(postgresql, name="resized", progress=False)
    base.execute("DROP VIEW resized.items")
    base.execute("DROP INDEX resized.items_1_vector_idx, resized.items_1_vector_idx1")
    base.execute("ALTER TABLE resized.items_1 ALTER COLUMN vector TYPE vector USING subvector(vector, 1, 9)")
    with lw.Remote(postgresql, "resized") as remote, pytest.raises(RemoteError, match="different vector dimensions"):
        remote.search(QUERIES, 3)


def test_a_new_export_is_seen_by_those_who_have_the_old_one_open(postgresql, index):
    place = Place("postgresql", postgresql, "renewed")
    place.export(index)
    with place.open() as remote:
        other = lw.Index.build(rows(400, 120), k=8, spectrum=lw.Chebyshev(20), progress=False)
        place.export(other)
        with pytest.raises(RemoteError, match="open it again"):
            remote.search(QUERIES, 3)
        remote.reload()
        same(remote.search(QUERIES, 5), other.search(QUERIES, 5, plan="basis"))
