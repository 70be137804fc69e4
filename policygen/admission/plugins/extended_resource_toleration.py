"""ExtendedResourceToleration: pods that ask for a device tolerate the taint named like it. An option.

Kubernetes `plugin/pkg/admission/extendedresourcetoleration/admission.go`.
"""

from __future__ import annotations

from policygen.admission.attributes import Attributes
from policygen.admission.cluster import Cluster
from policygen.admission.plugins import change
from policygen.admission.request import Object
from policygen.admission.resource_names import is_extended


def admit(attributes: Attributes, _cluster: Cluster) -> Object | None:
    """Add `<resource>:NoSchedule` for each extended resource that a container requests."""
    resource, pod = attributes.resource, attributes.object
    if attributes.subresource or pod is None or not change.is_pod(resource.group, resource.resource):
        return None
    if attributes.operation not in ("CREATE", "UPDATE"):
        return None
    spec = pod.get("spec") or {}
    containers = [*(spec.get("containers") or []), *(spec.get("initContainers") or [])]
    wanted = {
        name
        for container in containers
        for name in (container.get("resources") or {}).get("requests") or {}
        if is_extended(name)
    }
    before = spec.get("tolerations") or []
    missing = [
        toleration
        for toleration in (
            {"key": name, "operator": "Exists", "effect": "NoSchedule"} for name in sorted(wanted)
        )
        if toleration not in before
    ]
    if not missing:
        return None
    replaced = [item for item in before if not any(_matches(item, new) for new in missing)]
    return change.with_spec(pod, tolerations=[*replaced, *missing])


def _matches(one: Object, other: Object) -> bool:
    """Whether two tolerations are the same but for their seconds."""
    return all(
        (one.get(name) or "") == (other.get(name) or "") for name in ("key", "effect", "operator", "value")
    )
