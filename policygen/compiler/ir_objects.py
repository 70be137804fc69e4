"""What must exist in the cluster beside admission policies: a closed set of nodes, near to the API but typed.

`lower` makes them from the model, `emit` turns each into one manifest. What rules do is in `ir`. The
`origin` of an object is the part of the spec that it comes from, such as `tenants/team-a`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from policygen.compiler.model import Limits, Quota
from policygen.compiler.model_actions import Json, Toleration
from policygen.diagnostics import Span


@dataclass(frozen=True, slots=True)
class Selector:
    """One CEL selector of a class or request, with the value of the spec that asked for it."""

    expression: str
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Opaque:
    """Driver parameters; `requests` empty = all."""

    driver: str
    parameters: dict[str, Json]
    requests: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PriorityClass:
    """A PriorityClass."""

    name: str
    value: int
    preemption: str
    is_default: bool
    description: str | None
    origin: str
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class DeviceClass:
    """A DeviceClass."""

    name: str
    selectors: tuple[Selector, ...]
    extended_resource: str | None
    configs: tuple[Opaque, ...]
    origin: str
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Subrequest:
    """One way to satisfy a request."""

    name: str
    class_name: str
    selectors: tuple[Selector, ...]
    count: int | None
    """None = all."""
    capacity: tuple[tuple[str, str], ...]
    tolerations: tuple[Toleration, ...]
    admin_access: bool


@dataclass(frozen=True, slots=True)
class Request:
    """A request: `exactly` with one way, `firstAvailable` with several."""

    name: str
    ways: tuple[Subrequest, ...]


@dataclass(frozen=True, slots=True)
class AttributeConstraint:
    """`matchAttribute` or `distinctAttribute`."""

    attribute: str
    distinct: bool
    requests: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ClaimTemplate:
    """A ResourceClaimTemplate in one namespace."""

    name: str
    namespace: str
    requests: tuple[Request, ...]
    constraints: tuple[AttributeConstraint, ...]
    configs: tuple[Opaque, ...]
    origin: str
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Namespace:
    """A namespace of a tenant, with its labels."""

    name: str
    labels: tuple[tuple[str, str], ...]
    annotations: tuple[tuple[str, str], ...]
    origin: str
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ResourceQuota:
    """A ResourceQuota in one namespace."""

    namespace: str
    quota: Quota
    origin: str
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class LimitRange:
    """A LimitRange in one namespace."""

    name: str
    namespace: str
    limits: tuple[Limits, ...]
    origin: str
    span: Span = field(compare=False, repr=False)


Object: TypeAlias = Namespace | PriorityClass | DeviceClass | ClaimTemplate | ResourceQuota | LimitRange
