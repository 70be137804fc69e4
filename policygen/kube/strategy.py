"""What the API server's registry fills in between the mutating and the validating half of admission.

Create strategies reset the status, compute a pod's phase and QoS class and give a Job its selector; update
strategies keep what the client may not change. Sources: Kubernetes `pkg/registry/*/strategy.go`, apiserver
`registry/rest/{create,update}.go`.

A custom kind has only the general part. Nothing is changed in place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from policygen.kube.quantity import Quantity
from policygen.kube.schema import KindSchema

Object: TypeAlias = dict[str, Any]
_Create: TypeAlias = Callable[[Object, str], Object]

UID: Final = "UID"
"""Stands for the uid that the server would choose."""

SUFFIX: Final = "xxxxx"
"""Stands for the five random characters behind a `generateName`."""

_MAX_GENERATED: Final = 58
_GENERATION: Final = "deprecated.daemonset.template.generation"


def prepare_for_create(obj: Object, schema: KindSchema, uid: str = UID) -> Object:
    """The object as it is stored when it is created."""
    obj = _named(obj)
    if not schema.builtin:
        return _without_status(obj) if "status" in schema.subresources else obj
    create = _CREATE.get(schema.kind)
    if create is not None:
        return create(obj, uid)
    return _reset_status(obj) if "status" in obj and "status" in schema.root.fields else obj


def prepare_for_update(new: Object, old: Object, schema: KindSchema, subresource: str = "") -> Object:
    """The object as it is stored when it is updated, or when one of its subresources is."""
    match subresource:
        case "":
            return _plain_update(new, old, schema)
        case "status":
            return _status_update(new, old, schema)
        case "ephemeralcontainers":
            spec = new["spec"]
            kept = {key: item for key, item in old["spec"].items() if key != "ephemeralContainers"}
            if "ephemeralContainers" in spec:
                kept["ephemeralContainers"] = spec["ephemeralContainers"]
            return old | {"spec": kept}
        case "resize":
            return old | {"spec": _resized(new["spec"], old["spec"])}
        case _:
            return new


_STATUS_ALONE: Final = frozenset({"ResourceClaim", "FlowSchema", "PriorityLevelConfiguration"})
"""Built-in kinds whose status strategy takes no metadata from the request."""
_KEPT_WITH_STATUS: Final = {"Pod": "ownerReferences", "Deployment": "labels"}


def _status_update(new: Object, old: Object, schema: KindSchema) -> Object:
    """The `status` subresource: the rest stays, but most built-in kinds also take the metadata."""
    kept = _without_status(old)
    if schema.builtin and schema.kind not in _STATUS_ALONE:
        own, before = _KEPT_WITH_STATUS.get(schema.kind), old.get("metadata", {})
        metadata = {key: item for key, item in new.get("metadata", {}).items() if key != own}
        kept["metadata"] = metadata | ({own: before[own]} if own in before else {})
    return kept | ({"status": new["status"]} if "status" in new else {})


def qos_class(pod: Mapping[str, Any]) -> str:
    """Guaranteed, Burstable or BestEffort (`pkg/apis/core/v1/helper/qos`)."""
    spec = pod.get("spec", {})
    whole = spec.get("resources")
    if whole is not None and (whole.get("requests") or whole.get("limits")):
        parts = [whole]
    else:
        containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
        parts = [container.get("resources", {}) for container in containers]
    requests: dict[str, Quantity] = {}
    limits: dict[str, Quantity] = {}
    guaranteed = True
    for part in parts:
        _add(requests, part.get("requests"))
        given = _add(limits, part.get("limits"))
        guaranteed = guaranteed and given == {"cpu", "memory"}
    if not requests and not limits:
        return "BestEffort"
    same = requests.keys() == limits.keys() and all(limits[name] == text for name, text in requests.items())
    return "Guaranteed" if guaranteed and same else "Burstable"


def _add(total: dict[str, Quantity], given: Mapping[str, str] | None) -> set[str]:
    """Add the processor and memory of one part; the names that it sets above zero."""
    found = set()
    for name, text in (given or {}).items():
        if name in ("cpu", "memory"):
            quantity = Quantity.parse(text)
            if quantity.sign > 0:
                found.add(name)
                total[name] = total[name] + quantity if name in total else quantity
    return found


def _named(obj: Object) -> Object:
    """`generateName` becomes a name (`names.SimpleNameGenerator`)."""
    metadata = obj.get("metadata", {})
    base = metadata.get("generateName")
    if not base or metadata.get("name"):
        return obj
    return obj | {"metadata": metadata | {"name": base[:_MAX_GENERATED] + SUFFIX}}


def _without_status(obj: Object) -> Object:
    return {key: item for key, item in obj.items() if key != "status"}


def _reset_status(obj: Object) -> Object:
    return obj | {"status": {}} if obj["status"] else obj


def _create_pod(pod: Object, _: str) -> Object:
    spec = _with_label_keys(pod["spec"], pod.get("metadata", {}).get("labels", {}))
    status: Object = {"phase": "Pending", "qosClass": qos_class(pod)}
    if spec.get("schedulingGates"):
        status["conditions"] = [
            {
                "type": "PodScheduled",
                "status": "False",
                "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
                "lastProbeTime": None,
                "lastTransitionTime": None,
            }
        ]
    return pod | {"spec": spec, "status": status}


def _with_label_keys(spec: Object, labels: Mapping[str, str]) -> Object:
    """`matchLabelKeys` of affinity terms become requirements (`pod/strategy.go`, `mutatePodAffinity`).

    So do those of spread constraints from 1.34 on (`MatchLabelKeysInPodTopologySpreadSelectorMerge`).
    """
    changes: Object = {}
    constraints = spec.get("topologySpreadConstraints")
    if constraints and any(constraint.get("matchLabelKeys") for constraint in constraints):
        changes["topologySpreadConstraints"] = [
            _selecting(constraint, {"matchLabelKeys": "In"}, labels) for constraint in constraints
        ]
    affinity = spec.get("affinity", {})
    for kind in ("podAffinity", "podAntiAffinity"):
        rules = affinity.get(kind)
        if rules:
            affinity = affinity | {kind: _affinity(rules, labels)}
    if affinity is not spec.get("affinity", affinity):
        changes["affinity"] = affinity
    return spec | changes if changes else spec


_AFFINITY_KEYS: Final = {"matchLabelKeys": "In", "mismatchLabelKeys": "NotIn"}


def _affinity(rules: Object, labels: Mapping[str, str]) -> Object:
    out = dict(rules)
    required = rules.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required:
        out["requiredDuringSchedulingIgnoredDuringExecution"] = [
            _selecting(term, _AFFINITY_KEYS, labels) for term in required
        ]
    preferred = rules.get("preferredDuringSchedulingIgnoredDuringExecution")
    if preferred:
        out["preferredDuringSchedulingIgnoredDuringExecution"] = [
            entry | {"podAffinityTerm": _selecting(entry["podAffinityTerm"], _AFFINITY_KEYS, labels)}
            for entry in preferred
        ]
    return out


def _selecting(term: Object, fields: Mapping[str, str], labels: Mapping[str, str]) -> Object:
    """A term whose selector also asks for the pod's own values of the listed labels."""
    selector = term.get("labelSelector")
    if selector is None:
        return term
    added = [
        {"key": key, "operator": operator, "values": [labels[key]]}
        for field, operator in fields.items()
        for key in term.get(field) or ()
        if key in labels
    ]
    if not added:
        return term
    expressions = [*(selector.get("matchExpressions") or ()), *added]
    return term | {"labelSelector": selector | {"matchExpressions": expressions}}


def _create_job(job: Object, uid: str) -> Object:
    """The selector that the server generates unless the user manages it (`job/strategy.go`)."""
    spec = job["spec"]
    job = _reset_status(job) if "status" in job else job
    if spec.get("manualSelector"):
        return job
    template = spec["template"]
    metadata = template.get("metadata", {})
    own = {
        "job-name": job["metadata"].get("name", ""),
        "batch.kubernetes.io/job-name": job["metadata"].get("name", ""),
        "controller-uid": uid,
        "batch.kubernetes.io/controller-uid": uid,
    }
    labels = own | metadata.get("labels", {})
    selector = spec.get("selector") or {}
    chosen = {"batch.kubernetes.io/controller-uid": uid} | selector.get("matchLabels", {})
    changes = {
        "selector": selector | {"matchLabels": chosen},
        "template": template | {"metadata": metadata | {"labels": labels}},
    }
    job = job | {"spec": spec | changes}
    # What is stored is decoded once more, and API defaulting gives a Job without labels its template's.
    return job if job["metadata"].get("labels") else job | {"metadata": job["metadata"] | {"labels": labels}}


def _create_namespace(namespace: Object, _: str) -> Object:
    spec = namespace.get("spec", {})
    finalizers = spec.get("finalizers") or []
    if "kubernetes" not in finalizers:
        spec = spec | {"finalizers": [*finalizers, "kubernetes"]}
    return namespace | {"spec": spec, "status": {"phase": "Active"}}


def _create_claim(claim: Object, _: str) -> Object:
    return claim | {"status": {"phase": "Pending"}}


def _create_daemon_set(daemon_set: Object, _: str) -> Object:
    metadata = daemon_set["metadata"]
    annotations = metadata.get("annotations", {}) | {_GENERATION: "1"}
    return _reset_status(daemon_set) | {"metadata": metadata | {"annotations": annotations}}


def _keep_status(obj: Object, _: str) -> Object:
    """Kinds whose create strategy takes the status as it comes."""
    return obj


_CREATE: Final[Mapping[str, _Create]] = {
    "Pod": _create_pod,
    "Job": _create_job,
    "Namespace": _create_namespace,
    "PersistentVolumeClaim": _create_claim,
    "PersistentVolume": _create_claim,
    "DaemonSet": _create_daemon_set,
    "Node": _keep_status,
}


def _plain_update(new: Object, old: Object, schema: KindSchema) -> Object:
    if not schema.builtin and "status" not in schema.subresources:
        return new
    if "status" not in schema.root.fields and "status" not in old and "status" not in new:
        return new
    kept = _without_status(new)
    if "status" in old:
        kept["status"] = old["status"]
    if schema.kind == "DaemonSet":
        kept["metadata"] = _next_generation(new, old)
    if schema.builtin and schema.kind == "Job" and not new["spec"].get("manualSelector"):
        spec = new["spec"]
        if "selector" not in spec and "selector" in old["spec"]:
            kept["spec"] = spec | {"selector": old["spec"]["selector"]}
    return kept


def _next_generation(new: Object, old: Object) -> Object:
    """The metadata of a DaemonSet: the template's generation counts its changes."""
    metadata: Object = new["metadata"]
    known = old["metadata"].get("annotations", {}).get(_GENERATION)
    if known is None or not known.isdigit():
        return metadata
    changed = new["spec"].get("template") != old["spec"].get("template")
    generation = str(int(known) + changed)
    return metadata | {"annotations": metadata.get("annotations", {}) | {_GENERATION: generation}}


def _resized(new: Object, old: Object) -> Object:
    """Only resources and resize policies of containers are taken from a resize request."""
    changes: Object = {}
    for field in ("containers", "initContainers"):
        asked = {container.get("name"): container for container in new.get(field) or ()}
        if old.get(field):
            changes[field] = [_resized_container(container, asked) for container in old[field]]
    if "resources" in new:
        changes["resources"] = new["resources"]
    return old | changes


def _resized_container(container: Object, asked: Mapping[Any, Object]) -> Object:
    wanted = asked.get(container.get("name"))
    if wanted is None:
        return container
    kept = {key: item for key, item in container.items() if key != "resizePolicy"}
    taken = {key: wanted[key] for key in ("resources", "resizePolicy") if key in wanted}
    return kept | taken
