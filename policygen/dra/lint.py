"""What the server accepts in a selector but no device satisfies, or some devices fail on.

The server knows nothing of drivers: a misspelt attribute, a quantity compared with a number, a version that
is no semver are found when a pod does not start. The catalogue knows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from policygen.cel.ast import Call, Expr, Literal, Parsed
from policygen.diagnostics import Diagnostics, Source, Span, suggestion
from policygen.dra import catalogue
from policygen.dra.access import NO_FACTS, Access, Facts, Name, accesses, calls, facts_of, parse_selector
from policygen.dra.catalogue import Term
from policygen.dra.data.model import Driver
from policygen.dra.model import Claim, DeviceClass
from policygen.dra.versions import is_semver
from policygen.kube.quantity import is_quantity

if TYPE_CHECKING:
    from policygen.kube.reader import Document

_ORDER = ("_<_", "_<=_", "_>_", "_>=_")
_SYMBOLS = {"_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">=", "_==_": "==", "_!=_": "!="}


@dataclass(frozen=True, slots=True)
class Place:
    """Where an expression stands in a source: its text begins at `offset`."""

    source: Source
    offset: int = 0

    def span(self, start: int, end: int) -> Span:
        """A part of the expression."""
        return Span(self.source, self.offset + start, self.offset + max(end, start + 1))


@dataclass(frozen=True, slots=True)
class _Context:
    parsed: Parsed
    place: Place
    found: Diagnostics
    releases: Mapping[str, str]


def lint_selector(
    expression: str,
    found: Diagnostics,
    place: Place | None = None,
    *,
    known: Facts = NO_FACTS,
    releases: Mapping[str, str] | None = None,
) -> None:
    """Judge a selector by the catalogue. `known` is what other selectors of the request ensure already.

    An expression that does not parse is left to the compiler, which has more to say about it.
    """
    parsed = parse_selector(expression)
    if parsed is None:
        return
    place = place or Place(Source("<selector>", expression))
    context = _Context(parsed, place, found, releases or {})
    own = known | facts_of(parsed)
    for access in accesses(parsed, known):
        _check_access(context, access, own)
    for call in calls(parsed.expr):
        _check_literals(context, call)


def lint_claim(
    claim: Claim,
    classes: Mapping[str, DeviceClass],
    found: Diagnostics,
    document: Document | None = None,
) -> None:
    """Every selector of a claim, in the light of its classes and the request's other selectors.

    With the document that the claim was read from, diagnostics point into it.
    """
    for slot_number, slot in enumerate(claim.slots):
        for request_number, request in enumerate(slot.alternatives):
            device_class = classes.get(request.class_name)
            known = NO_FACTS
            for each in device_class.selectors if device_class else ():
                known |= _facts(each)
            for number, selector in enumerate(request.selectors):
                text = selector or ""
                place = None
                if document is not None:
                    at = request_number if slot.is_list else None
                    place = _written_at(document, slot_number, at, number, text)
                if place is None:
                    name = f"claim {claim}, request {request.full_name}, selector #{number}"
                    place = Place(Source(name, text))
                lint_selector(text, found, place, known=known)
                known |= _facts(selector)
    for constraint in claim.constraints:
        wanted = max(
            (
                request.count
                for slot in claim.slots
                for request in slot.alternatives
                if not constraint.requests or constraint.requests & {slot.name, request.full_name}
            ),
            default=0,
        )
        if constraint.kind == "distinct" and wanted > 2:
            found.warning(
                "distinct-attribute-count",
                f"claim `{claim}`: distinctAttribute `{constraint.attribute}` is not kept "
                f"within a request for {wanted} devices before 1.37",
                notes=["the allocator compares a device with the last one of the same request only"],
                help=["use a request for each device"],
            )


def _facts(selector: str | None) -> Facts:
    """What a selector ensures for those after it: they are tried in order, up to the first that is false."""
    parsed = parse_selector(selector or "")
    return facts_of(parsed) if parsed is not None else NO_FACTS


def _written_at(
    document: Document, slot: int, alternative: int | None, number: int, text: str
) -> Place | None:
    """Where a claim's selector stands in its file, if it stands there as it is (not folded or escaped)."""
    inner = ("spec",) if document.value.get("kind") == "ResourceClaimTemplate" else ()
    request: tuple[str | int, ...] = ("spec", *inner, "devices", "requests", slot)
    tail = ("selectors", number, "cel", "expression")
    exact = ("exactly",) if alternative is None else ("firstAvailable", alternative)
    for path in ((*request, *exact, *tail), (*request, *tail)):
        span = document.span(path)
        at = span.source.text.find(text, span.start, span.end + 1)
        if text and at >= 0:
            return Place(span.source, at)
    return None


def _check_access(context: _Context, access: Access, own: Facts) -> None:
    name = access.name
    driver = catalogue.find_driver(name.domain)
    if driver is None and name.domain not in _foreign_domains():
        _unknown_domain(context, access)
        return
    candidates = list(_terms(context, name, own))
    if not candidates:
        if driver is not None:
            _unknown_name(context, access)
        return
    term = candidates[0]
    if not access.is_guarded and all(each.optional for each in candidates):
        _unguarded(context, access, term)
    _check_use(context, access, term)


def _foreign_domains() -> frozenset[str]:
    """Domains under which drivers publish though they are no driver's name."""
    return frozenset(
        term.domain for name in catalogue.driver_names() for term in catalogue.terms(name)
    ) | frozenset((catalogue.STANDARD_DOMAIN,))


def _drivers(facts: Facts, name: Name) -> Iterator[tuple[str, str]]:
    """The drivers and device types that may be meant: those that the facts single out."""
    values = {(known.domain, known.name): value for known, value in facts.values}
    domains = {known.domain for known in facts.present} | {name.domain}
    for driver_name in catalogue.driver_names():
        driver = catalogue.find_driver(driver_name)
        if driver is None or (driver_name != name.domain and driver_name not in domains):
            continue
        types = [
            entry.name
            for entry in driver.device_types
            if entry.where is not None and values.get((driver_name, entry.where[0])) == entry.where[1]
        ]
        for type_name in types or _usual_types(driver, name):
            yield driver_name, type_name


def _usual_types(driver: Driver, name: Name) -> list[str]:
    """Without a word about the type, a driver's main one is meant if it has the name, else any."""
    main = driver.device_types[0].name
    kind = "attribute" if name.kind == "attributes" else "capacity"
    published = {(term.kind, term.domain, term.name) for term in catalogue.terms(driver.name, "", main)}
    return [main] if (kind, name.domain, name.name) in published else [""]


def _terms(context: _Context, name: Name, facts: Facts) -> Iterator[Term]:
    kind = "attribute" if name.kind == "attributes" else "capacity"
    candidates = list(_drivers(facts, name))
    if not any(catalogue.find_driver(driver) for driver, _ in candidates):
        candidates = [(driver, "") for driver in catalogue.driver_names()]
    for driver_name, type_name in candidates:
        for term in catalogue.terms(driver_name, context.releases.get(driver_name, ""), type_name):
            if term.kind == kind and term.domain == name.domain and term.name == name.name:
                yield term


def _unknown_domain(context: _Context, access: Access) -> None:
    name = access.name
    text = name.domain
    hints = []
    close = suggestion(text, catalogue.driver_names())
    owners = [driver for driver in catalogue.driver_names() if catalogue.resolve(driver, text)]
    if close:
        hints.append(f"did you mean `{close}`?")
    elif "/" in text:
        domain, _, inner = text.partition("/")
        hints.append(f"write `device.{name.kind}['{domain}'].{inner}`")
    elif owners:
        hints.extend(_spelling(owner, text, access) for owner in owners[:1])
    message = f"`{text}` is not the domain of a driver that the catalogue knows"
    if owners and not close:
        message = f"`{text}` stands where the driver's domain belongs"
    context.found.warning(
        "unknown-device-domain",
        message,
        context.place.span(access.start, access.end),
        notes=["an unknown domain reads as an empty map, a name in it is a run-time error on every device"],
        help=hints,
    )


def _spelling(driver: str, word: str, access: Access) -> str:
    """How the thing is written that was probably meant, with a comparison when there was one."""
    term = catalogue.resolve(driver, word)
    assert term is not None
    return f"for {driver}: {_written(term, access)}"


def _written(term: Term, access: Access) -> str:
    match access.parent:
        case Call(function=operator, args=(_, Literal(value=value))) if operator in _SYMBOLS:
            return f"`{compare(term, _SYMBOLS[operator], value)}`"
        case _:
            return f"`{term.cel}`"


def compare(term: Term, symbol: str, value: object) -> str:
    """A comparison in the form that the type wants; a bare number for a memory means Gi."""
    match term.type:
        case "quantity":
            text = f"{value}Gi" if term.name == "memory" and isinstance(value, int) else str(value)
            return f"{term.cel}.compareTo(quantity('{text}')) {symbol} 0"
        case "version":
            return f"{term.cel}.compareTo(semver('{_as_semver(str(value))}')) {symbol} 0"
        case "string":
            return f"{term.cel} {symbol} '{value}'"
        case _:
            return f"{term.cel} {symbol} {value}"


def _unknown_name(context: _Context, access: Access) -> None:
    name = access.name
    release = context.releases.get(name.domain, "")
    other = "capacity" if name.kind == "attributes" else "attribute"
    terms = catalogue.terms(name.domain, release)
    hints = []
    swapped = [term for term in terms if term.kind == other and term.name == name.name]
    word = catalogue.resolve(name.domain, name.name, release)
    same_kind = [term.name for term in terms if (term.kind == "capacity") == (name.kind == "capacity")]
    if swapped:
        article = "an" if other == "attribute" else "a"
        hints.append(f"it is {article} {other}: {_written(swapped[0], access)}")
    elif word is not None:
        hints.append(f"the driver calls it `{word.qualified}`: `{word.cel}`")
    elif close := suggestion(name.name, same_kind):
        hints.append(f"did you mean `{close}`?")
    elif why := catalogue.why_absent(name.domain, name.name):
        hints.append(why)
    what = "attribute" if name.kind == "attributes" else "capacity"
    context.found.warning(
        "unknown-device-attribute",
        f"driver `{name.domain}` publishes no {what} `{name.name}`",
        context.place.span(access.start, access.end),
        notes=[] if access.is_guarded else ["reading it is a run-time error on every device of the driver"],
        help=hints,
    )


def _unguarded(context: _Context, access: Access, term: Term) -> None:
    source = "attributes" if term.kind == "attribute" else "capacity"
    context.found.warning(
        "unguarded-device-attribute",
        f"`{term.qualified}` is not on every device",
        context.place.span(access.start, access.end),
        notes=[
            *([term.note] if term.note else []),
            "on a device without it the selector fails, and the allocator then fails on the whole node",
        ],
        help=[f"put `has(device.{source}['{term.domain}'].{term.name}) && …` before it"],
    )


def _check_use(context: _Context, access: Access, term: Term) -> None:
    """A comparison that the type does not bear."""
    match access.parent:
        case Call(function=operator, args=(left, right)) if operator in _SYMBOLS:
            other = right if left is access.node else left
            _check_comparison(context, access, term, operator, other)
        case _:
            pass


def _check_comparison(context: _Context, access: Access, term: Term, operator: str, other: Expr) -> None:
    symbol = _SYMBOLS[operator]
    span = context.place.span(access.start, access.end)
    value = other.value if isinstance(other, Literal) else None
    if term.type == "quantity":
        if isinstance(other, Literal) or operator in _ORDER:
            context.found.warning(
                "quantity-as-number",
                f"capacity `{term.qualified}` is a quantity: it is not compared with `{symbol}`",
                span,
                help=[f"write `{compare(term, symbol, _shown(other))}`"],
            )
        return
    if not isinstance(other, Literal):
        return
    wanted = {"string": str, "version": str, "int": int, "bool": bool}.get(term.type)
    if term.type == "version" or (wanted is not None and type(value) is not wanted):
        kind = "a version" if term.type == "version" else f"of type {term.type}"
        hint = (
            compare(term, symbol, value)
            if term.type == "version"
            else f"{term.cel} {symbol} {_example(term)}"
        )
        context.found.warning(
            "device-attribute-type",
            f"attribute `{term.qualified}` is {kind}: `{symbol} {_literal(value)}` is never true of it",
            span,
            help=[f"write `{hint}`"],
        )


def _shown(other: Expr) -> object:
    match other:
        case Literal(value=value):
            return value
        case Call(function="quantity", args=(Literal(value=value),)):
            return value
        case _:
            return "40Gi"


def _example(term: Term) -> str:
    return _literal(term.example)


def _literal(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return f"'{value}'"
        case _:
            return str(value)


def _check_literals(context: _Context, call: Call) -> None:
    match call:
        case Call(function="semver", args=(Literal(id=node, value=str() as text),)) if not is_semver(text):
            at = context.parsed.info.offsets.get(node, 0)
            context.found.warning(
                "not-a-semver",
                f"`{text}` is no semantic version: evaluating the selector fails",
                context.place.span(at, at + len(text) + 2),
                notes=["the API server accepts the object and finds out when a pod is scheduled"],
                help=[f"write `semver('{_as_semver(text)}')`"],
            )
        case Call(function="quantity", args=(Literal(id=node, value=str() as text),)) if not is_quantity(
            text
        ):
            at = context.parsed.info.offsets.get(node, 0)
            context.found.warning(
                "not-a-quantity",
                f"`{text}` is no quantity: evaluating the selector fails",
                context.place.span(at, at + len(text) + 2),
                help=["quantities read like `40Gi`, `16`, `500m`"],
            )
        case _:
            pass


def _as_semver(text: str) -> str:
    """Three numbers without leading zeros, of whatever numbers the text begins with."""
    numbers: list[str] = []
    for part in text.lstrip("vV").split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        numbers.append(str(int(digits)))
    return ".".join((*numbers, "0", "0", "0")[:3])
