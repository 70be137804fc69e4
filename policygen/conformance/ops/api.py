"""`api`: whole requests, as a client of the API server sees them.

A scenario creates its objects in order, then sends its requests as dry runs: nothing that a request does is
seen by the next. Answers are compared as recorded: code and object, or code; then texts, causes and warnings.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from policygen.admission import server
from policygen.admission.attributes import Attributes
from policygen.admission.cluster import Cluster
from policygen.admission.plugins import resource_quota
from policygen.admission.request import AdmissionRequest, Object, Operation, UserInfo
from policygen.conformance.runner import DIRECTORY, Agreement
from policygen.kube.names import gvk
from policygen.merge import strategic

_ADMIN: Final = UserInfo()
_TIERS: Final = {"team-a": "gold", "team-b": "lead", "team-c": "none"}
_SERVICE_ACCOUNT: Final = "system:serviceaccount:"
_SERVER_CHOSEN: Final = (
    "uid",
    "creationTimestamp",
    "resourceVersion",
    "generation",
    "managedFields",
    "selfLink",
)
_PANIC: Final = 599
_ATOMIC: Final = "may not mutate atomic arrays, maps or structs: "


def judge(case: Mapping[str, Any], contexts: Mapping[str, Any]) -> Agreement:
    """Run one scenario and compare every answer; those that differ are told."""
    try:
        cluster = _cluster(case["setup"], Path(str(contexts.get(DIRECTORY, "."))).parent / "crds")
    except OSError as error:
        return Agreement(False, False, True, "the definitions of the scenario", str(error))
    wanted, given = [], []
    outcome = message = True
    for number, (request, expected) in enumerate(zip(case["requests"], case["responses"], strict=True)):
        got = answer(cluster, request)
        deleted = request["method"] == "DELETE"  # what it answers then is not admission's doing
        same = _outcome(expected, deleted) == _outcome(got, deleted)
        same_text = same and _texts(expected) == _texts(got)
        if not same_text:
            wanted.append(f"[{number}] {_shown(expected, same)}")
            given.append(f"[{number}] {_shown(got, same)}")
        outcome, message = outcome and same, message and same_text
    return Agreement(outcome, message, True, "\n".join(wanted), "\n".join(given))


def answer(cluster: Cluster, request: Mapping[str, Any]) -> dict[str, Any]:
    """The server's answer in the shape of a recording."""
    try:
        sent = _request(cluster, request)
    except strategic.StrategicMergeError as error:
        return {"code": 400, "status": {"code": 400, "message": str(error), "reason": "BadRequest"}}
    found = server.admit(cluster, sent)
    if found.allowed and found.object is not None and request["method"] == "CREATE":
        taken = _already_there(cluster, sent, found.object)
        if taken:
            return taken
    out: dict[str, Any] = {"code": found.code}
    if found.warnings:
        out["warnings"] = [f"299 - {json.dumps(text, ensure_ascii=False)}" for text in found.warnings]
    if found.allowed:
        out["object"] = found.object
    else:
        out["status"] = {"code": found.code, "message": found.message, "reason": found.reason}
        if found.causes:
            out["status"]["causes"] = list(found.causes)
    return out


def _already_there(cluster: Cluster, sent: AdmissionRequest, created: Object) -> dict[str, Any] | None:
    """The refusal of a name that is taken, which comes after admission."""
    metadata = created.get("metadata") or {}
    name = metadata.get("name") or ""
    if sent.subresource or not cluster.get(sent.kind.kind, name, sent.namespace, sent.kind.group):
        return None
    resource = sent.resource
    qualified = f"{resource.resource}.{resource.group}" if resource.group else resource.resource
    says = f'{qualified} "{name}" already exists'
    return {"code": 409, "status": {"code": 409, "message": says, "reason": "AlreadyExists"}}


def _cluster(setup: Sequence[Mapping[str, Any]], definitions: Path) -> Cluster:
    """What is stored once the scenario's objects have been created."""
    stored = list(_always())
    cluster = Cluster.from_objects(stored)
    for entry in setup:
        if "$crd" in entry:
            stored.append(json.loads(gzip.decompress((definitions / entry["$crd"]).read_bytes())))
        else:
            created = _create(cluster, dict(entry))
            if created is None:
                continue
            stored = [_charged(obj, created, cluster) for obj in stored] + [created]
        cluster = Cluster.from_objects(stored)
    return cluster


def _always() -> Iterator[Object]:
    """What every scenario finds."""
    for name, tier in _TIERS.items():
        labels = {"kubernetes.io/metadata.name": name, "tier": tier}
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
    data = {"type": "object", "additionalProperties": {"type": "string"}}
    yield {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "gpudefaults.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "gpudefaults", "singular": "gpudefault", "kind": "GpuDefault"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": {"data": data}}},
                }
            ],
        },
    }


def _create(cluster: Cluster, obj: Object) -> Object | None:
    """A stored object of the scenario; policies that are already there do not touch it."""
    quiet = replace(cluster, objects={key: at for key, at in cluster.objects.items() if key[0] != _POLICIES})
    found = server.admit(quiet, _admission(cluster, "CREATE", obj))
    return found.object if found.allowed else None


_POLICIES: Final = "admissionregistration.k8s.io"


def _charged(obj: Object, created: Object, cluster: Cluster) -> Object:
    """A quota counts what is created after it."""
    if obj["kind"] != "ResourceQuota" or created["kind"] == "ResourceQuota":
        return obj
    request = _admission(cluster, "CREATE", created)
    return resource_quota.used_after(obj, Attributes(request, created), cluster)


def _request(cluster: Cluster, request: Mapping[str, Any]) -> AdmissionRequest:
    obj, method = dict(request["object"]), request["method"]
    user = _user(request.get("user") or "")
    subresource = request.get("subresource") or ""
    if method == "CREATE":
        return _admission(cluster, "CREATE", obj, subresource=subresource, user=user)
    metadata = obj.get("metadata") or {}
    kind = gvk(obj["apiVersion"], obj["kind"])
    old = cluster.get(kind.kind, metadata.get("name", ""), metadata.get("namespace", ""), kind.group)
    if method == "DELETE":
        return replace(_admission(cluster, "DELETE", obj, user=user), object=None, old_object=old)
    resource = cluster.resource(kind).resource
    if subresource == "scale":
        old, kind = _scale(old or obj), gvk("autoscaling/v1", "Scale")
    schema = cluster.schema(kind)
    if method == "PATCH" and schema is not None:
        obj = strategic.apply(schema, old or {}, request["body"])
    sent = _admission(cluster, "UPDATE", obj, subresource=subresource, user=user)
    return replace(sent, old_object=old, resource=resource)


def _scale(obj: Object) -> Object:
    """What the `scale` subresource shows of a workload."""
    metadata, spec = obj.get("metadata") or {}, obj.get("spec") or {}
    return {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {key: metadata[key] for key in ("name", "namespace") if key in metadata},
        "spec": {"replicas": spec["replicas"]} if spec.get("replicas") else {},
    }


def _admission(
    cluster: Cluster, operation: Operation, obj: Object, *, subresource: str = "", user: UserInfo = _ADMIN
) -> AdmissionRequest:
    kind = gvk(obj["apiVersion"], obj["kind"])
    metadata = obj.get("metadata") or {}
    return AdmissionRequest(
        operation=operation,
        kind=kind,
        resource=cluster.resource(kind).resource,
        name=metadata.get("name") or "",
        namespace=metadata.get("namespace") or "",
        subresource=subresource,
        object=obj,
        user_info=user,
        dry_run=True,
    )


def _user(name: str) -> UserInfo:
    if not name or name == _ADMIN.username:
        return _ADMIN
    if not name.startswith(_SERVICE_ACCOUNT):
        return UserInfo(name, ("system:authenticated",))
    namespace = name.split(":")[2]
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated")
    return UserInfo(name, groups)


def _outcome(response: Mapping[str, Any], code_alone: bool = False) -> tuple[int, Any]:
    obj = response.get("object")
    if code_alone or obj is None or response["code"] >= 300:
        return response["code"], None
    return response["code"], _comparable(obj)


def _comparable(obj: Mapping[str, Any]) -> Object:
    """An object without what the server chooses, and without the status of all but pods."""
    out = {key: value for key, value in obj.items() if key != "status" or obj.get("kind") == "Pod"}
    metadata = out.get("metadata") or {}
    out["metadata"] = {key: value for key, value in metadata.items() if key not in _SERVER_CHOSEN}
    return out


def _texts(response: Mapping[str, Any]) -> Any:
    """What a client reads besides the object. A server that panics says nothing."""
    if response["code"] == _PANIC:
        return ()
    status = response.get("status") or {}
    causes = [_sorted_paths(text) for text in status.get("causes") or ()]
    return (
        _sorted_paths(status.get("message", "")),
        status.get("reason"),
        causes,
        response.get("warnings") or [],
    )


def _sorted_paths(text: str) -> str:
    """The server lists atomic paths in no fixed order."""
    before, found, paths = text.partition(_ATOMIC)
    return before + found + ", ".join(sorted(paths.split(", "))) if found else text


def _shown(response: Mapping[str, Any], same_outcome: bool) -> str:
    """What of an answer matters for how it differs."""
    if same_outcome or "status" in response:
        return json.dumps([response["code"], *_texts(response)], ensure_ascii=False)
    return json.dumps([response["code"], _comparable(response.get("object") or {})], ensure_ascii=False)
