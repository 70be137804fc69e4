"""Claims: requests with their alternatives, counts from total memory, alignment in the drivers' own words."""

from __future__ import annotations

from dataclasses import dataclass, replace

from policygen.compiler.model import (
    Alternative,
    Claim,
    Condition,
    Constraint,
    Device,
    DeviceConfig,
    DeviceRequest,
)
from policygen.compiler.resolve_devices import lower_bound, resolve_configs, resolve_where, texts, view_of
from policygen.compiler.scope import Scope
from policygen.compiler.spec import AlternativeSpec, ClaimSpec, RequestSpec
from policygen.compiler.units import UnitError, parse_quantity
from policygen.diagnostics import Span, make
from policygen.dra import catalogue
from policygen.kube import names

MAX_REQUESTS = 32
MAX_SUBREQUESTS = 8
MAX_DEVICES = 32
"""A claim allocates at most this many devices (`AllocationResultsMaxSize`)."""

_STRICTEST_FIRST = ("parent", "pcieRoot", "numaNode", "socket", "nvlinkDomain")


@dataclass(frozen=True, slots=True)
class _Alignment:
    """A resolved `align` entry."""

    word: str
    preferred: bool
    requests: tuple[str, ...]
    attribute: str
    span: Span


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
    alignments = _alignments(scope, spec, requests)
    requests, constraints = _align(scope, requests, alignments)
    constraints += _constraints(scope, spec, requests)
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
        scope.name(names.qualified_name, spec.replaces, spec.span_at("replaces"), "an extended resource")
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
    amounts = scope.amounts(spec, "capacity")
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
    try:
        total = parse_quantity(claim.memory.total)
    except UnitError as error:
        scope.found.error(
            "bad-quantity", f"`total`: {error.message}", span, help=[error.help] if error.help else []
        )
        return 1
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
            f"{claim.memory.total} takes {count} devices of at least {bound}; a claim holds {MAX_DEVICES}",
            span,
        )
    return max(1, count)


def _configs(scope: Scope, spec: ClaimSpec, requests: tuple[DeviceRequest, ...]) -> tuple[DeviceConfig, ...]:
    drivers = {item.device.driver for request in requests for item in request.alternatives}
    configs = resolve_configs(scope, spec, spec.config, drivers.pop() if len(drivers) == 1 else None)
    known = _reference_names(requests)
    for index, config in enumerate(configs):
        for at, name in enumerate(config.requests):
            scope.one_of(name, known, spec.span_at("config", index, "requests", at), "request", "claims")
    return configs


def _reference_names(requests: tuple[DeviceRequest, ...]) -> list[str]:
    result = []
    for request in requests:
        result.append(request.name)
        if len(request.alternatives) > 1:
            result += [f"{request.name}/{item.name}" for item in request.alternatives]
    return result


# --- alignment ---------------------------------------------------------------------------------------------


def _alignments(scope: Scope, spec: ClaimSpec, requests: tuple[DeviceRequest, ...]) -> list[_Alignment]:
    result = []
    all_names = [request.name for request in requests]
    for word in sorted(spec.align, key=lambda word: (_rank(word), word)):
        value = spec.align[word]
        span = spec.key_span_at("align", word)
        mode = value if isinstance(value, str) else value.mode
        chosen = list(all_names) if isinstance(value, str) else value.requests or list(all_names)
        known = [
            name
            for index, name in enumerate(chosen)
            if scope.one_of(
                name, all_names, spec.span_at("align", word, "requests", index), "request", "claims"
            )
        ]
        meant = tuple(request for request in requests if request.name in known)
        attribute = _attribute(scope, word, meant, span)
        if attribute is None:
            continue
        if mode == "preferred" and len(meant) > 1:
            scope.found.error(
                "preference-across-requests",
                f"`{word}` cannot be preferred across several requests",
                spec.span_at("align", word),
                notes=["the allocator chooses among the alternatives of each request for itself"],
                help=["require it, or prefer it for one request: `{mode: preferred, requests: [one]}`"],
            )
            continue
        if all(item.count == 1 for request in meant for item in request.alternatives) and len(meant) == 1:
            scope.found.warning(
                "pointless-alignment", f"one device alone is always aligned by `{word}`", span
            )
            continue
        result.append(_Alignment(word, mode == "preferred", tuple(known), attribute, span))
    return result


def _rank(word: str) -> int:
    return _STRICTEST_FIRST.index(word) if word in _STRICTEST_FIRST else len(_STRICTEST_FIRST)


def _attribute(scope: Scope, word: str, requests: tuple[DeviceRequest, ...], span: Span) -> str | None:
    """The one attribute by which all devices of the requests can be aligned."""
    devices = {item.device.name: item.device for request in requests for item in request.alternatives}
    found: dict[str, Device] = {}
    for device in devices.values():
        view = view_of(device)
        if catalogue.find_driver(device.driver) is None:
            scope.found.error(
                "alignment-not-published",
                f"nothing is known about what `{device.driver}` publishes, so `{word}` has no name there",
                span,
                help=["name the attribute in full: `constraints: [{match: domain/name}]`"],
            )
            return None
        attribute = catalogue.alignment(view.driver, word, view.release, view.type)
        if attribute is None:
            why = catalogue.why_absent(device.driver, word)
            known = [w for w in catalogue.ALIGNMENT_WORDS if catalogue.alignment(*_key(device, w))]
            scope.found.error(
                "alignment-not-published",
                f"`{device.driver}` publishes no `{word}` for device `{device.name}`",
                span,
                notes=([why] if why else [])
                + ["a constraint on an attribute that the devices lack never allocates"],
                help=["this driver's devices can be aligned by " + ", ".join(f"`{w}`" for w in known)]
                if known
                else [],
            )
            return None
        found[attribute] = device
        _note_release(scope, device, word, span)
    if len(found) == 1:
        return next(iter(found))
    drivers = sorted({device.driver for device in found.values()})
    common = catalogue.common_alignment(drivers[0], drivers[1], word) if len(drivers) == 2 else None
    if common is None and found:
        listed = ", ".join(f"`{name}` ({device.driver})" for name, device in sorted(found.items()))
        scope.found.error(
            "no-common-attribute",
            f"the drivers of these requests have no attribute for `{word}` in common",
            span,
            notes=[f"they publish {listed}"],
        )
    return common


def _note_release(scope: Scope, device: Device, word: str, span: Span) -> None:
    """Without a release the newest is meant; what older ones lack is said."""
    driver = catalogue.find_driver(device.driver)
    if device.release is not None or driver is None:
        return
    lacking = [r for r in driver.releases if catalogue.alignment(device.driver, word, r, device.type) is None]
    if lacking:
        first = next(r for r in driver.releases if r not in lacking)
        scope.found.add(
            make(
                "note",
                "alignment-by-release",
                f"`{word}` needs release `{first}` or newer of the {driver.title} driver",
                span,
                notes=[
                    "with an older one the claim never allocates: " + ", ".join(f"`{r}`" for r in lacking)
                ],
                help=[f"say `release:` for device `{device.name}`, so that it can be checked"],
            )
        )


def _key(device: Device, word: str) -> tuple[str, str, str, str]:
    view = view_of(device)
    return view.driver, word, view.release, view.type


def _align(
    scope: Scope, requests: tuple[DeviceRequest, ...], alignments: list[_Alignment]
) -> tuple[tuple[DeviceRequest, ...], tuple[Constraint, ...]]:
    """Required alignments become constraints; a preferred one becomes alternatives, the aligned one first."""
    constraints = []
    every = {request.name for request in requests}
    for item in alignments:
        if not item.preferred:
            names_ = () if set(item.requests) == every else item.requests
            constraints.append(Constraint(item.attribute, False, names_, item.span))
    result = []
    for request in requests:
        preferred = [item for item in alignments if item.preferred and item.requests == (request.name,)]
        if preferred and request.alternatives:
            widened, own = _with_fallback(scope, request, preferred)
            constraints += own
            result.append(widened)
        else:
            result.append(request)
    return tuple(result), tuple(constraints)


def _with_fallback(
    scope: Scope, request: DeviceRequest, preferred: list[_Alignment]
) -> tuple[DeviceRequest, list[Constraint]]:
    """Each alternative once per level: aligned by all, then without the strictest, at last without any."""
    alternatives: list[Alternative] = []
    constraints: list[Constraint] = []
    several = len(request.alternatives) > 1
    for item in request.alternatives:
        prefix = f"{item.name}-" if several else ""
        levels = 1 if item.count == 1 else len(preferred) + 1
        for level in range(levels):
            kept = preferred[level:] if levels > 1 else []
            if not kept:
                name = f"{prefix}loose"
            elif level == 0:
                name = f"{prefix}aligned"
            else:
                name = f"{prefix}aligned-{kept[0].word.lower()}"
            alternatives.append(replace(item, name=name))
            constraints += [
                Constraint(entry.attribute, False, (f"{request.name}/{name}",), entry.span) for entry in kept
            ]
    if any(item.admin_access for item in request.alternatives):
        scope.found.error(
            "one-of",
            f"request `{request.name}` has administrative access, which alternatives cannot have",
            request.span,
            help=["require the alignment, or drop `adminAccess`"],
        )
    return DeviceRequest(request.name, tuple(alternatives), request.span), constraints


def _constraints(
    scope: Scope, spec: ClaimSpec, requests: tuple[DeviceRequest, ...]
) -> tuple[Constraint, ...]:
    result = []
    known = _reference_names(requests)
    for index, item in enumerate(spec.constraints):
        span = spec.span_at("constraints", index)
        word = item.match if item.match is not None else item.distinct
        if word is None or (item.match is not None and item.distinct is not None):
            scope.found.error("one-of", "a constraint needs either `match` or `distinct`", span)
            continue
        if item.distinct is not None:
            scope.requires("DRAConsumableCapacity", "`distinct`", item.key_span_at("distinct"))
        chosen = [
            name
            for at, name in enumerate(item.requests)
            if scope.one_of(name, known, item.span_at("requests", at), "request", "claims")
        ]
        base = {name.split("/")[0] for name in chosen}
        meant = tuple(request for request in requests if not base or request.name in base)
        value_span = item.span_at("match" if item.match is not None else "distinct")
        attribute: str | None = word
        if "/" not in word:
            attribute = _attribute(scope, word, meant, value_span)
        if attribute is not None:
            _check_published(scope, attribute, meant, value_span)
            result.append(Constraint(attribute, item.distinct is not None, tuple(sorted(chosen)), span))
    return tuple(result)


def _check_published(scope: Scope, attribute: str, requests: tuple[DeviceRequest, ...], span: Span) -> None:
    for device in {item.device.name: item.device for r in requests for item in r.alternatives}.values():
        view = view_of(device)
        published = {
            term.qualified
            for term in catalogue.terms(view.driver, view.release, view.type)
            if term.kind == "attribute"
        }
        if published and attribute not in published:
            scope.found.error(
                "alignment-not-published",
                f"`{device.driver}` publishes no `{attribute}` for device `{device.name}`",
                span,
                notes=["a constraint on an attribute that the devices lack never allocates"],
            )


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
    """How many devices a claim holds of the kind whose limits it stands for, when that is one number."""
    total = 0
    for request in claim.requests:
        counts = {item.count for item in request.alternatives if _stands_for(claim, item)}
        if not counts:
            continue
        count = counts.pop()
        if counts or count is None:
            return None
        total += count
    return total or None


def _stands_for(claim: Claim, item: Alternative) -> bool:
    own = item.device.extended_resource or catalogue.extended_resource(item.device.driver)
    return claim.replaces is None or not own or own == claim.replaces
