"""`alloc`: claims on nodes through the structured allocator."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from policygen.conformance.runner import Agreement
from policygen.dra.allocation import AllocatedState, AllocationError
from policygen.dra.allocator import Allocator
from policygen.dra.convert import read_claim, read_class, read_gates, read_node, read_slice
from policygen.dra.model import DeviceId
from policygen.dra.pools import Inventory
from policygen.dra.result import render_result
from policygen.dra.selectors import SelectorMatcher


def judge(case: Mapping[str, Any], _contexts: Mapping[str, Any]) -> Agreement:
    """The same verdict and results on every node, or an error with the same text."""
    expected, got = case["expect"]["nodes"], run(case)
    outcome = len(expected) == len(got) and all(map(_same, expected, got))
    message = outcome and all(
        left.get("error") == right.get("error") for left, right in zip(expected, got, strict=True)
    )
    if message:
        return Agreement(outcome, message, cost=True)
    return Agreement(outcome, message, outcome, json.dumps(expected), json.dumps(got))


def run(case: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What the allocator says about every node of a case."""
    gates = read_gates(case["gates"])
    inventory = Inventory([read_slice(entry) for entry in case["slices"]], gates)
    classes = {entry.name: entry for entry in map(read_class, case["classes"])}
    state = AllocatedState(frozenset(DeviceId(*entry) for entry in case["allocated"]))
    allocator = Allocator(inventory, classes, SelectorMatcher(), state)
    claims = [read_claim(entry) for entry in case["claims"]]
    answers: list[dict[str, Any]] = []
    for node in map(read_node, case["nodes"]):
        answer: dict[str, Any] = {"node": node.name}
        try:
            allocations = allocator.allocate(node, claims)
        except AllocationError as error:
            answer["error"] = str(error)
        else:
            answer["allocated"] = allocations is not None
            if allocations is not None:
                answer["results"] = [render_result(each, node.name, gates) for each in allocations]
        answers.append(answer)
    return answers


def _same(expected: Mapping[str, Any], got: Mapping[str, Any]) -> bool:
    """An error is an outcome whatever its text; anything else must be equal."""
    if "error" in expected or "error" in got:
        return "error" in expected and "error" in got and expected["node"] == got["node"]
    return expected == got
