"""Which rank is advised, and what it is said to keep."""

import numpy as np
import pytest

from longwave import Exact, Heat, LowPass
from longwave.advice import rank as planning
from longwave.errors import InputError
from longwave.graph import mutual as graph
from longwave.graph.lists import nearest_others
from longwave.graph.weights import Power
from longwave.rows.vectors import normalize


@pytest.fixture(scope="module")
def digits_graph(digits_split):
    return graph.build(nearest_others(normalize(digits_split[0]), k=20), kernel=Power(3.0))


@pytest.mark.parametrize("h", [LowPass(0.99), LowPass(0.9), Heat(5.0)], ids=repr)
def test_estimates_agree_with_the_eigenvalues(digits_graph, h):
    shared = np.flatnonzero(digits_graph.component_sizes[digits_graph.labels] > 5)
    advice = planning.advise(digits_graph, filter=h, ranks=(50, 100, 200, 500))
    values = Exact()(digits_graph.normalized[shared][:, shared]).eigenvalues
    assert advice.vertices == len(shared)
    squares, changes = h(values) ** 2, (h(values) - h(np.zeros(1))) ** 2
    for row in advice.rows:
        assert row.eigenvalue == pytest.approx(values[row.rank - 1], abs=0.03)
        assert row.energy == pytest.approx(squares[: row.rank].sum() / squares.sum(), abs=0.05)
        assert row.error == pytest.approx(np.sqrt(changes[row.rank :].sum() / squares.sum()), abs=0.03)


def test_a_larger_rank_keeps_more_and_takes_more(digits_graph):
    rows = planning.advise(digits_graph).rows
    for name in ("energy", "memory", "seconds"):
        assert np.all(np.diff([getattr(row, name) for row in rows]) > 0)
    assert np.all(np.diff([row.error for row in rows]) < 0)


def test_the_suggestion_respects_memory(digits_graph):
    free = planning.advise(digits_graph)
    assert free.suggested.error <= planning.WANTED_ERROR
    assert "smallest" in free.reason
    tight = planning.advise(digits_graph, memory=free.rows[0].memory)
    assert tight.suggested == tight.rows[0]
    with pytest.raises(InputError, match="not even rank 50 fits"):
        planning.advise(digits_graph, memory=1000)


def test_nothing_to_decide():
    lonely = graph.build(nearest_others(np.eye(30, dtype=np.float32), k=1), kernel=Power(3.0))
    with pytest.raises(InputError, match="any rank does"):
        planning.advise(lonely)
