"""Rules of PriorityClass and RuntimeClass (`pkg/apis/{scheduling,node}/validation/validation.go`)."""

from __future__ import annotations

from typing import Final

from policygen.admission.validation import content, internal, metadata, resources, scheduling
from policygen.admission.validation.field import FieldErrors, Object

HIGHEST: Final = 1_000_000_000
_SYSTEM: Final = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
_POLICIES: Final = ("PreemptLowerPriority", "Never")


def priority(found: FieldErrors, obj: Object) -> None:
    """`ValidatePriorityClass`."""
    meta = obj.get("metadata") or {}
    metadata.validate(found, meta, namespaced=False)
    name, value = meta.get("name") or "", obj.get("value") or 0
    if name.startswith("system-"):
        wrong = _not_system(name, value, is_default=bool(obj.get("globalDefault")))
        if wrong:
            says = "priority class names with 'system-' prefix are reserved for system use only. error: "
            found.forbidden("metadata.name", says + wrong)
    elif value > HIGHEST:
        says = f"maximum allowed value of a user defined priority is {HIGHEST}"
        found.forbidden("value", says)
    policy = obj.get("preemptionPolicy")
    if policy == "":
        found.required("preemptionPolicy")
    elif policy is not None and policy not in _POLICIES:
        found.unsupported("preemptionPolicy", policy, _POLICIES)


def priority_update(found: FieldErrors, obj: Object, old: Object) -> None:
    """`ValidatePriorityClassUpdate`: value and preemption policy stay."""
    metadata.validate_update(found, obj.get("metadata") or {}, old.get("metadata") or {})
    if (obj.get("value") or 0) != (old.get("value") or 0):
        found.forbidden("value", "may not be changed in an update.")
    if obj.get("preemptionPolicy") != old.get("preemptionPolicy"):
        found.invalid("preemptionPolicy", obj.get("preemptionPolicy"), metadata.IMMUTABLE)


def _not_system(name: str, value: int, *, is_default: bool) -> str:
    known = _SYSTEM.get(name)
    if known is None:
        return f"{name} is not a known system priority class"
    if value != known:
        return f"value of {name} PriorityClass must be {known}"
    return f"globalDefault of {name} PriorityClass must be false" if is_default else ""


def runtime(found: FieldErrors, obj: Object) -> None:
    """`ValidateRuntimeClass`."""
    metadata.validate(found, obj.get("metadata") or {}, namespaced=False)
    handler = obj.get("handler") or ""
    found.messages("handler", handler, content.label(handler))
    fixed = (obj.get("overhead") or {}).get("podFixed")
    if fixed:
        resources.requirements(found, {"limits": fixed}, "overhead")
    placed = obj.get("scheduling")
    if placed:
        metadata.labels(found, placed.get("nodeSelector") or {}, "scheduling.nodeSelector")
        tolerations = placed.get("tolerations") or []
        scheduling.tolerations(found, tolerations, "scheduling.tolerations")
        for index, toleration in enumerate(tolerations):
            if toleration in tolerations[:index]:
                shown = internal.shown(toleration, internal.TOLERATION)
                found.duplicate(f"scheduling.tolerations[{index}]", shown)


def runtime_update(found: FieldErrors, obj: Object, old: Object) -> None:
    """`ValidateRuntimeClassUpdate`: the handler stays."""
    metadata.validate_update(found, obj.get("metadata") or {}, old.get("metadata") or {})
    if (obj.get("handler") or "") != (old.get("handler") or ""):
        found.invalid("handler", obj.get("handler") or "", metadata.IMMUTABLE)
