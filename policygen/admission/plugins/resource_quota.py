"""ResourceQuota: what a namespace may use in sum.

Apiserver `pkg/admission/plugin/resourcequota/controller.go`. A quota's `status.used` says what is used
already, nothing where it does not say; `status.hard` goes before `spec.hard` as on the server.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from policygen.admission import pod_resources
from policygen.admission.attributes import Attributes
from policygen.admission.cluster import Cluster
from policygen.admission.plugins import quota_usage, refusal
from policygen.admission.pod_resources import Quantities
from policygen.admission.request import Object
from policygen.kube.quantity import Quantity

_ZERO: Final = Quantity.of(0)
_ON_UPDATE: Final = frozenset(
    {("", "persistentvolumeclaims"), ("", "services"), ("resource.k8s.io", "resourceclaims")}
)


def validate(attributes: Attributes, cluster: Cluster) -> None:
    """Refuse what leaves open what a quota demands, or would exceed one."""
    obj, resource = attributes.object, attributes.resource
    if obj is None or not attributes.namespace or not _handles(attributes):
        return
    delta: Quantities | None = None
    for quota, hard, concerned in _matching(attributes, cluster, obj):
        name = quota["metadata"]["name"]
        if resource.resource == "pods" and not resource.group:
            open_ones = quota_usage.unspecified(obj, concerned)
            if open_ones:
                raise refusal.forbidden(attributes, f"failed quota: {name}: must specify {open_ones}")
        if delta is None:
            delta = _delta(attributes, cluster, obj)
        _check(attributes, name, hard, quota, delta)


def used_after(quota: Object, attributes: Attributes, cluster: Cluster) -> Object:
    """The quota with its `status.used` raised by an object that was let in."""
    obj = attributes.object
    if obj is None or not _handles(attributes):
        return quota
    matching = [found for found, _, _ in _matching(attributes, cluster, obj)]
    if not any(found is quota for found in matching):
        return quota
    hard = _hard(quota)
    used = pod_resources.parse((quota.get("status") or {}).get("used"))
    pod_resources.add_into(used, {k: v for k, v in _delta(attributes, cluster, obj).items() if k in hard})
    status = {**(quota.get("status") or {}), "used": {name: str(value) for name, value in used.items()}}
    return {**quota, "status": status}


def _handles(attributes: Attributes) -> bool:
    resource, subresource = attributes.resource, attributes.subresource
    key = (resource.group, resource.resource)
    if subresource:
        return key == ("", "pods") and subresource == "resize" and attributes.operation == "UPDATE"
    return attributes.operation == "CREATE" or (attributes.operation == "UPDATE" and key in _ON_UPDATE)


def _hard(quota: Object) -> Mapping[str, Any]:
    stated = (quota.get("status") or {}).get("hard")
    found: Mapping[str, Any] = stated or (quota.get("spec") or {}).get("hard") or {}
    return found


def _matching(
    attributes: Attributes, cluster: Cluster, obj: Object
) -> Iterator[tuple[Object, Mapping[str, Any], list[str]]]:
    """Quotas of the namespace that count this object: they name something it uses, in scopes it is in."""
    is_pod = attributes.resource.resource == "pods" and not attributes.resource.group
    for quota in cluster.list("ResourceQuota", attributes.namespace):
        hard = _hard(quota)
        concerned = quota_usage.concerned(attributes.resource, hard, cluster)
        if not concerned:
            continue
        scopes = list(_scopes(quota))
        if is_pod:
            fits = all(_pod_in_scope(obj, scope) for scope in scopes)
        else:
            fits = all(_volume_in_scope(attributes, obj, scope) for scope in scopes)
        if fits:
            yield quota, hard, concerned


def _scopes(quota: Object) -> Iterator[Object]:
    spec = quota.get("spec") or {}
    for scope in spec.get("scopes") or ():
        yield {"scopeName": scope, "operator": "Exists"}
    yield from (spec.get("scopeSelector") or {}).get("matchExpressions") or ()


def _pod_in_scope(pod: Object, scope: Object) -> bool:
    spec = pod.get("spec") or {}
    match scope.get("scopeName"):
        case "Terminating":
            return spec.get("activeDeadlineSeconds") is not None
        case "NotTerminating":
            return spec.get("activeDeadlineSeconds") is None
        case "BestEffort":
            return pod_resources.is_best_effort(pod)
        case "NotBestEffort":
            return not pod_resources.is_best_effort(pod)
        case "PriorityClass":
            return _selects(scope, [spec.get("priorityClassName") or ""])
        case "CrossNamespacePodAffinity":
            return _crosses_namespaces(spec.get("affinity") or {})
        case _:
            return False


def _volume_in_scope(attributes: Attributes, obj: Object, scope: Object) -> bool:
    if attributes.resource.resource != "persistentvolumeclaims" or attributes.resource.group:
        return False
    if scope.get("scopeName") != "VolumeAttributesClass":
        return False
    return _selects(scope, [(obj.get("spec") or {}).get("volumeAttributesClassName") or ""])


def _selects(scope: Object, names: list[str]) -> bool:
    values = scope.get("values") or ()
    match scope.get("operator"):
        case "Exists":
            return any(names)
        case "DoesNotExist":
            return not any(names)
        case "In":
            return any(name and name in values for name in names)
        case "NotIn":
            return any(name not in values for name in names)
        case _:
            return False


def _crosses_namespaces(affinity: Object) -> bool:
    for kind in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(kind) or {}
        required = terms.get("requiredDuringSchedulingIgnoredDuringExecution") or []
        preferred = terms.get("preferredDuringSchedulingIgnoredDuringExecution") or []
        for term in [*required, *((item.get("podAffinityTerm") or {}) for item in preferred)]:
            if term.get("namespaces") or term.get("namespaceSelector") is not None:
                return True
    return False


def _delta(attributes: Attributes, cluster: Cluster, obj: Object) -> Quantities:
    """What the request adds to the usage; on UPDATE what is new in it, never less than nothing."""
    usage = quota_usage.usage(attributes.resource, obj, cluster)
    if attributes.operation == "UPDATE" and attributes.old_object is not None:
        before = quota_usage.usage(attributes.resource, attributes.old_object, cluster)
        usage = {name: value - before[name] if name in before else value for name, value in usage.items()}
    return {name: value for name, value in usage.items() if value.sign > 0}


def _check(
    attributes: Attributes, name: str, hard: Mapping[str, Any], quota: Object, delta: Mapping[str, Quantity]
) -> None:
    limits = pod_resources.parse(hard)
    used = pod_resources.parse((quota.get("status") or {}).get("used"))
    exceeded = [
        key for key in sorted(delta) if key in limits and used.get(key, _ZERO) + delta[key] > limits[key]
    ]
    if not exceeded:
        return
    columns = {"requested": delta, "used": {key: used.get(key, _ZERO) for key in exceeded}, "limited": limits}
    told = ", ".join(
        f"{word}: {','.join(f'{key}={values[key]}' for key in exceeded)}" for word, values in columns.items()
    )
    raise refusal.forbidden(attributes, f"exceeded quota: {name}, {told}")
