"""Policies for updates alone: the first update is what they are for, a second one changes nothing."""

from typing import Any

import pytest

from policygen import verify

POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "trainer", "namespace": "ml"},
    "spec": {"containers": [{"name": "main", "image": "trainer:1"}]},
}


def _policies(expression: str, operations: list[str]) -> list[dict[str, Any]]:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": operations, "resources": ["pods"]}
    mutation = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}
    created = {
        **mutation,
        "applyConfiguration": {
            "expression": "Object{metadata: Object.metadata{annotations: {'seen': 'yes'}}}"
        },
    }
    return [
        item
        for name, operations, patch in (("stamp", operations, mutation), ("seen", ["CREATE"], created))
        for item in (
            {
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": "MutatingAdmissionPolicy",
                "metadata": {"name": name},
                "spec": {
                    "failurePolicy": "Fail",
                    "reinvocationPolicy": "Never",
                    "matchConstraints": {"resourceRules": [{**rule, "operations": operations}]},
                    "mutations": [patch],
                },
            },
            {
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": "MutatingAdmissionPolicyBinding",
                "metadata": {"name": name},
                "spec": {"policyName": name},
            },
        )
    ]


STABLE = "Object{metadata: Object.metadata{labels: {'stamped': 'yes'}}}"
GROWING = "Object{metadata: Object.metadata{labels: {'n': object.metadata.?labels['n'].orValue('') + 'x'}}}"


@pytest.mark.parametrize(
    ("expression", "operations", "holds"),
    [(STABLE, ["UPDATE"], True), (STABLE, ["CREATE", "UPDATE"], True), (GROWING, ["UPDATE"], False)],
)
def test_updates_are_sent_until_policies_for_them_have_acted(
    expression: str, operations: list[str], holds: bool
):
    report = verify(_policies(expression, operations), [POD], properties=["idempotence"])

    assert report.passed == holds, report.findings
    assert all("stored object is sent as an update" in each.diagnostic.message for each in report.findings)
