"""What a spec means: names resolved, defaults filled, units exact, every value with the span it came from.

`resolve` makes a `Model`; nothing below here reads the spec again. Spans never take part in comparison. Rules
are in `model_match` and `model_actions`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from policygen.compiler.model_actions import Json, Rule, Toleration
from policygen.compiler.places import Text
from policygen.diagnostics import Span

LimitType: TypeAlias = Literal["Container", "Pod", "PersistentVolumeClaim"]
ScalarType: TypeAlias = Literal["string", "int", "bool", "version", "quantity"]
Operator: TypeAlias = Literal[
    "==", "!=", "<", "<=", ">", ">=", "in", "notIn", "contains", "startsWith", "endsWith", "exists", "absent"
]


@dataclass(frozen=True, slots=True)
class Priority:
    """A PriorityClass. One that `exists` is on the cluster already and is not emitted."""

    name: str
    value: int
    preemption: Literal["PreemptLowerPriority", "Never"]
    is_default: bool
    description: str | None
    exists: bool
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Condition:
    """A test of one attribute or capacity of a device, guarded when written as CEL."""

    kind: Literal["attribute", "capacity"]
    domain: str
    name: str
    type: ScalarType
    operator: Operator
    values: tuple[str | int | bool, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class DeviceConfig:
    """Opaque parameters for a driver; `requests` empty = all requests."""

    driver: str
    parameters: dict[str, Json]
    requests: tuple[str, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Device:
    """A kind of device, which becomes a DeviceClass. One that `exists` is on the cluster already."""

    name: str
    class_name: str
    driver: str
    release: str | None
    type: str
    """The driver's type of device (`gpu`, `mig`), empty when it is not known."""
    conditions: tuple[Condition, ...]
    cel: tuple[Text, ...]
    extended_resource: str | None
    configs: tuple[DeviceConfig, ...]
    exists: bool
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Alternative:
    """One way to satisfy a request."""

    name: str
    """Name of the subrequest; unused when the request has one alternative."""
    device: Device
    count: int | None
    """None = all that match."""
    conditions: tuple[Condition, ...]
    cel: tuple[Text, ...]
    capacity: tuple[tuple[str, str], ...]
    tolerations: tuple[Toleration, ...]
    admin_access: bool
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class DeviceRequest:
    """A named request for devices: the first alternative that can be allocated."""

    name: str
    alternatives: tuple[Alternative, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Constraint:
    """All devices of the named requests have the same value of an attribute, or all have different ones."""

    attribute: str
    """Qualified: `domain/name`."""
    distinct: bool
    requests: tuple[str, ...]
    """Empty = all; `request/subrequest` for one alternative."""
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim, which becomes a ResourceClaimTemplate in every namespace where a rule injects it."""

    name: str
    template: str
    requests: tuple[DeviceRequest, ...]
    constraints: tuple[Constraint, ...]
    configs: tuple[DeviceConfig, ...]
    replaces: str | None
    """The extended resource whose limits the claim stands for."""
    namespaces: tuple[str, ...]
    """Where the template is emitted: the namespaces of the rules that inject it, sorted."""
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Quota:
    """One ResourceQuota in each of a tenant's namespaces."""

    name: str
    key: str | None
    """The key under `quotas`, None for the tenant's own quota."""
    hard: tuple[tuple[str, str], ...]
    scopes: tuple[str, ...]
    scope_priorities: tuple[str, ...]
    """Priority classes that the quota is for (`scopeSelector`), empty = no such scope."""
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Limits:
    """One item of a LimitRange: for `Container`, `Pod` or `PersistentVolumeClaim`."""

    type: LimitType
    default: tuple[tuple[str, str], ...]
    default_request: tuple[tuple[str, str], ...]
    min: tuple[tuple[str, str], ...]
    max: tuple[tuple[str, str], ...]
    ratio: tuple[tuple[str, str], ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Tenant:
    """A tenant and what it may use."""

    name: str
    namespaces: tuple[str, ...]
    labels: tuple[tuple[str, str], ...]
    """Labels of its namespaces; when there are any, the Namespace objects are emitted."""
    annotations: tuple[tuple[str, str], ...]
    quotas: tuple[Quota, ...]
    limits: tuple[Limits, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Safety:
    """What no rule may touch."""

    exempt_namespaces: tuple[str, ...]
    break_glass_label: str
    """An object with this label (value `true`) is left alone by every policy of the bundle."""


@dataclass(frozen=True, slots=True)
class Model:
    """The resolved meaning of one spec."""

    name: str
    kubernetes: str
    """`1.34` … `1.37`."""
    labels: tuple[tuple[str, str], ...]
    annotations: tuple[tuple[str, str], ...]
    priorities: tuple[Priority, ...]
    devices: tuple[Device, ...]
    claims: tuple[Claim, ...]
    rules: tuple[Rule, ...]
    tenants: tuple[Tenant, ...]
    safety: Safety
    span: Span = field(compare=False, repr=False)
    """The spec's `metadata.name`."""
