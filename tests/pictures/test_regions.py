"""R-MAC's grid and pooling."""

import numpy as np
import pytest

from longwave.errors import InputError
from longwave.pictures import grid, pooled_regions
from longwave.pictures.regions import gem_pool, max_pool, spoc_pool


@pytest.mark.parametrize(
    ("height", "width", "counts"),
    [
        (16, 16, (1, 5, 14)),  # published: 1 + 4 + 9
        (12, 16, (2, 8, 20)),  # 4:3: 2 + 6 + 12
        (16, 12, (2, 8, 20)),
        (10, 16, (2, 8, 20)),
        (8, 16, (3, 11, 26)),  # 2:1: 3 + 8 + 15
        (5, 15, (4, 14, 32)),
    ],
)
def test_published_counts(height, width, counts):
    for scales, count in enumerate(counts, 1):
        assert len(grid(height, width, scales=scales)) == count + 1  # and the whole


@pytest.mark.parametrize("shape", [(12, 16), (7, 30), (1, 4), (2, 2), (1, 1)])
def test_squares_lie_within(shape):
    boxes = grid(*shape)
    assert (boxes[:, :2] >= 0).all()
    assert (boxes[:, 2:] <= shape).all()
    assert (boxes[:, 2:] > boxes[:, :2]).all()
    sides = (boxes[:, 2:] - boxes[:, :2])[1:]
    assert (sides[:, 0] == sides[:, 1]).all()
    assert tuple(boxes[0]) == (0, 0, *shape)


def test_first_scale_overlaps_by_about_two_fifths():
    boxes = grid(30, 40, scales=1)[1:]
    assert boxes[1, 1] - boxes[0, 1] == 10  # of 30: the nearest to 40 % that two squares can have
    boxes = grid(30, 80, scales=1)[1:]
    assert 1 - np.diff(boxes[:, 1]).mean() / 30 == pytest.approx(0.4, abs=0.1)


def test_pools():
    piece = np.array([[[1.0, 2.0], [3.0, 6.0]]], dtype=np.float32)
    assert max_pool(piece) == 6
    assert spoc_pool(piece) == 3
    assert gem_pool(piece)[0] == pytest.approx(((1 + 8 + 27 + 216) / 4) ** (1 / 3))


def test_regions_are_unit_and_the_whole_is_first():
    rng = np.random.default_rng(0)
    feature_map = rng.random((7, 12, 16)).astype(np.float32)
    vectors = pooled_regions(feature_map)
    assert vectors.shape == (21, 7)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-5)
    whole = feature_map.max(axis=(1, 2))
    np.testing.assert_allclose(vectors[0], whole / np.linalg.norm(whole), rtol=1e-5)
    assert pooled_regions(feature_map, scales=0).shape == (1, 7)
    with pytest.raises(InputError, match="max, gem, spoc"):
        pooled_regions(feature_map, pool="min")
