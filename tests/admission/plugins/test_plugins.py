"""In-tree plugins: an object in a cluster, and what becomes of it."""

import copy
from pathlib import Path

import pytest
import yaml

from policygen.admission import server
from policygen.admission.cluster import Cluster
from policygen.admission.request import AdmissionRequest, UserInfo
from policygen.kube.names import gvk

NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}
CONTAINER = {"name": "main", "image": "train:1"}
ABSENT = "absent"


def cases():
    for file in sorted(Path(__file__).parent.glob("*.yaml")):
        table = yaml.safe_load(file.read_text(encoding="utf-8"))
        for case in table["cases"]:
            shared = {"plugin": table["plugin"], "cluster": table.get("cluster", {})}
            yield pytest.param(shared | case, table["plugin"], id=f"{file.stem}: {case['name']}")


def pod(spec, metadata=None):
    containers = [CONTAINER | container for container in spec.get("containers", [{}])]
    identity = {"name": "p", "namespace": "team"} | (metadata or {})
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": identity,
        "spec": copy.deepcopy(spec | {"containers": containers}),
    }


def request_of(case, cluster):
    obj = case["object"] if "object" in case else pod(case.get("pod", {}), case.get("metadata"))
    old = case.get("old_object")
    if "old" in case:
        old = pod(case["old"], case.get("metadata"))
    kind = gvk(obj["apiVersion"], obj["kind"])
    operation = case.get("operation", "CREATE" if old is None else "UPDATE")
    deleted = operation == "DELETE"
    return AdmissionRequest(
        operation=operation,
        kind=kind,
        resource=cluster.resource(kind).resource,
        name=obj["metadata"].get("name", ""),
        namespace=obj["metadata"].get("namespace", ""),
        subresource=case.get("subresource", ""),
        object=None if deleted else obj,
        old_object=obj if deleted else old,
        user_info=UserInfo(case["user"], ("system:authenticated",)) if "user" in case else UserInfo(),
    )


def at(obj, path):
    """The value at a dotted path, whose numbers are places in lists; `absent` where there is none."""
    for step in path.split("/"):
        if isinstance(obj, list):
            obj = obj[int(step)] if int(step) < len(obj) else ABSENT
        else:
            obj = obj.get(step, ABSENT) if isinstance(obj, dict) else ABSENT
    return obj


@pytest.mark.parametrize(("case", "plugin"), list(cases()))
def test_plugin(case, plugin):
    objects = [NAMESPACE, *(case["cluster"][name] for name in case.get("with", []))]
    cluster = Cluster.from_objects(objects, plugins=frozenset({plugin}), version=case.get("version", "1.36"))
    request = request_of(case, cluster)
    before = copy.deepcopy(request)

    outcome = server.admit(cluster, request)

    assert outcome.message == case.get("denied", "").strip()
    assert outcome.code == case.get("code", 403 if "denied" in case else outcome.code)
    assert list(outcome.warnings) == case.get("warns", [])
    gives = case.get("gives", {})
    assert {path: at(outcome.object, path) for path in gives} == gives
    assert request == before
