"""Rules as specs, pods and workloads to try them on, and the API server's chain to run them in."""

from __future__ import annotations

import copy
import gzip
import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from policygen.admission.cluster import Cluster
from policygen.admission.outcome import Outcome
from policygen.admission.request import AdmissionRequest
from policygen.admission.server import admit
from policygen.compiler.bundle import Bundle
from policygen.compiler.compile import compile_model, load_text
from policygen.diagnostics import Diagnostics
from policygen.kube.names import gvk, gvr

Object = dict[str, Any]

CRDS = Path(__file__).parents[4] / "shared" / "crds"
CRD_FILES = {
    "JobSet": "jobset.x-k8s.io_jobsets",
    "LeaderWorkerSet": "leaderworkerset.x-k8s.io_leaderworkersets",
    "PyTorchJob": "kubeflow.org_pytorchjobs",
    "RayCluster": "ray.io_rayclusters",
    "RayJob": "ray.io_rayjobs",
    "TrainJob": "trainer.kubeflow.org_trainjobs",
}

SPEC: Object = {
    "priorities": {"high": {"value": 1000000}, "low": {"value": 5}, "usual": {"value": 7, "default": True}},
    "devices": {"a100": {"driver": "gpu.nvidia.com", "where": {"productName": {"contains": "A100"}}}},
    "claims": {
        "shared": {"devices": {"gpu": {"device": "a100", "count": 1}}},
        "gpu-1": {"devices": {"gpu": {"device": "a100", "count": 1}}, "replaces": "nvidia.com/gpu"},
        "gpu-4": {"devices": {"gpu": {"device": "a100", "count": 4}}, "replaces": "nvidia.com/gpu"},
    },
    "tenants": {"team-a": {"namespaces": ["team-a"]}},
}

STORED: list[Object] = [
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-a"}},
    *(
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": value,
            "globalDefault": name == "usual",
        }
        for name, value in (("high", 1000000), ("low", 5), ("usual", 7))
    ),
    *(
        {
            "apiVersion": "node.k8s.io/v1",
            "kind": "RuntimeClass",
            "metadata": {"name": name},
            "handler": "runc",
        }
        for name in ("nvidia", "other")
    ),
]


def compile_rules(*rules: Object, version: str = "1.36", **more: Any) -> Bundle:
    """The bundle of some rules; each gets a name and by default matches a tenant's pods that use GPUs."""
    named = []
    for index, rule in enumerate(rules, start=1):
        match = {
            "namespaces": {"tenants": ["team-a"]},
            "workloads": ["Pod"],
            "uses": {"resource": "nvidia.com/gpu"},
        } | rule.get("match", {})
        said = {key: value for key, value in match.items() if value is not None}
        named.append({"name": f"rule-{index}"} | rule | {"match": said})
    spec = {"kubernetes": version, **SPEC, **more, "rules": named}
    document = {
        "apiVersion": "policygen.dev/v1alpha1",
        "kind": "PlacementPolicy",
        "metadata": {"name": "ml"},
        "spec": spec,
    }
    found = Diagnostics()
    return compile_model(load_text(json.dumps(document, indent=1), "spec.yaml", found), found)


def policies(bundle: Bundle) -> list[Object]:
    """The admission policies and bindings of a bundle."""
    return [item for item in bundle.objects() if "AdmissionPolicy" in item["kind"]]


@cache
def custom_kind(kind: str) -> Object:
    """The real definition of a custom kind."""
    loaded: Object = json.loads(gzip.decompress((CRDS / f"{CRD_FILES[kind]}.json.gz").read_bytes()))
    return loaded


def pod(**changes: Any) -> Object:
    """A pod whose `main` container uses four GPUs; `changes` are values by path (dots, names of items)."""
    made: Object = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "team-a", "labels": {"app": "x"}},
        "spec": {
            "initContainers": [{"name": "init", "image": "busybox"}],
            "containers": [
                {"name": "main", "image": "train:1", "resources": {"limits": {"nvidia.com/gpu": "4"}}},
                {"name": "side", "image": "busybox"},
            ],
        },
    }
    for path, value in changes.items():
        put(made, path, value)
    return made


def put(obj: Object, path: str, value: Any) -> None:
    """Set a value by path; None removes it."""
    at: Any = obj
    *steps, last = path.split(".")
    for step in steps:
        at = _named(at, step) if isinstance(at, list) else at.setdefault(step, {})
    if value is None:
        at.pop(last, None)
    else:
        at[last] = copy.deepcopy(value)


def read(obj: Object, path: str) -> Any:
    """The value at a path, None where something on the way is absent."""
    at: Any = obj
    for step in path.split("."):
        if at is None:
            return None
        at = _named(at, step) if isinstance(at, list) else at.get(step)
    return at


def _named(items: list[Object], name: str) -> Object:
    return next(item for item in items if item["name"] == name)


def _template(of: Object, **spec: Any) -> Object:
    metadata = {key: value for key, value in of["metadata"].items() if key in {"labels", "annotations"}}
    return {"metadata": metadata, "spec": of["spec"] | spec}


def wrap(kind: str, of: Object) -> Object:
    """An object of a kind whose pods are like this one."""
    if kind == "Pod":
        return of
    head, spec = _WRAPPED[kind](of)
    return {**head, "kind": kind, "metadata": {"name": "w", "namespace": "team-a"}, "spec": spec}


def unwrap(obj: Object) -> Object:
    """The pod or pod template that uses the GPU."""
    kind, spec = obj["kind"], obj["spec"]
    match kind:
        case "Pod":
            return obj
        case "CronJob":
            found = spec["jobTemplate"]["spec"]["template"]
        case "JobSet":
            found = spec["replicatedJobs"][1]["template"]["spec"]["template"]
        case "PyTorchJob":
            found = spec["pytorchReplicaSpecs"]["Worker"]["template"]
        case "RayCluster":
            found = spec["workerGroupSpecs"][0]["template"]
        case "RayJob":
            found = spec["rayClusterSpec"]["workerGroupSpecs"][0]["template"]
        case "LeaderWorkerSet":
            found = spec["leaderWorkerTemplate"]["workerTemplate"]
        case _:
            found = spec["template"]
    assert isinstance(found, dict)
    return found


_CPU: Object = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "cpu:1"}]}}
_SELECTOR: Object = {"matchLabels": {"app": "x"}}


def _ray(of: Object) -> Object:
    workers = [{"groupName": "g", "replicas": 1, "rayStartParams": {}, "template": _template(of)}]
    return {"headGroupSpec": {"rayStartParams": {}, "template": _CPU}, "workerGroupSpecs": workers}


def _jobs(of: Object) -> list[Object]:
    both = (("cpu", _CPU), ("gpu", _template(of, restartPolicy="Never")))
    return [{"name": name, "template": {"spec": {"template": template}}} for name, template in both]


_WRAPPED: dict[str, Any] = {
    "Deployment": lambda of: ({"apiVersion": "apps/v1"}, {"selector": _SELECTOR, "template": _template(of)}),
    "StatefulSet": lambda of: (
        {"apiVersion": "apps/v1"},
        {"selector": _SELECTOR, "serviceName": "s", "template": _template(of)},
    ),
    "Job": lambda of: ({"apiVersion": "batch/v1"}, {"template": _template(of, restartPolicy="Never")}),
    "CronJob": lambda of: (
        {"apiVersion": "batch/v1"},
        {
            "schedule": "0 0 * * *",
            "jobTemplate": {"spec": {"template": _template(of, restartPolicy="Never")}},
        },
    ),
    "JobSet": lambda of: ({"apiVersion": "jobset.x-k8s.io/v1alpha2"}, {"replicatedJobs": _jobs(of)}),
    "PyTorchJob": lambda of: (
        {"apiVersion": "kubeflow.org/v1"},
        {"pytorchReplicaSpecs": {"Master": {"template": _CPU}, "Worker": {"template": _template(of)}}},
    ),
    "LeaderWorkerSet": lambda of: (
        {"apiVersion": "leaderworkerset.x-k8s.io/v1"},
        {"leaderWorkerTemplate": {"leaderTemplate": _CPU, "workerTemplate": _template(of)}},
    ),
    "RayCluster": lambda of: ({"apiVersion": "ray.io/v1"}, _ray(of)),
    "RayJob": lambda of: ({"apiVersion": "ray.io/v1"}, {"entrypoint": "python", "rayClusterSpec": _ray(of)}),
}


def cluster(stored: list[Object], *kinds: str) -> Cluster:
    """A cluster with namespace, classes, some custom kinds and these objects."""
    made = Cluster.from_objects([*STORED, *stored])
    return replace(made, custom=_definitions(tuple(kind for kind in kinds if kind in CRD_FILES)))


@cache
def _definitions(kinds: tuple[str, ...]) -> Any:
    return Cluster.from_objects(custom_kind(kind) for kind in kinds).custom


def create(where: Cluster, obj: Object) -> Outcome:
    """What the API server answers to a create."""
    return admit(where, _request("CREATE", obj))


def update(where: Cluster, obj: Object, old: Object) -> Outcome:
    """What the API server answers to an update."""
    return admit(where, _request("UPDATE", obj, old))


def _request(operation: Any, obj: Object, old: Object | None = None) -> AdmissionRequest:
    kind, name = (obj["apiVersion"], obj["kind"]), obj["metadata"]["name"]
    return AdmissionRequest(operation, gvk(*kind), gvr(*kind), name, "team-a", object=obj, old_object=old)
