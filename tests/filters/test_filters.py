"""Filters: their formulas, their texts, and what is refused."""

import math
import warnings

import numpy as np
import pytest

from longwave import Heat, Ideal, LowPass, Polynomial, Walk
from longwave.errors import FilterError, FilterWarning, InputError
from longwave.filters import at_zero, is_nondecreasing, left_out, parse, response, text_of, warn_if_left_out

GRID = np.linspace(-1, 1, 201)


def test_formulas():
    np.testing.assert_allclose(LowPass(0.9)(GRID), 0.1 / (1 - 0.9 * GRID))
    np.testing.assert_allclose(Heat(3.0)(GRID), np.exp(-3 * (1 - GRID)))
    np.testing.assert_array_equal(Ideal(0.25)(GRID), (GRID >= 0.25).astype(float))
    np.testing.assert_allclose(Walk(0.9, 4)(GRID), 0.1 * sum((0.9 * GRID) ** t for t in range(4)))
    np.testing.assert_allclose(Polynomial([1, 0, 2])(GRID), 1 + 2 * GRID**2)


def test_limits():
    np.testing.assert_array_equal(LowPass(0.0)(GRID), np.ones_like(GRID))
    for h in (LowPass(0.99), Heat(5), Ideal(0.5)):
        assert h(np.ones(1))[0] == pytest.approx(1.0)
    np.testing.assert_allclose(Walk(0.9, 400)(GRID), LowPass(0.9)(GRID), atol=1e-9)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: LowPass(1.0), "alpha must be at least 0 and below 1, got 1.0"),
        (lambda: LowPass(-0.1), "got -0.1"),
        (lambda: LowPass(float("nan")), "got nan"),
        (lambda: Heat(-1), "time must be at least 0 and finite, got -1"),
        (lambda: Ideal(1.5), "cutoff must be at least -1 and at most 1, got 1.5"),
        (lambda: Walk(0.9, 0), "steps must be a whole number of at least 1, got 0"),
        (lambda: Polynomial([]), "one or more finite numbers"),
    ],
)
def test_ranges_are_named(make, words):
    with pytest.raises(InputError) as error:
        make()
    assert words in str(error.value)


def test_nondecreasing():
    assert is_nondecreasing(LowPass(0.99))
    assert is_nondecreasing(Heat(10))
    assert is_nondecreasing(Ideal(0.3))
    assert not is_nondecreasing(Polynomial([0, 0, 1]))
    assert not is_nondecreasing(Walk(0.99, 3))


def test_what_a_cut_basis_leaves_out():
    kept = np.array([1.0, 0.8])
    assert left_out(LowPass(0.5), kept, 0.6, complement=False) == pytest.approx(LowPass(0.5)(0.6))
    assert left_out(LowPass(0.5), kept, 0.6, complement=True) == pytest.approx(LowPass(0.5)(0.6) - 0.5)
    assert left_out(lambda t: t - 1, kept, 0.6, complement=False) == pytest.approx(10)
    assert left_out(lambda t: np.where(t < 0, 1.0, 0.0), kept, 0.6, complement=False) == np.inf
    assert left_out(lambda t: 0 * t, kept, 0.6, complement=False) == 0
    with pytest.warns(FilterWarning, match="125% as large on the eigenvalues below 0.6"):
        warn_if_left_out(lambda t: -t, kept[1:], 0.6, complement=False)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("lowpass:0.9", LowPass(0.9)),
        ("lowpass", LowPass(0.99)),
        ("heat:2.5", Heat(2.5)),
        ("ideal:0.5", Ideal(0.5)),
        ("walk:0.9,5", Walk(0.9, 5)),
        ("polynomial:0,1,2", Polynomial([0, 1, 2])),
    ],
)
def test_parse(text, value):
    assert parse(text) == value
    assert parse(text_of(value)) == value
    if ":" in text:
        assert text_of(value) == text


def test_what_a_filter_leaves_of_a_vertex_without_edges():
    assert at_zero(LowPass(0.9)) == pytest.approx(0.1)
    assert at_zero(Polynomial([0.25, 3])) == 0.25
    with pytest.raises(FilterError, match="finite real numbers"):
        at_zero(lambda t: t * np.nan)


@pytest.mark.parametrize("text", ["low:0.9", "lowpass:a", "lowpass:0.1,0.2", "walk:0.9,5,6", "", "lowpass:2"])
def test_parse_refuses(text):
    with pytest.raises(InputError):
        parse(text)


@pytest.mark.parametrize("bad", [lambda t: t * np.nan, lambda t: t[:-1], lambda t: t + 1j, lambda t: 1.0])
def test_a_filter_of_the_users_is_checked(bad):
    with pytest.raises(FilterError):
        response(bad, GRID)


@pytest.mark.parametrize("scalar", [lambda t: 1 if t > 0.5 else 0, lambda t: math.exp(t - 1), lambda t: 1.0])
@pytest.mark.parametrize("eigenvalues", [GRID, np.zeros(1)], ids=["many", "one"])
def test_a_filter_of_one_number_is_told_the_remedy(scalar, eigenvalues):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # earlier numpy takes an array of one for a number
        with pytest.raises(FilterError, match=r"gets an array of eigenvalues.*np\.where.*np\.vectorize"):
            response(scalar, eigenvalues)
    assert response(np.vectorize(scalar), eigenvalues).shape == eigenvalues.shape
