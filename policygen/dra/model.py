"""Slices, devices, claims, classes and nodes as the allocator wants them: plain, typed, version-free.

Every API version is converted to this (module `convert`). Attribute and capacity names stay as published
(unqualified names belong to the driver's domain). Identity, not value, tells devices apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from policygen.kube.quantity import Quantity

Json: TypeAlias = Mapping[str, object]

AttributeValue: TypeAlias = tuple[str, object]
"""The kind that was set (`string`, `int`, `bool`, `version`, `strings`, …) and its value."""

RESULTS_MAX = 32
"""`AllocationResultsMaxSize`: a claim holds no more devices."""


class DeviceId(NamedTuple):
    """What names a device in a cluster."""

    driver: str
    pool: str
    device: str

    def __str__(self) -> str:
        return "/".join(self)


@dataclass(frozen=True, slots=True)
class RequestPolicy:
    """How much of a shared capacity one request may take."""

    default: Quantity | None = None
    values: tuple[Quantity, ...] = ()
    minimum: Quantity | None = None
    maximum: Quantity | None = None
    step: Quantity | None = None
    has_range: bool = False


@dataclass(frozen=True, slots=True)
class Capacity:
    """A capacity: how much there is, and the policy under which it is shared."""

    value: Quantity
    policy: RequestPolicy | None = None


@dataclass(frozen=True, slots=True)
class CounterUse:
    """What a partition takes from one of its pool's counter sets."""

    counter_set: str
    counters: Mapping[str, Quantity]


@dataclass(frozen=True, slots=True)
class Taint:
    """A taint of a device."""

    key: str
    value: str
    effect: str


@dataclass(frozen=True, slots=True)
class Toleration:
    """What a request tolerates; `raw` is repeated in the result."""

    key: str
    operator: str
    value: str
    effect: str
    raw: Json

    def tolerates(self, taint: Taint) -> bool:
        """`resourceclaim.ToleratesTaint`: an empty effect or key means any; Equal is the default."""
        if self.effect not in ("", taint.effect) or self.key not in ("", taint.key):
            return False
        match self.operator:
            case "" | "Equal":
                return self.value == taint.value
            case "Exists":
                return True
            case _:
                return False


@dataclass(frozen=True, slots=True)
class NodeChoice:
    """Which nodes reach a slice or device: one by name, all, or those that a selector matches."""

    name: str = ""
    all: bool = False
    selector: Json | None = None
    per_device: bool = False

    @property
    def is_set(self) -> bool:
        """Whether anything says which nodes."""
        return bool(self.name) or self.all or self.selector is not None


@dataclass(frozen=True, slots=True, eq=False)
class Device:
    """One device of a slice."""

    name: str
    driver: str
    pool: str
    attributes: Mapping[str, AttributeValue] = field(default_factory=dict)
    capacity: Mapping[str, Capacity] = field(default_factory=dict)
    consumes: tuple[CounterUse, ...] = ()
    taints: tuple[Taint, ...] = ()
    nodes: NodeChoice = NodeChoice()
    shareable: bool = False
    binds_to_node: bool = False
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    versions_valid: bool = True
    id: DeviceId = field(init=False)
    has_policy: bool = field(init=False)
    """Whether a capacity limits what requests may ask of it."""

    def __post_init__(self) -> None:
        policies = any(capacity.policy is not None for capacity in self.capacity.values())
        object.__setattr__(self, "id", DeviceId(self.driver, self.pool, self.name))
        object.__setattr__(self, "has_policy", policies)

    def read(self, kind: str, qualified: str, bare: str) -> object:
        """What a selector sees under a name, as something that can be compared and hashed."""
        held: Mapping[str, object] = self.attributes if kind == "attributes" else self.capacity
        found = held.get(qualified)
        if found is None and qualified.startswith(self.driver) and qualified[len(self.driver)] == "/":
            found = held.get(bare)
        if isinstance(found, tuple) and isinstance(found[1], list):
            return (found[0], *found[1])
        return found

    def attribute(self, qualified: str) -> AttributeValue | None:
        """The attribute of a qualified name; the driver's own domain may have been left out."""
        found = self.attributes.get(qualified)
        if found is not None:
            return found
        domain, _, name = qualified.partition("/")
        return self.attributes.get(name) if domain == self.driver else None


@dataclass(frozen=True, slots=True, eq=False)
class Slice:
    """A ResourceSlice."""

    name: str
    driver: str
    pool: str
    generation: int
    slice_count: int
    nodes: NodeChoice
    devices: tuple[Device, ...]
    counter_sets: Mapping[str, Mapping[str, Quantity]] = field(default_factory=dict)
    duplicate_counter_set: str = ""


@dataclass(frozen=True, slots=True)
class DeviceClass:
    """A DeviceClass: selectors that every request through it must satisfy, and configuration."""

    name: str
    selectors: tuple[str | None, ...] = ()
    config: tuple[Json, ...] = ()
    extended_resource: str = ""


@dataclass(frozen=True, slots=True)
class Request:
    """A request, or an alternative of one (`parent` names it then). A selector without CEL is None."""

    name: str
    class_name: str
    mode: str = "ExactCount"
    count: int = 1
    selectors: tuple[str | None, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    admin_access: bool | None = None
    capacity: Mapping[str, Quantity] = field(default_factory=dict)
    has_capacity: bool = False
    parent: str = ""

    @property
    def full_name(self) -> str:
        """`request`, or `request/alternative`."""
        return f"{self.parent}/{self.name}" if self.parent else self.name


@dataclass(frozen=True, slots=True)
class RequestSlot:
    """A claim's request: itself, or its alternatives in order of preference."""

    name: str
    alternatives: tuple[Request, ...]
    is_list: bool = False


@dataclass(frozen=True, slots=True)
class Constraint:
    """A constraint of a claim; a kind that is not known has an empty attribute."""

    kind: Literal["match", "distinct", "unknown"]
    attribute: str
    requests: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Claim:
    """A ResourceClaim, or what a template would make."""

    name: str
    namespace: str
    slots: tuple[RequestSlot, ...]
    constraints: tuple[Constraint, ...] = ()
    config: tuple[Json, ...] = ()

    def __str__(self) -> str:
        """As Go's log package names an object."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


@dataclass(frozen=True, slots=True)
class Node:
    """A node: name and labels."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Gates:
    """The feature gates that the allocator asks about, as they stand in a stock 1.36."""

    admin_access: bool = True
    consumable_capacity: bool = True
    device_binding: bool = True
    device_taints: bool = True
    list_attributes: bool = False
    partitionable: bool = True
    prioritized_list: bool = True
