"""How the server prints values of its internal types in errors.

Internal types have no JSON names: Go's encoder writes every field, by its Go name and in the order of the
type, whether or not it is set (Kubernetes `pkg/apis/{core,resource}/types.go`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

Shape: TypeAlias = Mapping[str, Any]
"""Go name → what stands for an absent field, or how the field's value is printed."""

_PROFILE: Final[Shape] = {"Type": "", "LocalhostProfile": None}
SECURITY_CONTEXT: Final[Shape] = {
    "Capabilities": lambda value: shown(value, {"Add": None, "Drop": None}),
    "Privileged": None,
    "SELinuxOptions": lambda value: shown(value, {"User": "", "Role": "", "Type": "", "Level": ""}),
    "WindowsOptions": None,
    "RunAsUser": None,
    "RunAsGroup": None,
    "RunAsNonRoot": None,
    "ReadOnlyRootFilesystem": None,
    "AllowPrivilegeEscalation": None,
    "ProcMount": None,
    "SeccompProfile": lambda value: shown(value, _PROFILE),
    "AppArmorProfile": lambda value: shown(value, _PROFILE),
}
POD_RESOURCE_CLAIM: Final[Shape] = {
    "Name": "",
    "ResourceClaimName": None,
    "ResourceClaimTemplateName": None,
}
UPDATE_STRATEGY: Final[Shape] = {"Type": "", "RollingUpdate": None}

TOLERATION: Final[Shape] = {
    "Key": "",
    "Operator": "",
    "Value": "",
    "Effect": "",
    "TolerationSeconds": None,
}
_ASKED: Final[Shape] = {
    "DeviceClassName": "",
    "Selectors": lambda value: each(value, {"CEL": lambda selector: shown(selector, {"Expression": ""})}),
    "AllocationMode": "",
    "Count": 0,
}
_TOLERATED: Final[Shape] = {
    "Tolerations": lambda value: each(value, TOLERATION),
    "Capacity": lambda value: shown(value, {"Requests": None}),
}
_EXACTLY: Final[Shape] = {**_ASKED, "AdminAccess": None, **_TOLERATED}
_ALTERNATIVE: Final[Shape] = {"Name": "", **_ASKED, **_TOLERATED}
_REQUEST: Final[Shape] = {
    "Name": "",
    "Exactly": lambda value: shown(value, _EXACTLY),
    "FirstAvailable": lambda value: each(value, _ALTERNATIVE),
}
_CONSTRAINT: Final[Shape] = {"Requests": None, "MatchAttribute": None, "DistinctAttribute": None}
_CONFIGURATION: Final[Shape] = {
    "Requests": None,
    "Opaque": lambda value: shown(value, {"Driver": "", "Parameters": None}),
}
CLAIM_SPEC: Final[Shape] = {
    "Devices": lambda value: shown(
        value or {},
        {
            "Requests": lambda requests: each(requests, _REQUEST),
            "Constraints": lambda constraints: each(constraints, _CONSTRAINT),
            "Config": lambda config: each(config, _CONFIGURATION),
        },
    ),
}


def shown(value: Any, shape: Shape) -> dict[str, Any] | None:
    """A struct in the given shape; None stays None."""
    if value is None:
        return None
    out: dict[str, Any] = {}
    for name, absent in shape.items():
        found = value.get(_json_name(name))
        if callable(absent):
            out[name] = absent(found)
        else:
            out[name] = absent if found is None else found
    return out


def each(values: Any, shape: Shape) -> list[Any] | None:
    """A list of structs; an absent one is null."""
    return None if not values else [shown(value, shape) for value in values]


def claim_template_spec(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata of a template is embedded, and has JSON names; the claim's part has none."""
    metadata = spec.get("metadata") or {}
    return {**metadata, "Spec": shown(spec.get("spec") or {}, CLAIM_SPEC)}


def _json_name(name: str) -> str:
    if name in ("CEL", "SELinuxOptions"):
        return {"CEL": "cel", "SELinuxOptions": "seLinuxOptions"}[name]
    return name[0].lower() + name[1:]
