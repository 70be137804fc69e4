"""What travels down the admission chain: the request with its current object.

An in-tree plugin is a module in `policygen.admission.plugins` with one or both of

    def admit(attributes: Attributes, cluster: Cluster) -> Object | None
    def validate(attributes: Attributes, cluster: Cluster) -> None

`admit` returns the changed object (a new one: what it was given is never changed in place, parts may be
shared), or None when there is nothing to do. Both raise `policygen.admission.outcome.Denied` to refuse, and
call `attributes.warn(text)` for a warning header. `policygen.admission.server` fixes their order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from policygen.admission.request import AdmissionRequest, Object, Operation, UserInfo
from policygen.kube.names import GroupVersionKind, GroupVersionResource

if TYPE_CHECKING:
    from policygen.admission.cluster import Cluster


@dataclass(frozen=True, slots=True)
class Attributes:
    """A request in flight; `object` is the object after the stages that have run."""

    request: AdmissionRequest
    object: Object | None
    is_reinvocation: bool = False
    warnings: list[str] = field(default_factory=list)
    audit_annotations: dict[str, str] = field(default_factory=dict)

    @property
    def operation(self) -> Operation:
        """What is done."""
        return self.request.operation

    @property
    def kind(self) -> GroupVersionKind:
        """Of the object in the request."""
        return self.request.kind

    @property
    def resource(self) -> GroupVersionResource:
        """Of the request."""
        return self.request.resource

    @property
    def subresource(self) -> str:
        """Empty for the resource itself."""
        return self.request.subresource

    @property
    def name(self) -> str:
        """Of the object; empty on CREATE with `generateName`."""
        return self.request.name

    @property
    def namespace(self) -> str:
        """Empty for cluster-scoped resources."""
        return self.request.namespace

    @property
    def old_object(self) -> Object | None:
        """The stored object on UPDATE and DELETE."""
        return self.request.old_object

    @property
    def user_info(self) -> UserInfo:
        """Who asks."""
        return self.request.user_info

    def warn(self, text: str) -> None:
        """Add a warning header once."""
        if text not in self.warnings:
            self.warnings.append(text)

    def with_object(self, obj: Object | None, *, reinvocation: bool | None = None) -> Attributes:
        """The same request with another current object."""
        again = self.is_reinvocation if reinvocation is None else reinvocation
        return Attributes(self.request, obj, again, self.warnings, self.audit_annotations)


class Admit(Protocol):
    """A mutating plugin."""

    def __call__(self, attributes: Attributes, cluster: Cluster, /) -> Object | None:
        """Return the changed object, or None when there is nothing to change."""


Validate = Callable[[Attributes, "Cluster"], None]
"""A validating plugin: raises `Denied`."""
