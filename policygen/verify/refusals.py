"""Why a request is refused, in plain words beside the server's own."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from policygen.admission.outcome import Outcome, Verdict
from policygen.diagnostics import Span
from policygen.verify.steps import traces_of
from policygen.verify.subject import Subject


@dataclass(frozen=True, slots=True)
class Refusal:
    """Who refuses, and why."""

    text: str
    """One sentence of ours."""
    says: str
    """The server's message, unchanged."""
    code: int
    policy: str = ""
    rule: str = ""
    asked: str = ""
    span: Span | None = field(default=None, compare=False)


def refusal(outcome: Outcome, subject: Subject) -> Refusal | None:
    """The reason of a refusal; None when the request is accepted."""
    if outcome.allowed:
        return None
    for verdict in outcome.verdicts:
        if verdict.kind in ("denied", "failed") and not verdict.ignored and verdict.policy in outcome.message:
            return _by_policy(verdict, outcome, subject)
    if outcome.reason == "ServerPanic":
        return Refusal("a policy makes the API server crash on this object", outcome.message, outcome.code)
    for pattern, tell in _IN_TREE:
        match = pattern.search(outcome.message)
        if match is not None:
            return Refusal(tell(match), outcome.message, outcome.code)
    text = "the API server does not take the object, whatever the policies say"
    if any(verdict.kind == "mutated" for verdict in outcome.verdicts):
        text = "the API server does not take the object as the policies leave it"
    return Refusal(text, outcome.message, outcome.code)


def _by_policy(verdict: Verdict, outcome: Outcome, subject: Subject) -> Refusal:
    rule = subject.rule_of(verdict.policy)
    name = f"rule `{rule}`" if rule != verdict.policy else f"policy `{verdict.policy}`"
    if verdict.kind == "failed":
        text = f"{name} fails on this object, and is to refuse what it cannot judge"
        return Refusal(
            text, outcome.message, outcome.code, verdict.policy, rule, "", subject.span_of(verdict.policy)
        )
    traces = _traces(verdict, subject)
    asked, span = traces if traces is not None else ("", subject.span_of(verdict.policy))
    return Refusal(
        f"{name} does not allow it", outcome.message, outcome.code, verdict.policy, rule, asked, span
    )


def _traces(verdict: Verdict, subject: Subject) -> tuple[str, Span] | None:
    """The line of the spec behind the validation whose message was said."""
    for item in subject.policies:
        if item.name != verdict.policy or item.value.get("kind") != "ValidatingAdmissionPolicy":
            continue
        validations = (item.value.get("spec") or {}).get("validations") or []
        for index, validation in enumerate(validations):
            message = validation.get("message")
            said = message is not None and str(message).strip() in (verdict.detail, *verdict.errors)
            if said or len(validations) == 1:
                place = ("spec", "validations", index)
                for trace in traces_of(subject, verdict.policy, place):
                    return trace.text, trace.span
                span = subject.place_of(verdict.policy, place)
                return None if span is None else ("", span)
    return None


Tell = Callable[["re.Match[str]"], str]

_IN_TREE: Final[tuple[tuple[re.Pattern[str], Tell], ...]] = (
    (
        re.compile(r"violates PodSecurity \"([^\"]*)\""),
        lambda found: f"the namespace enforces the Pod Security profile `{found[1].partition(':')[0]}`",
    ),
    (
        re.compile(r"exceeded quota: ([\w.-]+)"),
        lambda found: f"quota `{found[1]}` of the namespace has not enough left",
    ),
    (
        re.compile(r"failed quota: ([\w.-]+): must specify"),
        lambda found: f"quota `{found[1]}` counts something that the object does not state",
    ),
    (
        re.compile(r"(maximum|minimum) (\S+) usage per (\w+) is ([^\s,.]+)"),
        lambda found: (
            f"a LimitRange of the namespace allows a {found[1]} of {found[4]} {found[2]} per {found[3]}"
        ),
    ),
    (
        re.compile(r"(\S+) max limit to request ratio per (\w+) is (\w+)"),
        lambda found: f"a LimitRange allows a {found[1]} limit of at most {found[3]} times the request",
    ),
    (
        re.compile(r"no PriorityClass with name (\S+) was found"),
        lambda found: f"there is no priority class `{found[1]}` in the cluster",
    ),
    (
        re.compile(r"the integer value of priority \((-?\d+)\) must not be provided"),
        lambda _: "the pod states a priority that does not follow from its priority class",
    ),
    (
        re.compile(r"namespaces \"([^\"]*)\" not found"),
        lambda found: f"there is no namespace `{found[1]}`",
    ),
    (
        re.compile(r"strict decoding error: (.*)"),
        lambda _: "the object has fields that its kind does not have",
    ),
)
