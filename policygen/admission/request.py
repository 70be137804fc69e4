"""What the API server hands to admission: who wants to do what to which object."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from policygen.kube.names import GroupVersionKind, GroupVersionResource

Object: TypeAlias = dict[str, Any]
"""A Kubernetes object as JSON. Nothing in this package changes one that it was given."""

Operation: TypeAlias = Literal["CREATE", "UPDATE", "DELETE", "CONNECT"]


@dataclass(frozen=True, slots=True)
class UserInfo:
    """Who asks."""

    username: str = "admin"
    groups: tuple[str, ...] = ("system:masters", "system:authenticated")
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AdmissionRequest:
    """One request. `object` is absent on DELETE and CONNECT without options, `old_object` on CREATE.

    `kind` and `resource` are those that the client used (CEL's `requestKind`, `requestResource`); what a
    policy sees as `request.kind` is decided while it is matched.
    """

    operation: Operation
    kind: GroupVersionKind
    resource: GroupVersionResource
    name: str = ""
    namespace: str = ""
    subresource: str = ""
    object: Object | None = None
    old_object: Object | None = None
    user_info: UserInfo = UserInfo()
    options: Object | None = None
    dry_run: bool = False
