"""What a rule's policies do when they fail, and whether they run again: chosen by what they write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from policygen.compiler import ir
from policygen.compiler.model_actions import Rule
from policygen.compiler.model_match import Match


@dataclass(frozen=True, slots=True)
class Choice:
    """A value and its reason, which goes into an annotation."""

    value: str
    reason: str


_SOFT_LEAVES = (("metadata", "labels"), ("metadata", "annotations"))
_SOFT_LISTS = frozenset({"env", "tolerations", "preferredDuringSchedulingIgnoredDuringExecution"})


def failure_policy(rule: Rule, nodes: Sequence[ir.Node]) -> Choice:
    """`Fail` where a pod that slips through would be placed or isolated wrongly, `Ignore` where it would only
    lack a convenience.

    Under `Ignore` one failing mutation is skipped and the others still apply: what must be whole is `Fail`.
    """
    if rule.failure_policy != "auto":
        return Choice(rule.failure_policy, "the spec says so")
    if rule.match.cel:
        hard = [words for node in nodes for words in _hard(node)]
        if not hard:
            return Choice("Ignore", "the rule's own CEL may fail, and nothing that it sets is essential")
    for node in nodes:
        for words in _hard(node):
            return Choice("Fail", f"a pod without {words} must not start")
    return Choice("Ignore", "a pod without it is better than no pod")


def _hard(node: ir.Node) -> list[str]:
    """What of a node a pod must not lack."""
    match node:
        case ir.Leaf(path=path, on_conflict=on_conflict, origin=origin):
            soft = any(path[: len(prefix)] == prefix for prefix in _SOFT_LEAVES) and on_conflict != "reject"
            return [] if soft else [origin.text]
        case ir.Items(path=path, items=items, on_conflict=on_conflict):
            soft = (path[-1] in _SOFT_LISTS or _anyway(items)) and on_conflict != "reject"
            return [] if soft else [items[0].origin.text]
        case ir.NodeTerms(requirements=requirements):
            return [requirements[0].origin.text]
        case ir.PriorityClass(origin=origin) | ir.SharedClaim(origin=origin) | ir.MovedLimit(origin=origin):
            return [origin.text]


def _anyway(items: Sequence[ir.Item]) -> bool:
    return all(item.value.get("whenUnsatisfiable") == "ScheduleAnyway" for item in items)


def reinvocation_policy(match: Match, nodes: Sequence[ir.Node]) -> Choice:
    """`IfNeeded` where another policy or webhook may add what the rule is about after it ran: a container, a
    claim, a label. Constants at fixed places need no second run; every mutation is safe to run twice."""
    for node in nodes:
        reason = _depends(node)
        if reason is not None:
            return Choice("IfNeeded", f"{reason} that is added after this policy ran is covered as well")
    if match.uses or match.images:
        return Choice("Never", "what it sets does not depend on what others add later")
    return Choice("Never", "it sets constants at fixed places")


def _depends(node: ir.Node) -> Literal["a container", "a label", "a node selector term"] | None:
    match node:
        case ir.Leaf(place=ir.InContainers()) | ir.Items(place=ir.InContainers()):
            return "a container"
        case ir.SharedClaim() | ir.MovedLimit():
            return "a container"
        case ir.Items(guard=ir.HasLabels()):
            return "a label"
        case ir.Items(guard=ir.SomeContainer()):
            return "a container"
        case ir.NodeTerms():
            return "a node selector term"
        case _:
            return None
