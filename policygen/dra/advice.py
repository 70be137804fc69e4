"""Topology advice: how much of an inventory can serve claims, now and when empty, and what binds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from policygen.dra.allocation import AllocatedState, Allocation, AllocationError
from policygen.dra.allocator import Allocator
from policygen.dra.constraints import applies
from policygen.dra.explain import count_constraint, count_request, reasons
from policygen.dra.model import Claim, Constraint, Node, Request, RequestSlot

Outcome = Literal["fits", "no", "error"]


@dataclass(frozen=True, slots=True)
class NodeResult:
    """What the allocator says about a node; reasons when it is no."""

    node: Node
    outcome: Outcome
    allocations: tuple[Allocation, ...] = ()
    error: str = ""
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Advice:
    """The share of nodes that serve the claims, the constraints that bind, alignments that never hold."""

    nodes: int
    now: int
    empty: int
    binding: tuple[tuple[Constraint, int], ...] = ()
    impossible: tuple[str, ...] = ()


def try_node(
    allocator: Allocator, node: Node, claims: Sequence[Claim], *, explain: bool = True
) -> NodeResult:
    """Allocate on one node."""
    try:
        allocations = allocator.allocate(node, claims)
    except AllocationError as error:
        return NodeResult(node, "error", error=str(error))
    if allocations is None:
        why = tuple(reasons(allocator, node, claims)) if explain else ()
        return NodeResult(node, "no", reasons=why)
    return NodeResult(node, "fits", allocations)


def advise(allocator: Allocator, nodes: Sequence[Node], claims: Sequence[Claim]) -> Advice:
    """Try every node as it is and as if nothing were allocated; then without each constraint in turn."""
    idle = Allocator(
        allocator.inventory, allocator.classes, allocator.matcher, AllocatedState(), allocator.max_steps
    )
    now = empty = 0
    refused: list[Node] = []
    for node in nodes:
        now += _fits(allocator, node, claims)
        if _fits(idle, node, claims):
            empty += 1
        else:
            refused.append(node)
    binding = []
    for constraint in dict.fromkeys(each for claim in claims for each in claim.constraints):
        without = [_without(claim, constraint) for claim in claims]
        freed = sum(_fits(idle, node, without) for node in refused)
        if freed:
            binding.append((constraint, freed))
    binding.sort(key=lambda entry: -entry[1])
    return Advice(len(nodes), now, empty, tuple(binding), tuple(_impossible(idle, nodes, claims)))


def _meant(slot: RequestSlot, constraint: Constraint) -> Request:
    """The alternative that the constraint is about, or the first."""
    return next((each for each in slot.alternatives if applies(constraint, each)), slot.alternatives[0])


def _fits(allocator: Allocator, node: Node, claims: Sequence[Claim]) -> bool:
    return try_node(allocator, node, claims, explain=False).outcome == "fits"


def _without(claim: Claim, constraint: Constraint) -> Claim:
    return replace(claim, constraints=tuple(each for each in claim.constraints if each != constraint))


def _impossible(allocator: Allocator, nodes: Sequence[Node], claims: Sequence[Claim]) -> list[str]:
    """Constraints that no node can ever meet, with the best that there is."""
    found = []
    for claim in claims:
        for constraint in claim.constraints:
            best = None
            for node in nodes:
                counts = [
                    count_request(allocator, node, _meant(slot, constraint), AllocatedState())
                    for slot in claim.slots
                ]
                count = count_constraint(constraint, counts, empty=True)
                if best is None or count.largest > best.largest:
                    best = count
            if best is not None and best.needed > best.largest:
                found.append(f"{best.text()}, on the best node, were it empty")
    return found
