"""The scenarios in `scenarios/`, which read as documentation of admission. See `scenarios/README.md`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from policygen.admission.activation import default_options
from policygen.admission.cluster import Cluster
from policygen.admission.intake import Client, request_for, standard_namespaces
from policygen.admission.outcome import Outcome
from policygen.admission.request import UserInfo
from policygen.admission.server import admit
from policygen.kube import objects

FOLDER = Path(__file__).parent / "scenarios"
GROUP = "admissionregistration.k8s.io/v1"


def load() -> list[Any]:
    found = []
    for path in sorted(FOLDER.glob("*.yaml")):
        scenarios = yaml.safe_load(path.read_text())["scenarios"]
        found += [pytest.param(scenario, id=f"{path.stem}: {scenario['name']}") for scenario in scenarios]
    return found


def policies(scenario: dict[str, Any]) -> list[dict[str, Any]]:
    """`mutate` and `validate` are policies in short: a spec whose constraints default to created pods."""
    made = []
    for kind, key in (("Mutating", "mutate"), ("Validating", "validate")):
        for number, short in enumerate(scenario.get(key, [])):
            spec = dict(short)
            name = spec.pop("name", f"p{number}")
            binding = spec.pop("binding", {})
            spec.setdefault("failurePolicy", "Fail")
            spec.setdefault("matchConstraints", {"resourceRules": [rule()]})
            if kind == "Mutating":
                spec.setdefault("reinvocationPolicy", "Never")
                spec["mutations"] = [mutation(text) for text in spec.pop("patches", [])]
            else:
                binding = {"validationActions": ["Deny"], **binding}
            made.append(manifest(f"{kind}AdmissionPolicy", name, spec))
            bindings = binding if isinstance(binding, list) else [binding]
            made += [
                manifest(f"{kind}AdmissionPolicyBinding", f"{name}-{index}", {"policyName": name, **each})
                for index, each in enumerate(bindings)
            ]
    return made


def rule(resource: str = "pods") -> dict[str, Any]:
    return {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": [resource]}


def mutation(text: str) -> dict[str, Any]:
    """A patch by its text: a list is a JSONPatch."""
    kind = "JSONPatch" if "JSONPatch{" in text else "ApplyConfiguration"
    key = "jsonPatch" if kind == "JSONPatch" else "applyConfiguration"
    return {"patchType": kind, key: {"expression": text}}


def manifest(kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": GROUP, "kind": kind, "metadata": {"name": name}, "spec": spec}


def run(scenario: dict[str, Any]) -> Outcome:
    stored = [*standard_namespaces(), *scenario.get("stored", []), *policies(scenario)]
    cluster = Cluster.from_objects(
        stored,
        plugins=frozenset(scenario.get("plugins", [])),
        authorizer=dict.fromkeys(scenario["allow"], True) if "allow" in scenario else None,
        validate_objects=False,
    )
    given = scenario["object"]
    before = objects.copy(stored), objects.copy(given)
    user = UserInfo(scenario.get("user", "alice"), tuple(scenario.get("groups", ("system:authenticated",))))
    client = Client(scenario.get("operation", "CREATE"), user, scenario.get("subresource", ""))
    outcome = admit(cluster, request_for(given, cluster, client), explain=True)
    assert (stored, given) == before
    return outcome


@pytest.mark.parametrize("scenario", load())
def test_scenario(scenario: dict[str, Any]) -> None:
    outcome = run(scenario)
    expected = scenario["expect"]
    if "refused" in expected:
        wanted = (expected.get("code", 403), expected["refused"])
        assert wanted == (outcome.code, outcome.message)
    else:
        assert outcome.allowed, outcome.message
    for path, value in expected.get("fields", {}).items():
        steps = [int(step) if step.isdecimal() else step for step in path.split("/")]
        assert objects.get(outcome.object, steps, "absent") == value, path
    if "verdicts" in expected:
        assert expected["verdicts"] == [said(verdict) for verdict in outcome.verdicts]
    if "warnings" in expected:
        assert expected["warnings"] == list(outcome.warnings)
    if "annotations" in expected:
        assert expected["annotations"] == dict(outcome.audit_annotations)
    if "variables" in expected:
        assert expected["variables"] == dict(outcome.verdicts[0].variables)


def said(verdict: Any) -> str:
    detail = f": {verdict.detail}" if verdict.detail else ""
    return f"{verdict.policy} {verdict.kind}{detail}"


def test_there_are_enough_scenarios() -> None:
    assert len(load()) >= 40
    assert default_options("CREATE") == {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"}
