"""Tests of attributes and capacities: words of the catalogue -> conditions, in the type of what they test."""

from __future__ import annotations

import re
from collections.abc import Mapping as Mapping_
from dataclasses import dataclass

from policygen.compiler.model import Condition, Device, Operator, ScalarType
from policygen.compiler.places import Text
from policygen.compiler.scope import Scope
from policygen.compiler.spec import TestSpec
from policygen.compiler.spec_base import Block
from policygen.compiler.units import (
    Comparator,
    UnitError,
    parse_comparison,
    parse_device_memory,
    parse_quantity,
    parse_version,
    parse_whole,
)
from policygen.compiler.yaml import Mapping, Scalar, Sequence
from policygen.diagnostics import Span
from policygen.dra import catalogue
from policygen.dra.catalogue import Term
from policygen.kube.quantity import Format, Quantity

_MIG_PROFILE = re.compile(r"([0-9]+c\.)?[0-9]+g\.[0-9]+gb([+-]\S+)?")
_TEXT_KEYS = ("contains", "startsWith", "endsWith")


@dataclass(frozen=True, slots=True)
class DriverView:
    """One driver as one device sees it: a release and a type of device."""

    driver: str
    release: str
    type: str

    def term(self, word: str) -> Term | None:
        """What a word means here."""
        return catalogue.resolve(self.driver, word, self.release, self.type)


def view_of(device: Device) -> DriverView:
    """The catalogue as a resolved device sees it."""
    return DriverView(device.driver, device.release or "", device.type)


def resolve_where(
    scope: Scope, view: DriverView, block: Block, where: Mapping_[str, object], field: str = "where"
) -> tuple[Condition, ...]:
    """Tests of attributes and capacities, sorted by word."""
    conditions: list[Condition] = []
    for word in sorted(where):
        term = view.term(word)
        if term is None:
            _unknown_word(scope, view, word, block.key_span_at(field, word))
            continue
        if term.type in {"strings", "ints"}:
            scope.found.error(
                "unsupported-test",
                f"`{word}` is a list of values, which this spec cannot test",
                block.key_span_at(field, word),
                help=["write a selector of your own under `cel`"],
            )
            continue
        conditions += _tests(scope, term, block, (field, word), where[word])
    return tuple(conditions)


def _unknown_word(scope: Scope, view: DriverView, word: str, span: Span) -> None:
    driver = catalogue.find_driver(view.driver)
    if driver is None:
        scope.found.error(
            "unknown-attribute",
            f"nothing is known about the driver `{view.driver}`, so `{word}` has no meaning here",
            span,
            help=["write a selector of your own under `cel`"],
        )
        return
    title = driver.title
    why = catalogue.why_absent(view.driver, word)
    kinds = [
        entry.name
        for entry in driver.device_types
        if catalogue.resolve(view.driver, word, view.release, entry.name)
    ]
    notes = [why] if why else []
    if kinds and view.type:
        notes = [
            f"devices of type {' and '.join(f'`{kind}`' for kind in kinds)} have it, `{view.type}` has not"
        ]
    close = catalogue.suggest_word(view.driver, word, view.release, view.type)
    help = [f"did you mean `{close}`?"] if close else []
    if not close and not why:
        known = [w for w in catalogue.vocabulary(view.driver, view.release, view.type) if "/" not in w]
        help = ["known are " + ", ".join(f"`{name}`" for name in sorted(known))]
    scope.found.error(
        "unknown-attribute", f"{title} devices publish no `{word}`", span, notes=notes, help=help
    )


def _tests(scope: Scope, term: Term, block: Block, path: tuple[str, str], test: object) -> list[Condition]:
    match block.node_at(*path):
        case Scalar():
            return _scalar_test(scope, term, block.text_at(*path), is_bool=isinstance(test, bool))
        case Sequence(items=items):
            values = [block.text_at(*path, index) for index in range(len(items))]
            return _value_list(scope, term, "in", values, block.span_at(*path))
        case Mapping():
            assert isinstance(test, TestSpec)
            return _named_tests(scope, term, test)
        case None:
            return []


def _scalar_test(scope: Scope, term: Term, text: Text, *, is_bool: bool) -> list[Condition]:
    if is_bool or term.type in {"string", "bool"}:
        value = _value(scope, term, text.value, text.span)
        return [] if value is None else [_condition(term, "==", (value,), text.span)]
    result = []
    for part in text.value.split(","):
        try:
            comparison = parse_comparison(part)
        except UnitError as error:
            scope.found.error(
                "bad-comparison", error.message, text.span, help=[error.help] if error.help else []
            )
            continue
        value = _value(scope, term, comparison.value, text.span)
        if value is not None:
            result.append(_condition(term, comparison.operator, (value,), text.span))
    return result


def _named_tests(scope: Scope, term: Term, test: TestSpec) -> list[Condition]:
    span = test.block_span
    result: list[Condition] = []
    operators: tuple[tuple[str, Comparator], ...] = (("is", "=="), ("not", "!="))
    for key, operator in operators:
        if test.node_at(key) is not None:
            text = test.text_at(key)
            value = _value(scope, term, text.value, text.span)
            if value is not None:
                result.append(_condition(term, operator, (value,), text.span))
    if test.in_ is not None:
        values = [test.text_at("in", index) for index in range(len(test.in_))]
        result += _value_list(scope, term, "in", values, test.span_at("in"))
    if test.not_in is not None:
        values = [test.text_at("notIn", index) for index in range(len(test.not_in))]
        result += _value_list(scope, term, "notIn", values, test.span_at("notIn"))
    for key, part in zip(_TEXT_KEYS, (test.contains, test.starts_with, test.ends_with), strict=True):
        if part is None:
            continue
        if term.type != "string":
            scope.found.error(
                "wrong-test", f"`{key}` is for texts; `{term.word}` is {_noun(term)}", test.key_span_at(key)
            )
            continue
        result.append(_condition(term, _text_operator(key), (part,), test.span_at(key)))
    if test.exists is not None:
        result.append(_condition(term, "exists" if test.exists else "absent", (), test.span_at("exists")))
    if not test.model_fields_set:
        scope.found.error("empty-test", f"the test of `{term.word}` says nothing", span)
    return result


def _text_operator(key: str) -> Operator:
    match key:
        case "contains":
            return "contains"
        case "startsWith":
            return "startsWith"
        case _:
            return "endsWith"


def _value_list(
    scope: Scope, term: Term, operator: Operator, values: list[Text], span: Span
) -> list[Condition]:
    if not values:
        scope.found.error("empty-value", "a list of values must not be empty", span)
        return []
    parsed = [_value(scope, term, text.value, text.span) for text in values]
    return [_condition(term, operator, tuple(value for value in parsed if value is not None), span)]


def _condition(term: Term, operator: Operator, values: tuple[str | int | bool, ...], span: Span) -> Condition:
    assert term.type not in {"strings", "ints"}
    return Condition(term.kind, term.domain, term.name, _scalar_type(term), operator, values, span)


def _scalar_type(term: Term) -> ScalarType:
    match term.type:
        case "string" | "int" | "bool" | "version" | "quantity":
            return term.type
        case _:
            raise AssertionError(term.type)


def _value(scope: Scope, term: Term, text: str, span: Span) -> str | int | bool | None:
    """A value in the type of the attribute, or nothing after a diagnostic."""
    try:
        match term.type:
            case "quantity":
                return str(parse_device_memory(text) if _is_bytes(term) else parse_quantity(text))
            case "version":
                return parse_version(text)
            case "int":
                return parse_whole(text)
            case "bool":
                if text not in {"true", "false"}:
                    raise UnitError(f"`{text}` is neither `true` nor `false`")
                return text == "true"
            case _:
                return _known_text(scope, term, text, span)
    except UnitError as error:
        scope.found.error(
            "wrong-unit",
            f"`{term.word}` is {_noun(term)}: {error.message}",
            span,
            notes=[f"devices publish it as `{term.example}`"] if not error.help else [],
            help=[error.help] if error.help else [],
        )
        return None


def _is_bytes(term: Term) -> bool:
    """Whether a capacity is an amount of bytes: drivers publish such with a binary unit."""
    return Quantity.parse(str(term.example)).format is Format.BINARY_SI


def _known_text(scope: Scope, term: Term, text: str, span: Span) -> str:
    if text[:1] in "<>=!" and text:
        scope.found.error(
            "wrong-test",
            f"`{term.word}` is a text, which cannot be compared",
            span,
            help=["use `{contains: …}`, `{startsWith: …}` or the exact value"],
        )
    elif term.values and text not in term.values:
        listed = ", ".join(f"`{value}`" for value in term.values)
        scope.found.warning(
            "unknown-value",
            f"no device is known whose `{term.word}` is `{text}`",
            span,
            notes=[f"known are {listed}"],
        )
    elif term.name == "profile" and not _MIG_PROFILE.fullmatch(text):
        scope.found.warning(
            "unknown-value",
            f"`{text}` is no MIG profile",
            span,
            help=[f"profiles are written as `{term.example}`"],
        )
    return text


def _noun(term: Term) -> str:
    return {
        "quantity": "a quantity",
        "version": "a version",
        "int": "a whole number",
        "bool": "`true` or `false`",
    }.get(term.type, "a text")


def lower_bound(conditions: tuple[Condition, ...]) -> Quantity | None:
    """The least memory that conditions promise, if they promise any."""
    bounds = [
        Quantity.parse(str(condition.values[0]))
        for condition in conditions
        if condition.type == "quantity"
        and condition.name in {"memory", "addressableMemory"}
        and condition.operator in {">=", ">", "=="}
    ]
    return max(bounds, default=None)
