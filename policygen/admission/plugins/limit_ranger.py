"""LimitRanger: defaults of a namespace for containers, and its bounds for containers, pods and volume claims.

Kubernetes `plugin/pkg/admission/limitranger/admission.go`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final

from policygen.admission import pod_resources
from policygen.admission.attributes import Attributes
from policygen.admission.cluster import Cluster
from policygen.admission.plugins import change, refusal
from policygen.admission.pod_resources import Quantities
from policygen.admission.request import Object
from policygen.admission.validation.field import aggregate
from policygen.kube import defaults
from policygen.kube.quantity import Quantity

ANNOTATION: Final = "kubernetes.io/limit-ranger"
_FIELDS: Final = (("limits", "default"), ("requests", "defaultRequest"))


def admit(attributes: Attributes, cluster: Cluster) -> Object | None:
    """Fill in default requests and limits of containers, and note them in an annotation."""
    if not _applies(attributes) or attributes.kind.kind != "Pod":
        return None
    before = pod = attributes.object or {}
    for limits in _limits(attributes, cluster):
        pod = _with_defaults(pod, limits)
    return None if pod is before else pod


def validate(attributes: Attributes, cluster: Cluster) -> None:
    """Refuse what is outside the bounds; all faults of one LimitRange are told together."""
    if not _applies(attributes) or attributes.object is None:
        return
    for limits in _limits(attributes, cluster):
        if attributes.kind.kind == "Pod":
            faults = list(_pod_faults(attributes.object, limits))
        else:
            faults = list(_volume_claim_faults(attributes.object, limits))
        if faults:
            raise refusal.forbidden(attributes, aggregate(faults))


def _applies(attributes: Attributes) -> bool:
    if attributes.kind.group or attributes.kind.kind not in ("Pod", "PersistentVolumeClaim"):
        return False
    if attributes.subresource:
        resized = attributes.kind.kind == "Pod" and attributes.subresource == "resize"
        return resized and attributes.operation == "UPDATE"
    if attributes.operation == "UPDATE":
        return attributes.kind.kind != "Pod"
    return attributes.operation == "CREATE"


def _limits(attributes: Attributes, cluster: Cluster) -> Iterator[list[Object]]:
    """The limits of each LimitRange as stored: a default follows from a maximum, a request from it."""
    for limit_range in cluster.list("LimitRange", attributes.namespace):
        stored = defaults.default_object(limit_range, cluster.version)
        yield (stored.get("spec") or {}).get("limits") or []


def _with_defaults(pod: Object, limits: list[Object]) -> Object:
    given: dict[str, dict[str, Any]] = {"limits": {}, "requests": {}}
    for limit in limits:
        if limit.get("type") == "Container":
            for field, source in _FIELDS:
                given[field].update(limit.get(source) or {})
    if not given["limits"] and not given["requests"]:
        return pod
    notes: list[str] = []
    for field, noun in (("containers", "container"), ("initContainers", "init container")):
        pod = change.each_container(pod, field, partial(_fill, given=given, noun=noun, notes=notes))
    if not notes:
        return pod
    metadata = pod.get("metadata") or {}
    note = "LimitRanger plugin set: " + "; ".join(notes)
    annotations = {**(metadata.get("annotations") or {}), ANNOTATION: note}
    return {**pod, "metadata": {**metadata, "annotations": annotations}}


def _fill(container: Object, given: Mapping[str, Mapping[str, Any]], noun: str, notes: list[str]) -> Object:
    resources = container.get("resources") or {}
    filled = dict(resources)
    for field, singular in (("requests", "request"), ("limits", "limit")):
        stated = resources.get(field) or {}
        missing = sorted(name for name in given[field] if name not in stated)
        if missing:
            filled[field] = {**stated, **{name: given[field][name] for name in missing}}
            notes.append(f"{', '.join(missing)} {singular} for {noun} {container.get('name', '')}")
    return {**container, "resources": filled} if filled != resources else container


def _pod_faults(pod: Object, limits: Iterable[Object]) -> Iterator[str]:
    spec = pod.get("spec") or {}
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    for limit in limits:
        if limit.get("type") == "Container":
            for container in containers:
                requests = pod_resources.of_container(container, "requests")
                yield from _faults(limit, requests, pod_resources.of_container(container, "limits"))
        elif limit.get("type") == "Pod":
            requests = pod_resources.pod_total(pod, "requests")
            yield from _faults(limit, requests, pod_resources.pod_total(pod, "limits"))


def _volume_claim_faults(claim: Object, limits: Iterable[Object]) -> Iterator[str]:
    resources = (claim.get("spec") or {}).get("resources") or {}
    requests = pod_resources.parse(resources.get("requests"))
    for limit in limits:
        if limit.get("type") != "PersistentVolumeClaim":
            continue
        for name, bound in _bounds(limit, "min"):
            yield from _below(limit["type"], name, bound, requests, {})
        for name, bound in _bounds(limit, "max"):
            start = f"maximum {name} usage per {limit['type']} is {bound}"
            if name not in requests:
                yield f"{start}.  No request is specified"
            elif requests[name] > bound:
                yield f"{start}, but request is {requests[name]}"


def _faults(limit: Object, requests: Quantities, limits: Quantities) -> Iterator[str]:
    kind = limit["type"]
    for name, bound in _bounds(limit, "min"):
        yield from _below(kind, name, bound, requests, limits)
    for name, bound in _bounds(limit, "max"):
        yield from _above(kind, name, bound, requests, limits)
    for name, bound in _bounds(limit, "maxLimitRequestRatio"):
        yield from _ratio(kind, name, bound, requests, limits)


def _bounds(limit: Object, field: str) -> Iterator[tuple[str, Quantity]]:
    for name, value in sorted((limit.get(field) or {}).items()):
        yield name, Quantity.parse(str(value))


def _below(kind: str, name: str, bound: Quantity, requests: Quantities, limits: Quantities) -> Iterator[str]:
    start = f"minimum {name} usage per {kind} is {bound}"
    if name not in requests:
        yield f"{start}.  No request is specified"
    elif requests[name] < bound:
        yield f"{start}, but request is {requests[name]}"
    elif name in limits and limits[name] < bound:
        yield f"{start}, but limit is {limits[name]}"


def _above(kind: str, name: str, bound: Quantity, requests: Quantities, limits: Quantities) -> Iterator[str]:
    start = f"maximum {name} usage per {kind} is {bound}"
    if name not in limits:
        yield f"{start}.  No limit is specified"
    elif limits[name] > bound:
        yield f"{start}, but limit is {limits[name]}"
    elif name in requests and requests[name] > bound:
        yield f"{start}, but request is {requests[name]}"


def _ratio(kind: str, name: str, bound: Quantity, requests: Quantities, limits: Quantities) -> Iterator[str]:
    start = f"{name} max limit to request ratio per {kind} is {bound}"
    request, limit = requests.get(name), limits.get(name)
    if not request:
        yield f"{start}, but no request is specified or request is 0"
    elif not limit:
        yield f"{start}, but no limit is specified or limit is 0"
    else:
        observed = limit.milli_value() / request.milli_value()
        if observed * 1000 > bound.milli_value():
            yield f"{start}, but provided ratio is {observed:.6f}"
