"""The description is true: whatever it allows is answered as it says."""

import json

import hypothesis
import pytest
import schemathesis
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from longwave.server.endpoints import TABLE
from longwave.server.openapi import describe
from serving import running

DESCRIPTION = json.loads(describe(tuple(TABLE)))
SCHEMA = schemathesis.openapi.from_dict(DESCRIPTION)
OPERATIONS = [f"{own.method} {own.path}" for own in TABLE]
# Random bodies are hardly ever right: these make every second one so, but for numbers that are free.
ROW, FREE = [[1.0, -2.0, 3.0]], ("k", "neighbors", "cut", "together", "include_self")
RIGHT = {
    "/search": {"vectors": ROW},
    "/similar": {"ids": [5]},
    "/compare": {"query": {"ids": [5], "not": [6]}, "columns": ["label"]},
    "/wave": {"query": {"ids": [5]}},
    "/explain": {"query": {"vectors": ROW}, "id": 7},
    "/items": {"vectors": ROW, "ids": [5]},
}
# What this collection does not have.
NEVER = ("/pictures/{id}", "/drawing/{id}", "/pictures")


@pytest.fixture(scope="module")
def open_to_all(tmp_path_factory):
    """A small writable collection, whose names and ids are those that examples try."""
    import numpy as np

    import longwave

    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("open") / "0.longwave"
    longwave.create(
        path, rng.normal(size=(60, 3)), metadata={"label": [i % 3 for i in range(60)]}, k=5, progress=False
    ).close()
    with running(path, writable=True, max_body=100_000, timeout=20) as client:
        yield client


def test_every_route_is_described():
    assert len(OPERATIONS) == len(set(OPERATIONS)) == sum(len(methods) for methods in DESCRIPTION["paths"].values())
    names = [own["operationId"] for methods in DESCRIPTION["paths"].values() for own in methods.values()]
    assert len(set(names)) == len(names)
    for methods in DESCRIPTION["paths"].values():
        for own in methods.values():
            assert own["summary"].endswith(".")
            assert {"401", "404", "422", "429", "500"} <= set(own["responses"])


def test_it_is_what_the_server_tells(served):
    assert served.get("/openapi.json").json() == DESCRIPTION


FEW = hypothesis.settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(hypothesis.HealthCheck),
    phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
)


def check(case, client):
    """The answer has a status, a type and a body that the description tells of."""
    answer = case.call(base_url=client.url)
    assert answer.status_code < 500 or answer.status_code == 501, answer.text
    case.validate_response(
        answer, checks=[status_code_conformance, content_type_conformance, response_schema_conformance]
    )
    return answer.status_code


@pytest.mark.filterwarnings("ignore")  # of queries that reach nothing
@pytest.mark.parametrize("operation", [f"{own.method} {own.path}" for own in TABLE if own.body not in (None, bytes)])
def test_what_it_does_not_allow_is_refused_as_it_says(open_to_all, operation):
    method, path = operation.split()
    seen = []

    @FEW
    @hypothesis.given(case=SCHEMA[path][method].as_strategy(generation_mode=schemathesis.GenerationMode.NEGATIVE))
    def try_one(case):
        case.path_parameters["name"] = "0"
        seen.append(check(case, open_to_all))

    try_one()
    assert any(400 <= status < 500 for status in seen)


@pytest.mark.filterwarnings("ignore")  # of queries that reach nothing
@pytest.mark.parametrize("operation", OPERATIONS)
def test_what_it_allows_is_answered_as_it_says(open_to_all, operation):
    method, path = operation.split()
    seen = []

    @FEW
    @hypothesis.given(case=SCHEMA[path][method].as_strategy())
    def try_one(case):
        if "name" in case.path_parameters and len(seen) % 4:
            case.path_parameters["name"] = "0"
        if "id" in case.path_parameters and len(seen) % 2:
            case.path_parameters["id"] = "7"
        right = RIGHT.get(path[path.rindex("/") :])
        if right is not None and len(seen) % 2 and isinstance(case.body, dict):
            case.body = {name: case.body[name] for name in FREE if name in case.body} | right
            if method == "DELETE":
                case.body = {"ids": [20 + len(seen)]}
            if method == "POST" and path.endswith("/items"):
                case.body["ids"] = [1000 + len(seen)]
        seen.append(check(case, open_to_all))

    try_one()
    assert any(status < 300 for status in seen) or path.endswith(NEVER)
