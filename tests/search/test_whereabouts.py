"""Paths that are kept with an index: found again where both were moved, as they were written where not."""

import numpy as np
import pytest

import longwave as lw
from longwave.errors import CorruptIndexError
from longwave.search.whereabouts import found_again, seen_from
from longwave.storage import read, writer


def about(folder, **more):
    return {"pictures": {"folder": str(folder), "size": 3}, "paths": ["pictures.folder"], **more}


def test_the_way_from_the_index_to_a_path(tmp_path):
    assert seen_from(tmp_path / "a" / "i", about(tmp_path / "b" / "photos")) == {"pictures.folder": "../../b/photos"}
    assert seen_from(tmp_path / "i", about("/elsewhere/photos")) == {}  # they share the root alone
    assert seen_from(tmp_path / "i", about("photos")) == {}  # of whom, nobody knows


@pytest.mark.parametrize("named", [None, 5, "pictures.folder", [5, None, ["x"]], ["no.such", "pictures.size", "", "."]])
def test_notes_of_others_are_left_alone(tmp_path, named):
    notes = {**about(tmp_path), "paths": named}
    assert seen_from(tmp_path / "i", notes) == {}
    assert found_again(tmp_path / "i", notes, {}) == notes


def test_found_beside_the_index_or_where_it_was(tmp_path):
    (tmp_path / "new" / "photos").mkdir(parents=True)
    (tmp_path / "old" / "photos").mkdir(parents=True)
    written = about(tmp_path / "old" / "photos")
    ways = seen_from(tmp_path / "old" / "i", written)
    assert found_again(tmp_path / "new" / "i", written, ways) == about(tmp_path / "new" / "photos")
    assert found_again(tmp_path / "alone" / "i", written, ways) == written
    (tmp_path / "link").symlink_to(tmp_path / "new" / "i")
    (tmp_path / "new" / "i").mkdir()
    assert found_again(tmp_path / "link", written, ways) == about(tmp_path / "new" / "photos")
    assert written == about(tmp_path / "old" / "photos")  # nothing of the caller's is changed
    for ways in ({"pictures.nothing": "../photos"}, {"nothing.at.all": "../photos"}, {"pictures.folder": "a\0b"}):
        assert found_again(tmp_path / "new" / "i", written, ways) == written


def test_an_index_moves_with_what_it_speaks_of(tmp_path, monkeypatch):
    (tmp_path / "one" / "photos").mkdir(parents=True)
    index = lw.Index.build(np.eye(6), k=2, progress=False).attach(about(tmp_path / "one" / "photos"))
    monkeypatch.chdir(tmp_path / "one")
    index.save("i")
    assert lw.Index.load("i").about == index.about
    (tmp_path / "one").rename(tmp_path / "two")
    assert lw.Index.load(tmp_path / "two" / "i").about == about(tmp_path / "two" / "photos")
    with lw.open(tmp_path / "two" / "i") as collection:
        collection.add(np.ones((1, 6)))  # what is not changed is kept as it is
        collection.refresh(progress=False)
    (tmp_path / "two").rename(tmp_path / "three")
    assert lw.Index.load(tmp_path / "three" / "i").about == about(tmp_path / "three" / "photos")


@pytest.mark.parametrize("ways", [5, ["x"], {"pictures.folder": 5}])
def test_ways_that_are_none_are_damage(tmp_path, ways):
    lw.Index.build(np.eye(6), k=2, progress=False).attach(about(tmp_path)).save(tmp_path / "i")
    with lw.open(tmp_path / "i") as reader:
        state = read(tmp_path / "i")
        with writer(tmp_path / "i") as own:
            own.commit({**state.facts, "beside": ways}, dict(state.arrays))
        for opened in (lambda: lw.Index.load(tmp_path / "i"), lambda: lw.open(tmp_path / "i"), reader.reload):
            with pytest.raises(CorruptIndexError, match="beside must name paths"):
                opened()
