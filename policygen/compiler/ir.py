"""What must hold in a pod (or pod template): a closed set of nodes, with no word of the spec and no YAML.

`policygen.compiler.ir_rules` makes them from a rule's actions, `policygen.compiler.plan` turns each into
mutations for one shape of workload and one Kubernetes version.

Every node says where it applies, what must be there, what to do when the user wrote something else
(`on_conflict`), and which span of the spec asked for it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from policygen.compiler.model_actions import Containers, Json, OnConflict
from policygen.diagnostics import Span


@dataclass(frozen=True, slots=True)
class Origin:
    """The value of the spec that asked for something, in a few words and by its span."""

    text: str
    """Such as "node selector `pool`"."""
    span: Span = field(compare=False, repr=False)


# --- where -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class InPod:
    """Once per pod or pod template; paths start at the template."""


@dataclass(frozen=True, slots=True)
class InContainers:
    """Once per selected container; paths start at the container."""

    containers: Containers


Place: TypeAlias = InPod | InContainers


# --- only if -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SharesNoHostNamespace:
    """Only on pods without host network, host PID, host IPC and block volumes."""


@dataclass(frozen=True, slots=True)
class HasLabels:
    """Only on pods that have all of these labels; the others are reported."""

    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SomeContainer:
    """Only on pods in which one of these selections has a container, and, when a mount path is given, one
    that mounts nothing there."""

    selections: tuple[Containers, ...]
    unless_mounted: str | None = None


Guard: TypeAlias = SharesNoHostNamespace | HasLabels | SomeContainer


# --- what --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Leaf:
    """One field has a value. The last steps of labels, annotations and node selectors are map keys."""

    place: Place
    path: tuple[str, ...]
    value: Json
    on_conflict: OnConflict
    origin: Origin
    unset: str | None = None
    """A value that defaulting fills in and that counts as not set."""
    guard: Guard | None = None


@dataclass(frozen=True, slots=True)
class Item:
    """One item of `Items`, in the form in which the API server stores it."""

    value: dict[str, Json]
    origin: Origin


Identity: TypeAlias = Literal[
    "whole", "toleration", "name", "mountPath", "topologyKey", "affinity", "preference"
]
"""What makes two items one: the whole item, a key field, or the topology key (or node preference) inside a
weighted term. `toleration` is whole, or covered by a wider one."""


@dataclass(frozen=True, slots=True)
class Items:
    """A list holds these items."""

    place: Place
    path: tuple[str, ...]
    items: tuple[Item, ...]
    identity: Identity
    on_conflict: OnConflict
    guard: Guard | None = None


@dataclass(frozen=True, slots=True)
class NodeTerms:
    """Every required node selector term contains these requirements (terms are alternatives)."""

    requirements: tuple[Item, ...]
    on_conflict: OnConflict


@dataclass(frozen=True, slots=True)
class PriorityClass:
    """The pod has this priority class. With a `default_class`, that name counts as not set."""

    name: str
    default_class: str | None
    on_conflict: OnConflict
    origin: Origin


@dataclass(frozen=True, slots=True)
class SharedClaim:
    """The pod has a claim entry from a template, and each selected container names it."""

    name: str
    template: str
    containers: Containers
    on_conflict: OnConflict
    origin: Origin


@dataclass(frozen=True, slots=True)
class MovedLimit:
    """A limit of a resource is a claim instead: each container with such a limit has a claim of its own."""

    resource: str
    claims: tuple[tuple[int, str, str], ...]
    """Value of the limit, name of the claim, name of the template."""
    init: bool
    origin: Origin


Node: TypeAlias = Leaf | Items | NodeTerms | PriorityClass | SharedClaim | MovedLimit
