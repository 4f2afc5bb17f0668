"""Kernels: how much neighbours weigh."""

import numpy as np
import pytest

import longwave as lw
from longwave.errors import InputError
from longwave.graph import mutual as graph
from longwave.graph import weights as kernels
from longwave.graph.lists import nearest_others
from longwave.rows.vectors import normalize
from longwave.search.observation import observe
from longwave.types import Neighbors


@pytest.fixture(scope="module")
def unit(digits_split):
    return normalize(digits_split[0][:400])


def test_local_is_the_formula(unit):
    """w = exp(−5 (d²/σσ')²), d² = 2 − 2vᵀz, σ the distance to the 7th neighbour, on mutual neighbours alone."""
    lists = nearest_others(unit, k=12)
    built = graph.build(lists, kernel=lw.Local())
    v = unit.astype(np.float64)
    squared = ((v[:, None] - v[None]) ** 2).sum(axis=2)
    others = np.sort(squared + 9 * np.eye(len(v)), axis=1)
    sigma = np.sqrt(others[:, 6])
    near = np.zeros_like(squared, dtype=bool)
    np.put_along_axis(near, lists.ids, True, axis=1)
    expected = np.where(near & near.T, np.exp(-5 * (squared / np.outer(sigma, sigma)) ** 2), 0)
    np.testing.assert_allclose(built.adjacency().toarray(), expected, atol=2e-5)
    np.testing.assert_allclose(built.scales, sigma, rtol=1e-4)


def test_scales_make_the_graph_the_same_however_far_apart_the_vectors_are(unit):
    """Shrinking all distances to a tenth changes γ's graph and not that of `Local`."""
    middle = unit.mean(axis=0)
    tight = normalize(middle + 0.1 * (unit - middle))
    same, other = (graph.build(nearest_others(v, k=12), kernel=lw.Local()).normalized for v in (unit, tight))
    flat = graph.build(nearest_others(tight, k=12), kernel=lw.Power(3)).adjacency()
    assert abs(other.data.std() / same.data.std() - 1) < 0.2
    assert flat.data.std() < 0.01  # every neighbour weighs the same


def test_scales_of_short_lists_and_of_copies():
    similar = np.array([[0.9, 0.5, -np.inf], [1.0, 1.0, 1.0], [-np.inf] * 3], dtype=np.float32)
    found = kernels.scales(similar, 7)
    np.testing.assert_allclose(found, [1.0, 1e-3, np.sqrt(2)], rtol=1e-5)  # the last there is; never 0; none at all


def test_a_query_far_from_everything_still_observes(unit):
    """exp underflows there; relative weights have a largest of 1."""
    found = Neighbors(np.array([[3, 8, 9]]), np.array([[-0.2, -0.25, -0.3]], dtype=np.float32))
    scales = np.full(400, 0.01, dtype=np.float32)
    y = observe(found, np.array([0]), count=3, n_vertices=400, kernel=lw.Local(), scales=scales).toarray()[0]
    assert y[3] == 1
    assert y[8] < 1


@pytest.mark.parametrize("kernel", [lw.Power(3), lw.Power(2.5), lw.Local(), lw.Local(5, 3.5, 2.0, 1.25)])
def test_text_and_back(kernel):
    assert kernels.parse(kernels.text_of(kernel)) == kernel


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gauss:1", "unknown kernel 'gauss:1'"),
        ("power:x", "with numbers"),
        ("power:0", "gamma must be a number above 0"),
        ("local:0", "neighbor must be a whole number of at least 1"),
        ("local:7,nan", "steepness must be a number above 0"),
        ("local:1,2,3,4,5", "must look like"),
    ],
)
def test_bad_texts(text, message):
    with pytest.raises(InputError, match=message):
        kernels.parse(text)


def test_a_function_of_the_users_is_a_kernel(unit, tmp_path):
    def plain(products, one, other):
        return np.where(products > 0.5, 1.0, 0.0)

    index = lw.Index.build(unit, kernel=plain, progress=False)
    assert set(np.unique(index.graph.adjacency().data.round(4))) == {1.0}
    first = index.search(unit[:5], 10)
    index.save(tmp_path / "own.longwave")
    with pytest.raises(InputError, match="kernel of your own; give it"):
        lw.Index.load(tmp_path / "own.longwave")
    again = lw.Index.load(tmp_path / "own.longwave", kernel=plain)
    np.testing.assert_array_equal(again.search(unit[:5], 10).ids, first.ids)


@pytest.mark.parametrize("wrong", [lambda p, a, b: p - 1, lambda p, a, b: p[:3], lambda p, a, b: p * np.nan])
def test_a_kernel_that_returns_nonsense(unit, wrong):
    with pytest.raises(InputError, match="must return finite weights of at least 0"):
        lw.Index.build(unit, kernel=wrong, progress=False)


def test_kernel_and_gamma_are_one_choice(unit):
    assert lw.Index.build(unit, gamma=4, spectrum=None, progress=False).settings.kernel == "power:4"
    with pytest.raises(InputError, match="give only one of the two"):
        lw.Index.build(unit, gamma=4, kernel=lw.Local(), progress=False)
    with pytest.raises(InputError, match="kernel must be a value such as"):
        lw.Index.build(unit, kernel="local", progress=False)


def test_sums_of_products_need_a_kernel_without_scales(unit):
    index = lw.Index.build(unit, progress=False)
    with pytest.raises(InputError, match="needs a kernel without scales"):
        index.search(unit[:4], 3, query_groups=[0, 0, 1, 1], region_sum="products")


def test_lists_from_elsewhere_work_with_both(unit):
    lists = nearest_others(unit, k=20)
    for kernel in (lw.Local(), lw.Power(3)):
        own = lw.Index.build(unit, k=20, kernel=kernel, progress=False)
        given = lw.Index.build(unit, lists=lists.ids, kernel=kernel, progress=False)
        np.testing.assert_array_equal(own.search(unit[:9], 20).ids, given.search(unit[:9], 20).ids)
