"""Priority: a pod's class becomes its number and preemption policy.

Kubernetes `plugin/pkg/admission/priority/admission.go`.
"""

from __future__ import annotations

from typing import Final

from policygen.admission.attributes import Attributes
from policygen.admission.cluster import Cluster
from policygen.admission.plugins import change, refusal
from policygen.admission.request import Object

GROUP: Final = "scheduling.k8s.io"
LOWER: Final = "PreemptLowerPriority"
_SYSTEM: Final[dict[str, Object]] = {
    name: {
        "apiVersion": f"{GROUP}/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        "preemptionPolicy": LOWER,
    }
    for name, value in (("system-cluster-critical", 2_000_000_000), ("system-node-critical", 2_000_001_000))
}
"""The classes that every server makes when it starts."""


def admit(attributes: Attributes, cluster: Cluster) -> Object | None:
    """Write `priority` and `preemptionPolicy` on CREATE, keep the stored ones on UPDATE."""
    resource, pod = attributes.resource, attributes.object
    if attributes.subresource or pod is None or not change.is_pod(resource.group, resource.resource):
        return None
    if attributes.operation == "UPDATE":
        return _keep(pod, attributes.old_object or {})
    return _resolve(attributes, cluster, pod) if attributes.operation == "CREATE" else None


def validate(attributes: Attributes, cluster: Cluster) -> None:
    """Refuse a second global default among the classes."""
    resource, wanted = attributes.resource, attributes.object
    if attributes.subresource or resource.group != GROUP or resource.resource != "priorityclasses":
        return
    if wanted is None or not wanted.get("globalDefault"):
        return
    current = _default_class(cluster)
    if current is None:
        return
    name = current["metadata"]["name"]
    if attributes.operation == "CREATE" or (attributes.operation == "UPDATE" and name != attributes.name):
        says = f"PriorityClass {name} is already marked as default. Only one default can exist"
        raise refusal.forbidden(attributes, says)


def _keep(pod: Object, old: Object) -> Object | None:
    spec, before = pod.get("spec") or {}, old.get("spec") or {}
    kept = {
        field: before[field]
        for field in ("priority", "preemptionPolicy")
        if spec.get(field) is None and before.get(field) is not None
    }
    return change.with_spec(pod, **kept) if kept else None


def _resolve(attributes: Attributes, cluster: Cluster, pod: Object) -> Object | None:
    spec = pod.get("spec") or {}
    name = spec.get("priorityClassName") or ""
    if name:
        chosen = cluster.get("PriorityClass", name, group=GROUP) or _SYSTEM.get(name)
        if chosen is None:
            raise refusal.forbidden(attributes, f"no PriorityClass with name {name} was found")
    else:
        chosen = _default_class(cluster)
        if chosen is not None:
            name = chosen["metadata"]["name"]
    priority, policy = (0, LOWER) if chosen is None else _meaning(chosen)
    given, given_policy = spec.get("priority"), spec.get("preemptionPolicy")
    if given is not None and given != priority:
        raise refusal.forbidden(attributes, _wrong("integer value of priority", given, priority))
    if given_policy is not None and given_policy != policy:
        raise refusal.forbidden(attributes, _wrong("string value of PreemptionPolicy", given_policy, policy))
    if given is not None and given_policy is not None and name == (spec.get("priorityClassName") or ""):
        return None
    resolved = {"priority": priority, "preemptionPolicy": policy}
    return change.with_spec(pod, **({"priorityClassName": name} if name else {}), **resolved)


def _wrong(what: str, given: object, computed: object) -> str:
    return (
        f"the {what} ({given}) must not be provided in pod spec; priority admission controller computed "
        f"{computed} from the given PriorityClass name"
    )


def _meaning(chosen: Object) -> tuple[int, str]:
    return chosen.get("value") or 0, chosen.get("preemptionPolicy") or LOWER


def _default_class(cluster: Cluster) -> Object | None:
    """The global default; of several, the one with the lowest value."""
    defaults = [item for item in cluster.list("PriorityClass", group=GROUP) if item.get("globalDefault")]
    return min(defaults, key=lambda item: item.get("value") or 0, default=None)
