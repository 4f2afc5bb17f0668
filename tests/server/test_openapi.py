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


@pytest.mark.filterwarnings("ignore")  # of queries that reach nothing, of hypothesis
@pytest.mark.parametrize("operation", OPERATIONS)
def test_what_it_allows_is_answered_as_it_says(open_to_all, operation):
    method, path = operation.split()
    own = SCHEMA[path][method]
    seen = []

    @hypothesis.seed(1)
    @hypothesis.settings(
        max_examples=25,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(hypothesis.HealthCheck),
        phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
    )
    @hypothesis.given(case=own.as_strategy())
    def try_one(case):
        if "name" in case.path_parameters and len(seen) % 4:
            case.path_parameters["name"] = "0"  # most of them shall find it
        answer = case.call(base_url=open_to_all.url)
        seen.append(answer.status_code)
        assert answer.status_code < 500 or answer.status_code == 501, answer.text
        for check in (status_code_conformance, content_type_conformance, response_schema_conformance):
            case.validate_response(answer, checks=[check])

    try_one()
    assert len(seen) >= 1
