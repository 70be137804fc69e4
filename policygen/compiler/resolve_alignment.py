"""Alignment and constraints of claims, in the drivers' own words.

A required alignment becomes a constraint; a preferred one becomes alternatives of the one request that it is
for, the aligned one first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from policygen.compiler.model import Alternative, Constraint, Device, DeviceRequest
from policygen.compiler.resolve_where import view_of
from policygen.compiler.scope import Scope
from policygen.compiler.spec import ClaimSpec
from policygen.diagnostics import Span, make
from policygen.dra import catalogue
from policygen.kube import names

_STRICTEST_FIRST = ("parent", "pcieRoot", "numaNode", "socket", "nvlinkDomain")


@dataclass(frozen=True, slots=True)
class _Alignment:
    """A resolved `align` entry."""

    word: str
    preferred: bool
    requests: tuple[str, ...]
    attribute: str
    span: Span


def resolve_alignment(
    scope: Scope, spec: ClaimSpec, requests: tuple[DeviceRequest, ...]
) -> tuple[tuple[DeviceRequest, ...], tuple[Constraint, ...]]:
    """The requests with their fallbacks, and all constraints."""
    requests, constraints = _align(scope, requests, _alignments(scope, spec, requests))
    return requests, constraints + _constraints(scope, spec, requests)


def reference_names(requests: tuple[DeviceRequest, ...]) -> list[str]:
    """Requests as constraints and configuration name them, with `request/alternative`."""
    result = []
    for request in requests:
        result.append(request.name)
        if len(request.alternatives) > 1:
            result += [f"{request.name}/{item.name}" for item in request.alternatives]
    return result


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
            scope.name(names.dns_label, name, item.span, "the name of an alternative")
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
    known = reference_names(requests)
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
