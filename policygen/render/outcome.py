"""What admission made of an object, as text: YAML, a list of changes, or a line of JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from policygen.admission.outcome import Outcome, Verdict
from policygen.kube import manifest, objects
from policygen.merge.diff import Change, diff

_SIGNS = {"add": "+", "remove": "-", "replace": "~"}


def as_yaml(given: dict[str, Any], outcome: Outcome, *, explain: bool = False) -> str:
    """One document: the object as it would be stored, or a comment that says why not."""
    lines = [f"warning: {warning}" for warning in outcome.warnings]
    if explain:
        lines += explained(outcome)
    if not outcome.allowed:
        lines.insert(0, f"{objects.describe(given)}: {refused(outcome)}")
    comments = "".join(f"# {part}\n" for line in lines for part in line.splitlines())
    body = manifest.write(outcome.object) if outcome.object is not None else ""
    return f"---\n{comments}{body}"


def as_diff(
    given: dict[str, Any], where: str, outcome: Outcome, base: dict[str, Any] | None, *, explain: bool = False
) -> str:
    """What the policies change, against what the server would store without them."""
    title = f"{objects.describe(given)} ({where}): "
    lines = [f"  warning: {warning}" for warning in outcome.warnings]
    if not outcome.allowed:
        title += refused(outcome)
    elif outcome.object is None:
        title += "allowed"
    else:
        changes = diff(base or {}, outcome.object)
        title += "changed" if changes else "unchanged"
        lines += [f"  {change_line(change)}" for change in changes]
    if explain:
        lines += [f"  {line}" for line in explained(outcome)]
    return "\n".join([title, *lines]) + "\n"


def as_json(given: dict[str, Any], where: str, outcome: Outcome, *, explain: bool = False) -> str:
    """One line."""
    api_version, kind, namespace, name = objects.identity(given)
    answer: dict[str, Any] = {
        "apiVersion": api_version,
        "kind": kind,
        "namespace": namespace,
        "name": name,
        "source": where,
        "allowed": outcome.allowed,
        "code": outcome.code,
        "changed": is_changed(outcome),
    }
    if not outcome.allowed:
        answer |= {"reason": outcome.reason, "message": outcome.message}
    if outcome.warnings:
        answer["warnings"] = list(outcome.warnings)
    if outcome.audit_annotations:
        answer["auditAnnotations"] = dict(outcome.audit_annotations)
    if outcome.object is not None:
        answer["object"] = outcome.object
    if explain:
        answer["verdicts"] = [_verdict_data(verdict) for verdict in outcome.verdicts]
    return json.dumps(answer, ensure_ascii=False) + "\n"


def is_changed(outcome: Outcome) -> bool:
    """Whether a policy changed the object."""
    return any(verdict.kind == "mutated" or verdict.changes for verdict in outcome.verdicts)


def refused(outcome: Outcome) -> str:
    """One phrase: the code and the server's message, unchanged."""
    return f"refused with {outcome.code}: {outcome.message}"


def explained(outcome: Outcome) -> list[str]:
    """The verdict of every policy, with variables and changes."""
    return [line for verdict in outcome.verdicts for line in _verdict_lines(verdict)]


def change_line(change: Change) -> str:
    """`~ spec.priority: 0 -> 1000000`."""
    sign = _SIGNS[change.op]
    match change.op:
        case "add":
            return f"{sign} {change.path}: {_value(change.after)}"
        case "remove":
            return f"{sign} {change.path}: {_value(change.before)}"
        case _:
            return f"{sign} {change.path}: {_value(change.before)} -> {_value(change.after)}"


def _verdict_lines(verdict: Verdict) -> Iterator[str]:
    who = f"policy {verdict.policy}"
    if verdict.binding and verdict.binding != verdict.policy:
        who += f", binding {verdict.binding}"
    if verdict.param:
        who += f", params {verdict.param}"
    if verdict.reinvocation:
        who += ", second pass"
    says = verdict.kind.replace("-", " ")
    if verdict.ignored:
        says += " (ignored)"
    yield f"{who}: {says}" + (f": {verdict.detail}" if verdict.detail else "")
    for error in verdict.errors[1:]:
        yield f"    also: {error}"
    for name, value in verdict.variables.items():
        yield f"    variables.{name} = {_value(value)}"
    for change in verdict.changes:
        yield f"    {change_line(change)}"


def _verdict_data(verdict: Verdict) -> dict[str, Any]:
    data: dict[str, Any] = {
        "policy": verdict.policy,
        "binding": verdict.binding,
        "kind": "mutating" if verdict.mutating else "validating",
        "verdict": verdict.kind,
    }
    if verdict.detail:
        data["detail"] = verdict.detail
    if verdict.param:
        data["params"] = verdict.param
    if verdict.reinvocation:
        data["secondPass"] = True
    if verdict.ignored:
        data["ignored"] = True
    if verdict.errors:
        data["errors"] = list(verdict.errors)
    if verdict.variables:
        data["variables"] = dict(verdict.variables)
    if verdict.changes:
        data["changes"] = [change_line(change) for change in verdict.changes]
    return data


def _value(value: Any) -> str:
    """A value on one line."""
    return json.dumps(value, ensure_ascii=False, default=str)
