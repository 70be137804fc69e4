"""RuntimeClass: a class's overhead and scheduling are written into the pods that name it.

Kubernetes `plugin/pkg/admission/runtimeclass/admission.go`, `pkg/util/tolerations/tolerations.go`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from policygen.admission.attributes import Attributes
from policygen.admission.cluster import Cluster
from policygen.admission.plugins import change, refusal
from policygen.admission.request import Object
from policygen.kube.quantity import Quantity

GROUP: Final = "node.k8s.io"


def admit(attributes: Attributes, cluster: Cluster) -> Object | None:
    """Set `overhead`, and merge `nodeSelector` and `tolerations`, on CREATE of a pod with a class."""
    found = _class_of(attributes, cluster)
    if found is None:
        return None
    spec = (attributes.object or {}).get("spec") or {}
    changes = _overhead(attributes, spec, found) | _scheduling(
        attributes, spec, found.get("scheduling") or {}
    )
    return change.with_spec(attributes.object or {}, **changes) if changes else None


def validate(attributes: Attributes, cluster: Cluster) -> None:
    """Refuse an overhead that is not the class's."""
    if not _applies(attributes):
        return
    found = _class_of(attributes, cluster) or {}
    fixed = (found.get("overhead") or {}).get("podFixed")
    given = ((attributes.object or {}).get("spec") or {}).get("overhead")
    if found.get("overhead") is not None:
        if not _same(fixed or {}, given or {}):
            says = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
            raise refusal.forbidden(attributes, says)
    elif given is not None:
        says = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
        raise refusal.forbidden(attributes, says)


def _applies(attributes: Attributes) -> bool:
    resource = attributes.resource
    return (
        attributes.operation == "CREATE"
        and not attributes.subresource
        and attributes.object is not None
        and change.is_pod(resource.group, resource.resource)
    )


def _class_of(attributes: Attributes, cluster: Cluster) -> Object | None:
    if not _applies(attributes):
        return None
    name = ((attributes.object or {}).get("spec") or {}).get("runtimeClassName")
    if name is None:
        return None
    found = cluster.get("RuntimeClass", name, group=GROUP)
    if found is None:
        raise refusal.forbidden(attributes, f'pod rejected: RuntimeClass "{name}" not found')
    return found


def _overhead(attributes: Attributes, spec: Mapping[str, Any], found: Object) -> dict[str, Any]:
    fixed = (found.get("overhead") or {}).get("podFixed") or {}
    if not fixed:
        return {}
    given = spec.get("overhead")
    if given is None:
        return {"overhead": dict(fixed)}
    if not _same(fixed, given):
        says = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
        raise refusal.forbidden(attributes, says)
    return {}


def _scheduling(attributes: Attributes, spec: Mapping[str, Any], scheduling: Object) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    wanted: Mapping[str, str] = scheduling.get("nodeSelector") or {}
    selector: Mapping[str, str] = spec.get("nodeSelector") or {}
    for key, value in wanted.items():
        if key in selector and selector[key] != value:
            says = (
                f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; "
                f"pod.spec.nodeSelector[{key}] = {selector[key]}"
            )
            raise refusal.forbidden(attributes, says)
    if any(key not in selector for key in wanted):
        changes["nodeSelector"] = {**selector, **wanted}
    tolerations = spec.get("tolerations") or []
    merged = merge_tolerations(tolerations, scheduling.get("tolerations") or [])
    if scheduling and merged != tolerations:
        changes["tolerations"] = merged
    return changes


def merge_tolerations(first: list[Object], second: list[Object]) -> list[Object]:
    """Both lists without the tolerations that another one includes; of equal ones the first stays."""
    every, merged = [*first, *second], list[Object]()
    for index, one in enumerate(every):
        covered = any(_covers(other, one) for other in merged)
        later = any(other != one and _covers(other, one) for other in every[index + 1 :])
        if not covered and not later:
            merged.append(one)
    return merged


def _covers(wide: Object, narrow: Object) -> bool:
    if wide == narrow:
        return True
    key, operator = wide.get("key") or "", wide.get("operator") or ""
    if (narrow.get("key") or "") != key and not (not key and operator == "Exists"):
        return False
    effect = wide.get("effect") or ""
    if effect and (narrow.get("effect") or "") != effect:
        return False
    limit, seconds = wide.get("tolerationSeconds"), narrow.get("tolerationSeconds")
    if effect == "NoExecute" and limit is not None and (seconds is None or seconds > limit):
        return False
    if operator in ("", "Equal"):
        same_value = (narrow.get("value") or "") == (wide.get("value") or "")
        return narrow.get("operator") == "Equal" and same_value
    return operator == "Exists"


def _same(left: Mapping[str, Any], right: Mapping[str, Any]) -> bool:
    return left.keys() == right.keys() and all(
        Quantity.parse(str(left[name])) == Quantity.parse(str(right[name])) for name in left
    )
