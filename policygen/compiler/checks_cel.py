"""Checks of the user's own CEL: it compiles for the version, is a test, and reads what devices publish.

The CEL package is loaded only when a spec has expressions of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from policygen.compiler.model import Condition, Device, Model
from policygen.compiler.model_match import Match
from policygen.compiler.places import Text
from policygen.compiler.selectors import class_selectors, request_selectors
from policygen.compiler.workloads import WORKLOADS
from policygen.diagnostics import Diagnostic, Diagnostics, Label, Source, Span
from policygen.kube.catalog import Catalog, load

if TYPE_CHECKING:
    from policygen.cel.env import Env

MAX_EXPRESSION = 10 * 1024
"""`CELSelectorExpressionMaxLength`."""

_CONDITION_TYPES = frozenset({"bool"})
"""A match condition must be a bool before it runs (apiserver `plugin/cel/compile.go`)."""
_SELECTOR_TYPES = frozenset({"bool", "dyn", "any"})
"""A selector may be of a type that is known only when it runs (`dynamic-resource-allocation/cel`)."""

_WORD = re.compile(r"\w*")


def check_selectors(model: Model, found: Diagnostics) -> None:
    """Selectors on `device`."""
    selectors = list(_selectors(model))
    if not selectors:
        return
    from policygen.cel.env import device_env

    env = device_env(model.kubernetes)
    for text, device, conditions in selectors:
        if _compiles(text, env, "selector", _SELECTOR_TYPES, found):
            _lint(text, device, conditions, found)


def check_conditions(model: Model, found: Diagnostics) -> None:
    """Conditions of rules on the request."""
    conditions = [(text, rule.match) for rule in model.rules for text in rule.match.cel]
    if not conditions:
        return
    from policygen.cel.env import admission_env

    env = admission_env(model.kubernetes, has_params=False, patch_types=False)
    for text, match in conditions:
        if _compiles(text, env, "condition", _CONDITION_TYPES, found):
            _check_nulls(text, match, env, found)
            _check_fields(text, match, env, load(model.kubernetes), found)


def _check_fields(text: Text, match: Match, env: Env, catalog: Catalog, found: Diagnostics) -> None:
    """Fields that none of the rule's kinds has; kinds without a schema here may have any."""
    from policygen.cel.schema_env import undefined_everywhere

    workloads = [WORKLOADS[kind] for kind in match.workloads]
    schemas = [catalog.get(workload.api_version, workload.kind) for workload in workloads]
    known = [schema for schema in schemas if schema is not None]
    if len(known) < len(schemas):
        return
    kinds = " or ".join(match.workloads)
    for field in undefined_everywhere(text.value, env, known):
        found.error(
            "undefined-object-field",
            f"`{field.owner}` of a {kinds} has no field `{field.field}`",
            text.inner(field.offset, field.offset + len(field.field)),
            notes=["the API server would accept the policy, and then fail on the requests that it matches"],
            help=[f"did you mean `{field.meant}`?"] if field.meant else [],
        )


def _check_nulls(text: Text, match: Match, env: Env, found: Diagnostics) -> None:
    """What is null where conditions are evaluated: reading it is an error, which refuses the request."""
    from policygen.cel.ast import Ident, Select, walk
    from policygen.cel.parser import parse

    parsed = parse(text.value, env.macros)
    read = {
        part.operand.name: parsed.info.offsets.get(part.operand.id, 0)
        for part in walk(parsed.expr)
        if isinstance(part, Select) and isinstance(part.operand, Ident)
    }
    if "namespaceObject" in read:
        found.error(
            "null-in-condition",
            "`namespaceObject` is null in a condition, so every request would be refused",
            _word(text, read["namespaceObject"]),
            help=["match by `namespaces: {labels: {…}}`"],
        )
    guarded = any(
        word in text.value for word in ("oldObject != null", "oldObject == null", "request.operation")
    )
    if "oldObject" in read and "CREATE" in match.operations and not guarded:
        found.warning(
            "null-in-condition",
            "`oldObject` is null when an object is created, so that would be refused",
            _word(text, read["oldObject"]),
            help=["match `operation: UPDATE`, or begin with `oldObject != null &&`"],
        )


def _selectors(model: Model) -> Iterator[tuple[Text, Device, tuple[Condition, ...]]]:
    """Each selector with its device and the conditions that hold beside it."""
    for device in model.devices:
        for text in device.cel:
            yield text, device, device.conditions
    for claim in model.claims:
        for request in claim.requests:
            for item in request.alternatives:
                for text in item.cel:
                    yield text, item.device, (*item.device.conditions, *item.conditions)


def _compiles(text: Text, env: Env, what: str, types: frozenset[str], found: Diagnostics) -> bool:
    from policygen.cel.errors import CompileError
    from policygen.cel.program import compile_program

    if len(text.value) > MAX_EXPRESSION:
        found.error("cel-too-long", f"a {what} has at most {MAX_EXPRESSION} characters", text.span)
        return False
    try:
        program = compile_program(text.value, env)
    except CompileError as error:
        for issue in error.issues:
            span = _word(text, issue.offset)
            single = text.value[issue.offset : issue.offset + 1] == "=" or "at: '= '" in issue.message
            help = ["write `==` to compare"] if single else []
            found.error("cel-error", issue.message, span, notes=[f"in this {what}"], help=help)
        if not error.issues:
            found.error("cel-error", error.text, text.span, notes=[f"in this {what}"])
        return False
    kind = str(program.result_type)
    if kind not in types:
        unknown = kind in _SELECTOR_TYPES
        notes = ["the type of an object's fields is not known, and the API server wants `bool`"]
        found.error(
            "cel-not-a-test",
            f"this {what} is of type `{kind}`, not `bool`",
            text.span,
            notes=notes if unknown else [],
            help=["compare it: `… == true`, `… == 'text'`"] if unknown else [],
        )
        return False
    return True


def _word(text: Text, offset: int) -> Span:
    """The word that begins at an offset, or one character."""
    match = _WORD.match(text.value, offset)
    return text.inner(offset, max(offset + 1, match.end() if match else 0))


def _lint(text: Text, device: Device, conditions: tuple[Condition, ...], found: Diagnostics) -> None:
    """What the catalogue has against a selector, at its place in the spec."""
    from policygen.dra.access import NO_FACTS, facts_of, parse_selector
    from policygen.dra.lint import Place, lint_selector

    known = NO_FACTS
    for selector in (*class_selectors(replace(device, cel=())), *request_selectors(conditions, ())):
        parsed = parse_selector(selector.expression)
        if parsed is not None:
            known |= facts_of(parsed)
    heard = Diagnostics()
    source = Source("<selector>", text.value)
    releases = {device.driver: device.release} if device.release else {}
    lint_selector(text.value, heard, Place(source), known=known, releases=releases)
    found.extend(_moved(heard, text))


def _moved(heard: Iterable[Diagnostic], text: Text) -> Iterator[Diagnostic]:
    """Diagnostics about an expression, moved to where it stands in the spec."""
    for item in heard:
        primary = Label(text.span) if item.primary is None else _label(item.primary, text)
        related = tuple(_label(label, text) for label in item.related)
        yield Diagnostic(item.code, item.severity, item.message, primary, related, item.notes, item.help)


def _label(label: Label, text: Text) -> Label:
    return Label(text.inner(label.span.start, label.span.end), label.text)
