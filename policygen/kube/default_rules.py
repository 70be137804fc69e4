"""The defaults that are more than a constant, one small function each.

A function gets a struct's JSON value and returns the fields that it changes, or None. Nothing is changed in
place.
Sources: Kubernetes `pkg/apis/core/v1/defaults.go`, `apps/v1`, `batch/v1`, `autoscaling/v2`, `resource/v1`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final, TypeAlias

from policygen.kube.quantity import Quantity

Changes: TypeAlias = Mapping[str, Any] | None
_Struct: TypeAlias = dict[str, Any]


def rounded(*fields: str) -> Callable[[_Struct], Changes]:
    """Round the quantities of resource lists up to thousandths (`SetDefaults_ResourceList`)."""

    def rule(value: _Struct) -> Changes:
        changes = {}
        for field in fields:
            resources = value.get(field)
            if resources:
                fine = {name: text for name, text in resources.items() if text[-1:] in "nu" or "." in text}
                if fine:
                    changes[field] = resources | {name: _rounded(text) for name, text in fine.items()}
        return changes

    return rule


@lru_cache(1024)
def _rounded(text: str) -> str:
    quantity = Quantity.parse(text)
    milli = Quantity(quantity.milli_value(), -3, quantity.format)
    return text if milli == quantity else str(milli)


def status_phase(phase: str) -> Callable[[_Struct], Changes]:
    """`status.phase` of volumes and claims."""

    def rule(value: _Struct) -> Changes:
        status = value.get("status", {})
        return None if "phase" in status else {"status": status | {"phase": phase}}

    return rule


def rolling_update(parameters: Mapping[str, Any]) -> Callable[[_Struct], Changes]:
    """The parameters of a RollingUpdate strategy, none for others."""

    def rule(value: _Struct) -> Changes:
        if value.get("type", "RollingUpdate") != "RollingUpdate":
            return None
        given = value.get("rollingUpdate", {})
        missing = {name: item for name, item in parameters.items() if name not in given}
        return {"rollingUpdate": given | missing} if missing else None

    return rule


# Images: distribution/reference, as far as it decides between `latest` and another tag.
_DOMAIN_LABEL: Final = "(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_PATH_PART: Final = "[a-z0-9]+(?:(?:[._]|__|[-]+)[a-z0-9]+)*"
_REFERENCE: Final = re.compile(
    rf"(?:(?:{_DOMAIN_LABEL}(?:\.{_DOMAIN_LABEL})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?/)?"
    rf"(?P<path>{_PATH_PART}(?:/{_PATH_PART})*)"
    r"(?::(?P<tag>[\w][\w.-]{0,127}))?"
    r"(?:@(?P<digest>[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}))?",
    re.ASCII,
).fullmatch


@lru_cache(1024)
def _is_latest(image: str) -> bool:
    """Whether an image name has the tag `latest`, written or implied; one that does not parse has no tag."""
    match = _REFERENCE(image)
    if match is None or len(image) > 255 + 140:
        return False
    return match["tag"] == "latest" or (match["tag"] is None and match["digest"] is None)


def image_pull_policy(value: _Struct) -> Changes:
    """`Always` for `latest`, else `IfNotPresent`."""
    if "imagePullPolicy" in value:
        return None
    return {"imagePullPolicy": "Always" if _is_latest(value.get("image", "")) else "IfNotPresent"}


def image_volume_pull_policy(value: _Struct) -> Changes:
    """As of containers, for an image volume."""
    if "pullPolicy" in value:
        return None
    return {"pullPolicy": "Always" if _is_latest(value.get("reference", "")) else "IfNotPresent"}


def empty_volume(value: _Struct) -> Changes:
    """A volume without a source is an emptyDir."""
    return {"emptyDir": {}} if len(value) == 1 or value.keys() <= {"name"} else None


def pod_service_links(value: _Struct) -> Changes:
    """`enableServiceLinks`, of pods and not of templates."""
    spec = value["spec"]
    return None if "enableServiceLinks" in spec else {"spec": spec | {"enableServiceLinks": True}}


def pod_requests(value: _Struct) -> Changes:
    """Requests copied from limits, of pods and not of templates."""
    spec = value["spec"]
    changes: _Struct = {}
    for field in ("containers", "initContainers"):
        containers = spec.get(field)
        if containers:
            filled = [_with_requests(container) for container in containers]
            if any(new is not old for new, old in zip(filled, containers, strict=True)):
                changes[field] = filled
    if "resources" in spec:
        resources = _pod_level(spec | changes)
        if resources is not None:
            changes["resources"] = resources
    return {"spec": spec | changes} if changes else None


def _with_requests(container: _Struct) -> _Struct:
    resources = container.get("resources", {})
    limits = resources.get("limits")
    if not limits:
        return container
    requests = resources.get("requests", {})
    missing = {name: text for name, text in limits.items() if name not in requests}
    if not missing:
        return container
    return container | {"resources": resources | {"requests": requests | missing}}


def _pod_level(spec: _Struct) -> _Struct | None:
    """The resources of the whole pod, completed from its containers', then from its own limits."""
    resources: _Struct = spec["resources"]
    limits = resources.get("limits", {})
    summed = {name: str(quantity) for name, quantity in _total(spec, "limits").items() if _is_huge(name)}
    huge = {name: text for name, text in summed.items() if name not in limits}
    requests = resources.get("requests", {})
    if not limits:
        return resources | {"limits": huge} if huge else None
    limits = limits | huge
    ours = {name: str(quantity) for name, quantity in _total(spec, "requests").items() if name in _POD_LEVEL}
    own = {name: text for name, text in limits.items() if name in _POD_LEVEL or _is_huge(name)}
    filled = own | ours | requests
    if not huge and filled == requests:
        return None
    return resources | {"limits": limits} | ({"requests": filled} if filled else {})


_POD_LEVEL: Final = ("cpu", "memory")


def _is_huge(name: str) -> bool:
    return name.startswith("hugepages-")


def _total(spec: _Struct, field: str) -> dict[str, Quantity]:
    """What the containers request, or may use, together (component-helpers `resource/helpers.go`)."""
    total: dict[str, Quantity] = {}
    for container in spec.get("containers") or ():
        _add(total, _quantities(container, field))
    sidecars: dict[str, Quantity] = {}
    initial: dict[str, Quantity] = {}
    for container in spec.get("initContainers") or ():
        needs = _quantities(container, field)
        if container.get("restartPolicy") == "Always":
            _add(sidecars, needs)
            _add(total, needs)
            needs = sidecars
        else:
            _add(needs, sidecars)
        _raise(initial, needs)
    _raise(total, initial)
    return total


def _add(total: dict[str, Quantity], more: Mapping[str, Quantity]) -> None:
    for name, quantity in more.items():
        total[name] = total[name] + quantity if name in total else quantity


def _raise(total: dict[str, Quantity], least: Mapping[str, Quantity]) -> None:
    for name, quantity in least.items():
        if name not in total or quantity > total[name]:
            total[name] = quantity


def _quantities(container: _Struct, field: str) -> dict[str, Quantity]:
    given = container.get("resources", {}).get(field) or {}
    return {name: Quantity.parse(text) for name, text in given.items()}


def host_ports(value: _Struct) -> Changes:
    """`hostPort` of pods on the host's network."""
    spec = value["spec"]
    if not spec.get("hostNetwork"):
        return None
    changes = {}
    for field in ("containers", "initContainers"):
        containers = spec.get(field)
        if containers and any("ports" in container for container in containers):
            changes[field] = [_with_host_ports(container) for container in containers]
    return {"spec": spec | changes} if changes else None


def _with_host_ports(container: _Struct) -> _Struct:
    ports = container.get("ports")
    if not ports:
        return container
    filled = [
        port | {"hostPort": port["containerPort"]}
        if "hostPort" not in port and port["containerPort"]
        else port
        for port in ports
    ]
    return container | {"ports": filled}


def replication_controller_labels(value: _Struct) -> Changes:
    """A ReplicationController's selector and labels from its template."""
    template = value["spec"].get("template")
    labels = (template or {}).get("metadata", {}).get("labels")
    if not labels:
        return None
    changes: _Struct = {}
    if "selector" not in value["spec"]:
        changes["spec"] = value["spec"] | {"selector": labels}
    if "labels" not in value["metadata"]:
        changes["metadata"] = value["metadata"] | {"labels": labels}
    return changes


def job(value: _Struct) -> Changes:
    """The defaults of a Job, which a CronJob's template does not get."""
    spec = value["spec"]
    filled = dict(spec)
    if "completions" not in spec and "parallelism" not in spec:
        filled["completions"] = filled["parallelism"] = 1
    filled.setdefault("parallelism", 1)
    filled.setdefault("backoffLimit", 2**31 - 1 if "backoffLimitPerIndex" in spec else 6)
    filled.setdefault("completionMode", "NonIndexed")
    filled.setdefault("suspend", False)
    filled.setdefault("manualSelector", False)
    filled.setdefault(
        "podReplacementPolicy", "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed"
    )
    changes: _Struct = {"spec": filled}
    labels = spec["template"].get("metadata", {}).get("labels")
    if labels and "labels" not in value["metadata"]:
        changes["metadata"] = value["metadata"] | {"labels": labels}
    return changes


def autoscaler_metrics(value: _Struct) -> Changes:
    """Without metrics an autoscaler aims at 80 % of the requested processor time."""
    if value.get("metrics"):
        return None
    target = {"type": "Utilization", "averageUtilization": 80}
    return {"metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]}


def service(value: _Struct) -> Changes:
    """Type, affinity and traffic policies of a Service."""
    changes: _Struct = {}
    kind = value.get("type") or changes.setdefault("type", "ClusterIP")
    affinity = value.get("sessionAffinity") or changes.setdefault("sessionAffinity", "None")
    if affinity == "ClientIP":
        config = value.get("sessionAffinityConfig", {})
        if "timeoutSeconds" not in config.get("clientIP", {}):
            changes["sessionAffinityConfig"] = config | {"clientIP": {"timeoutSeconds": 10800}}
    if kind in ("NodePort", "LoadBalancer") and "externalTrafficPolicy" not in value:
        changes["externalTrafficPolicy"] = "Cluster"
    if kind in ("NodePort", "LoadBalancer", "ClusterIP") and "internalTrafficPolicy" not in value:
        changes["internalTrafficPolicy"] = "Cluster"
    if kind == "LoadBalancer" and "allocateLoadBalancerNodePorts" not in value:
        changes["allocateLoadBalancerNodePorts"] = True
    return changes


def target_port(value: _Struct) -> Changes:
    """A service port aims at the port of the same number."""
    return {"targetPort": value["port"]} if value.get("targetPort") in (None, 0, "") else None


def namespace_label(value: _Struct) -> Changes:
    """The label that carries a namespace's name."""
    metadata = value["metadata"]
    name = metadata.get("name")
    labels = metadata.get("labels", {})
    if not name or labels.get("kubernetes.io/metadata.name") == name:
        return None
    return {"metadata": metadata | {"labels": labels | {"kubernetes.io/metadata.name": name}}}


def limit_range_item(value: _Struct) -> Changes:
    """Defaults of containers from the maximum, requests from the defaults, then from the minimum."""
    if value.get("type") != "Container":
        return None
    default = value.get("max", {}) | value.get("default", {})
    request = value.get("min", {}) | default | value.get("defaultRequest", {})
    return {name: item for name, item in (("default", default), ("defaultRequest", request)) if item}


def allocatable(value: _Struct) -> Changes:
    """A node can allocate what it has, unless it says otherwise."""
    capacity = value.get("capacity")
    return {"allocatable": dict(capacity)} if capacity and "allocatable" not in value else None


def device_count(value: _Struct) -> Changes:
    """One device, where a count applies."""
    return {"count": 1} if value.get("allocationMode") == "ExactCount" and "count" not in value else None


def old_device_request(value: _Struct) -> Changes:
    """As of exact requests, where the request has no alternatives (`resource/v1beta1`)."""
    if value.get("firstAvailable"):
        return None
    mode = value.get("allocationMode", "ExactCount")
    changes = {} if "allocationMode" in value else {"allocationMode": mode}
    return changes | {"count": 1} if mode == "ExactCount" and "count" not in value else changes
