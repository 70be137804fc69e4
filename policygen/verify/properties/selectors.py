"""No label selector and no condition is such that it can never match; no condition is always true."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from policygen.cel.errors import EvalError
from policygen.diagnostics import make
from policygen.verify.facts import Known, PolicyFacts
from policygen.verify.report import Finding, PropertyResult
from policygen.verify.world import World

NAME = "selectors can match"


def check(world: World) -> PropertyResult:
    """One finding per selector or condition."""
    findings = [finding for located in world.subject.policies for finding in _selectors(world, located.value)]
    findings += [finding for facts in world.facts for finding in _conditions(world, facts)]
    return PropertyResult(NAME, world.subject.version, len(world.facts), tuple(findings))


def _selectors(world: World, policy: dict[str, Any]) -> Iterator[Finding]:
    constraints = (policy.get("spec") or {}).get("matchConstraints") or {}
    name = str(policy["metadata"]["name"])
    for key in ("namespaceSelector", "objectSelector"):
        text = contradiction(constraints.get(key) or {})
        if text:
            yield _finding(world, name, ("spec", "matchConstraints", key), f"`{key}` can never match: {text}")


def contradiction(selector: dict[str, Any]) -> str:
    """Why no set of labels satisfies a selector; empty when some does."""
    allowed: dict[str, set[str]] = {
        key: {value} for key, value in (selector.get("matchLabels") or {}).items()
    }
    present, absent = set(allowed), set[str]()
    refused: dict[str, set[str]] = {}
    for item in selector.get("matchExpressions") or []:
        key, values = item.get("key", ""), set(item.get("values") or [])
        match item.get("operator"):
            case "In":
                allowed[key] = allowed[key] & values if key in allowed else values
                present.add(key)
            case "NotIn":
                refused.setdefault(key, set()).update(values)
            case "Exists":
                present.add(key)
            case "DoesNotExist":
                absent.add(key)
            case _:
                continue
    for key in sorted(present & absent):
        return f"label `{key}` must be there and must not"
    for key in sorted(allowed):
        if not allowed[key] - refused.get(key, set()):
            return f"no value of label `{key}` is left"
    return ""


def _conditions(world: World, facts: PolicyFacts) -> Iterator[Finding]:
    for known in facts.of("condition"):
        value = _constant(facts, known)
        if value is not None:
            word = "always" if value else "never"
            text = f"condition `{known.name}` is {word} true, whatever the object"
            yield _finding(world, facts.name, known.place, text)


def _constant(facts: PolicyFacts, known: Known) -> bool | None:
    """The value of a condition that reads nothing."""
    compiled = next((item for item in facts.compiled.conditions if item.text == known.text), None)
    if compiled is None or compiled.program is None or known.effects.reads or "authorizer" in known.text:
        return None
    try:
        value = compiled.program.evaluate({})
    except EvalError:
        return False
    return bool(value)


def _finding(world: World, policy: str, place: tuple[str | int, ...], text: str) -> Finding:
    rule = world.subject.rule_of(policy)
    span = world.subject.span_of(policy, place)
    return Finding(make("error", "verify-selector", f"`{rule}`: {text}", span), policy)
