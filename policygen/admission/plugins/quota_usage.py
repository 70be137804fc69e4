"""What an object uses of a quota: one evaluator per resource (Kubernetes `pkg/quota/v1/evaluator`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from policygen.admission import pod_resources
from policygen.admission.cluster import Cluster
from policygen.admission.pod_resources import Quantities
from policygen.admission.request import Object
from policygen.admission.resource_names import DEVICE_CLASS, REQUESTS, is_device, is_native
from policygen.kube import hub
from policygen.kube.names import GroupVersionResource
from policygen.kube.quantity import Quantity

DEVICES: Final = ".deviceclass.resource.k8s.io/devices"
STORAGE_CLASS: Final = ".storageclass.storage.k8s.io/"
MOST_DEVICES: Final = 32
"""`allocationMode: All` counts as the most that one claim can be given."""

_ONE: Final = Quantity.of(1)
_POD_NAMES: Final = frozenset(
    ["count/pods", "pods", "cpu", "memory", "ephemeral-storage"]
    + [
        f"{which}.{name}"
        for which in ("requests", "limits")
        for name in ("cpu", "memory", "ephemeral-storage")
    ]
)
_MUST_SPECIFY: Final = frozenset(
    {"cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"}
)
_ALIASES: Final = frozenset({"configmaps", "resourcequotas", "replicationcontrollers", "secrets"})
_VOLUME_NAMES: Final = ("persistentvolumeclaims", "requests.storage")
_SERVICE_NAMES: Final = ("services", "services.nodeports", "services.loadbalancers", "count/services")


def count_name(resource: GroupVersionResource) -> str:
    """The key under which a quota counts objects of a resource."""
    return f"count/{resource.resource}.{resource.group}" if resource.group else f"count/{resource.resource}"


def concerned(resource: GroupVersionResource, hard: Iterable[str], cluster: Cluster) -> list[str]:
    """Those keys of a quota that an object of this resource uses (`MatchingResources`)."""
    match (resource.group, resource.resource):
        case ("", "pods"):
            return [name for name in hard if _is_pod_name(name)]
        case ("", "persistentvolumeclaims"):
            return [name for name in hard if _is_volume_name(name)]
        case ("", "services"):
            return [name for name in hard if name in _SERVICE_NAMES]
        case ("resource.k8s.io", "resourceclaims"):
            extended = {DEVICE_CLASS + name for name in _classes(cluster)} | set(_classes(cluster).values())
            return [name for name in hard if _is_claim_name(name, extended)]
        case (group, plural):
            names = {count_name(resource), plural if not group and plural in _ALIASES else ""}
            return [name for name in hard if name in names]


def usage(resource: GroupVersionResource, obj: Object, cluster: Cluster) -> Quantities:
    """What one object uses."""
    used: Quantities = {count_name(resource): _ONE}
    match (resource.group, resource.resource):
        case ("", "pods"):
            if (obj.get("status") or {}).get("phase") not in ("Failed", "Succeeded"):
                requests, limits = (pod_resources.pod_total(obj, which) for which in ("requests", "limits"))
                used |= pod_usage(requests, limits)
        case ("", "persistentvolumeclaims"):
            used |= _volume_usage(obj)
        case ("", "services"):
            used |= _service_usage(obj)
        case ("resource.k8s.io", "resourceclaims"):
            used |= _claim_usage(hub.claim(obj, resource.version), cluster)
        case (group, plural):
            if not group and plural in _ALIASES:
                used[plural] = _ONE
    return used


def unspecified(pod: Object, required: Iterable[str]) -> str:
    """Which containers leave open what a quota on CPU or memory demands, or nothing (`Constraints`)."""
    needed = _MUST_SPECIFY.intersection(required)
    spec = pod.get("spec") or {}
    if not needed:
        return ""
    stated = spec.get("resources") or {}
    needed -= pod_usage(
        pod_resources.parse(stated.get("requests")), pod_resources.parse(stated.get("limits"))
    ).keys()
    missing: dict[str, set[str]] = {}
    for container in [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]:
        requests = pod_resources.of_container(container, "requests")
        has = pod_usage(requests, pod_resources.of_container(container, "limits")).keys()
        for name in needed - has:
            missing.setdefault(name, set()).add(container.get("name", ""))
    return "; ".join(f"{name} for: {','.join(sorted(missing[name]))}" for name in sorted(missing))


def pod_usage(requests: Mapping[str, Quantity], limits: Mapping[str, Quantity]) -> Quantities:
    """Requests and limits under the keys of quotas (`podComputeUsageHelper`)."""
    used: Quantities = {"pods": _ONE}
    for name in ("cpu", "memory", "ephemeral-storage"):
        if name in requests:
            used[name] = used[REQUESTS + name] = requests[name]
        if name in limits:
            used["limits." + name] = limits[name]
    for name, value in requests.items():
        if name.startswith("hugepages-"):
            used[name] = used[REQUESTS + name] = value
        if is_device(name):
            used[REQUESTS + name] = value
    return used


def _is_pod_name(name: str) -> bool:
    if name in _POD_NAMES or name.startswith(("hugepages-", "requests.hugepages-")):
        return True
    return name.startswith(REQUESTS) and (not is_native(name) or name.startswith(REQUESTS + DEVICE_CLASS))


def _is_volume_name(name: str) -> bool:
    if name in _VOLUME_NAMES or name == "count/persistentvolumeclaims":
        return True
    return any(name.endswith(STORAGE_CLASS + suffix) for suffix in _VOLUME_NAMES)


def _is_claim_name(name: str, extended: Iterable[str]) -> bool:
    if name == "count/resourceclaims.resource.k8s.io" or name.endswith(DEVICES):
        return True
    return name.startswith(REQUESTS) and name.removeprefix(REQUESTS) in extended


def _classes(cluster: Cluster) -> Mapping[str, str]:
    """Device classes that serve an extended resource: class → resource."""
    found = {}
    for item in cluster.list("DeviceClass", group="resource.k8s.io"):
        name = (item.get("spec") or {}).get("extendedResourceName")
        if name:
            found[item["metadata"]["name"]] = name
    return found


def _volume_usage(claim: Object) -> Quantities:
    used: Quantities = {"persistentvolumeclaims": _ONE}
    spec = claim.get("spec") or {}
    annotations = (claim.get("metadata") or {}).get("annotations") or {}
    storage_class = annotations.get("volume.beta.kubernetes.io/storage-class") or spec.get("storageClassName")
    size = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if size is not None:
        used["requests.storage"] = Quantity.parse(str(size))
    if storage_class:
        used |= {f"{storage_class}{STORAGE_CLASS}{name}": value for name, value in list(used.items())}
    return used


def _service_usage(service: Object) -> Quantities:
    spec = service.get("spec") or {}
    ports = len(spec.get("ports") or ())
    node_ports = balancers = 0
    if spec.get("type") == "NodePort":
        node_ports = ports
    elif spec.get("type") == "LoadBalancer":
        balancers = 1
        if spec.get("allocateLoadBalancerNodePorts") is False:
            ports = sum(1 for port in spec.get("ports") or () if port.get("nodePort"))
        node_ports = ports
    counts = {"services": 1, "services.nodeports": node_ports, "services.loadbalancers": balancers}
    return {name: Quantity.of(value) for name, value in counts.items()}


def _claim_usage(claim: Object, cluster: Cluster) -> Quantities:
    """Devices per class; of `firstAvailable` the most that any of its alternatives takes of a class."""
    totals: dict[str, int] = {}
    for request in ((claim.get("spec") or {}).get("devices") or {}).get("requests") or ():
        most: dict[str, int] = {}
        exact = request.get("exactly")
        for part in request.get("firstAvailable") or ([exact] if exact else []):
            name = part.get("deviceClassName") or ""
            most[name] = max(most.get(name, 0), _devices(part))
        for name, number in most.items():
            totals[name] = totals.get(name, 0) + number
    extended = _classes(cluster)
    used: Quantities = {}
    for name, number in totals.items():
        value = Quantity.of(number)
        used[name + DEVICES] = value
        if not name or not number:
            continue
        used[REQUESTS + DEVICE_CLASS + name] = value
        if name in extended:
            used[REQUESTS + extended[name]] = value
    return used


def _devices(request: Mapping[str, Any]) -> int:
    match request.get("allocationMode", "ExactCount"):
        case "ExactCount":
            return int(request.get("count") or 0)
        case "All":
            return MOST_DEVICES
        case _:
            return 0
