"""Changing a copy: only the containers on the way to a change are made anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from policygen.admission.request import Object


def with_spec(pod: Object, **fields: Any) -> Object:
    """The pod with these fields of its spec set."""
    return {**pod, "spec": {**(pod.get("spec") or {}), **fields}}


def each_container(pod: Object, field: str, change: Callable[[Object], Object]) -> Object:
    """The pod with each element of one of its container lists changed; the same pod where none did."""
    spec = pod.get("spec") or {}
    before = spec.get(field) or []
    after = [change(container) for container in before]
    if all(new is old for new, old in zip(after, before, strict=True)):
        return pod
    return {**pod, "spec": {**spec, field: after}}


def is_pod(resource_group: str, resource: str) -> bool:
    """Whether a resource is core pods, of any version."""
    return resource == "pods" and not resource_group
