"""The cost model: formulas that grow as they should, and foretell a measured build that they were not fitted to."""

import json
from pathlib import Path

import pytest

from commands import run
from longwave.advice import scale

MEASURED = Path(__file__).parents[2] / "benchmarks/results/cluster-costs.json"


def seconds(n, **changes):
    return {stage.name: stage.seconds for stage in scale.stages(scale.Collection(n, 128, 30, 200), **changes)}


def test_twice_the_vectors_take_twice_the_time():
    one, two = seconds(2 * 10**8), seconds(4 * 10**8)
    for name in ("graph", "basis: dense", "writing"):
        assert two[name] == pytest.approx(2 * one[name], rel=0.01), name
    assert 2 * one["basis: products"] <= two["basis: products"] < 2.2 * one["basis: products"]  # caches are left
    assert two["neighbours"] == pytest.approx(2 * one["neighbours"], rel=0.01)
    assert seconds(10**7, rounds=0)["neighbours"] > 10 * seconds(10**7)["neighbours"]  # all with all


def test_rounds_reach_further_from_the_fourth_on():
    from longwave.graph.lists.rounds import reach_of

    for rounds in range(1, 7):
        counted = (8192 + sum(reach_of(number, 50) for number in range(1, rounds + 1))) / 8192
        assert scale.candidates_of(rounds) == counted


def test_more_is_never_cheaper():
    small, large = scale.plan(10**7, 128), scale.plan(10**8, 768)
    assert large.memory > small.memory
    assert large.machines >= small.machines
    assert large.hours * large.machines > small.hours * small.machines
    assert scale.plan(10**7, 128, rank=500).basis == 4 * 10**7 * 500


@pytest.mark.parametrize(("n", "rank"), [(10**5, 1000), (10**6, 1000), (10**7, 500), (10**8, 200), (10**9, 100)])
def test_the_rank_falls_as_the_basis_grows(n, rank):
    assert scale.suggested_rank(n) == rank


def test_it_foretells_what_was_measured():
    """Within a factor of two, on a run that the rates were not fitted to."""
    rows = json.loads(MEASURED.read_text())["rows"]
    left_out = [row for row in rows if row["n"] == max(own["n"] for own in rows)]
    for row in left_out:
        work = scale.Collection(row["n"], 128, 30, row["rank"])
        known = {name: row[name] for name in ("rounds", "degrees", "halo", "nonzeros")}
        told = sum(stage.seconds for stage in scale.stages(work, **known))
        assert 0.5 < told / sum(row["seconds"].values()) < 2, row["part"]


def test_the_command_prints_the_plan():
    code, out, err = run("advise", "--vectors", "1e8", "--dimensions", "768", COLUMNS=200)
    assert (code, err) == (0, "")
    assert "100,000,000 vectors of 768 dimensions" in out
    assert "by Ray" in out
    assert "basis: products" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give a file of vectors or an index, or --vectors"),
        (["--vectors", "1e8"], "--vectors needs --dimensions"),
        (["--vectors", "many", "--dimensions", "8"], "a number from 1 to 1e12"),
    ],
)
def test_what_is_missing_is_said(arguments, message):
    code, _, err = run("advise", *arguments, COLUMNS=200)
    assert code == 1
    assert message in err
