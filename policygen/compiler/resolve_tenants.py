"""Tenants: quotas that count devices however they are asked for, limits with defaults, namespaces."""

from __future__ import annotations

import re

from policygen.compiler.model import Device, Limits, LimitType, Quota, Tenant
from policygen.compiler.resolve_match import IMPLICIT_PREFIX, tenant_namespaces
from policygen.compiler.scope import Scope
from policygen.compiler.spec import LimitsSpec, QuotaSpec, TenantSpec
from policygen.compiler.spec_base import Block
from policygen.compiler.yaml import Mapping
from policygen.diagnostics import Span, suggestion
from policygen.dra import catalogue
from policygen.kube import names

CLAIM_SUFFIX = ".deviceclass.resource.k8s.io/devices"
"""Quota key of claims through a class; the two other keys count extended resources."""


def resolve_tenants(scope: Scope, devices: dict[str, Device]) -> tuple[Tenant, ...]:
    """All tenants, sorted by name."""
    return tuple(_tenant(scope, name, spec, devices) for name, spec in sorted(scope.spec.tenants.items()))


def _tenant(scope: Scope, name: str, spec: TenantSpec, devices: dict[str, Device]) -> Tenant:
    span = scope.spec.key_span_at("tenants", name)
    scope.name(names.dns_label, name, span, "the name of a tenant")
    for index, namespace in enumerate(spec.namespaces or ()):
        scope.name(names.dns_label, namespace, spec.span_at("namespaces", index), "the name of a namespace")
    _security_labels(scope, spec)
    quotas = [quota for quota in (_main_quota(scope, name, spec, devices, span),) if quota.hard]
    quotas += [_further_quota(scope, name, spec, key, devices) for key in sorted(spec.quotas)]
    return Tenant(
        name=name,
        namespaces=tuple(sorted(set(tenant_namespaces(scope, name)))),
        labels=scope.labels(spec, "labels", spec.labels),
        annotations=scope.annotations(spec, "annotations", spec.annotations),
        quotas=tuple(quotas),
        limits=_limits(scope, spec),
        span=span,
    )


def _main_quota(scope: Scope, name: str, spec: TenantSpec, devices: dict[str, Device], span: Span) -> Quota:
    hard = _with_devices(scope, spec, dict(_hard(scope, spec)), devices)
    if spec.devices and spec.other_devices == "deny":
        hard = {**_zeros(scope, spec.devices, devices), **hard}
    return Quota(name, None, tuple(sorted(hard.items())), (), (), span)


def _with_devices(
    scope: Scope, spec: TenantSpec | QuotaSpec, hard: dict[str, str], devices: dict[str, Device]
) -> dict[str, str]:
    """The amounts with those of devices, which must not say anything else."""
    for key, amount in _device_keys(scope, spec, spec.devices, devices).items():
        if hard.setdefault(key, amount) != amount:
            scope.found.error(
                "conflicting-value",
                f"`{key}` is {hard[key]} here, and {amount} by `devices`",
                spec.key_span_at("hard", key),
                help=["keep one of the two"],
            )
    return hard


def _further_quota(
    scope: Scope, tenant: str, spec: TenantSpec, key: str, devices: dict[str, Device]
) -> Quota:
    quota = spec.quotas[key]
    span = spec.key_span_at("quotas", key)
    name = f"{tenant}-{key}"
    scope.name(names.dns_subdomain, name, span, "the name of a ResourceQuota")
    hard = _with_devices(scope, quota, dict(_hard(scope, quota)), devices)
    if not hard:
        scope.found.error(
            "empty-value", f"quota `{key}` limits nothing", span, help=["add `hard` or `devices`"]
        )
    for index, priority in enumerate(quota.priorities):
        known = [*scope.spec.priorities, "system-cluster-critical", "system-node-critical"]
        scope.one_of(priority, known, quota.span_at("priorities", index), "priority", "priorities")
    _check_scopes(scope, quota, hard)
    return Quota(
        name=name,
        key=key,
        hard=tuple(sorted(hard.items())),
        scopes=tuple(sorted(quota.scopes)),
        scope_priorities=tuple(sorted(quota.priorities)),
        span=span,
    )


_SCOPED_COMPUTE = frozenset(
    {"pods", "cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"}
)


def _check_scopes(scope: Scope, quota: QuotaSpec, hard: dict[str, str]) -> None:
    """What `ValidateResourceQuotaSpec` refuses, and what never counts: claims have no scopes."""
    for one, other in (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating")):
        if one in quota.scopes and other in quota.scopes:
            scope.found.error(
                "one-of", f"the scopes `{one}` and `{other}` exclude each other", quota.span_at("scopes")
            )
    if not quota.scopes and not quota.priorities:
        return
    for key in sorted(hard):
        span = quota.key_span_at("hard", key)
        if key.endswith(CLAIM_SUFFIX) or key.startswith("count/"):
            scope.found.error(
                "scope-without-pods",
                f"`{key}` does not count pods, so it cannot have a scope",
                span,
                help=["put it into a quota without `scopes` and `priorities`"],
            )
        elif "BestEffort" in quota.scopes and key != "pods":
            scope.found.error(
                "scope-without-pods",
                f"`{key}` cannot be limited with the scope `BestEffort`, which has `pods` only",
                span,
            )
        elif "/" not in key and key not in _SCOPED_COMPUTE:
            scope.found.error("scope-without-pods", f"`{key}` cannot have a scope", span)


def _hard(scope: Scope, spec: TenantSpec | QuotaSpec) -> tuple[tuple[str, str], ...]:
    amounts = scope.amounts(spec, "hard")
    for key, _ in amounts:
        span = spec.key_span_at("hard", key)
        if (
            "/" in key
            and not key.startswith(("requests.", "count/", "limits."))
            and not key.endswith(_COUNTED)
        ):
            scope.found.error(
                "quota-key",
                f"a quota on `{key}` counts nothing",
                span,
                notes=["extended resources are counted by their requests"],
                help=[f"write `requests.{key}`"],
            )
        elif key.startswith("limits.") and "/" in key:
            scope.found.error(
                "quota-key",
                f"`{key}` is refused: extended resources have no limits in a quota",
                span,
                help=[f"write `requests.{key.removeprefix('limits.')}`"],
            )
        elif (
            "/" not in key
            and key not in _CORE_KEYS
            and not key.startswith(("requests.", "limits.", "hugepages-"))
        ):
            scope.found.error("quota-key", f"`{key}` is nothing that a quota counts", span, help=_close(key))
    return amounts


_COUNTED = (".deviceclass.resource.k8s.io/devices", ".storageclass.storage.k8s.io/requests.storage",
            ".storageclass.storage.k8s.io/persistentvolumeclaims",
            ".volumeattributesclass.storage.k8s.io/requests.storage",
            ".volumeattributesclass.storage.k8s.io/persistentvolumeclaims")  # fmt: skip
_WHOLE_KEYS = frozenset(
    {"pods", "services", "replicationcontrollers", "resourcequotas", "secrets", "configmaps",
     "persistentvolumeclaims", "services.nodeports", "services.loadbalancers"}
)  # fmt: skip
_CORE_KEYS = _WHOLE_KEYS | {
    "cpu", "memory", "ephemeral-storage", "requests.cpu", "requests.memory", "requests.storage",
    "requests.ephemeral-storage", "limits.cpu", "limits.memory", "limits.ephemeral-storage", "storage",
}  # fmt: skip


def _close(key: str) -> list[str]:
    close = suggestion(key, _CORE_KEYS)
    return [f"did you mean `{close}`?"] if close else []


def _device_keys(
    scope: Scope, block: Block, counts: dict[str, int], devices: dict[str, Device]
) -> dict[str, str]:
    """All keys under which a device can be asked for: by claim, and by the two extended resources."""
    result: dict[str, str] = {}
    for name in sorted(counts):
        count = counts[name]
        span = block.key_span_at("devices", name)
        if "/" in name and name not in devices:
            scope.found.error(
                "undeclared-name",
                f"device `{name}` is not declared: that is an extended resource",
                span,
                help=[f"write `hard: {{requests.{name}: {count}}}`"],
            )
            continue
        if not scope.one_of(name, devices, span, "device", "devices"):
            continue
        if count < 0:
            scope.found.error("out-of-range", f"`{name}` must be at least 0", block.span_at("devices", name))
        for key in _keys(scope, devices[name].class_name, devices[name].extended_resource):
            result[key] = str(count)
    return result


def _keys(scope: Scope, class_name: str, extended: str | None) -> list[str]:
    keys = [class_name + CLAIM_SUFFIX]
    if scope.has("DRAExtendedResource"):
        keys.append("requests." + IMPLICIT_PREFIX + class_name)
    if extended:
        keys.append("requests." + extended)
    return keys


def _zeros(scope: Scope, listed: dict[str, int], devices: dict[str, Device]) -> dict[str, str]:
    """Zero for every other class of the same drivers: a claim may use any class."""
    drivers = {devices[name].driver for name in listed if name in devices}
    used = {devices[name].class_name for name in listed if name in devices}
    result: dict[str, str] = {}
    for device in devices.values():
        if device.driver in drivers and device.class_name not in used:
            result.update(dict.fromkeys(_keys(scope, device.class_name, device.extended_resource), "0"))
    for driver in sorted(drivers):
        for entry in catalogue.device_classes(driver):
            if entry.name not in used:
                result.update(dict.fromkeys(_keys(scope, entry.name, None), "0"))
        result.update(_plain(driver, listed, devices))
    return result


def _plain(driver: str, listed: dict[str, int], devices: dict[str, Device]) -> dict[str, str]:
    """Zero for the resource that the driver's own class or its device plugin serves: one more way around.

    Limits that a rule moves to a claim are not counted, as a quota counts the pod after mutation.
    """
    plain = catalogue.extended_resource(driver)
    served = any(devices[name].extended_resource == plain for name in listed if name in devices)
    return {} if not plain or served else {f"requests.{plain}": "0"}


# --- limits ------------------------------------------------------------------------------------------------


def _limits(scope: Scope, spec: TenantSpec) -> tuple[Limits, ...]:
    result = []
    if spec.container is not None:
        result.append(_limit(scope, "Container", spec.container, spec.key_span_at("container")))
    if spec.pod is not None:
        _no_defaults(scope, spec.pod, "pod")
        result.append(_limit(scope, "Pod", spec.pod, spec.key_span_at("pod")))
    if spec.volume_claim is not None:
        _no_defaults(scope, spec.volume_claim, "volumeClaim")
        if not spec.volume_claim.min and not spec.volume_claim.max:
            scope.found.error(
                "empty-value", "`volumeClaim` needs `min` or `max`", spec.key_span_at("volumeClaim")
            )
        result.append(
            _limit(scope, "PersistentVolumeClaim", spec.volume_claim, spec.key_span_at("volumeClaim"))
        )
    return tuple(result)


def _no_defaults(scope: Scope, spec: LimitsSpec, what: str) -> None:
    for key in ("default", "defaultRequest"):
        if spec.node_at(key) is not None:
            scope.found.error(
                "one-of",
                f"`{key}` is for containers only",
                spec.key_span_at(key),
                help=[f"move it from `{what}` to `container`"],
            )


def _limit(scope: Scope, kind: LimitType, spec: LimitsSpec, span: Span) -> Limits:
    result = Limits(
        type=kind,
        default=scope.amounts(spec, "default"),
        default_request=scope.amounts(spec, "defaultRequest"),
        min=scope.amounts(spec, "min"),
        max=scope.amounts(spec, "max"),
        ratio=scope.amounts(spec, "ratio", units=False),
        span=span,
    )
    for field in ("default", "defaultRequest", "min", "max", "ratio"):
        for key in _keys_of(spec, field):
            _check_limited(scope, kind, key, spec.key_span_at(field, key))
    if not any((result.default, result.default_request, result.min, result.max, result.ratio)):
        scope.found.error("empty-value", "these limits say nothing", span)
    return result


def _keys_of(spec: LimitsSpec, field: str) -> list[str]:
    node = spec.node_at(field)
    return [entry.key.text for entry in node.entries] if isinstance(node, Mapping) else []


def _check_limited(scope: Scope, kind: LimitType, key: str, span: Span) -> None:
    """Which resources a LimitRange may speak of (`ValidateLimitRange`)."""
    if kind == "PersistentVolumeClaim":
        if key != "storage":
            scope.found.error(
                "limit-key",
                f"`{key}` is no resource of a volume claim",
                span,
                help=["the only one is `storage`"],
            )
    elif key not in _CONTAINER_RESOURCES and "/" not in key and not key.startswith("hugepages-"):
        close = suggestion(key, _CONTAINER_RESOURCES)
        known = ", ".join(f"`{name}`" for name in sorted(_CONTAINER_RESOURCES))
        help = [f"did you mean `{close}`?"] if close else [f"known are {known} and extended resources"]
        scope.found.error("limit-key", f"`{key}` is no resource of a container", span, help=help)


_CONTAINER_RESOURCES = frozenset({"cpu", "memory", "ephemeral-storage"})


def _security_labels(scope: Scope, spec: TenantSpec) -> None:
    """Labels that the PodSecurity plugin reads have values of their own."""
    for key, value in spec.labels.items():
        prefix, _, name = key.partition("/")
        if prefix != "pod-security.kubernetes.io":
            continue
        if name in _MODES and value not in _LEVELS:
            scope.found.error(
                "unknown-word",
                f"`{key}` cannot be `{value}`",
                spec.span_at("labels", key),
                help=["use one of `privileged`, `baseline`, `restricted`"],
            )
        elif name.removesuffix("-version") in _MODES and name not in _MODES and not _POLICY_VERSION(value):
            scope.found.error(
                "unknown-word",
                f"`{key}` cannot be `{value}`",
                spec.span_at("labels", key),
                help=["use `latest`, or a version such as `v1.36`"],
            )


_MODES = frozenset({"enforce", "audit", "warn"})
_LEVELS = frozenset({"privileged", "baseline", "restricted"})
_POLICY_VERSION = re.compile(r"latest|v1\.[0-9]{1,3}").fullmatch
