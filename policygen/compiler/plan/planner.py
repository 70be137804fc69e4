"""Nodes × target × version → drafts. `plan` is the only entry."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import assert_never

from policygen.compiler import ir
from policygen.compiler.plan import claims, items, leaves, nodes
from policygen.compiler.plan.draft import Draft
from policygen.compiler.plan.targets import Target
from policygen.compiler.plan.variables import Variables
from policygen.kube.catalog import Catalog

_MUTABLE_IN_PODS = (("metadata", "labels"), ("metadata", "annotations"), ("spec", "tolerations"))
"""What the API server lets an update change in a pod (apiserver `ValidatePodUpdate`)."""


@dataclass(frozen=True, slots=True)
class Work:
    """One mutation to be planned: a node, or leaves that are set together."""

    nodes: tuple[ir.Node, ...]


def plan(found: Sequence[ir.Node], target: Target, variables: Variables, catalog: Catalog) -> list[Draft]:
    """The mutations of one policy, in the order of the rule's actions."""
    return [_plan(work, target, variables, catalog) for work in grouped(found)]


def grouped(found: Sequence[ir.Node]) -> Iterator[Work]:
    """Entries of one map are set together; everything else alone."""
    done: set[int] = set()
    for index, node in enumerate(found):
        if index in done:
            continue
        group: list[ir.Node] = [node]
        if isinstance(node, ir.Leaf) and node.path[:-1] in leaves.MAPS:
            for later in range(index + 1, len(found)):
                other = found[later]
                if isinstance(other, ir.Leaf) and _shared(other) == _shared(node):
                    group.append(other)
                    done.add(later)
        yield Work(tuple(group))


def _shared(leaf: ir.Leaf) -> tuple[object, ...]:
    return leaf.place, leaf.path[:-1], leaf.on_conflict, leaf.guard


def _plan(work: Work, target: Target, variables: Variables, catalog: Catalog) -> Draft:
    node = work.nodes[0]
    limit = _limit(node, target)
    match node:
        case ir.Leaf():
            group = [leaf for leaf in work.nodes if isinstance(leaf, ir.Leaf)]
            return leaves.plan(group, target, variables, catalog, limit)
        case ir.Items():
            return items.plan(node, target, variables, catalog, limit)
        case ir.NodeTerms():
            return nodes.plan_terms(node, target, variables, limit)
        case ir.PriorityClass():
            return nodes.plan_priority(node, target, variables, catalog, limit)
        case ir.SharedClaim():
            return claims.plan_shared(node, target, variables, limit)
        case ir.MovedLimit():
            return claims.plan_moved(node, target, variables, limit)
        case _:
            assert_never(node)


def _limit(node: ir.Node, target: Target) -> str:
    """Most of a pod cannot change once it exists: such fields are set on creation only."""
    if not target.is_pod or "UPDATE" not in target.operations:
        return "true"
    path = node.path if isinstance(node, (ir.Leaf, ir.Items)) else ()
    in_pod = isinstance(node, (ir.Leaf, ir.Items)) and isinstance(node.place, ir.InPod)
    mutable = in_pod and any(path[: len(prefix)] == prefix for prefix in _MUTABLE_IN_PODS)
    return "true" if mutable else "request.operation == 'CREATE'"
