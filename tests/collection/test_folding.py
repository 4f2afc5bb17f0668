"""What was added in numbers is searched along links after `compact`, and found as before."""

from pathlib import Path

import numpy as np
import pytest

import longwave as lw
from longwave import plan
from longwave.datasets import fashion_mnist
from longwave.errors import CorruptIndexError, FileError
from longwave.stores.approximate import Approximate

BASE, ADDED = 2500, 1500


@pytest.fixture(scope="module")
def images():
    try:
        return fashion_mnist().vectors[: BASE + ADDED + 50].astype(np.float32)
    except FileError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def before_and_after(images, tmp_path_factory):
    """The same collection with a scanned segment, and folded; and its folder."""
    path = tmp_path_factory.mktemp("folding") / "clothes.longwave"
    with pytest.MonkeyPatch.context() as patch, lw.create(path, images[:BASE]) as living:
        patch.setattr(plan, "_CODED", 0)  # links pay beyond 14,000 of these; here they do so sooner
        for start in range(BASE, BASE + ADDED, 500):
            living.add(images[start : start + 500])
        living.remove([BASE + 3])
        before = living.index
        living.compact()
        assert living.version == 6
        return before, living.index, path


def test_a_fold_is_searched_along_links(before_and_after):
    before, after, path = before_and_after
    assert not any(isinstance(block.vectors, Approximate) for block in before.added.blocks)
    (block,) = after.added.blocks
    assert isinstance(block.vectors, Approximate)
    assert block.vectors.by.facts.recall >= 0.99
    assert len(block.vectors) == ADDED - 1
    with lw.open(path, verify=True) as again:
        assert isinstance(again.index.added.blocks[0].vectors, Approximate)
        assert not again.index.items.removed


def test_fewer_are_scanned_as_codes(images, tmp_path):
    with lw.create(tmp_path / "c", images[:BASE]) as living:
        living.add(images[BASE : BASE + ADDED])
        before = living.index
        living.compact()
        (block,) = living.index.added.blocks
        assert block.vectors.by.facts.kind == "codes"
        assert np.array_equal(before.search(images[-1], 20).ids, living.index.search(images[-1], 20).ids)
    with lw.open(tmp_path / "c", verify=True) as again:
        assert again.index.added.blocks[0].vectors.by.facts.kind == "codes"


def test_the_same_is_found(before_and_after, images):
    before, after, _ = before_and_after
    shares = []
    for query in images[-50:]:
        one, two = before.search(query, 20), after.search(query, 20)
        assert one.route == two.route == "sublinear"
        shares.append(np.isin(one.ids, two.ids).mean())
    assert np.mean(shares) > 0.98
    every = after.search(images[-50:], 20)  # so many are scored in full
    near = [
        np.isin(after.search(query, 20).ids, found).mean() for query, found in zip(images[-50:], every.ids, strict=True)
    ]
    assert np.mean(near) > 0.97
    assert (every.ids >= BASE).mean() > 0.2


def test_an_added_item_finds_itself_first(before_and_after, images):
    for index in before_and_after[:2]:
        for number in range(BASE + 10, BASE + ADDED, 100):
            assert index.search(images[number], 3).ids[0, 0] == number


def test_a_second_compact_has_nothing_to_do(before_and_after, images):
    *_, path = before_and_after
    with lw.open(path) as living:
        version = living.version
        living.compact()
        assert living.version == version


def test_what_was_folded_can_be_added_to(before_and_after, images):
    *_, path = before_and_after
    with lw.open(path) as living:
        (own,) = living.add(images[-1:])
        assert living.search(images[-1], 1).ids[0, 0] == own
        assert living.search(images[BASE + 20], 1).ids[0, 0] == BASE + 20


def test_links_that_lead_nowhere_are_told(before_and_after):
    path: Path = before_and_after[2]
    (file,) = path.glob("data/segment*first_links*")
    content = bytearray(file.read_bytes())
    content[-4:] = b"\xff\xff\xff\x7f"
    file.write_bytes(content)
    with pytest.raises(CorruptIndexError):
        lw.open(path, verify=True)
    with pytest.raises(CorruptIndexError):
        lw.open(path)
