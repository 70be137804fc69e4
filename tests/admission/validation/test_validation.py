"""Validation: a valid object with some fields changed, and what the server says to it."""

import copy
import itertools
import re
from pathlib import Path

import pytest
import yaml

from policygen.admission import server
from policygen.admission.cluster import Cluster
from policygen.admission.request import AdmissionRequest, UserInfo
from policygen.kube.names import gvk

_STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]|\[\"([^\"]*)\"\]")


def cases():
    for file in sorted(Path(__file__).parent.glob("*.yaml")):
        table = yaml.safe_load(file.read_text(encoding="utf-8"))
        for name, base in table["bases"].items():
            for case in table["cases"].get(name, []):
                whole = {"cluster": table.get("cluster", [])} | case
                yield pytest.param(base, whole, id=f"{file.stem}, {name}: {label(case)}")


def label(case):
    return case.get("name") or ", ".join(f"{path}={value}" for path, value in case["set"].items())[:80]


def changed(obj, fields):
    """A copy with the values at some paths replaced, or removed where the value is null."""
    obj = copy.deepcopy(obj)
    for path, value in fields.items():
        steps = [int(index) if index else name or key for name, index, key in _STEP.findall(path)]
        place = obj
        for step, following in itertools.pairwise(steps):
            if isinstance(place, list):
                place = place[step]
            else:
                place = place.setdefault(step, [] if isinstance(following, int) else {})
        if isinstance(place, list):
            place[steps[-1] : steps[-1] + 1] = [] if value is None else [copy.deepcopy(value)]
        elif value is None:
            place.pop(steps[-1], None)
        else:
            place[steps[-1]] = copy.deepcopy(value)
    return obj


@pytest.mark.parametrize(("base", "case"), list(cases()))
def test_validation(base, case):
    old = changed(base, case["was"]) if "was" in case else base if case.get("update") else None
    obj = changed(base, case["set"])
    version = case.get("version", "1.36")
    cluster = Cluster.from_objects(case.get("cluster", []), open_namespaces=True, version=version)
    kind = gvk(obj["apiVersion"], obj["kind"])
    metadata = obj["metadata"]
    request = AdmissionRequest(
        operation="CREATE" if old is None else "UPDATE",
        kind=kind,
        resource=cluster.resource(kind).resource,
        name=metadata.get("name", ""),
        namespace=metadata.get("namespace", ""),
        subresource=case.get("subresource", ""),
        object=obj,
        old_object=old,
        user_info=UserInfo("alice", ("system:authenticated",)),
    )

    outcome = server.admit(cluster, request)

    says = case.get("says", [])
    says = [says] if isinstance(says, str) else says
    found = outcome.message.partition(" is invalid: ")[2] if outcome.code == 422 else outcome.message
    assert found == (says[0] if len(says) == 1 else f"[{', '.join(says)}]" if says else "")
    assert list(outcome.warnings) == case.get("warns", [])
    assert outcome.code == (422 if says else 201 if old is None else 200)
