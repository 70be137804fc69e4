"""What is stored must be what the server could have stored."""

import pytest

from policygen.admission.cluster import Cluster
from policygen.diagnostics import PolicygenError

NAMED = {"name": "x", "namespace": "team"}


@pytest.mark.parametrize(
    ("obj", "says"),
    [
        ({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x", "labels": ["a"]}}, "labels"),
        ({"apiVersion": "v1", "kind": "Namespace", "metadata": {}}, "metadata.name: Required value"),
        (
            {
                "apiVersion": "v1",
                "kind": "ResourceQuota",
                "metadata": NAMED,
                "spec": {"hard": {"pods": "many"}},
            },
            "quant",
        ),
        ({"apiVersion": "v1", "kind": "LimitRange", "metadata": NAMED, "spec": {"limits": {}}}, "limits"),
        (
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": NAMED, "imagePullSecrets": 1},
            "imagePullSecrets",
        ),
        (
            {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "x"}, "handler": 1},
            "handler",
        ),
        (
            {
                "apiVersion": "scheduling.k8s.io/v1",
                "kind": "PriorityClass",
                "metadata": {"name": "x"},
                "value": 1e300,
            },
            "value",
        ),
    ],
)
def test_faults_are_told(obj, says):
    with pytest.raises(PolicygenError) as error:
        Cluster.from_objects([obj])

    (found,) = error.value.diagnostics
    assert found.code == "invalid-object"
    assert says in found.notes[0]


def test_other_kinds_are_kept_as_they_are():
    odd = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "x"}, "count": "many"}

    assert Cluster.from_objects([odd]).get("Event", "x") is odd


def test_what_is_read_is_typed():
    loose = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x", "labels": {"a": None}}}

    assert Cluster.from_objects([loose]).get("Namespace", "x")["metadata"]["labels"] == {"a": ""}
