"""Compare the answer to a request with what a case expects of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from policygen.admission.outcome import Outcome
from policygen.diagnostics import Diagnostic, Label, Span, make, suggestion
from policygen.kube.schema import KindSchema
from policygen.merge.diff import Change, diff
from policygen.verify import paths
from policygen.verify.suite import Case, ExpectedValue

APPLIED = frozenset({"unchanged", "mutated", "failed", "passed", "warned", "denied"})
"""Verdicts of policies that matched."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What is compared: the outcome, what was sent, and how policies are called."""

    case: Case
    outcome: Outcome
    sent: dict[str, Any] | None
    """The object as it would be stored without any policy."""
    schema: KindSchema | None
    rule_of: Callable[[str], str]
    """Policy name → the rule it was made for, or its own name."""
    rule_span: Callable[[str], Span | None]


def failures(answer: Answer) -> Iterator[Diagnostic]:
    """Every expectation that does not hold."""
    expect = answer.case.expect
    yield from _verdict(answer)
    if expect.matched is not None:
        applied = {answer.rule_of(v.policy) for v in answer.outcome.verdicts if v.kind in APPLIED}
        yield from _names(answer, "matched", "matched", expect.matched, applied)
    if expect.changed is not None:
        changed = {answer.rule_of(v.policy) for v in answer.outcome.verdicts if v.kind == "mutated"}
        yield from _names(answer, "changed", "changed the object", expect.changed, changed)
    if expect.unchanged is not None:
        yield from _unchanged(answer, expect.unchanged)
    for value in expect.values:
        yield from _value(answer, value)
    if expect.warnings is not None:
        yield from _warnings(answer, expect.warnings)


def _fault(answer: Answer, key: str, message: str, label: str = "", **parts: Iterable[Any]) -> Diagnostic:
    span = answer.case.expect.spans.get(key, answer.case.span)
    return make("error", "case-failed", f"case `{answer.case.name}`: {message}", span, label, **parts)


def _verdict(answer: Answer) -> Iterator[Diagnostic]:
    expect, outcome = answer.case.expect, answer.outcome
    said = f"the API server would say: {outcome.message}"
    wants = False if expect.denied is not None else expect.allowed
    if wants is None:
        wants = True  # an answer nobody asked to be refused must be given
    if wants and not outcome.allowed:
        key = "allowed" if expect.allowed is not None else ""
        yield _fault(answer, key, f"the request is refused with {outcome.code}", notes=[said])
    elif not wants and outcome.allowed:
        key = "denied" if expect.denied is not None else "allowed"
        yield _fault(answer, key, "the request is accepted", "expected to be refused")
    elif expect.denied is not None and expect.denied not in outcome.message:
        yield _fault(answer, "denied", "the request is refused with another text", notes=[said])


def _names(
    answer: Answer, key: str, verb: str, expected: tuple[str, ...], got: set[str]
) -> Iterator[Diagnostic]:
    for name in sorted(set(expected) - got):
        reasons = sorted(
            f"policy `{v.policy}`: {v.kind}" + (f", {v.detail}" if v.detail else "")
            for v in answer.outcome.verdicts
            if answer.rule_of(v.policy) == name and not v.reinvocation
        )
        span = answer.rule_span(name)
        related = [Label(span, "this rule")] if span else []
        yield _fault(answer, key, f"`{name}` has not {verb}", notes=reasons, related=related)
    for name in sorted(got - set(expected)):
        span = answer.rule_span(name)
        related = [Label(span, "this rule")] if span else []
        yield _fault(answer, key, f"`{name}` has {verb}, which is not expected", related=related)


def _unchanged(answer: Answer, expected: bool) -> Iterator[Diagnostic]:
    if not answer.outcome.allowed:
        return
    changes = diff(answer.sent, answer.outcome.object)
    if expected and changes:
        yield _fault(answer, "unchanged", "the object was changed", notes=[show_changes(changes)])
    if not expected and not changes:
        yield _fault(answer, "unchanged", "nothing was changed")


def _value(answer: Answer, expected: ExpectedValue) -> Iterator[Diagnostic]:
    name = answer.case.name
    result = answer.outcome.object if answer.outcome.allowed else answer.outcome.seen
    if answer.schema is not None:
        unknown = paths.undeclared(answer.schema, expected.steps)
        if unknown is not None:
            step, near = unknown
            message = f"case `{name}`: {answer.schema.kind} has no field `{step}`"
            help = [f"did you mean `{near}`?"] if near else []
            yield make("error", "suite-path", message, expected.span, help=help)
            return
    got = paths.get(result, expected.steps)
    wanted = paths.ABSENT if expected.value is None else expected.value
    if got is wanted or (type(got) is type(wanted) and got == wanted):
        return
    message = f"case `{name}`: `{expected.text}` is {shown(got)}, not {shown(wanted)}"
    yield make("error", "case-failed", message, expected.span, f"got {shown(got)}")


def _warnings(answer: Answer, expected: tuple[str, ...]) -> Iterator[Diagnostic]:
    got = answer.outcome.warnings
    if len(got) == len(expected) and all(part in text for part, text in zip(expected, got, strict=True)):
        return
    notes = [f"the API server would warn: {text}" for text in got] or ["the API server would not warn"]
    yield _fault(answer, "warnings", f"{len(got)} warnings are given, {len(expected)} expected", notes=notes)


def unknown_names(case: Case, known: Iterable[str]) -> Iterator[Diagnostic]:
    """Rules and policies that a case names and the bundle does not have."""
    pool = sorted(known)
    for key, names in (("matched", case.expect.matched), ("changed", case.expect.changed)):
        for name in names or ():
            if name not in pool:
                near = suggestion(name, pool)
                listed = ", ".join(f"`{item}`" for item in pool)
                help = [f"did you mean `{near}`?"] if near else [f"rules and policies: {listed}"]
                message = f"case `{case.name}` names `{name}`, which is no rule and no policy"
                yield make("error", "suite-unknown-rule", message, case.expect.spans[key], help=help)


def shown(value: Any) -> str:
    """A value in a message."""
    if value is paths.ABSENT:
        return "absent"
    text = json.dumps(value, ensure_ascii=False)
    return f"`{text if len(text) <= 200 else text[:199] + '…'}`"


def show_changes(changes: Iterable[Change], limit: int = 20) -> str:
    """Changes by path, one a line: `+ path: value`, `- path: value`."""
    lines = []
    for change in changes:
        if change.op != "add":
            lines.append(f"- {change.path}: {_text(change.before)}")
        if change.op != "remove":
            lines.append(f"+ {change.path}: {_text(change.after)}")
    if len(lines) > limit:
        lines = [*lines[:limit], f"… and {len(lines) - limit} more lines"]
    return "\n".join(lines)


def _text(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 300 else text[:299] + "…"
