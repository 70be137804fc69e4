"""Rules of ResourceQuota and LimitRange (Kubernetes `pkg/apis/core/validation/validation.go`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from policygen.admission import resource_names as names
from policygen.admission.validation import content, metadata, resources
from policygen.admission.validation.field import FieldErrors, Object
from policygen.kube.quantity import Quantity

_POD_SCOPES: Final = frozenset(
    {"Terminating", "NotTerminating", "NotBestEffort", "PriorityClass", "CrossNamespacePodAffinity"}
)
_SCOPES: Final = _POD_SCOPES | {"BestEffort", "VolumeAttributesClass"}
_EXISTS_ONLY: Final = _SCOPES - {"PriorityClass", "VolumeAttributesClass"}
_POD_KEYS: Final = frozenset(
    ["pods", "cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"]
)
_VOLUME_KEYS: Final = frozenset({"persistentvolumeclaims", "requests.storage"})
_CONFLICTS: Final = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))
_LIMIT_TYPES: Final = frozenset({"Pod", "Container", "PersistentVolumeClaim"})
_MAX_MILLI: Final = (1 << 63) // 1000

NameRule = Callable[[FieldErrors, str, str], object]


def quota(found: FieldErrors, obj: Object) -> None:
    """`ValidateResourceQuota`."""
    metadata.validate(found, obj.get("metadata") or {}, namespaced=True)
    _quota_spec(found, obj.get("spec") or {})


def quota_update(found: FieldErrors, obj: Object, old: Object) -> None:
    """`ValidateResourceQuotaUpdate`: scopes stay."""
    metadata.validate_update(found, obj.get("metadata") or {}, old.get("metadata") or {})
    spec = obj.get("spec") or {}
    _quota_spec(found, spec)
    scopes = spec.get("scopes") or []
    if set(scopes) != set((old.get("spec") or {}).get("scopes") or ()):
        found.invalid("spec.scopes", scopes or None, metadata.IMMUTABLE)


def _quota_spec(found: FieldErrors, spec: Object) -> None:
    hard = spec.get("hard") or {}
    for name, value in hard.items():
        resources.quota_name(found, name, f"spec.hard[{name}]")
        resources.amount(found, name, value, f"spec.hard[{name}]")
    scopes = spec.get("scopes") or []
    for scope in scopes:
        if scope not in _SCOPES:
            found.invalid("spec.scopes", scopes, "unsupported scope")
        for _ in _unfit(scope, hard):
            found.invalid("spec.scopes", scopes, "unsupported scope applied to resource")
    _conflicts(found, scopes, scopes, "spec.scopes")
    selector = spec.get("scopeSelector")
    if selector is not None:
        _scope_selector(found, selector, spec, "spec.scopeSelector.matchExpressions")


def _unfit(scope: str, hard: Iterable[str]) -> Iterable[str]:
    """Keys of a quota that are not counted by this scope."""
    if scope == "BestEffort":
        fit = frozenset({"pods"})
    elif scope == "VolumeAttributesClass":
        fit = _VOLUME_KEYS
    elif scope in _POD_SCOPES:
        fit = _POD_KEYS
    else:
        return ()
    return [name for name in sorted(hard) if names.is_standard_quota(name) and name not in fit]


def _conflicts(found: FieldErrors, given: Iterable[str], shown: object, path: str) -> None:
    present = set(given)
    for pair in _CONFLICTS:
        if present.issuperset(pair):
            found.invalid(path, shown, "conflicting scopes")


def _scope_selector(found: FieldErrors, selector: Object, spec: Object, path: str) -> None:
    hard = spec.get("hard") or {}
    given = []
    for requirement in selector.get("matchExpressions") or ():
        scope, operator = requirement.get("scopeName") or "", requirement.get("operator") or ""
        values = requirement.get("values") or []
        given.append(scope)
        if scope not in _SCOPES:
            found.invalid(f"{path}.scopeName", scope, "unsupported scope")
        for _ in _unfit(scope, hard):
            found.invalid(path, selector, "unsupported scope applied to resource")
        if scope in _EXISTS_ONLY and operator != "Exists":
            says = (
                "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, "
                "ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, "
                "ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
            )
            found.invalid(f"{path}.operator", operator, says)
        _operator(found, operator, values, path)
    _conflicts(found, given, spec.get("scopes"), path)


def _operator(found: FieldErrors, operator: str, values: list[str], path: str) -> None:
    match operator:
        case "In" | "NotIn":
            if not values:
                says = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
                found.required(f"{path}.values", says)
        case "Exists" | "DoesNotExist":
            if values:
                says = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
                found.invalid(f"{path}.values", values, says)
        case _:
            found.invalid(f"{path}.operator", operator, "not a valid selector operator")


def limit_range(found: FieldErrors, obj: Object) -> None:
    """`ValidateLimitRange`."""
    metadata.validate(found, obj.get("metadata") or {}, namespaced=True)
    types: set[str] = set()
    for index, limit in enumerate((obj.get("spec") or {}).get("limits") or ()):
        path, kind = f"spec.limits[{index}]", limit.get("type") or ""
        messages = content.qualified_name(kind)
        if messages:
            found.messages(f"{path}.type", kind, messages)
        elif "/" not in kind and kind not in _LIMIT_TYPES:
            says = "must be a standard limit type or fully qualified"
            found.invalid(f"{path}.type", kind, says)
        if kind in types:
            found.duplicate(f"{path}.type", kind)
        types.add(kind)
        _limit(found, limit, kind, path)


def _limit(found: FieldErrors, limit: Object, kind: str, path: str) -> None:
    rule: NameRule = resources.container_name if kind in ("Pod", "Container") else resources.resource_name
    fields = {"max": limit.get("max"), "min": limit.get("min")}
    if kind == "Pod":
        for field in ("default", "defaultRequest"):
            if limit.get(field):
                found.forbidden(f"{path}.{field}", "may not be specified when `type` is 'Pod'")
    else:
        fields |= {"default": limit.get("default"), "defaultRequest": limit.get("defaultRequest")}
    values: dict[str, dict[str, Quantity]] = {}
    for field, given in fields.items():
        values[field] = _read(found, given or {}, rule, f"{path}.{field}")
    if kind == "PersistentVolumeClaim" and not ({"storage"} & (values["min"].keys() | values["max"].keys())):
        says = "either minimum or maximum storage value is required, but neither was provided"
        found.required(f"{path}.limits", says)
    at = f"{path}.maxLimitRequestRatio"
    values["ratio"] = _read(found, limit.get("maxLimitRequestRatio") or {}, rule, at)
    for name in dict.fromkeys(key for given in values.values() for key in given):
        _compare(found, name, {field: given.get(name) for field, given in values.items()}, path)


def _read(found: FieldErrors, given: Object, rule: NameRule, path: str) -> dict[str, Quantity]:
    for name in given:
        rule(found, name, f"{path}[{name}]")
    return {name: Quantity.parse(str(value)) for name, value in given.items()}


def _compare(found: FieldErrors, name: str, values: dict[str, Quantity | None], path: str) -> None:
    low, high = values.get("min"), values.get("max")
    default, request = values.get("default"), values.get("defaultRequest")
    # field whose value is too small or too large, the smaller, the larger, and which of them is shown
    rows = (
        ("min", low, high, low, "min value {} is greater than max value {}"),
        ("defaultRequest", low, request, request, "min value {} is greater than default request value {}"),
        ("defaultRequest", request, high, request, "default request value {} is greater than max value {}"),
        (
            "defaultRequest",
            request,
            default,
            request,
            "default request value {} is greater than default limit value {}",
        ),
        ("default", low, default, low, "min value {} is greater than default value {}"),
        ("default", default, high, high, "default value {} is greater than max value {}"),
    )
    for field, smaller, larger, shown, says in rows:
        if smaller is not None and larger is not None and smaller > larger:
            found.invalid(f"{path}.{field}[{name}]", str(shown), says.format(smaller, larger))
    _ratio(found, values.get("ratio"), low, high, f"{path}.maxLimitRequestRatio[{name}]")
    if not names.overcommits(name) and default is not None and request is not None and default != request:
        says = f"default value {default} must equal to defaultRequest value {request} in {name}"
        found.invalid(f"{path}.defaultRequest[{name}]", str(request), says)


def _ratio(
    found: FieldErrors, ratio: Quantity | None, low: Quantity | None, high: Quantity | None, path: str
) -> None:
    if ratio is None:
        return
    if ratio < Quantity.of(1):
        found.invalid(path, str(ratio), f"ratio {ratio} is less than 1")
    if low is None or high is None or not low:
        return
    if all(item.value() < _MAX_MILLI for item in (ratio, low, high)):
        wanted, most = ratio.milli_value() / 1000, high.milli_value() / low.milli_value()
    else:
        wanted, most = float(ratio.value()), high.value() / low.value()
    if wanted > most:
        found.invalid(path, str(ratio), f"ratio {ratio} is greater than max/min = {most:.6f}")
