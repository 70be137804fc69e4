"""Compare the answer to a request with what a case expects of it.

Each failure names the expectation, what the server gives instead by path, the rules that had a part in it
with their lines, and the values of the variables that they read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from policygen.admission.outcome import Outcome, Verdict
from policygen.diagnostics import Diagnostic, Label, make, suggestion
from policygen.kube.schema import KindSchema
from policygen.merge.diff import Change, diff
from policygen.verify import paths
from policygen.verify.report import Finding
from policygen.verify.subject import Subject
from policygen.verify.suite import Case, ExpectedValue

APPLIED = frozenset({"unchanged", "mutated", "failed", "passed", "warned", "denied"})
"""Verdicts of policies that matched."""

_MOST_RULES: Final = 3
_MOST_VARIABLES: Final = 8


@dataclass(frozen=True, slots=True)
class Answer:
    """What is compared: the outcome, what was sent, and what the policies are."""

    case: Case
    outcome: Outcome
    plain: Callable[[], Outcome]
    """The answer without any policy."""
    schema: KindSchema | None
    subject: Subject
    why_not: Callable[[], dict[str, list[str]]]
    """Rule → why it did not apply; worked out when it is asked for."""
    why_refused: Callable[[], list[str]]
    """The refusal in plain words."""
    without: Callable[[], Outcome]
    """The answer without anything of the bundle."""

    @property
    def applied(self) -> tuple[Verdict, ...]:
        """The verdicts of policies that matched."""
        return tuple(verdict for verdict in self.outcome.verdicts if verdict.kind in APPLIED)


def failures(answer: Answer) -> Iterator[Finding]:
    """Every expectation that does not hold."""
    expect = answer.case.expect
    values = [(value.text, finding) for value in expect.values for finding in _value(answer, value)]
    for finding in _verdict(answer):
        if answer.outcome.allowed or not (missing := [item for item in values if _follows(item[1])]):
            yield finding
            continue
        values = [item for item in values if item not in missing]
        listed = ", ".join(f"`{path}`" for path, _ in missing)
        said = finding.diagnostic
        note = f"so there is no result with the values that are expected at {listed}"
        yield replace(finding, diagnostic=replace(said, notes=(*said.notes, note)))
    if expect.matched is not None:
        applied = {answer.subject.rule_of(verdict.policy) for verdict in answer.applied}
        yield from _names(answer, "matched", "matched", expect.matched, applied)
    if expect.changed is not None:
        changed = {answer.subject.rule_of(v.policy) for v in answer.applied if v.kind == "mutated"}
        yield from _names(answer, "changed", "changed the object", expect.changed, changed)
    if expect.unchanged is not None:
        yield from _unchanged(answer, expect.unchanged)
    yield from (finding for _, finding in values)
    if expect.warnings is not None:
        yield from _warnings(answer, expect.warnings)
    yield from _vacuous(answer)


def _follows(finding: Finding) -> bool:
    """Whether a missing value says no more than that the request was refused."""
    return finding.diagnostic.code == "case-failed"


def fault(
    answer: Answer,
    key: str,
    message: str,
    label: str = "",
    *,
    notes: Iterable[str] = (),
    help: Iterable[str] = (),
    about: Iterable[Verdict] = (),
    changes: Iterable[Change] = (),
) -> Finding:
    """A failure with the rules that it is about and the variables that they read."""
    span = answer.case.expect.spans.get(key, answer.case.span)
    verdicts = list(about)
    diagnostic = make(
        "error",
        "case-failed",
        f"case `{answer.case.name}`: {message}",
        span,
        label,
        related=list(_rules(answer, verdicts)),
        notes=[*notes, *_variables(verdicts)],
        help=help,
    )
    policy = verdicts[0].policy if verdicts else ""
    return Finding(diagnostic, policy, answer.case.object, tuple(changes))


def _rules(answer: Answer, verdicts: Iterable[Verdict]) -> Iterator[Label]:
    """The rules of some verdicts with their lines."""
    said: dict[str, list[str]] = {}
    for verdict in verdicts:
        kinds = said.setdefault(answer.subject.rule_of(verdict.policy), [])
        if verdict.kind not in kinds:
            kinds.append(verdict.kind)
    for rule, kinds in list(said.items())[:_MOST_RULES]:
        span = answer.subject.rule_span(rule)
        if span is not None:
            words = " and ".join(kind.replace("-", " ") for kind in kinds)
            yield Label(span, f"this rule: {words}")


def _variables(verdicts: Iterable[Verdict]) -> Iterator[str]:
    """`variables.tier evaluated to "interactive"`."""
    known: dict[str, str] = {}
    for verdict in verdicts:
        for name, value in verdict.variables.items():
            known.setdefault(name, shown(value))
    lines = [f"`variables.{name}` evaluated to {value}" for name, value in known.items()]
    if lines:
        more = [f"… and {len(lines) - _MOST_VARIABLES} more"] if len(lines) > _MOST_VARIABLES else []
        yield "\n".join([*lines[:_MOST_VARIABLES], *more])


def _verdict(answer: Answer) -> Iterator[Finding]:
    expect, outcome = answer.case.expect, answer.outcome
    said = f"the API server would say: {outcome.message}"
    wants = False if expect.denied is not None else expect.allowed
    if wants is None:
        wants = True  # an answer nobody asked to be refused must be given
    refusing = [verdict for verdict in answer.applied if verdict.kind in ("denied", "failed")]
    if wants and not outcome.allowed:
        key = "allowed" if expect.allowed is not None else ""
        notes = [*answer.why_refused(), said]
        yield fault(answer, key, f"the request is refused with {outcome.code}", notes=notes, about=refusing)
    elif not wants and outcome.allowed:
        key = "denied" if expect.denied is not None else "allowed"
        yield fault(answer, key, "the request is accepted", "expected to be refused", about=_judging(answer))
    elif expect.denied is not None and expect.denied not in outcome.message:
        about = "the request is refused with another text"
        yield fault(answer, "denied", about, notes=[said], about=refusing)


def _judging(answer: Answer) -> list[Verdict]:
    return [verdict for verdict in answer.applied if not verdict.mutating]


def _names(
    answer: Answer, key: str, verb: str, expected: tuple[str, ...], got: set[str]
) -> Iterator[Finding]:
    for name in sorted((set(expected) & answer.subject.names) - got):
        own = [v for v in answer.outcome.verdicts if answer.subject.rule_of(v.policy) == name]
        applied = [verdict for verdict in own if verdict.kind in APPLIED]
        notes = answer.why_not().get(name, []) if not applied else []
        yield fault(answer, key, f"`{name}` has not {verb}", notes=notes, about=own)
    for name in sorted(got - set(expected)):
        own = [v for v in answer.applied if answer.subject.rule_of(v.policy) == name]
        changes = [change for verdict in own for change in verdict.changes]
        notes = [show_changes(changes)] if changes else []
        yield fault(answer, key, f"`{name}` has {verb}, which is not expected", notes=notes, about=own)


def _unchanged(answer: Answer, expected: bool) -> Iterator[Finding]:
    if not answer.outcome.allowed:
        return
    changes = diff(answer.plain().object, answer.outcome.object)
    mutated = [verdict for verdict in answer.applied if verdict.kind == "mutated"]
    if expected and changes:
        notes = [show_changes(changes)]
        yield fault(
            answer, "unchanged", "the object was changed", notes=notes, about=mutated, changes=changes
        )
    if not expected and not changes:
        notes = [line for lines in answer.why_not().values() for line in lines][:_MOST_RULES]
        yield fault(answer, "unchanged", "nothing was changed", notes=notes, about=answer.applied)


def _value(answer: Answer, expected: ExpectedValue) -> Iterator[Finding]:
    name = answer.case.name
    result = answer.outcome.object if answer.outcome.allowed else answer.outcome.seen
    if answer.schema is not None:
        unknown = paths.undeclared(answer.schema, expected.steps)
        if unknown is not None:
            step, near = unknown
            message = f"`{expected.text}`: {answer.schema.kind} has no field `{step}`"
            help = [f"did you mean `{near}`?"] if near else []
            yield Finding(make("error", "suite-path", message, expected.path_span, help=help))
            return
    got = paths.get(result, expected.steps)
    wanted = paths.ABSENT if expected.value is None else expected.value
    if got is wanted or (type(got) is type(wanted) and got == wanted):
        return
    about = _touching(answer, expected)
    yield Finding(
        make(
            "error",
            "case-failed",
            f"case `{name}`: `{expected.text}` is {shown(got)}, not {shown(wanted)}",
            expected.span,
            f"got {shown(got)}",
            related=list(_rules(answer, about)),
            notes=[f"- {expected.text}: {_bare(wanted)}   expected\n+ {expected.text}: {_bare(got)}   got"]
            + list(_variables(about))
            + ([] if answer.applied else ["no policy applied to the object"]),
        ),
        about[0].policy if about else "",
        answer.case.object,
    )


def _touching(answer: Answer, expected: ExpectedValue) -> list[Verdict]:
    """The policies that wrote near the place, or else all that applied."""
    names = [step for step in expected.steps if isinstance(step, str)]
    near = [
        verdict
        for verdict in answer.applied
        for change in verdict.changes
        if _meets([step for step in change.steps if isinstance(step, str)], names)
    ]
    return list({id(verdict): verdict for verdict in near or answer.applied}.values())


def _meets(left: list[str], right: list[str]) -> bool:
    return all(a == b for a, b in zip(left, right, strict=False))


def _warnings(answer: Answer, expected: tuple[str, ...]) -> Iterator[Finding]:
    got = answer.outcome.warnings
    if len(got) == len(expected) and all(part in text for part, text in zip(expected, got, strict=True)):
        return
    notes = [f"the API server would warn: {text}" for text in got] or ["the API server would not warn"]
    message = f"{_count(len(got), 'warning')} given, {len(expected)} expected"
    if len(got) == len(expected):
        message = "a warning has another text"
    yield fault(answer, "warnings", message, notes=notes, about=_judging(answer))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun} is" if number == 1 else f"{number} {noun}s are"


def _vacuous(answer: Answer) -> Iterator[Finding]:
    """A case that expects a result and says nothing of rules, where nothing of the bundle did anything."""
    expect = answer.case.expect
    said = (expect.matched, expect.changed, expect.unchanged, expect.allowed, expect.denied, expect.warnings)
    if any(part is not None for part in said) or answer.applied or not answer.outcome.allowed:
        return
    if not (expect.values or expect.golden or expect.devices):
        return
    alone = answer.without()
    if alone.allowed and alone.object == answer.outcome.object and expect.devices is None:
        notes = [line for lines in answer.why_not().values() for line in lines][:_MOST_RULES]
        yield Finding(
            make(
                "error",
                "case-proves-nothing",
                f"case `{answer.case.name}`: nothing of the bundle applied, so the result is what was sent",
                answer.case.span,
                notes=notes,
                help=["if that is meant, say `matched: []`; otherwise the object must reach a rule"],
            )
        )


def unknown_names(case: Case, known: Iterable[str]) -> Iterator[Diagnostic]:
    """Rules and policies that a case names and the bundle does not have."""
    pool = sorted(known)
    for key, names in (("matched", case.expect.matched), ("changed", case.expect.changed)):
        for name in names or ():
            if name not in pool:
                near = suggestion(name, pool)
                listed = ", ".join(f"`{item}`" for item in pool)
                help = [f"did you mean `{near}`?"] if near else [f"rules and policies: {listed or 'none'}"]
                span = case.expect.spans[f"{key}.{name}"]
                message = f"`{key}` names `{name}`, which is no rule and no policy"
                yield make("error", "suite-unknown-rule", message, span, help=help)


def shown(value: Any) -> str:
    """A value in a message."""
    return "absent" if value is paths.ABSENT else f"`{_bare(value, 200)}`"


def _bare(value: Any, longest: int = 300) -> str:
    if value is paths.ABSENT:
        return "absent"
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= longest else text[: longest - 1] + "…"


def show_changes(changes: Iterable[Change], limit: int = 20) -> str:
    """Changes by path, one a line: `+ path: value`, `- path: value`."""
    lines = []
    for change in changes:
        if change.op != "add":
            lines.append(f"- {change.path}: {_bare(change.before)}")
        if change.op != "remove":
            lines.append(f"+ {change.path}: {_bare(change.after)}")
    if len(lines) > limit:
        lines = [*lines[:limit], f"… and {len(lines) - limit} more lines"]
    return "\n".join(lines)
