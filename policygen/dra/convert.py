"""API objects of `resource.k8s.io` v1, v1beta1 and v1beta2 to the allocator's model.

Reading is lenient (what the server refuses is said by `validate`): a value of the wrong shape reads as
absent. Defaults are the API's: `allocationMode: ExactCount`, `count: 1`, `operator: Equal`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import cast

from policygen.dra.model import (
    AttributeValue,
    Capacity,
    Claim,
    Constraint,
    CounterUse,
    Device,
    DeviceClass,
    Gates,
    Json,
    Node,
    NodeChoice,
    Request,
    RequestPolicy,
    RequestSlot,
    Slice,
    Taint,
    Toleration,
)
from policygen.dra.versions import is_semver
from policygen.kube.quantity import Quantity, QuantityError

_NOTHING: Json = {}
_KINDS = ("int", "bool", "string", "version", "ints", "bools", "strings", "versions")
_TYPES = {"int": int, "bool": bool, "string": str, "version": str}


def _map(value: object) -> Json:
    return cast("Json", value) if isinstance(value, Mapping) else _NOTHING


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _maps(value: object) -> Iterable[Json]:
    return (cast("Json", entry) for entry in _list(value) if isinstance(entry, Mapping))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _int(value: object, default: int = 0) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def _strings(value: object) -> tuple[str, ...]:
    return tuple(entry for entry in _list(value) if isinstance(entry, str))


def read_quantity(value: object) -> Quantity | None:
    """A quantity as YAML may write it: text, or a plain number."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        return Quantity.parse(value if isinstance(value, str) else str(value))
    except QuantityError:
        return None


def _quantities(value: object) -> dict[str, Quantity]:
    """A map of counters or requests; a counter's quantity stands in `value`."""
    found: dict[str, Quantity] = {}
    for name, entry in _map(value).items():
        quantity = read_quantity(entry["value"] if isinstance(entry, Mapping) and "value" in entry else entry)
        if quantity is not None:
            found[name] = quantity
    return found


def read_slice(obj: Json) -> Slice:
    """A ResourceSlice of any served version."""
    spec = _map(obj.get("spec"))
    pool = _map(spec.get("pool"))
    driver, pool_name = _text(spec.get("driver")), _text(pool.get("name"))
    counter_sets: dict[str, dict[str, Quantity]] = {}
    duplicate = ""
    for entry in _maps(spec.get("sharedCounters")):
        name = _text(entry.get("name"))
        duplicate = duplicate or (name if name in counter_sets else "")
        counter_sets[name] = _quantities(entry.get("counters"))
    return Slice(
        name=_text(_map(obj.get("metadata")).get("name")),
        driver=driver,
        pool=pool_name,
        generation=_int(pool.get("generation")),
        slice_count=_int(pool.get("resourceSliceCount")),
        nodes=_nodes(spec),
        devices=tuple(read_device(entry, driver, pool_name) for entry in _maps(spec.get("devices"))),
        counter_sets=counter_sets,
        duplicate_counter_set=duplicate,
    )


def _nodes(obj: Json) -> NodeChoice:
    selector = obj.get("nodeSelector")
    return NodeChoice(
        name=_text(obj.get("nodeName")),
        all=obj.get("allNodes") is True,
        selector=_map(selector) if isinstance(selector, Mapping) else None,
        per_device=obj.get("perDeviceNodeSelection") is True,
    )


def read_device(obj: Json, driver: str, pool: str) -> Device:
    """A device; in v1beta1 most of it stands under `basic`."""
    body = {**obj, **_map(obj.get("basic"))} if "basic" in obj else obj
    attributes = _map(body.get("attributes"))
    capacity = {name: _capacity(entry) for name, entry in _map(body.get("capacity")).items()}
    return Device(
        name=_text(obj.get("name")),
        driver=driver,
        pool=pool,
        attributes={name: _attribute(_map(entry)) for name, entry in attributes.items()},
        capacity={name: entry for name, entry in capacity.items() if entry is not None},
        consumes=tuple(
            CounterUse(_text(entry.get("counterSet")), _quantities(entry.get("counters")))
            for entry in _maps(body.get("consumesCounters"))
        ),
        taints=tuple(read_taint(entry) for entry in _maps(body.get("taints"))),
        nodes=_nodes(body),
        shareable=body.get("allowMultipleAllocations") is True,
        binds_to_node=body.get("bindsToNode") is True,
        binding_conditions=_strings(body.get("bindingConditions")),
        binding_failure_conditions=_strings(body.get("bindingFailureConditions")),
        versions_valid=all(_has_valid_value(_map(entry)) for entry in attributes.values()),
    )


def _attribute(entry: Json) -> AttributeValue:
    for kind in _KINDS:
        value = entry.get(kind)
        if value is not None:
            listed = kind.endswith("s")
            each = value if listed and isinstance(value, list) else [value]
            wanted = _TYPES[kind.removesuffix("s")]
            is_typed = listed == isinstance(value, list) and all(type(item) is wanted for item in each)
            return (kind, value) if is_typed else ("", None)
    return "", None


def _has_valid_value(entry: Json) -> bool:
    """Whether an attribute can be a value of an expression; if not, every selector fails on the device."""
    kind, value = _attribute(entry)
    if kind == "version":
        return isinstance(value, str) and is_semver(value)
    if kind == "versions":
        return isinstance(value, list) and all(isinstance(each, str) and is_semver(each) for each in value)
    return kind != ""


def _capacity(entry: object) -> Capacity | None:
    """v1beta1 wrote the quantity itself before it wrote `{value: …}`."""
    body = _map(entry)
    value = read_quantity(body.get("value") if isinstance(entry, Mapping) else entry)
    if value is None:
        return None
    raw = body.get("requestPolicy")
    if not isinstance(raw, Mapping):
        return Capacity(value)
    limits = _map(raw.get("validRange"))
    values = [read_quantity(each) for each in _list(raw.get("validValues"))]
    return Capacity(
        value,
        RequestPolicy(
            default=read_quantity(raw.get("default")),
            values=tuple(each for each in values if each is not None),
            minimum=read_quantity(limits.get("min")),
            maximum=read_quantity(limits.get("max")),
            step=read_quantity(limits.get("step")),
            has_range=isinstance(raw.get("validRange"), Mapping),
        ),
    )


def read_taint(obj: Json) -> Taint:
    """A device taint."""
    return Taint(_text(obj.get("key")), _text(obj.get("value")), _text(obj.get("effect")))


def read_class(obj: Json) -> DeviceClass:
    """A DeviceClass."""
    spec = _map(obj.get("spec"))
    return DeviceClass(
        name=_text(_map(obj.get("metadata")).get("name")),
        selectors=_selectors(spec.get("selectors")),
        config=tuple(_maps(spec.get("config"))),
        extended_resource=_text(spec.get("extendedResourceName")),
    )


def _selectors(value: object) -> tuple[str | None, ...]:
    return tuple(
        _text(_map(entry["cel"]).get("expression")) if isinstance(entry.get("cel"), Mapping) else None
        for entry in _maps(value)
    )


def read_claim(obj: Json) -> Claim:
    """A ResourceClaim, or the claim that a ResourceClaimTemplate makes."""
    metadata, spec = _map(obj.get("metadata")), _map(obj.get("spec"))
    if obj.get("kind") == "ResourceClaimTemplate":
        spec = _map(spec.get("spec"))
    devices = _map(spec.get("devices"))
    return Claim(
        name=_text(metadata.get("name")),
        namespace=_text(metadata.get("namespace")),
        slots=tuple(_slot(entry) for entry in _maps(devices.get("requests"))),
        constraints=tuple(_constraint(entry) for entry in _maps(devices.get("constraints"))),
        config=tuple(_maps(devices.get("config"))),
    )


def _slot(obj: Json) -> RequestSlot:
    name = _text(obj.get("name"))
    listed = list(_maps(obj.get("firstAvailable")))
    if listed:
        alternatives = tuple(
            replace(_request(entry, _text(entry.get("name"))), parent=name, admin_access=None)
            for entry in listed
        )
        return RequestSlot(name, alternatives, is_list=True)
    exact = obj.get("exactly")
    return RequestSlot(name, (_request(_map(exact) if isinstance(exact, Mapping) else obj, name),))


def _request(obj: Json, name: str) -> Request:
    mode = _text(obj.get("allocationMode")) or "ExactCount"
    capacity = obj.get("capacity")
    admin = obj.get("adminAccess")
    return Request(
        name=name,
        class_name=_text(obj.get("deviceClassName")),
        mode=mode,
        count=(_int(obj.get("count")) or 1) if mode == "ExactCount" else 0,
        selectors=_selectors(obj.get("selectors")),
        tolerations=tuple(_toleration(entry) for entry in _maps(obj.get("tolerations"))),
        admin_access=admin if isinstance(admin, bool) else None,
        capacity=_quantities(_map(capacity).get("requests")),
        has_capacity=isinstance(capacity, Mapping),
    )


def _toleration(obj: Json) -> Toleration:
    return Toleration(
        key=_text(obj.get("key")),
        operator=_text(obj.get("operator")),
        value=_text(obj.get("value")),
        effect=_text(obj.get("effect")),
        raw=obj,
    )


def _constraint(obj: Json) -> Constraint:
    requests = frozenset(_strings(obj.get("requests")))
    if isinstance(obj.get("matchAttribute"), str):
        return Constraint("match", _text(obj["matchAttribute"]), requests)
    if isinstance(obj.get("distinctAttribute"), str):
        return Constraint("distinct", _text(obj["distinctAttribute"]), requests)
    return Constraint("unknown", "", requests)


def read_node(obj: Json) -> Node:
    """A node's name and labels."""
    metadata = _map(obj.get("metadata"))
    labels = {key: value for key, value in _map(metadata.get("labels")).items() if isinstance(value, str)}
    return Node(_text(metadata.get("name")), labels)


def read_gates(obj: Json) -> Gates:
    """Gates by the names that the server's allocator uses."""
    return Gates(
        admin_access=bool(obj.get("AdminAccess", True)),
        consumable_capacity=bool(obj.get("ConsumableCapacity", True)),
        device_binding=bool(obj.get("DeviceBindingAndStatus", True)),
        device_taints=bool(obj.get("DeviceTaints", True)),
        list_attributes=bool(obj.get("ListTypeAttributes", False)),
        partitionable=bool(obj.get("PartitionableDevices", True)),
        prioritized_list=bool(obj.get("PrioritizedList", True)),
    )
