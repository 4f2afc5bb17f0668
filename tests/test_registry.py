"""Names of parts: given once, read as text and back, and an error that helps where one is not known."""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from longwave import filters, registry, solvers
from longwave.errors import InputError
from longwave.graph import weights as kernels
from longwave.search import blending


@dataclass(frozen=True)
class Steps:
    count: int
    share: float = 0.5
    others: Sequence[float] = ()


@dataclass(frozen=True)
class Named:
    word: str = "x"


@pytest.fixture
def tables(monkeypatch):
    """Tables that are as before after the test."""
    monkeypatch.setattr(registry, "_TABLES", {kind: dict(table) for kind, table in registry._TABLES.items()})
    return registry


def test_what_longwave_brings_along():
    assert registry.names("filter")[:5] == ["lowpass", "heat", "ideal", "walk", "polynomial"]
    assert {"power", "local"} <= set(registry.names("kernel"))
    assert "anchor" in registry.names("blend")
    assert registry.find("solver", "cg") is solvers.ConjugateGradient


@pytest.mark.parametrize("text", ["steps:3,0.25,1,2", "steps:3,0.25"])
def test_text_and_back_by_the_fields(tables, text):
    tables.register("filter", "steps", Steps)
    value = tables.parse("filter", text)
    assert (value.count, value.share) == (3, 0.25)
    assert isinstance(value.count, int)
    assert tables.parse("filter", tables.text_of("filter", value)) == value


def test_options_by_name(tables):
    tables.register("solver", "steps", Steps)
    assert tables.parse("solver", "steps", count=4).count == 4
    with pytest.raises(InputError, match=r"must look like steps:COUNT,SHARE,OTHERS,\.\.\., with numbers"):
        tables.parse("solver", "steps")


def test_a_function_is_its_own_value(tables):
    def flat(products, one, other):
        return products * 0 + 1

    assert kernels.text_of(flat) == "own:flat"
    tables.register("kernel", "flat", flat)
    assert kernels.text_of(flat) == "flat"
    assert kernels.parse("flat") is flat
    with pytest.raises(InputError, match="must look like flat, with numbers"):
        kernels.parse("flat:3")


def test_what_text_cannot_hold_is_refused_before_it_is_kept(tables):
    tables.register("filter", "named", Named)
    with pytest.raises(InputError, match=r"Named\(word='x'\) cannot be written as text"):
        filters.text_of(Named())


def test_a_name_is_given_once(tables):
    with pytest.raises(InputError, match=r"'heat' is already longwave\.filters\.heat\.Heat; choose another name for"):
        tables.register("filter", "heat", Steps)
    tables.register("filter", "steps", Steps)
    again = type("Steps", (), {"__module__": Steps.__module__, "__qualname__": "Steps"})
    tables.register("filter", "steps", again)  # the same cell of a notebook, run again
    assert tables.find("filter", "steps") is again


@pytest.mark.parametrize("name", ["", "Heat", "a:b", "a,b", "3", "none", "own"])
def test_names_that_text_could_not_tell_apart(tables, name):
    with pytest.raises(InputError, match="cannot be named"):
        tables.register("filter", name, Steps)


def test_only_what_can_be_called_and_only_known_kinds(tables):
    with pytest.raises(InputError, match="must be a class or a function, got 3"):
        tables.register("filter", "three", 3)
    with pytest.raises(InputError, match="no kind 'fliter'; a part is one of filter, solver, spectrum, kernel, blend"):
        tables.register("fliter", "steps", Steps)


@pytest.mark.parametrize(
    ("parse", "text", "words"),
    [
        (filters.parse, "lowpas:0.9", ["unknown filter 'lowpas:0.9', did you mean lowpass?", "walk:ALPHA,STEPS"]),
        (kernels.parse, "locale", ["unknown kernel 'locale', did you mean local?", "power:GAMMA"]),
        (blending.parse, "anker", ["unknown blend 'anker', did you mean anchor?", "none", "weight such as 0.5"]),
        (filters.parse, "xyz", ["unknown filter 'xyz'; filter must be one of lowpass:ALPHA"]),
    ],
)
def test_an_unknown_name_is_told_the_nearest_and_the_remedy(parse, text, words):
    with pytest.raises(InputError) as error:
        parse(text)
    for word in [*words, "import the module that registers it first"]:
        assert word in str(error.value)
    assert len(str(error.value)) < 380
