"""Claims, templates and classes as the API server accepts them: fields, names, references, selectors.

Follows `pkg/apis/resource/validation/validation.go`; the reasons are the server's words where it has any.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import cast

from policygen.dra.model import Json
from policygen.dra.selectors import COST_LIMIT, VERSION, compile_selector
from policygen.dra.validate import MAX_IDENTIFIER, Problem

MAX_REQUESTS = 32
MAX_ALTERNATIVES = 8
MAX_SELECTORS = 32
MAX_CONSTRAINTS = 32
MAX_TOLERATIONS = 16
MAX_EXPRESSION = 10 * 1024

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_C_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MODES = ("All", "ExactCount")


def _map(value: object) -> Json:
    return cast("Json", value) if isinstance(value, Mapping) else {}


def _list(value: object) -> list[Json]:
    return [_map(entry) for entry in value] if isinstance(value, list) else []


def claim_problems(obj: Json) -> list[Problem]:
    """Everything for which the server refuses a ResourceClaim or ResourceClaimTemplate that decodes."""
    path = "spec.spec.devices" if obj.get("kind") == "ResourceClaimTemplate" else "spec.devices"
    spec = _map(obj.get("spec"))
    if obj.get("kind") == "ResourceClaimTemplate":
        spec = _map(spec.get("spec"))
    devices = _map(spec.get("devices"))
    flat = str(obj.get("apiVersion", "")).endswith("/v1beta1")
    names = _names(devices)
    return [
        *_requests(devices, path, flat=flat),
        *_constraints(devices, path, names),
        *_configs(devices, path, names),
    ]


def class_problems(obj: Json) -> list[Problem]:
    """Everything for which the server refuses a DeviceClass that decodes."""
    return list(_selectors(_map(obj.get("spec")), "spec"))


def _names(devices: Json) -> set[str]:
    """What constraints and configuration may refer to: requests, and `request/alternative`."""
    names = set()
    for request in _list(devices.get("requests")):
        name = str(request.get("name"))
        names.add(name)
        names |= {f"{name}/{each.get('name')}" for each in _list(request.get("firstAvailable"))}
    return names


def _requests(devices: Json, path: str, *, flat: bool) -> Iterator[Problem]:
    requests = _list(devices.get("requests"))
    if len(requests) > MAX_REQUESTS:
        yield Problem(f"{path}.requests", _too_many(len(requests), MAX_REQUESTS))
    seen: set[str] = set()
    for index, request in enumerate(requests):
        at = f"{path}.requests[{index}]"
        yield from _name(request.get("name"), f"{at}.name", seen)
        exact, listed = request.get("exactly"), request.get("firstAvailable")
        if flat and not listed:
            yield from _exact(request, at)
        elif bool(exact) == bool(listed):
            how = "exactly one of `exactly` or `firstAvailable` is required"
            yield Problem(at, f"Required value: {how}" if not exact else f"Invalid value: {how}")
        elif exact:
            yield from _exact(_map(exact), f"{at}.exactly")
        if listed:
            yield from _alternatives(_list(listed), f"{at}.firstAvailable")


def _alternatives(entries: list[Json], path: str) -> Iterator[Problem]:
    if len(entries) > MAX_ALTERNATIVES:
        yield Problem(path, _too_many(len(entries), MAX_ALTERNATIVES))
    seen: set[str] = set()
    for index, entry in enumerate(entries):
        yield from _name(entry.get("name"), f"{path}[{index}].name", seen)
        yield from _exact(entry, f"{path}[{index}]")


def _name(name: object, path: str, seen: set[str]) -> Iterator[Problem]:
    if not isinstance(name, str) or not name:
        yield Problem(path, "Required value")
    elif len(name) > 63 or not _LABEL.fullmatch(name):
        yield Problem(path, f'Invalid value: "{name}": a lowercase RFC 1123 label must be used')
    elif name in seen:
        yield Problem(path, f'Duplicate value: "{name}"')
    else:
        seen.add(name)


def _exact(request: Json, path: str) -> Iterator[Problem]:
    if not request.get("deviceClassName"):
        yield Problem(f"{path}.deviceClassName", "Required value")
    mode, count = request.get("allocationMode") or "ExactCount", request.get("count", 0)
    if mode not in _MODES:
        yield Problem(
            f"{path}.allocationMode", f'Unsupported value: "{mode}": supported values: "All", "ExactCount"'
        )
    elif mode == "All" and count:
        yield Problem(
            f"{path}.count", f"Invalid value: {count}: must not be specified when allocationMode is 'All'"
        )
    elif not isinstance(count, int) or count < 0:
        yield Problem(f"{path}.count", f"Invalid value: {count}: must be greater than zero")
    tolerations = _list(request.get("tolerations"))
    if len(tolerations) > MAX_TOLERATIONS:
        yield Problem(f"{path}.tolerations", _too_many(len(tolerations), MAX_TOLERATIONS))
    yield from _selectors(request, path)


def _selectors(holder: Json, path: str) -> Iterator[Problem]:
    selectors = _list(holder.get("selectors"))
    if len(selectors) > MAX_SELECTORS:
        yield Problem(f"{path}.selectors", _too_many(len(selectors), MAX_SELECTORS))
    for index, selector in enumerate(selectors):
        at = f"{path}.selectors[{index}].cel"
        if not isinstance(selector.get("cel"), Mapping):
            yield Problem(at, "Required value")
            continue
        expression = _map(selector["cel"]).get("expression")
        if isinstance(expression, str):
            yield from _expression(expression, f"{at}.expression")


def _expression(expression: str, path: str) -> Iterator[Problem]:
    if len(expression.encode("utf-8", "surrogatepass")) > MAX_EXPRESSION:
        yield Problem(path, f"Too long: may not be more than {MAX_EXPRESSION} bytes")
        return
    compiled = compile_selector(expression, VERSION)
    if compiled.error:
        yield Problem(path, f'Invalid value: "{expression}": {compiled.error}')
    elif compiled.max_cost > COST_LIMIT:
        yield Problem(path, "Forbidden: too complex, exceeds cost limit")


def _constraints(devices: Json, path: str, names: set[str]) -> Iterator[Problem]:
    constraints = _list(devices.get("constraints"))
    if len(constraints) > MAX_CONSTRAINTS:
        yield Problem(f"{path}.constraints", _too_many(len(constraints), MAX_CONSTRAINTS))
    for index, constraint in enumerate(constraints):
        at = f"{path}.constraints[{index}]"
        yield from _references(constraint, at, names)
        chosen = [name for name in ("matchAttribute", "distinctAttribute") if constraint.get(name)]
        if len(chosen) != 1:
            yield Problem(at, "exactly one of `matchAttribute` or `distinctAttribute` is required")
        for name in chosen:
            yield from _attribute_name(str(constraint[name]), f"{at}.{name}")


def _attribute_name(name: str, path: str) -> Iterator[Problem]:
    domain, slash, identifier = name.rpartition("/")
    if not slash:
        yield Problem(path, f'Invalid value: "{name}": must include a domain')
    elif not _SUBDOMAIN.fullmatch(domain):
        yield Problem(path, f'Invalid value: "{domain}": a lowercase RFC 1123 subdomain must be used')
    if not _C_IDENTIFIER.fullmatch(identifier) or len(identifier) > MAX_IDENTIFIER:
        yield Problem(
            path, f'Invalid value: "{identifier}": a valid C identifier must start with a letter or _'
        )


def _configs(devices: Json, path: str, names: set[str]) -> Iterator[Problem]:
    for index, config in enumerate(_list(devices.get("config"))):
        yield from _references(config, f"{path}.config[{index}]", names)


def _references(holder: Json, path: str, names: set[str]) -> Iterator[Problem]:
    listed = holder.get("requests")
    for index, name in enumerate(listed if isinstance(listed, list) else ()):
        if not isinstance(name, str) or name not in names:
            yield Problem(
                f"{path}.requests[{index}]",
                f'Invalid value: "{name}": must be the name of a request in the claim '
                "or the name of a request and a subrequest separated by '/'",
            )


def _too_many(number: int, most: int) -> str:
    return f"Too many: {number}: must have at most {most} items"
