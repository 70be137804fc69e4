"""Rules of DRA objects (Kubernetes `pkg/apis/resource/validation/validation.go`)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, Final

from policygen.admission import resource_names
from policygen.admission.validation import content, internal, metadata
from policygen.admission.validation.field import FieldErrors, Object
from policygen.kube.names import byte_length

_MOST: Final = 32
_MOST_ALTERNATIVES: Final = 8
_LONGEST_SELECTOR: Final = 10 * 1024
_LONGEST_PARAMETERS: Final = 10 * 1024
_COST_LIMIT: Final = 1_000_000
_EFFECTS: Final = ("NoExecute", "NoSchedule", "None")
_REFERENCE: Final = (
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
)
_MODES: Final = ("All", "ExactCount")

Item = Callable[[FieldErrors, Any, str], None]


def claim(found: FieldErrors, obj: Object, version: str) -> None:
    """`ValidateResourceClaim`."""
    metadata.validate(found, obj.get("metadata") or {}, namespaced=True)
    _devices(found, (obj.get("spec") or {}).get("devices") or {}, version, "spec.devices")


def template(found: FieldErrors, obj: Object, version: str) -> None:
    """`ValidateResourceClaimTemplate`."""
    metadata.validate(found, obj.get("metadata") or {}, namespaced=True)
    spec = obj.get("spec") or {}
    metadata.template(found, spec.get("metadata") or {}, "spec.metadata")
    _devices(found, (spec.get("spec") or {}).get("devices") or {}, version, "spec.spec.devices")


def immutable_spec(found: FieldErrors, obj: Object, old: Object) -> None:
    """Claims and their templates: the spec never changes."""
    metadata.validate_update(found, obj.get("metadata") or {}, old.get("metadata") or {})
    if (obj.get("spec") or {}) != (old.get("spec") or {}):
        spec = obj.get("spec") or {}
        if obj.get("kind") == "ResourceClaim":
            shown = internal.shown(spec, internal.CLAIM_SPEC)
        else:
            shown = internal.claim_template_spec(spec)
        found.invalid("spec", shown, metadata.IMMUTABLE)


def device_class(found: FieldErrors, obj: Object, version: str) -> None:
    """`ValidateDeviceClass`."""
    metadata.validate(found, obj.get("metadata") or {}, namespaced=False)
    spec = obj.get("spec") or {}
    _class_spec(found, spec, version, stored=False)


def device_class_update(found: FieldErrors, obj: Object, old: Object, version: str) -> None:
    """`ValidateDeviceClassUpdate`: selectors that did not change are not compiled again."""
    metadata.validate_update(found, obj.get("metadata") or {}, old.get("metadata") or {})
    spec, before = obj.get("spec") or {}, old.get("spec") or {}
    _class_spec(found, spec, version, stored=spec.get("selectors") == before.get("selectors"))


def _class_spec(found: FieldErrors, spec: Object, version: str, *, stored: bool) -> None:
    _selectors(found, spec.get("selectors") or [], "" if stored else version, "spec.selectors")
    _each(found, spec.get("config") or [], _MOST, _configuration, "spec.config")
    extended = spec.get("extendedResourceName")
    if extended is not None and not resource_names.is_extended(extended):
        found.invalid("spec.extendedResourceName", extended, "must be a valid extended resource name")


def _each(found: FieldErrors, items: list[Any], most: int, rule: Item, path: str) -> bool:
    """`validateSlice`: beyond the limit only the number is told."""
    if len(items) > most:
        found.too_many(path, len(items), most)
        return False
    for index, item in enumerate(items):
        rule(found, item, f"{path}[{index}]")
    return True


def _unique(found: FieldErrors, items: list[Any], most: int, rule: Item, path: str) -> None:
    """`validateSet`, of names or of what has one."""
    if not _each(found, items, most, rule, path):
        return
    seen: set[str] = set()
    for index, item in enumerate(items):
        name = item if isinstance(item, str) else _name_of(item)
        if name in seen:
            found.duplicate(f"{path}[{index}]", name)
        seen.add(name)


def _name_of(item: Object) -> str:
    return item.get("name") or ""


def _devices(found: FieldErrors, devices: Object, version: str, path: str) -> None:
    requests = devices.get("requests") or []
    known = _request_names(requests)

    def request(errors: FieldErrors, item: Object, at: str) -> None:
        _request(errors, item, version, at)

    def constraint(errors: FieldErrors, item: Object, at: str) -> None:
        _constraint(errors, item, known, at)

    def configuration(errors: FieldErrors, item: Object, at: str) -> None:
        _references(errors, item.get("requests") or [], known, f"{at}.requests")
        _configuration(errors, item, at)

    _unique(found, requests, _MOST, request, f"{path}.requests")
    _each(found, devices.get("constraints") or [], _MOST, constraint, f"{path}.constraints")
    _each(found, devices.get("config") or [], _MOST, configuration, f"{path}.config")


def _request_names(requests: Iterable[Object]) -> set[str]:
    """Names that constraints and configuration may refer to: requests, and alternatives within them."""
    names: set[str] = set()
    for request in requests:
        name = _name_of(request)
        names.add(name)
        names.update(f"{name}/{_name_of(part)}" for part in request.get("firstAvailable") or ())
    return names


def _request(found: FieldErrors, request: Object, version: str, path: str) -> None:
    _label(found, _name_of(request), f"{path}.name")
    alternatives, exactly = request.get("firstAvailable") or [], request.get("exactly")
    says = "exactly one of `exactly` or `firstAvailable` is required"
    if not alternatives and exactly is None:
        found.required(path, says)
    elif alternatives and exactly is not None:
        found.invalid(path, None, f"{says}, but multiple fields are set")
    elif alternatives:

        def alternative(errors: FieldErrors, part: Object, at: str) -> None:
            _label(errors, _name_of(part), f"{at}.name")
            _asked(errors, part, version, at)

        at = f"{path}.firstAvailable"
        _unique(found, alternatives, _MOST_ALTERNATIVES, alternative, at)
    else:
        _asked(found, exactly or {}, version, f"{path}.exactly")


def _label(found: FieldErrors, name: str, path: str) -> None:
    if not name:
        found.required(path)
    else:
        found.messages(path, name, content.label(name))


def _asked(found: FieldErrors, request: Object, version: str, path: str) -> None:
    """What a request and an alternative have in common."""
    name = request.get("deviceClassName") or ""
    if not name:
        found.required(f"{path}.deviceClassName")
    else:
        found.messages(f"{path}.deviceClassName", name, content.subdomain(name))
    _selectors(found, request.get("selectors") or [], version, f"{path}.selectors")
    mode, count = request.get("allocationMode") or "", request.get("count") or 0
    match mode:
        case "All":
            if count:
                says = "must not be specified when allocationMode is 'All'"
                found.invalid(f"{path}.count", count, says)
        case "ExactCount":
            if count <= 0:
                found.invalid(f"{path}.count", count, "must be greater than zero")
        case _:
            found.unsupported(f"{path}.allocationMode", mode, _MODES)
    for index, toleration in enumerate(request.get("tolerations") or ()):
        _toleration(found, toleration, f"{path}.tolerations[{index}]")


def _toleration(found: FieldErrors, toleration: Object, path: str) -> None:
    key, value = toleration.get("key") or "", toleration.get("value") or ""
    if key:
        metadata.label_name(found, key, f"{path}.key")
    match toleration.get("operator") or "":
        case "Exists":
            if value:
                found.invalid(f"{path}.value", value, "must be empty for operator `Exists`")
        case "Equal":
            found.messages(f"{path}.value", value, content.label_value(value))
        case "":
            found.required(f"{path}.operator")
        case other:
            found.unsupported(f"{path}.operator", other, ("Equal", "Exists"))
    effect = toleration.get("effect") or ""
    if effect and effect not in _EFFECTS:
        found.unsupported(f"{path}.effect", effect, _EFFECTS)


def _selectors(found: FieldErrors, selectors: list[Object], version: str, path: str) -> None:
    def selector(errors: FieldErrors, item: Object, at: str) -> None:
        cel = item.get("cel")
        if cel is None:
            errors.required(f"{at}.cel")
        elif version:
            _expression(errors, cel.get("expression") or "", version, f"{at}.cel.expression")

    _each(found, selectors, _MOST, selector, path)


def _expression(found: FieldErrors, expression: str, version: str, path: str) -> None:
    """`validateCELExpression`; its words are those of the selector compiler."""
    from policygen.dra import selectors

    if byte_length(expression) > _LONGEST_SELECTOR:
        found.too_long(path, _LONGEST_SELECTOR)
        return
    compiled = selectors.compile_selector(expression, version=version)
    if compiled.error:
        found.invalid(path, expression, compiled.error)
    elif compiled.max_cost > _COST_LIMIT:
        found.forbidden(path, "too complex, exceeds cost limit")


def _constraint(found: FieldErrors, constraint: Object, known: set[str], path: str) -> None:
    _references(found, constraint.get("requests") or [], known, f"{path}.requests")
    for field in ("matchAttribute", "distinctAttribute"):
        name = constraint.get(field)
        if name is not None:
            _qualified(found, name, f"{path}.{field}")
            return
    says = 'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set'
    found.required(path, says)


def _references(found: FieldErrors, names: list[str], known: set[str], path: str) -> None:
    def reference(errors: FieldErrors, name: str, at: str) -> None:
        parts = name.split("/")
        if len(parts) > 2:
            errors.invalid(at, name, _REFERENCE)
            return
        for part in parts:
            errors.messages(at, part, content.label(part))
        if name not in known:
            errors.invalid(at, name, _REFERENCE)

    _unique(found, names, _MOST, reference, path)


def _qualified(found: FieldErrors, name: str, path: str) -> None:
    """`validateFullyQualifiedName`: a domain, a slash, and an identifier."""
    parts = name.split("/")
    if len(parts) == 1:
        _identifier(found, parts[0], path)
        says = "a fully qualified name must be a domain and a name separated by a slash"
        found.invalid(path, name, says)
    elif len(parts) == 2:
        if not parts[0]:
            found.invalid(path, "", "the domain must not be empty")
        else:
            driver_name(found, parts[0], path)
        if not parts[1]:
            found.invalid(path, "", "the name must not be empty")
        else:
            _identifier(found, parts[1], path)
    else:
        found.invalid(path, name, "must not contain more than one slash")


def _identifier(found: FieldErrors, name: str, path: str) -> None:
    if byte_length(name) > 32:
        found.too_long(path, 32)
    found.messages(path, name, content.c_identifier(name))


def driver_name(found: FieldErrors, name: str, path: str) -> None:
    """`ValidateCSIDriverName`, which drivers of devices share."""
    if not name:
        found.required(path)
    if byte_length(name) > 63:
        found.too_long(path, 63)
    found.messages(path, name, content.subdomain(name.lower()))


def _configuration(found: FieldErrors, config: Object, path: str) -> None:
    opaque = config.get("opaque")
    if opaque is None:
        found.required(f"{path}.opaque")
        return
    driver_name(found, opaque.get("driver") or "", f"{path}.opaque.driver")
    parameters, at = opaque.get("parameters"), f"{path}.opaque.parameters"
    if parameters is None:
        found.required(at)
    elif byte_length(json.dumps(parameters, separators=(",", ":"))) > _LONGEST_PARAMETERS:
        found.too_long(at, _LONGEST_PARAMETERS)
    elif not isinstance(parameters, dict):
        found.invalid(at, "<value omitted>", "must be a valid JSON object")
