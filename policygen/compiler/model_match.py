"""Which objects a rule is for: names resolved, defaults filled, every value with its span."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from policygen.compiler.places import Text
from policygen.diagnostics import Span

Operation: TypeAlias = Literal["CREATE", "UPDATE"]


@dataclass(frozen=True, slots=True)
class Requirement:
    """One requirement of a label or node selector: `In`, `NotIn`, `Exists`, `DoesNotExist`, `Gt`, `Lt`."""

    key: str
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]
    values: tuple[str, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class StringMatch:
    """A test of one string: any of `values` equals it, or it has the prefix, suffix or part."""

    operator: Literal["equals", "startsWith", "endsWith", "contains"]
    values: tuple[str, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Uses:
    """A container uses the device when it has a limit of one of `resources`, **or** a claim: a pod-level
    entry from one of `templates` that it names in `resources.claims`. A pod uses it when a container does.

    Both halves are needed: another rule of the bundle may move the limit to a claim.
    """

    subject: str
    """What the user named: a device or a resource."""
    resources: tuple[str, ...]
    templates: tuple[str, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class NamespaceMatch:
    """Namespaces of a rule. `names` None = all but the exempt ones; requirements are on labels."""

    names: tuple[str, ...] | None
    requirements: tuple[Requirement, ...]
    exclude: tuple[str, ...]
    """Exempt namespaces and those that the rule excludes, sorted; never one of `names`."""
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Owner:
    """The pod's controller ownerReference: one of these kinds (of this group, when given), or none at all."""

    kinds: tuple[str, ...]
    """Empty = the pod has no controller."""
    group: str | None
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Match:
    """All parts must hold. Labels, images and uses speak of the pod, or of a workload's pod template."""

    workloads: tuple[str, ...]
    operations: tuple[Operation, ...]
    namespaces: NamespaceMatch
    uses: tuple[Uses, ...]
    """Each of them must be used (AND)."""
    labels: tuple[Requirement, ...]
    images: tuple[StringMatch, ...]
    """Some container's image satisfies one of these."""
    owner: Owner | None
    cel: tuple[Text, ...]
    """Boolean expressions on `object`, `oldObject` and `request`, all must be true."""
    span: Span = field(compare=False, repr=False)
