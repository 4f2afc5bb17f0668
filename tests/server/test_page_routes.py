"""What the page alone asks for."""

import numpy as np

AT = "/v1/collections/digits"


def test_a_selection_and_a_condition_hold_together(served, index):
    body = {"query": {"ids": [3]}, "k": 500, "where": {"label": 5}, "within": list(range(100))}
    labels = index.metadata.table.column("label").to_pylist()
    wanted = {own for own in range(100) if labels[own] == 5} - {3}
    found = served.post(f"{AT}/compare", json=body).json()
    for column in ("nearest", "manifold"):
        assert set(found[column]["ids"]) == wanted
    alone = served.post(f"{AT}/compare", json=body | {"where": None}).json()
    assert set(alone["manifold"]["ids"]) == set(range(100)) - {3}
    nothing = served.post(f"{AT}/compare", json=body | {"within": [labels.index(0)]})
    assert nothing.status_code == 422
    assert "widen" in nothing.json()["detail"]


def test_a_filter_tells_all_of_its_parameters(served):
    knobs = {own["name"]: own for own in served.get(AT).json()["filters"]}
    (steps,) = knobs["walk"]["more"]
    assert steps["parameter"] == "steps"
    text = f"walk:{knobs['walk']['default']},{steps['default']:g}"
    assert served.post(f"{AT}/compare", json={"query": {"ids": [3]}, "filter": text}).status_code == 200
    assert knobs["lowpass"]["more"] == []


def test_a_response_is_dense_where_filters_work(served):
    found = np.array(served.get(f"{AT}/response", params={"filter": "lowpass:0.99"}).json()["eigenvalues"])
    assert found[0] == -1
    assert found[-1] == 1
    assert (found > 0.99).sum() > 10
    assert (np.diff(found) > 0).all()
