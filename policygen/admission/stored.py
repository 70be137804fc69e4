"""Objects in the cluster that admission reads must be what the server could have stored.

A quota or a class with a value of the wrong type would otherwise be misread, or break a plugin.
"""

from __future__ import annotations

from typing import Final, NoReturn

from policygen.admission.request import Object
from policygen.diagnostics import fail
from policygen.kube import catalog, objects
from policygen.kube.decode_errors import DecodeError
from policygen.kube.roundtrip import round_trip

_READ: Final = frozenset(
    {
        ("", "LimitRange"),
        ("", "Namespace"),
        ("", "Pod"),
        ("", "ResourceQuota"),
        ("", "ServiceAccount"),
        ("node.k8s.io", "RuntimeClass"),
        ("resource.k8s.io", "DeviceClass"),
        ("scheduling.k8s.io", "PriorityClass"),
    }
)
"""Kinds that plugins and matching read: (group, kind)."""


def typed(obj: Object, group: str, kind: str, version: str) -> Object:
    """The object as the server holds it; the same one unless it is read and is written differently.

    Stops with a diagnostic where an object that will be read does not decode as its kind, or has no name.
    """
    if (group, kind) not in _READ:
        return obj
    schema = catalog.load(version).get(str(obj.get("apiVersion")), kind)
    if schema is None:
        return obj
    try:
        held = round_trip(obj, schema)
    except DecodeError as error:
        _refuse(obj, error.message)
    if not held.get("metadata", {}).get("name"):
        _refuse(obj, "metadata.name: Required value: name or generateName is required")
    return obj if held == obj else held


def _refuse(obj: Object, says: str) -> NoReturn:
    shown = objects.describe(obj)
    fail("invalid-object", f"`{shown}` is not what its kind says", notes=(f"the API server says: {says}",))
