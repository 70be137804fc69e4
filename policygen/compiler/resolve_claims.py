"""Claims: requests with their alternatives, and counts, also from total memory."""

from __future__ import annotations

from policygen.compiler.model import Alternative, Claim, Condition, Device, DeviceConfig, DeviceRequest
from policygen.compiler.resolve_alignment import reference_names, resolve_alignment
from policygen.compiler.resolve_devices import resolve_configs, texts
from policygen.compiler.resolve_where import lower_bound, resolve_where, view_of
from policygen.compiler.scope import Scope
from policygen.compiler.spec import AlternativeSpec, ClaimSpec, RequestSpec
from policygen.diagnostics import Span
from policygen.dra import catalogue
from policygen.kube import names
from policygen.kube.quantity import Quantity

MAX_REQUESTS = 32
MAX_SUBREQUESTS = 8
MAX_DEVICES = 32
"""A claim allocates at most this many devices (`AllocationResultsMaxSize`)."""


def resolve_claims(
    scope: Scope, devices: dict[str, Device], places: dict[str, set[str]]
) -> tuple[Claim, ...]:
    """All claims, sorted by name. `places` says in which namespaces rules inject each."""
    return tuple(
        _claim(scope, name, spec, devices, places.get(name, set()))
        for name, spec in sorted(scope.spec.claims.items())
    )


def _claim(scope: Scope, name: str, spec: ClaimSpec, devices: dict[str, Device], places: set[str]) -> Claim:
    span = scope.spec.key_span_at("claims", name)
    scope.name(names.dns_label, name, span, "the name of a claim")
    if spec.template is not None:
        scope.name(
            names.dns_subdomain,
            spec.template,
            spec.span_at("template"),
            "the name of a ResourceClaimTemplate",
        )
    if len(spec.devices) > MAX_REQUESTS:
        scope.found.error(
            "too-many", f"a claim has at most {MAX_REQUESTS} requests", spec.key_span_at("devices")
        )
    requests = tuple(_request(scope, spec, key, devices) for key in sorted(spec.devices))
    requests, constraints = resolve_alignment(scope, spec, requests)
    claim = Claim(
        name=name,
        template=spec.template or name,
        requests=requests,
        constraints=constraints,
        configs=_configs(scope, spec, requests),
        replaces=spec.replaces,
        namespaces=tuple(sorted(places)),
        span=span,
    )
    _check_size(scope, claim)
    if spec.replaces is not None:
        scope.extended_resource(spec.replaces, spec.span_at("replaces"))
    return claim


def _request(scope: Scope, claim: ClaimSpec, name: str, devices: dict[str, Device]) -> DeviceRequest:
    spec = claim.devices[name]
    span = claim.key_span_at("devices", name)
    scope.name(names.dns_label, name, span, "the name of a request")
    if (spec.device is None) == (spec.any_of is None):
        scope.found.error(
            "one-of", f"request `{name}` needs either `device` or `anyOf`", span, help=["keep one of the two"]
        )
        return DeviceRequest(name, (), span)
    if spec.any_of is None:
        alternative = _alternative(scope, claim, spec, spec.device or "", devices)
        alternatives = [alternative] if alternative else []
    else:
        _check_any_of(scope, spec)
        found = [_alternative(scope, claim, item, item.device, devices) for item in spec.any_of]
        alternatives = [item for item in found if item is not None]
        _check_names(scope, alternatives)
    return DeviceRequest(name, tuple(alternatives), span)


def _check_any_of(scope: Scope, spec: RequestSpec) -> None:
    for key in ("count", "where", "cel", "capacity", "tolerate", "adminAccess"):
        if spec.node_at(key) is not None:
            note = ["alternatives cannot have administrative access"] if key == "adminAccess" else []
            scope.found.error(
                "one-of", f"`{key}` stands beside `anyOf`", spec.key_span_at(key), notes=note,
                help=["say it in the alternatives"] if not note else [],
            )  # fmt: skip


def _check_names(scope: Scope, alternatives: list[Alternative]) -> None:
    seen: dict[str, Span] = {}
    for item in alternatives:
        if item.name in seen:
            scope.duplicate("alternative", item.name, item.span, seen[item.name])
        seen.setdefault(item.name, item.span)


def _alternative(
    scope: Scope, claim: ClaimSpec, spec: RequestSpec | AlternativeSpec, name: str, devices: dict[str, Device]
) -> Alternative | None:
    span = spec.span_at("device")
    if not scope.one_of(name, devices, span, "device", "devices"):
        return None
    device = devices[name]
    conditions = resolve_where(scope, view_of(device), spec, dict(spec.where))
    own_name = spec.name if isinstance(spec, AlternativeSpec) and spec.name else name
    scope.name(names.dns_label, own_name, spec.span_at("name"), "the name of an alternative")
    count = _count(scope, claim, spec, device, conditions)
    tolerations = [
        scope.toleration(item, spec.span_at("tolerate", index)) for index, item in enumerate(spec.tolerate)
    ]
    if spec.tolerate:
        scope.requires("DRADeviceTaints", "`tolerate` of a request", spec.key_span_at("tolerate"))
    if spec.capacity:
        scope.requires("DRAConsumableCapacity", "`capacity` of a request", spec.key_span_at("capacity"))
    return Alternative(
        name=own_name,
        device=device,
        count=count,
        conditions=conditions,
        cel=texts(spec, "cel"),
        capacity=_capacity(scope, spec, device),
        tolerations=tuple(item for item in tolerations if item is not None),
        admin_access=isinstance(spec, RequestSpec) and spec.admin_access,
        span=span,
    )


def _capacity(
    scope: Scope, spec: RequestSpec | AlternativeSpec, device: Device
) -> tuple[tuple[str, str], ...]:
    amounts = scope.amounts(spec, "capacity", units=False)
    result = []
    for word, amount in amounts:
        term = view_of(device).term(word)
        if catalogue.find_driver(device.driver) is not None and (term is None or term.kind != "capacity"):
            scope.found.error(
                "unknown-attribute",
                f"devices of `{device.driver}` have no capacity `{word}`",
                spec.key_span_at("capacity", word),
            )
            continue
        if term is not None and not term.consumable:
            scope.found.warning(
                "not-shareable",
                f"`{word}` of `{device.driver}` devices is not published as shareable",
                spec.key_span_at("capacity", word),
                notes=["a device that several claims may share says so by `allowMultipleAllocations`"],
            )
        result.append((term.name if term and term.domain == device.driver else word, amount))
    return tuple(result)


def _count(
    scope: Scope,
    claim: ClaimSpec,
    spec: RequestSpec | AlternativeSpec,
    device: Device,
    conditions: tuple[Condition, ...],
) -> int | None:
    if claim.memory is not None:
        return _count_for_memory(scope, claim, spec, device, conditions)
    if spec.count == "all":
        return None
    count = 1 if spec.count is None else spec.count
    if count < 1:
        scope.found.error("out-of-range", "`count` must be at least 1", spec.span_at("count"))
    elif count > MAX_DEVICES:
        scope.found.error(
            "out-of-range",
            f"`count` must be at most {MAX_DEVICES}",
            spec.span_at("count"),
            notes=[f"a claim holds at most {MAX_DEVICES} devices"],
        )
    return int(count)


def _count_for_memory(
    scope: Scope,
    claim: ClaimSpec,
    spec: RequestSpec | AlternativeSpec,
    device: Device,
    conditions: tuple[Condition, ...],
) -> int:
    """ceil(total ÷ what each device has at least)."""
    assert claim.memory is not None
    span = claim.memory.span_at("total")
    if len(claim.devices) != 1:
        scope.found.error(
            "memory-of-several",
            "`memory.total` is for claims with one request",
            span,
            help=["give each request its `count`"],
        )
        return 1
    if spec.node_at("count") is not None:
        scope.found.error(
            "one-of",
            "`count` stands beside `memory.total`, which chooses the count",
            spec.key_span_at("count"),
            help=["keep one of the two"],
        )
    total = Quantity.parse(scope.amount(claim.memory.text_at("total"), "memory"))
    bound = lower_bound((*device.conditions, *conditions))
    if bound is None or not bound:
        scope.found.error(
            "no-memory-bound",
            f"device `{device.name}` says nothing about the least memory that it has",
            span,
            notes=["the count is the total divided by the memory that every such device has at least"],
            help=['add a bound such as `memory: ">= 40Gi"` under `where`'],
        )
        return 1
    count = -(-total.value() // bound.value())
    if count > MAX_DEVICES:
        scope.found.error(
            "out-of-range",
            f"{total} takes {count} devices of at least {bound}; a claim holds {MAX_DEVICES}",
            span,
        )
    return max(1, count)


def _configs(scope: Scope, spec: ClaimSpec, requests: tuple[DeviceRequest, ...]) -> tuple[DeviceConfig, ...]:
    drivers = {item.device.driver for request in requests for item in request.alternatives}
    configs = resolve_configs(scope, spec, spec.config, drivers.pop() if len(drivers) == 1 else None)
    known = reference_names(requests)
    for index, config in enumerate(configs):
        for at, name in enumerate(config.requests):
            scope.one_of(name, known, spec.span_at("config", index, "requests", at), "request", "claims")
    return configs


def _check_size(scope: Scope, claim: Claim) -> None:
    for request in claim.requests:
        if len(request.alternatives) > MAX_SUBREQUESTS:
            scope.found.error(
                "too-many",
                f"request `{request.name}` has {len(request.alternatives)} alternatives; "
                f"at most {MAX_SUBREQUESTS} are possible",
                request.span,
                notes=["a preferred alignment doubles them"],
            )
    total = sum(
        max((item.count or 1 for item in request.alternatives), default=0) for request in claim.requests
    )
    if total > MAX_DEVICES and all(
        (item.count or 1) <= MAX_DEVICES for request in claim.requests for item in request.alternatives
    ):
        scope.found.error(
            "too-many",
            f"claim `{claim.name}` asks for {total} devices; a claim holds at most {MAX_DEVICES}",
            claim.span,
        )


def device_count(claim: Claim) -> int | None:
    """How many devices a claim holds of the kind whose limits it stands for, when that is one number.

    Requests for other kinds (a NIC beside the GPUs) do not count, where the kinds are known.
    """
    known = [request for request in claim.requests if _stands_for(claim, request)]
    total = 0
    for request in known or claim.requests:
        counts = {item.count for item in request.alternatives}
        count = counts.pop() if counts else None
        if counts or count is None:
            return None
        total += count
    return total or None


def _stands_for(claim: Claim, request: DeviceRequest) -> bool:
    return claim.replaces is not None and any(
        claim.replaces in {item.device.extended_resource, catalogue.extended_resource(item.device.driver)}
        for item in request.alternatives
    )
