"""Several changes as one commit: all of them or nothing; ids that change; what is kept beside the items."""

import numpy as np
import pytest
from living_samples import copy, vectors

import longwave as lw
from failing_disk import check_all_or_nothing
from longwave.collection import renewal
from longwave.errors import InputError

pytestmark = pytest.mark.filterwarnings("ignore::longwave.errors.DataWarning")


def everything(collection):
    """What a collection holds: vectors, metadata and facts, by id."""
    index = collection.index
    rows = {name: index.vectors.rows(index.items.rows_of(index.items.places([name]))[0]) for name in index.ids.tolist()}
    told = dict(zip(index.ids.tolist(), index.metadata.table["n"].take(index.items.live_numbers()).to_pylist()))  # noqa: B905
    return {name: (row.tolist(), told[name]) for name, row in rows.items()}, dict(index.about), {
        name: array.tolist() for name, array in index.attached.items()
    }  # fmt: skip


def all_at_once(collection):
    return collection.change(
        vectors(3, 5),
        ids=["item 3", "new", "item 7"],
        remove=["item 3", "item 4"],
        rename={"item 5": "item 4", "item 7": "seven"},
        about={"note": 1},
        attach={"mean": np.arange(3.0)},
    )


def test_all_at_once(tmp_path):
    path = copy("strings", tmp_path)
    with lw.open(path) as collection:
        before, version = everything(collection)[0], collection.version
        assert all_at_once(collection).tolist() == ["item 3", "new", "item 7"]
        assert collection.version == version + 1
        assert collection.history()[-1].message == "add 2 items, replace 1 item, remove 1 item, rename 2 items"
        after, about, attached = everything(collection)
        assert after["item 4"] == before["item 5"]  # vectors and metadata
        assert after["seven"] == before["item 7"]
        assert after["item 3"][1] == 3  # in place of the one that went
        assert [after[name][1] for name in ("new", "item 7")] == [None, None]
        assert "item 5" not in collection
        assert len(collection) == len(before) + 3 - 2 == len(after)
        assert (about, attached) == ({"note": 1}, {"mean": [0, 1, 2]})
        outside = collection.staleness().outside
        assert outside == pytest.approx(3 / 41)  # who is only called otherwise stays in the graph
    assert everything(lw.open(path)) == (after, about, attached)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"rename": {"item 1": "item 2"}}, "id 'item 2' already"),
        ({"rename": {"item 1": "x", "item 2": "x"}}, "2 items would have the id 'x'"),
        ({"rename": {"nobody": "x"}}, "no item with id 'nobody'"),
        ({"rename": {"item 1": "x"}, "remove": ["item 1"]}, "'item 1' is to be removed and renamed"),
        ({"rename": {"item 1": 5}}, "strings, got 5"),
        ({"rename": {"item 1": "x"}, "vectors": vectors(1, 2), "ids": ["x"]}, "2 items would have the id 'x'"),
        ({"attach": {"not a name": np.zeros(2)}}, "must have a plain name"),
        ({"about": {"x": object()}}, "what JSON can hold"),
    ],
)
def test_what_does_not_fit_changes_nothing(tmp_path, change, words):
    path = copy("strings", tmp_path)
    with lw.open(path) as collection:
        before = everything(collection)
        with pytest.raises(InputError, match=words):
            collection.change(**change)
        assert collection.version == 1
        assert everything(collection) == before


def test_nothing_to_change_is_no_commit(tmp_path):
    with lw.open(copy("strings", tmp_path)) as collection:
        assert len(collection.change()) == 0
        assert collection.version == 1


def test_a_disk_that_fails_anywhere_leaves_the_old_state_or_the_new(tmp_path):
    start = copy("strings", tmp_path)
    with lw.open(start) as collection:
        collection.add(vectors(2, 8), ids=["more", "most"])
    calls = check_all_or_nothing(start, tmp_path, all_at_once, lambda path: everything(lw.open(path)))
    assert calls > 20


def test_renamed_and_noted_during_a_refresh(tmp_path, monkeypatch):
    with lw.open(copy("strings", tmp_path)) as collection:
        collection.add(vectors(2, 8), ids=["more", "most"])
        collection.remove(["item 0"])
        rows, build = everything(collection)[0], renewal.build

        def meanwhile(*given, **options):
            all_at_once(collection)
            collection.change(rename={"more": "item 0"})
            return build(*given, **options)

        monkeypatch.setattr(renewal, "build", meanwhile)
        collection.refresh(progress=False)
        after, about, attached = everything(collection)
        assert (about, attached) == ({"note": 1}, {"mean": [0, 1, 2]})
        for old, new in {"item 5": "item 4", "item 7": "seven", "more": "item 0", "item 9": "item 9"}.items():
            np.testing.assert_allclose(after[new][0], rows[old][0], atol=1e-6)
        assert "more" not in collection
        assert len(collection) == 40 - 1 + 2 + 3 - 2


def test_the_lock_can_be_taken_before_a_change(tmp_path):
    path = copy("strings", tmp_path)
    with lw.open(path) as one, lw.open(path) as two:
        two.add(vectors(1, 8), ids=["more"])
        two.close()
        one.lock()
        assert "more" in one
        with pytest.raises(lw.errors.ConflictError, match="being written"):
            lw.open(path).lock()
