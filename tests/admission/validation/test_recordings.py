"""Whole requests: the answers are those of a real API server."""

import pytest
import vectors

from policygen.conformance.ops import api
from policygen.conformance.runner import DIRECTORY


def test_answers_are_those_that_were_recorded():
    contexts = {DIRECTORY: str(vectors.VECTORS)}
    agreements = {case["id"]: api.judge(case, contexts) for case in vectors.load("api.jsonl.gz")}

    differing = {name: found for name, found in agreements.items() if not found.full}
    assert differing == {}


def test_a_missing_definition_is_a_difference():
    case = {"setup": [{"$crd": "nowhere.json.gz"}], "requests": [], "responses": []}

    found = api.judge(case, {DIRECTORY: "/nowhere/vectors"})

    assert not found.outcome
    assert "nowhere.json.gz" in found.got


POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "namespace": "team-a"},
    "spec": {"containers": [{"name": "main", "image": "i"}]},
}


@pytest.mark.parametrize(
    ("expected", "outcome", "message"),
    [
        ({"code": 403}, True, False),
        ({"code": 422}, False, False),
        ({"code": 201, "object": {}}, False, False),
        ({"code": 403, "status": {"message": 'namespaces "nowhere" not found'}}, True, False),
    ],
)
def test_code_and_text_count_apart(expected, outcome, message):
    elsewhere = POD | {"metadata": {"name": "p", "namespace": "team-a", "labels": {"a": "b"}}}
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q", "namespace": "team-a"},
        "spec": {"hard": {"pods": "0"}},
    }
    case = {
        "setup": [quota],
        "requests": [{"method": "CREATE", "object": elsewhere}],
        "responses": [expected],
    }

    found = api.judge(case, {})

    assert (found.outcome, found.message) == (outcome, message)
