"""The options of a search are the same wherever a search is passed on."""

import inspect

import pytest

import longwave as lw
from longwave.search.options import SearchOptions, check_names


def test_they_are_those_of_the_index():
    parameters = inspect.signature(lw.Index.search).parameters
    assert set(SearchOptions.__annotations__) == {*parameters} - {"self", "queries", "k"}


def test_an_unknown_name_is_refused_as_python_does():
    check_names(SearchOptions.__annotations__, "search")
    with pytest.raises(TypeError, match=r"Remote.search\(\) got an unexpected keyword argument 'neigbors'"):
        check_names(["filter", "neigbors"], "Remote.search")
