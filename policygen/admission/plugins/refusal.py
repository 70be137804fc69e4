"""How an in-tree plugin says no (apiserver `pkg/admission/errors.go`)."""

from __future__ import annotations

from policygen.admission.attributes import Attributes
from policygen.admission.outcome import Denied
from policygen.kube.names import GroupVersionResource


def forbidden(attributes: Attributes, says: str) -> Denied:
    """A 403 that names the resource and the object, or the `generateName` where it has no name yet."""
    return Denied(403, "Forbidden", message(attributes.resource, object_name(attributes), says))


def message(resource: GroupVersionResource, name: str, says: str) -> str:
    """`apierrors.NewForbidden`."""
    qualified = f"{resource.resource}.{resource.group}" if resource.group else resource.resource
    return f'{qualified} "{name}" is forbidden: {says}' if name else f"{qualified} is forbidden: {says}"


def object_name(attributes: Attributes) -> str:
    """The name that a refusal shows (`extractResourceName`)."""
    if attributes.name:
        return attributes.name
    metadata = (attributes.object or {}).get("metadata") or {}
    return str(metadata.get("name") or metadata.get("generateName") or "Unknown")
