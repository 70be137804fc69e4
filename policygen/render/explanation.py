"""What will happen to an object, as text for its owner or as JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from textwrap import indent
from typing import Any, Final

from policygen.diagnostics import Span
from policygen.render.outcome import change_line
from policygen.verify.explain import Applied, Explanation
from policygen.verify.nearly import Miss, NotApplied
from policygen.verify.steps import Done, Step

_TOPICS: Final = {
    "node": "node",
    "taints": "taints",
    "near": "neighbours",
    "spread": "spread",
    "devices": "devices",
    "resources": "resources",
    "priority": "priority",
    "waits": "waits for",
}


def text(explanations: Iterable[Explanation], *, color: bool = False, everything: bool = False) -> str:
    """All of them, a blank line between two. With `everything` also what is far from matching."""
    return "\n".join(
        "\n".join(_one(explanation, _Paint(color), everything)) + "\n" for explanation in explanations
    )


class _Paint:
    def __init__(self, color: bool) -> None:
        self._color = color

    def __call__(self, code: str, words: str) -> str:
        return f"\x1b[{code}m{words}\x1b[0m" if self._color else words


def _one(told: Explanation, paint: _Paint, everything: bool) -> Iterator[str]:
    yield f"{paint('1', told.title)} ({told.where}): {_headline(told, paint)}"
    if told.refusal is not None:
        yield from _refused(told)
    for warning in told.outcome.warnings:
        yield f"  {paint('33;1', 'warning')}: {warning}"
    for note in told.notes:
        yield f"  note: {note}"
    for item in told.applied:
        if item.ignored:
            who = _who(item.rule, item.policy)
            yield f"  {paint('33;1', 'broken')}: {who} fails, and is passed over: {item.detail}"
    changing = [step for step in told.steps if step.done]
    if changing:
        yield ""
        yield paint("1", "What changes, and why")
        yield from _changes(changing, paint)
    if told.filled:
        yield ""
        yield paint("1", "What the server fills in")
        yield from _filled(told, paint)
    yield from _kept(told, paint)
    yield from _missed(told, paint, everything)
    if told.topics:
        yield ""
        yield paint("1", "What the scheduler looks for")
        width = max(len(_TOPICS[topic.name]) for topic in told.topics)
        for topic in told.topics:
            for number, line in enumerate(topic.lines):
                yield f"  {_TOPICS[topic.name] if number == 0 else '':<{width}}  {line}"
    for pod in told.pods:
        yield ""
        yield paint("1", "The pods that it creates")
        yield indent("\n".join(_one(pod, paint, everything)), "  ", lambda line: bool(line.strip()))


def _headline(told: Explanation, paint: _Paint) -> str:
    if told.refusal is not None:
        return paint("31;1", "refused")
    verb = {"DELETE": "its deletion is accepted"}.get(told.operation, "accepted")
    if told.operation == "DELETE":
        return paint("32;1", verb)
    if not told.changes and told.filled:
        return paint("32;1", verb) + ", and no rule changes it"
    if not told.changes:
        return paint("32;1", verb) + ", and stays as it is"
    rules = len({step.rule for step in told.steps if step.done})
    return f"{paint('32;1', verb)}, with {_count(told.changes, 'change')} by {_count(rules, 'rule')}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _refused(told: Explanation) -> Iterator[str]:
    refused = told.refusal
    assert refused is not None
    yield f"  {refused.text}" + (f", because of {refused.asked}" if refused.asked else "") + _at(refused.span)
    yield f"  the API server says: {refused.says}"
    for item in told.applied:
        if item.policy == refused.policy and item.kind in ("failed", "denied"):
            for name, value in item.variables.items():
                yield f"    variables.{name} = {json.dumps(value, ensure_ascii=False, default=str)}"


def _at(span: Span | None) -> str:
    return f"  [{span}]" if span is not None else ""


def _who(rule: str, policy: str) -> str:
    return f"rule `{rule}`" if rule != policy else f"policy `{policy}`"


def _changes(steps: list[Step], paint: _Paint) -> Iterator[str]:
    last = None
    for step in steps:
        if (step.policy, step.rule) != last:
            yield f"  {_who(step.rule, step.policy)}"
            last = (step.policy, step.rule)
        shown: tuple[str, Span | None] | None = None
        for done in step.done:
            here = (done.asked, done.span)
            reason = _reason(done) if here != shown else ""
            shown = here
            yield f"    - {done.said.text}{reason}"
            yield f"        {_painted(change_line(done.said.change), paint)}"


def _reason(done: Done) -> str:
    return f"  [{done.span}: {done.asked}]" if done.asked else _at(done.span)


def _painted(line: str, paint: _Paint) -> str:
    code = {"+": "32", "-": "31"}.get(line[:1], "33")
    return paint(code, line if len(line) <= 200 else line[:199] + "…")


def _filled(told: Explanation, paint: _Paint) -> Iterator[str]:
    last = None
    for item in told.filled:
        if item.by != last:
            yield f"  {item.by}{_at(item.span)}"
            last = item.by
        yield f"    - {item.said.text}"
        yield f"        {_painted(change_line(item.said.change), paint)}"


def _kept(told: Explanation, paint: _Paint) -> Iterator[str]:
    """What applied and left everything as it was, because it is already so or the object says otherwise."""
    idle = [step for step in told.steps if not step.done]
    lines = []
    for step in idle:
        what = ", ".join(dict.fromkeys(step.asked)) or f"mutation {step.index}"
        lines.append(f"  {_who(step.rule, step.policy)}: {what}")
    if lines:
        yield ""
        yield paint("1", "What applies, and has nothing to do")
        yield from dict.fromkeys(lines)


def _missed(told: Explanation, paint: _Paint, everything: bool) -> Iterator[str]:
    near = [item for item in told.missed if item.near]
    far = [item for item in told.missed if not item.near]
    if near:
        yield ""
        yield paint("1", "What nearly applied")
        yield from _grouped(near)
    if far and everything:
        yield ""
        yield paint("1", "What is not about it")
        yield from _grouped(far)
    elif far:
        yield ""
        yield f"{_count(len({item.rule for item in far}), 'more rule')} not about it (`--all` lists them)"


def _grouped(items: list[NotApplied]) -> Iterator[str]:
    """Policies of one rule that missed for the same reason are told once."""
    said: set[tuple[str, ...]] = set()
    for item in items:
        lines = tuple(line for miss in item.misses for line in _miss(miss)) or ("no reason is known",)
        key = (item.rule, *lines)
        if key in said:
            continue
        said.add(key)
        yield f"  {_who(item.rule, item.policy)}: {lines[0]}"
        yield from (f"    {line}" for line in lines[1:])


def _miss(miss: Miss) -> Iterator[str]:
    yield miss.text + (f"  [{miss.span}]" if miss.span is not None else "")
    yield from miss.values


def as_json(explanations: Iterable[Explanation]) -> str:
    """`{"objects": […]}`, one entry an object."""
    data = {"objects": [_data(told) for told in explanations]}
    return json.dumps(data, indent=2, ensure_ascii=False, default=str) + "\n"


def _data(told: Explanation) -> dict[str, Any]:
    refused = told.refusal
    return {
        "object": told.title,
        "source": told.where,
        "operation": told.operation,
        "allowed": told.outcome.allowed,
        "refusal": None
        if refused is None
        else {
            "text": refused.text,
            "message": refused.says,
            "code": refused.code,
            "policy": refused.policy,
            "rule": refused.rule,
            "asked": refused.asked,
            "place": _place(refused.span),
        },
        "warnings": list(told.outcome.warnings),
        "notes": list(told.notes),
        "changes": [
            {
                "rule": step.rule,
                "policy": step.policy,
                "mutation": step.index,
                "text": done.said.text,
                "op": done.said.change.op,
                "path": done.said.change.path,
                **_values(done),
                "asked": done.asked,
                "place": _place(done.span),
            }
            for step in told.steps
            for done in step.done
        ],
        "filled": [
            {"by": item.by, "text": item.said.text, "path": item.said.change.path, "place": _place(item.span)}
            for item in told.filled
        ],
        "applied": [_applied(item) for item in told.applied],
        "notApplied": [
            {
                "rule": item.rule,
                "policy": item.policy,
                "near": item.near,
                "reasons": [
                    {
                        "what": miss.what,
                        "text": miss.text,
                        "values": list(miss.values),
                        "asked": miss.asked,
                        "place": _place(miss.span),
                    }
                    for miss in item.misses
                ],
            }
            for item in told.missed
        ],
        "scheduler": {topic.name: list(topic.lines) for topic in told.topics},
        "pods": [_data(pod) for pod in told.pods],
    }


def _values(done: Done) -> dict[str, Any]:
    change = done.said.change
    before = {} if change.op == "add" else {"before": change.before}
    return before | ({} if change.op == "remove" else {"after": change.after})


def _applied(item: Applied) -> dict[str, Any]:
    return {
        "rule": item.rule,
        "policy": item.policy,
        "verdict": item.kind,
        "detail": item.detail,
        "ignored": item.ignored,
        "variables": dict(item.variables),
        "place": _place(item.span),
    }


def _place(span: Span | None) -> dict[str, Any] | None:
    if span is None:
        return None
    line, column = span.position
    return {"file": span.source.name, "line": line, "column": column}
