"""No label selector and no condition is such that it can never match; no condition is always true."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from policygen.admission.activation import ExpressionError, Round, Subject
from policygen.admission.policy import BINDING_KINDS
from policygen.cel.ast import Expr, Ident, Select, walk
from policygen.cel.budget import MATCH_CONDITION_BUDGET, Budget
from policygen.cel.errors import EvalError
from policygen.diagnostics import make
from policygen.verify import analysis
from policygen.verify.facts import Known, PolicyFacts
from policygen.verify.report import Finding, PropertyResult
from policygen.verify.world import World

NAME = "selectors can match"
_HELP: Final = "correct it, or take it away if it is not meant to choose"

_INPUTS: Final = analysis.ROOTS | {"authorizer"}


def check(world: World) -> PropertyResult:
    """One finding per selector or condition."""
    findings = [finding for located in world.subject.policies for finding in _selectors(world, located.value)]
    findings += [finding for located in world.subject.manifests for finding in _binding(world, located.value)]
    findings += [finding for facts in world.facts for finding in _conditions(world, facts)]
    return PropertyResult(NAME, world.subject.version, len(world.facts), tuple(findings))


def _selectors(world: World, policy: dict[str, Any]) -> Iterator[Finding]:
    constraints = (policy.get("spec") or {}).get("matchConstraints") or {}
    name = str(policy["metadata"]["name"])
    for key in ("namespaceSelector", "objectSelector"):
        text = contradiction(constraints.get(key) or {})
        if text:
            yield _finding(world, name, ("spec", "matchConstraints", key), f"`{key}` can never match: {text}")


def _binding(world: World, binding: dict[str, Any]) -> Iterator[Finding]:
    if binding.get("kind") not in BINDING_KINDS:
        return
    spec = binding.get("spec") or {}
    for key in ("namespaceSelector", "objectSelector"):
        text = contradiction((spec.get("matchResources") or {}).get(key) or {})
        if text:
            name = binding["metadata"]["name"]
            policy = str(spec.get("policyName"))
            yield _finding(world, policy, (), f"`{key}` of binding `{name}` can never match: {text}")


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
    """The value of a condition that depends on nothing, also by way of variables."""
    compiled = facts.compiled
    condition = next((item for item in compiled.conditions if item.text == known.text), None)
    if condition is None or condition.program is None or known.expr is None or _depends(facts, known.expr):
        return None
    current = Round(Subject(None, None, {}), compiled.variables, Budget(MATCH_CONDITION_BUDGET))
    try:
        return bool(current.evaluate(condition))
    except (ExpressionError, EvalError):
        return False


def _depends(facts: PolicyFacts, expr: Expr) -> bool:
    """Whether an expression has to do with the request at all."""
    trees = {item.name: item.expr for item in facts.of("variable") if item.expr is not None}
    pending, seen = [expr], set[str]()
    while pending:
        for node in walk(pending.pop()):
            if isinstance(node, Ident) and node.name.removeprefix(".") in _INPUTS:
                return True
            if isinstance(node, Select) and isinstance(node.operand, Ident):
                if node.operand.name == "variables" and node.field in trees and node.field not in seen:
                    seen.add(node.field)
                    pending.append(trees[node.field])
    return False


def _finding(world: World, policy: str, place: tuple[str | int, ...], text: str) -> Finding:
    rule = world.subject.rule_of(policy)
    span = world.place(policy, place)
    return Finding(make("error", "verify-selector", f"`{rule}`: {text}", span, help=[_HELP]), policy)
