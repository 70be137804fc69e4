"""ResourceSlices as the API server accepts them: limits, names, versions, duplicates, policies.

Follows `pkg/apis/resource/validation/validation.go`; the reasons are the server's words. Every problem has
the path of the field, so that a reader finds it among hundreds of devices.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple, cast

from policygen.dra.convert import read_quantity
from policygen.dra.model import Json
from policygen.dra.versions import is_semver
from policygen.kube.quantity import Quantity

MAX_DEVICES = 128
MAX_DEVICES_WITH_FEATURES = 64
MAX_ATTRIBUTES_AND_CAPACITIES = 32
MAX_ATTRIBUTE_VALUES = 48
MAX_VALUE_LENGTH = 64
MAX_IDENTIFIER = 32
MAX_DRIVER_NAME = 63
MAX_COUNTER_SETS = 8
MAX_COUNTERS_PER_SET = 32
MAX_CONSUMPTIONS = 2
MAX_TAINTS = 16
MAX_BINDING_CONDITIONS = 4
MAX_VALID_VALUES = 10

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_C_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LISTS = ("bools", "ints", "strings", "versions")
_TYPES: Mapping[str, type] = {"bool": bool, "int": int, "string": str, "version": str}
_NODE_FIELDS = ("nodeName", "nodeSelector", "allNodes")


class Problem(NamedTuple):
    """Why the server refuses an object, and where."""

    path: str
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


def _map(value: object) -> Json:
    return cast("Json", value) if isinstance(value, Mapping) else {}


def _entries(value: object) -> list[Json]:
    return [_map(entry) for entry in value] if isinstance(value, list) else []


def slice_problems(obj: Json, *, list_attributes: bool = False) -> list[Problem]:
    """Everything for which the server refuses a ResourceSlice; empty when it accepts it.

    Lists of values are dropped by a server on which `DRAListTypeAttributes` is off: nothing is left then.
    """
    spec = _map(obj.get("spec"))
    return [
        *_driver_name(spec.get("driver"), "spec.driver"),
        *_pool(_map(spec.get("pool")), "spec.pool"),
        *_node_choice(spec),
        *_sizes(spec),
        *_devices(spec, list_attributes=list_attributes),
        *_counter_sets(spec),
    ]


def _driver_name(value: object, path: str) -> Iterator[Problem]:
    if not isinstance(value, str) or not value:
        yield Problem(path, "Required value")
    elif len(value) > MAX_DRIVER_NAME:
        yield Problem(path, f"Too long: may not be more than {MAX_DRIVER_NAME} bytes")
    elif not _SUBDOMAIN.fullmatch(value.lower()):
        yield Problem(path, f'Invalid value: "{value}": a lowercase RFC 1123 subdomain must be used')


def _pool(pool: Json, path: str) -> Iterator[Problem]:
    name = pool.get("name")
    if not isinstance(name, str) or not name:
        yield Problem(f"{path}.name", "Required value")
    elif len(name) > 253:
        yield Problem(f"{path}.name", "Too long: may not be more than 253 bytes")
    elif not all(_SUBDOMAIN.fullmatch(part) for part in name.split("/")):
        yield Problem(f"{path}.name", f'Invalid value: "{name}": a lowercase RFC 1123 subdomain must be used')
    count, generation = pool.get("resourceSliceCount", 0), pool.get("generation", 0)
    if not isinstance(count, int) or count <= 0:
        yield Problem(f"{path}.resourceSliceCount", f"Invalid value: {count}: must be greater than zero")
    if not isinstance(generation, int) or generation < 0:
        yield Problem(
            f"{path}.generation", f"Invalid value: {generation}: must be greater than or equal to zero"
        )


def _node_choice(spec: Json) -> Iterator[Problem]:
    chosen = [
        name for name in (*_NODE_FIELDS, "perDeviceNodeSelection") if spec.get(name) not in (None, "", False)
    ]
    if len(chosen) != 1:
        wanted = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
        yield Problem("spec", wanted)
    terms = _map(spec.get("nodeSelector")).get("nodeSelectorTerms")
    if "nodeSelector" in chosen and (not isinstance(terms, list) or len(terms) != 1):
        yield Problem("spec.nodeSelector.nodeSelectorTerms", "must have exactly one node selector term")


def _sizes(spec: Json) -> Iterator[Problem]:
    devices = [_map(device.get("basic")) or device for device in _entries(spec.get("devices"))]
    featured = any(
        device.get("taints")
        or device.get("consumesCounters")
        or any(
            kind in _map(attribute)
            for attribute in _map(device.get("attributes")).values()
            for kind in _LISTS
        )
        for device in devices
    )
    most = MAX_DEVICES_WITH_FEATURES if featured else MAX_DEVICES
    if len(devices) > most:
        why = " with taints, counters or list attributes" if featured else ""
        yield Problem("spec.devices", f"Too many: {len(devices)}: must have at most {most} items{why}")
    if devices and spec.get("sharedCounters"):
        yield Problem("spec", "only one of `sharedCounters` or `devices` may be set in one slice")


def _devices(spec: Json, *, list_attributes: bool) -> Iterator[Problem]:
    seen: set[str] = set()
    for index, entry in enumerate(_entries(spec.get("devices"))):
        path = f"spec.devices[{index}]"
        name = entry.get("name")
        if not isinstance(name, str) or not name:
            yield Problem(f"{path}.name", "Required value")
        elif len(name) > 63 or not _LABEL.fullmatch(name):
            yield Problem(f"{path}.name", f'Invalid value: "{name}": a lowercase RFC 1123 label must be used')
        elif name in seen:
            yield Problem(f"{path}.name", f'Duplicate value: "{name}"')
        else:
            seen.add(name)
        body = {**entry, **_map(entry.get("basic"))}
        yield from _device(body, path, per_device=spec.get("perDeviceNodeSelection") is True)
        if not list_attributes:
            yield from _lists(_map(body.get("attributes")), f"{path}.attributes")


def _device(device: Json, path: str, *, per_device: bool) -> Iterator[Problem]:
    attributes, capacity = _map(device.get("attributes")), _map(device.get("capacity"))
    total = len(attributes) + len(capacity)
    if total > MAX_ATTRIBUTES_AND_CAPACITIES:
        yield Problem(
            path,
            f"Invalid value: {total}: the total number of attributes and capacities "
            f"must not exceed {MAX_ATTRIBUTES_AND_CAPACITIES}",
        )
    values = sum(_value_count(_map(attribute)) for attribute in attributes.values())
    if values > MAX_ATTRIBUTE_VALUES:
        yield Problem(
            path,
            f"Invalid value: {values}: the total number of attribute values "
            f"must not exceed {MAX_ATTRIBUTE_VALUES}",
        )
    for name, attribute in attributes.items():
        yield from _qualified_name(name, f"{path}.attributes")
        yield from _attribute(_map(attribute), f"{path}.attributes[{name}]")
    for name, entry in capacity.items():
        yield from _qualified_name(name, f"{path}.capacity")
        yield from _capacity(
            entry, f"{path}.capacity[{name}]", shared=device.get("allowMultipleAllocations") is True
        )
    yield from _taints(device, path)
    yield from _consumptions(device, path)
    yield from _device_nodes(device, path, per_device=per_device)
    yield from _binding_conditions(device, path)


def _lists(attributes: Json, path: str) -> Iterator[Problem]:
    for name, attribute in attributes.items():
        for kind in _LISTS:
            if _map(attribute).get(kind) is not None:
                yield Problem(
                    f"{path}[{name}].{kind}",
                    "dropped, and no value is left: the feature gate DRAListTypeAttributes is off",
                )


def _value_count(attribute: Json) -> int:
    listed = [attribute[kind] for kind in _LISTS if isinstance(attribute.get(kind), list)]
    return sum(len(entry) for entry in listed if isinstance(entry, list)) or 1


def _qualified_name(name: str, path: str) -> Iterator[Problem]:
    domain, slash, identifier = name.rpartition("/")
    if "/" in domain:
        yield Problem(path, f'Invalid value: "{name}": must not contain more than one slash')
        return
    if slash and not domain:
        yield Problem(path, 'Invalid value: "": the domain must not be empty')
    elif slash:
        yield from _driver_name(domain, path)
    if not identifier:
        yield Problem(path, 'Invalid value: "": the name must not be empty')
    elif not _C_IDENTIFIER.fullmatch(identifier):
        yield Problem(
            path, f'Invalid value: "{identifier}": a valid C identifier must start with a letter or _'
        )
    elif len(identifier) > MAX_IDENTIFIER:
        yield Problem(path, f"Too long: may not be more than {MAX_IDENTIFIER} bytes")


def _attribute(attribute: Json, path: str) -> Iterator[Problem]:
    kinds = [kind for kind in (*_TYPES, *_LISTS) if attribute.get(kind) is not None]
    if len(kinds) != 1:
        yield Problem(path, "Invalid value: exactly one value must be specified")
    for kind in kinds:
        value = attribute[kind]
        if kind in _LISTS:
            if not isinstance(value, list) or not value:
                yield Problem(f"{path}.{kind}", "Invalid value: must not be empty if specified")
            for index, item in enumerate(value if isinstance(value, list) else ()):
                yield from _scalar(kind[:-1], item, f"{path}.{kind}[{index}]")
        else:
            yield from _scalar(kind, value, f"{path}.{kind}")


def _scalar(kind: str, value: object, path: str) -> Iterator[Problem]:
    wanted = _TYPES[kind]
    if not isinstance(value, wanted) or (kind == "int" and isinstance(value, bool)):
        yield Problem(path, f"Invalid value: must be of type {'string' if wanted is str else kind}")
    if isinstance(value, str):
        if kind == "version" and not is_semver(value):
            yield Problem(
                path, f'Invalid value: "{value}": must be a string compatible with semver.org spec 2.0.0'
            )
        if len(value.encode()) > MAX_VALUE_LENGTH:
            yield Problem(path, f"Too long: may not be more than {MAX_VALUE_LENGTH} bytes")


def _capacity(entry: object, path: str, *, shared: bool) -> Iterator[Problem]:
    body = _map(entry)
    value = read_quantity(body.get("value") if isinstance(entry, Mapping) else entry)
    if value is None:
        yield Problem(f"{path}.value", "Invalid value: must be a quantity")
        return
    policy = body.get("requestPolicy")
    if not isinstance(policy, Mapping):
        return
    if not shared:
        yield Problem(f"{path}.requestPolicy", "Forbidden: allowMultipleAllocations must be true")
        return
    yield from _policy(_map(policy), value, f"{path}.requestPolicy")


def _policy(policy: Json, most: Quantity, path: str) -> Iterator[Problem]:
    values, limits = policy.get("validValues"), policy.get("validRange")
    if values and limits is not None:
        yield Problem(
            path,
            "Forbidden: exactly one policy can be specified, "
            'cannot specify "validValues" and "validRange" at the same time',
        )
        return
    if not values and limits is None:
        return
    kind = "validValues" if values else "validRange"
    default = read_quantity(policy.get("default"))
    if default is None:
        yield Problem(f"{path}.default", f"Required value: required when {kind} is defined")
    elif isinstance(values, list) and values:
        yield from _valid_values(
            [read_quantity(value) for value in values], default, most, f"{path}.validValues"
        )
    else:
        yield from _valid_range(_map(limits), default, most, f"{path}.validRange")


def _valid_values(
    values: list[Quantity | None], default: Quantity, most: Quantity, path: str
) -> Iterator[Problem]:
    options = [value for value in values if value is not None]
    if len(values) > MAX_VALID_VALUES:
        yield Problem(path, f"Too many: {len(values)}: must have at most {MAX_VALID_VALUES} items")
    if len(options) < len(values):
        yield Problem(path, "Invalid value: must be quantities")
    for index, (left, right) in enumerate(pairwise(options), 1):
        if left > right:
            yield Problem(
                f"{path}[{index}]", f'Invalid value: "{right}": values must be sorted in ascending order'
            )
        if left == right:
            yield Problem(f"{path}[{index}]", f'Duplicate value: "{right}"')
    for index, option in enumerate(options):
        if option > most:
            yield Problem(
                f"{path}[{index}]", f'Invalid value: "{option}": option is larger than capacity value: {most}'
            )
    if default not in options:
        yield Problem(
            path, f'Invalid value: "{default}": default value is not valid according to the requestPolicy'
        )


def _valid_range(limits: Json, default: Quantity, most: Quantity, path: str) -> Iterator[Problem]:
    least, top, step = (read_quantity(limits.get(name)) for name in ("min", "max", "step"))
    if least is None:
        yield Problem(f"{path}.min", "Required value: required when validRange is defined")
        return
    checks: list[tuple[bool, str, Quantity, str]] = [
        (least > most, "min", least, f"min is larger than capacity value: {most}"),
        (default < least, "default", default, f"default is less than min: {least}"),
    ]
    if top is not None:
        checks += [
            (least > top, "max", least, f"min is larger than max: {top}"),
            (top > most, "max", top, f"max is larger than capacity value: {most}"),
            (default > top, "default", default, f"default is more than max: {top}"),
        ]
    if step is not None and step.sign <= 0:
        checks.append((True, "step", step, "must be greater than zero"))
    elif step is not None and step.value():
        checks.append(
            (
                least + step > most,
                "step",
                step,
                f"one step {least + step} is larger than capacity value: {most}",
            )
        )
        for value in (default, top):
            if value is not None:
                off = (value.value() - least.value()) % step.value() != 0
                reason = f"value is not a multiple of a given step ({step}) from ({least})"
                checks.append((off, "step", value, reason))
    for wrong, name, value, reason in checks:
        if wrong:
            yield Problem(f"{path}.{name}", f'Invalid value: "{value}": {reason}')


def _taints(device: Json, path: str) -> Iterator[Problem]:
    taints = _entries(device.get("taints"))
    if len(taints) > MAX_TAINTS:
        yield Problem(f"{path}.taints", f"Too many: {len(taints)}: must have at most {MAX_TAINTS} items")
    for index, taint in enumerate(taints):
        at = f"{path}.taints[{index}]"
        if not taint.get("key"):
            yield Problem(f"{at}.key", "Required value")
        effect = taint.get("effect")
        if not effect:
            yield Problem(f"{at}.effect", "Required value")
        elif effect not in ("NoSchedule", "NoExecute", "None"):
            yield Problem(
                f"{at}.effect",
                f'Unsupported value: "{effect}": supported values: "NoExecute", "NoSchedule", "None"',
            )


def _consumptions(device: Json, path: str) -> Iterator[Problem]:
    uses = _entries(device.get("consumesCounters"))
    at = f"{path}.consumesCounters"
    if len(uses) > MAX_CONSUMPTIONS:
        yield Problem(at, f"Too many: {len(uses)}: must have at most {MAX_CONSUMPTIONS} items")
    yield from _named_sets(uses, at, "counterSet")


def _counter_sets(spec: Json) -> Iterator[Problem]:
    sets = _entries(spec.get("sharedCounters"))
    if len(sets) > MAX_COUNTER_SETS:
        yield Problem(
            "spec.sharedCounters", f"Too many: {len(sets)}: must have at most {MAX_COUNTER_SETS} items"
        )
    yield from _named_sets(sets, "spec.sharedCounters", "name")


def _named_sets(sets: list[Json], path: str, key: str) -> Iterator[Problem]:
    seen: set[str] = set()
    for index, entry in enumerate(sets):
        at, name = f"{path}[{index}]", entry.get(key)
        if not isinstance(name, str) or not name:
            yield Problem(f"{at}.{key}", "Required value")
        elif not _LABEL.fullmatch(name):
            yield Problem(f"{at}.{key}", f'Invalid value: "{name}": a lowercase RFC 1123 label must be used')
        elif name in seen:
            yield Problem(at, f'Duplicate value: "{name}"')
        else:
            seen.add(name)
        counters = _map(entry.get("counters"))
        if not counters:
            yield Problem(f"{at}.counters", "Required value")
        elif len(counters) > MAX_COUNTERS_PER_SET:
            yield Problem(
                f"{at}.counters", f"Too many: {len(counters)}: must have at most {MAX_COUNTERS_PER_SET} items"
            )
        for name, counter in counters.items():
            if read_quantity(_map(counter).get("value")) is None:
                yield Problem(f"{at}.counters[{name}].value", "Invalid value: must be a quantity")


def _device_nodes(device: Json, path: str, *, per_device: bool) -> Iterator[Problem]:
    chosen = [name for name in _NODE_FIELDS if device.get(name) not in (None, "", False)]
    if per_device and len(chosen) != 1:
        yield Problem(
            path,
            "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required "
            "when `perDeviceNodeSelection` is set to true in the ResourceSlice spec",
        )
    if not per_device and chosen:
        yield Problem(
            path,
            "`nodeName`, `nodeSelector` and `allNodes` can only be set "
            "if `perDeviceNodeSelection` is set to true in the ResourceSlice spec",
        )


def _binding_conditions(device: Json, path: str) -> Iterator[Problem]:
    conditions, failures = device.get("bindingConditions"), device.get("bindingFailureConditions")
    for name, listed in (("bindingConditions", conditions), ("bindingFailureConditions", failures)):
        if isinstance(listed, list) and len(listed) > MAX_BINDING_CONDITIONS:
            yield Problem(
                f"{path}.{name}", f"Too many: {len(listed)}: must have at most {MAX_BINDING_CONDITIONS} items"
            )
    if conditions and not failures:
        yield Problem(
            f"{path}.bindingFailureConditions",
            "Invalid value: bindingFailureConditions are required to use bindingConditions",
        )
    if failures and not conditions:
        yield Problem(
            f"{path}.bindingConditions",
            "Invalid value: bindingConditions are required to use bindingFailureConditions",
        )
