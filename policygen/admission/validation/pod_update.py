"""What an update may change in a pod (Kubernetes `ValidatePodUpdate`, `ValidatePodResize` and kin)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from policygen.admission import pod_resources
from policygen.admission.validation import content, metadata, pods, scheduling
from policygen.admission.validation.field import FieldErrors, Object, go_json
from policygen.kube.strategy import qos_class

_MAY_CHANGE: Final = ",".join(
    (
        "`spec.containers[*].image`",
        "`spec.initContainers[*].image`",
        "`spec.activeDeadlineSeconds`",
        "`spec.tolerations` (only additions to existing tolerations)",
        "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
    )
)
_FREE: Final = frozenset({"activeDeadlineSeconds", "tolerations", "schedulingGates"})
_INT32: Final = 2**31 - 1


def update(found: FieldErrors, pod: Object, old: Object) -> None:
    """`ValidatePodUpdate`."""
    spec, before = pod.get("spec") or {}, old.get("spec") or {}
    _metadata(found, pod, old)
    for field in ("containers", "initContainers"):
        if not _same_containers(found, spec.get(field) or [], before.get(field) or [], f"spec.{field}"):
            return
    if not _deadline(found, spec.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds")):
        return
    _tolerations(found, spec.get("tolerations") or [], before.get("tolerations") or [])
    _gates(found, spec.get("schedulingGates") or [], before.get("schedulingGates") or [])
    if spec == before:
        return
    gated = bool(before.get("schedulingGates"))
    if gated:
        _gated(found, spec, before)
    after, earlier = (_frozen(item, gated=gated) for item in (spec, before))
    grace = before.get("terminationGracePeriodSeconds")
    if grace is not None and grace < 0 and spec.get("terminationGracePeriodSeconds") == 1:
        after["terminationGracePeriodSeconds"] = grace
    if after != earlier:
        changes = "\n".join(_differences(earlier, after, ""))
        says = f"pod updates may not change fields other than {_MAY_CHANGE}\n{changes}"
        found.forbidden("spec", says)


def update_ephemeral(found: FieldErrors, pod: Object, old: Object) -> None:
    """`ValidatePodEphemeralContainersUpdate`."""
    _metadata(found, pod, old)
    after = {item.get("name"): item for item in (pod.get("spec") or {}).get("ephemeralContainers") or ()}
    for item in (old.get("spec") or {}).get("ephemeralContainers") or ():
        name = item.get("name")
        if name not in after:
            says = f'existing ephemeral containers "{name}" may not be removed\n'
            found.forbidden("spec.ephemeralContainers", says)
        elif after[name] != item:
            changes = "\n".join(_differences(item, after[name], ""))
            says = f'existing ephemeral containers "{name}" may not be changed\n{changes}'
            found.forbidden("spec.ephemeralContainers", says)


def update_resize(found: FieldErrors, pod: Object, old: Object) -> None:
    """`ValidatePodResize`: only CPU and memory of containers and sidecars, within the QoS class."""
    spec, before = pod.get("spec") or {}, old.get("spec") or {}
    _metadata(found, pod, old)
    if qos_class(pod) != qos_class(old):
        says = "Pod QOS Class may not change as a result of resizing"
        found.invalid("spec", (pod.get("status") or {}).get("qosClass") or "", says)
    for field in ("initContainers", "containers"):
        for index, (new, earlier) in enumerate(
            zip(spec.get(field) or (), before.get(field) or (), strict=False)
        ):
            if field == "containers" or pod_resources.is_sidecar(earlier):
                _resized(found, new, earlier, f"spec.{field}[{index}].resources")
    for new, earlier in zip(spec.get("containers") or (), before.get("containers") or (), strict=False):
        if _without_compute(new) != _without_compute(earlier):
            found.forbidden("spec", "only cpu and memory resources are mutable")
    for new, earlier in zip(
        spec.get("initContainers") or (), before.get("initContainers") or (), strict=False
    ):
        if pod_resources.is_sidecar(new):
            if _without_compute(new) != _without_compute(earlier):
                says = "only cpu and memory resources for sidecar containers are mutable"
                found.forbidden("spec", says)
        elif new != earlier:
            found.forbidden("spec", "resources for non-sidecar init containers are immutable")
    containers = ("containers", "initContainers")
    rest, earlier_rest = (
        {key: value for key, value in item.items() if key not in containers} for item in (spec, before)
    )
    if not found and rest != earlier_rest:
        found.forbidden("spec", "only cpu and memory resources are mutable")


def _metadata(found: FieldErrors, pod: Object, old: Object) -> None:
    metadata.validate_update(found, pod.get("metadata") or {}, old.get("metadata") or {})
    pods.metadata_and_spec(found, pod.get("metadata") or {}, pod.get("spec") or {})
    notes = (pod.get("metadata") or {}).get("annotations") or {}
    earlier = (old.get("metadata") or {}).get("annotations") or {}
    if notes.get(pods.MIRROR) != earlier.get(pods.MIRROR):
        verb = "remove or update" if pods.MIRROR in earlier else "add"
        found.forbidden(f"metadata.annotations[{pods.MIRROR}]", f"may not {verb} mirror pod annotation")


def _same_containers(found: FieldErrors, new: list[Object], old: list[Object], path: str) -> bool:
    if len(new) != len(old):
        found.forbidden(path, "pod updates may not add or remove containers")
        return False
    for index, container in enumerate(new):
        image = container.get("image") or ""
        if not image:
            found.required(f"{path}[{index}].image")
        if image.strip() != image:
            says = "must not have leading or trailing whitespace"
            found.invalid(f"{path}[{index}].image", image, says)
    return True


def _deadline(found: FieldErrors, new: int | None, old: int | None) -> bool:
    path = "spec.activeDeadlineSeconds"
    if new is None:
        if old is not None:
            found.invalid(path, None, "must not update from a positive integer to nil value")
        return True
    if not 0 <= new <= _INT32:
        found.invalid(path, new, content.in_range(0, _INT32))
        return False
    if old is not None and old < new:
        found.invalid(path, new, "must be less than or equal to previous value")
        return False
    return True


def _tolerations(found: FieldErrors, new: list[Object], old: list[Object]) -> None:
    """`validateOnlyAddedTolerations`."""

    def shape(toleration: Object) -> Object:
        return {key: value for key, value in toleration.items() if key != "tolerationSeconds"}

    shapes = [shape(item) for item in new]
    if any(shape(item) not in shapes for item in old):
        says = "existing toleration can not be modified except its tolerationSeconds"
        found.forbidden("spec.tolerations", says)
        return
    scheduling.tolerations(found, new, "spec.tolerations")


def _gates(found: FieldErrors, new: list[Object], old: list[Object]) -> None:
    known = {gate.get("name") for gate in old}
    for index, gate in enumerate(new):
        if gate.get("name") not in known:
            says = f"only deletion is allowed, but found new scheduling gate '{gate.get('name')}'"
            found.forbidden(f"spec.schedulingGates[{index}].name", says)


def _gated(found: FieldErrors, spec: Object, before: Object) -> None:
    """A pod behind a gate may still be narrowed: more node selectors, more required node terms."""
    selector, earlier = spec.get("nodeSelector") or {}, before.get("nodeSelector") or {}
    if any(selector.get(key) != value for key, value in earlier.items()):
        says = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        found.invalid("spec.nodeSelector", selector, says)
    path = "requiredDuringSchedulingIgnoredDuringExecution"
    old_terms = _node_terms(before, path)
    terms = _node_terms(spec, path)
    at = f"spec.affinity.nodeAffinity.{path}.nodeSelectorTerms"
    if old_terms is None or terms == old_terms:
        return
    if terms is None or len(terms) != len(old_terms):
        says = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        found.invalid(at, terms, says)
        return
    for index, (new, old) in enumerate(zip(terms, old_terms, strict=True)):
        for field in ("matchExpressions", "matchFields"):
            had, has = old.get(field) or [], new.get(field) or []
            if has[: len(had)] != had:
                says = f"only additions are allowed (no mutations or deletions) to {field}"
                found.invalid(f"{at}[{index}]", new, says)


def _node_terms(spec: Object, field: str) -> list[Object] | None:
    required = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(field)
    return None if required is None else (required.get("nodeSelectorTerms") or [])


def _frozen(spec: Object, *, gated: bool) -> Object:
    """The part of a spec that no update may change."""
    kept = {key: value for key, value in spec.items() if key not in _FREE and value not in (None, [], {})}
    for field in ("containers", "initContainers"):
        if field in kept:
            kept[field] = [{k: v for k, v in item.items() if k != "image"} for item in kept[field]]
    if gated:
        kept.pop("nodeSelector", None)
        affinity = {k: v for k, v in (kept.get("affinity") or {}).items() if k != "nodeAffinity"}
        kept.pop("affinity", None)
        if affinity:
            kept["affinity"] = affinity
    return kept


def _resized(found: FieldErrors, new: Object, old: Object, path: str) -> None:
    resources, earlier = new.get("resources") or {}, old.get("resources") or {}
    for field in ("requests", "limits"):
        if set(earlier.get(field) or ()) - set(resources.get(field) or ()):
            found.forbidden(f"{path}.{field}", f"resource {field} cannot be removed")


def _without_compute(container: Object) -> Object:
    resources = dict(container.get("resources") or {})
    for field in ("requests", "limits"):
        kept = {k: v for k, v in (resources.get(field) or {}).items() if k not in ("cpu", "memory")}
        resources.pop(field, None)
        if kept:
            resources[field] = kept
    return {**container, "resources": resources, "resizePolicy": None}


def _differences(old: Any, new: Any, path: str) -> Iterator[str]:
    """One line per field that differs; the server prints its structs here."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted({*old, *new}):
            yield from _differences(old.get(key), new.get(key), f"{path}.{key}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (before, after) in enumerate(zip(old, new, strict=True)):
            yield from _differences(before, after, f"{path}[{index}]")
    elif old != new:
        yield f"  {path.lstrip('.')}: {go_json(old)} -> {go_json(new)}"
