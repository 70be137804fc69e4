"""Objects of older API versions in the form in which the server judges and counts them.

Only ResourceClaims and their templates need it: v1beta1 says in a request itself what later versions say
under `exactly` (Kubernetes `pkg/apis/resource/v1beta1/conversion.go`).
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

Object: TypeAlias = dict[str, Any]

_FLAT: Final = (
    "deviceClassName",
    "selectors",
    "allocationMode",
    "count",
    "adminAccess",
    "tolerations",
    "capacity",
)


def claim(obj: Object, version: str) -> Object:
    """A ResourceClaim or ResourceClaimTemplate of an API version as one of `v1`; the same object if it is."""
    spec = obj.get("spec")
    if version != "v1beta1" or not spec:
        return obj
    inner = spec.get("spec")
    if inner is not None:
        return obj | {"spec": spec | {"spec": _claim_spec(inner)}}
    return obj | {"spec": _claim_spec(spec)}


def _claim_spec(spec: Object) -> Object:
    devices = spec.get("devices") or {}
    requests = devices.get("requests")
    if not requests:
        return spec
    return spec | {"devices": devices | {"requests": [_request(request) for request in requests]}}


def _request(request: Object) -> Object:
    exactly = {field: request[field] for field in _FLAT if request.get(field) not in (None, "", 0)}
    kept = {key: value for key, value in request.items() if key not in _FLAT}
    return kept | {"exactly": exactly} if exactly else kept
