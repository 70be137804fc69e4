"""What the scheduler will look for, read from the pod as it would be stored, in plain words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from policygen.admission.cluster import Cluster
from policygen.dra.convert import read_claim
from policygen.kube import names
from policygen.kube.decode_errors import DecodeError
from policygen.kube.roundtrip import round_trip
from policygen.verify import claims, terms
from policygen.verify.selector_words import tell

_DRA = "resource.k8s.io"


@dataclass(frozen=True, slots=True)
class Topic:
    """One thing that the scheduler looks at."""

    name: str
    """`node`, `taints`, `near`, `spread`, `devices`, `resources`, `priority`, `waits`."""
    lines: tuple[str, ...]


def topics(
    pod: Mapping[str, Any], cluster: Cluster, inventory: Sequence[Mapping[str, Any]] = ()
) -> list[Topic]:
    """Everything that decides where and when the pod runs; topics without anything to say are left out."""
    spec = pod.get("spec") or {}
    told = (
        Topic("node", tuple(_node(spec))),
        Topic("taints", tuple(_taints(spec))),
        Topic("near", tuple(_near(spec))),
        Topic("spread", tuple(terms.spread(item) for item in spec.get("topologySpreadConstraints") or [])),
        Topic("devices", tuple(_devices(pod, cluster, inventory))),
        Topic("resources", tuple(_resources(spec))),
        Topic("priority", tuple(_priority(spec))),
        Topic("waits", tuple(_waits(spec))),
    )
    return [topic for topic in told if topic.lines]


def _node(spec: Mapping[str, Any]) -> Iterator[str]:
    if spec.get("nodeName"):
        yield f"runs on node `{spec['nodeName']}`: the scheduler is not asked"
    for key, wanted in (spec.get("nodeSelector") or {}).items():
        yield f"only nodes with the label `{key}: {wanted}`"
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    wanted = [terms.node_term(term) for term in required.get("nodeSelectorTerms") or []]
    if wanted:
        yield "only nodes where " + "; or where ".join(wanted)
    for item in affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or []:
        told = terms.node_term(item.get("preference") or {})
        yield f"rather nodes where {told} (weight {item.get('weight')})"


def _taints(spec: Mapping[str, Any]) -> Iterator[str]:
    """Those that every pod tolerates for some time are no news."""
    for item in spec.get("tolerations") or []:
        of_node = str(item.get("key", "")).startswith("node.kubernetes.io/")
        if not (of_node and item.get("tolerationSeconds") == 300):
            yield f"may run on nodes with {terms.toleration(item)}"


def _near(spec: Mapping[str, Any]) -> Iterator[str]:
    affinity = spec.get("affinity") or {}
    for key, anti in (("podAffinity", False), ("podAntiAffinity", True)):
        rules = affinity.get(key) or {}
        for term in rules.get("requiredDuringSchedulingIgnoredDuringExecution") or []:
            yield f"only {terms.pod_term(term, anti=anti)}"
        for item in rules.get("preferredDuringSchedulingIgnoredDuringExecution") or []:
            told = terms.pod_term(item.get("podAffinityTerm") or {}, anti=anti)
            yield f"rather {told} (weight {item.get('weight')})"


def _devices(
    pod: Mapping[str, Any], cluster: Cluster, inventory: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    spec = pod.get("spec") or {}
    namespace = str((pod.get("metadata") or {}).get("namespace") or "")
    classes: dict[str, None] = {}
    for entry in spec.get("resourceClaims") or []:
        yield from _claim(entry, namespace, cluster, classes)
    for name in classes:
        yield _class(name, cluster)
    for key, count in _implicit(spec).items():
        yield _served(key, count, cluster, inventory)
    if spec.get("resourceClaims"):
        refused = claims.never_created(pod, cluster)
        yield from (f"claim `{name}` {reason}" for name, reason in refused.items())
        if refused:
            yield "so the pod waits forever, unless the quota grants more or the claim asks for less"
            return
    if spec.get("resourceClaims") and inventory:
        yield from _chosen(pod, cluster, inventory)


_OF_CLASS: Final = "deviceclass.resource.kubernetes.io/"


def _implicit(spec: Mapping[str, Any]) -> dict[str, int]:
    """The most that one container asks for of each class by a limit."""
    found: dict[str, int] = {}
    for container in (*(spec.get("initContainers") or []), *(spec.get("containers") or [])):
        for key, amount in ((container.get("resources") or {}).get("limits") or {}).items():
            if key.startswith(_OF_CLASS) and str(amount).isdigit():
                found[key] = max(found.get(key, 0), int(amount))
    return found


def _served(key: str, count: int, cluster: Cluster, inventory: Sequence[Mapping[str, Any]]) -> str:
    """What a limit comes to that names a DeviceClass (feature gate `DRAExtendedResource`)."""
    name = key.removeprefix(_OF_CLASS)
    if _stored(cluster, "DeviceClass", name) is None:
        return f"limit `{key}: {count}` is for devices of class `{name}`, which is not known here"
    told = f"limit `{key}: {count}` is served by DRA as {count} × `{name}`"
    if not inventory or not count:
        return told
    request = {"name": "limit", "exactly": {"deviceClassName": name, "count": count}}
    wanted = read_claim({"spec": {"devices": {"requests": [request]}}})
    chosen, reason = claims.first_node(claims.allocator(cluster, inventory), [wanted])
    if chosen is None:
        return f"{told}, which cannot be allocated on the inventory: {reason}"
    return f"{told}: would get {', '.join(f'`{device}`' for device in chosen[0])} of the inventory"


def _claim(
    entry: Mapping[str, Any], namespace: str, cluster: Cluster, classes: dict[str, None]
) -> Iterator[str]:
    template, name = entry.get("resourceClaimTemplateName"), entry.get("resourceClaimName")
    kind, wanted = ("ResourceClaimTemplate", template) if template else ("ResourceClaim", name)
    stored = _stored(cluster, kind, str(wanted or ""), namespace)
    word = "template" if template else "claim"
    head = f"claim `{entry.get('name')}`"
    if stored is None:
        yield f"{head}: namespace `{namespace}` has no {word} `{wanted}`: the pod waits until there is one"
        return
    body = stored.get("spec") or {}
    devices = ((body.get("spec") or {}) if template else body).get("devices") or {}
    for request in devices.get("requests") or []:
        for line, of in _request(request):
            yield f"{head}: {line}"
            classes[of] = None
    for constraint in devices.get("constraints") or []:
        yield f"{head}: {_constraint(constraint)}"


def _stored(cluster: Cluster, kind: str, name: str, namespace: str = "") -> dict[str, Any] | None:
    """A stored object with the types that the server gives it; None when there is none that it could read."""
    found = cluster.get(kind, name, namespace, _DRA)
    schema = None if found is None else cluster.schema(names.gvk(str(found.get("apiVersion")), kind))
    if found is None or schema is None:
        return None
    try:
        return round_trip(found, schema)
    except DecodeError:
        return None


def _request(request: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Each alternative in words, with the name of its class."""
    options = request.get("firstAvailable")
    if not options:
        exactly = request.get("exactly") or request
        yield _wanted(exactly, str(request.get("name"))), str(exactly.get("deviceClassName"))
        return
    for number, option in enumerate(options):
        rank = "first choice" if number == 0 else "else"
        told = _wanted(option, f"{request.get('name')}/{option.get('name')}")
        yield f"{rank} {told}", str(option.get("deviceClassName"))


def _wanted(request: Mapping[str, Any], name: str) -> str:
    many = "all" if request.get("allocationMode") == "All" else f"{request.get('count', 1)} ×"
    told = _selectors(request)
    amounts = ((request.get("capacity") or {}).get("requests") or {}).items()
    told += [f"{key.rpartition('/')[2]} of {amount} for itself" for key, amount in amounts]
    only = f" with {', '.join(told)}" if told else ""
    return f"{many} `{request.get('deviceClassName')}`{only} (request `{name}`)"


def _class(name: str, cluster: Cluster) -> str:
    found = _stored(cluster, "DeviceClass", name)
    if found is None:
        return f"class `{name}` is not known here"
    told = _selectors(found.get("spec") or {})
    return f"`{name}` means devices where {', '.join(told)}" if told else f"`{name}` means any device"


def _selectors(body: Mapping[str, Any]) -> list[str]:
    """The CEL selectors of a class or a request, in words."""
    return [
        text
        for item in body.get("selectors") or []
        for text in tell(str((item.get("cel") or {}).get("expression") or ""))
    ]


def _constraint(constraint: Mapping[str, Any]) -> str:
    requests = [f"`{name}`" for name in constraint.get("requests") or []]
    who = f"the devices of {' and '.join(requests)}" if requests else "all its devices"
    if constraint.get("matchAttribute"):
        return f"{who} have the same `{constraint['matchAttribute']}`"
    return f"{who} differ in `{constraint.get('distinctAttribute')}`"


def _chosen(
    pod: Mapping[str, Any], cluster: Cluster, inventory: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    for name, got in claims.allocate(pod, cluster, inventory).items():
        if isinstance(got, str):
            yield f"claim `{name}` cannot be allocated on the inventory: {got}"
        else:
            yield f"claim `{name}` would get {', '.join(f'`{device}`' for device in got)} of the inventory"


def _resources(spec: Mapping[str, Any]) -> Iterator[str]:
    """What a node must have free: requests, or limits where no request is made."""
    from policygen.kube.quantity import Quantity, QuantityError

    totals: dict[str, Quantity] = {}
    for container in spec.get("containers") or []:
        resources = container.get("resources") or {}
        asked = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
        for key, amount in asked.items():
            if key.startswith(_OF_CLASS):
                continue  # told with the devices
            try:
                quantity = Quantity.parse(str(amount))
            except QuantityError:
                continue
            totals[key] = quantity if key not in totals else totals[key] + quantity
    if totals:
        listed = ", ".join(f"{key} {totals[key]}" for key in sorted(totals))
        yield f"a node with this much free for its containers: {listed}"


def _priority(spec: Mapping[str, Any]) -> Iterator[str]:
    name, number = spec.get("priorityClassName"), spec.get("priority")
    if name is None and not number:
        return
    of = f" (class `{name}`)" if name else ""
    if spec.get("preemptionPolicy") == "Never":
        tail = "goes before pods of lower priority, and waits for room instead of pushing them out"
    else:
        tail = "goes before pods of lower priority, and may push them out"
    yield f"{number or 0}{of}: {tail}"


def _waits(spec: Mapping[str, Any]) -> Iterator[str]:
    for gate in spec.get("schedulingGates") or []:
        yield f"is not scheduled before the gate `{gate.get('name')}` is taken away"
    scheduler = spec.get("schedulerName")
    if scheduler and scheduler != "default-scheduler":
        yield f"is placed by scheduler `{scheduler}`"
