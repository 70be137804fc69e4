"""Counts the cost of one evaluation as cel-go's observer does (`interpreter/runtimecost.go`).

cel-go finds the arguments of a call on a stack of values that it has seen, by node id, and charges nothing
for a call whose arguments are not there. That is kept here, because it shows in the numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from policygen.cel.errors import CostLimitExceededError
from policygen.cel.values import Value

_NOWHERE: Final = -1
_NO_LIMIT: Final = 2**64


class Tracker:
    """The cost so far, and the values seen."""

    __slots__ = ("_last", "_limit", "_stack", "cost")

    def __init__(self, limit: int | None) -> None:
        self.cost = 0
        self._limit = _NO_LIMIT if limit is None else limit
        self._stack: list[tuple[int, Value, int]] = []
        """Node, value, and the place below of the same node."""
        self._last: dict[int, int] = {}

    def push(self, node: int, value: Value) -> None:
        """Keep a value that a node had; this is where the limit is looked at."""
        stack, last = self._stack, self._last
        stack.append((node, value, last.get(node, _NOWHERE)))
        last[node] = len(stack) - 1
        if self.cost > self._limit:
            raise CostLimitExceededError

    def drop(self, *nodes: int) -> None:
        """Forget the value of each node and what was seen after it."""
        for node in nodes:
            place = self._last.get(node, _NOWHERE)
            if place >= 0:
                self._cut(place)

    def drop_args(self, nodes: Sequence[int]) -> list[Value] | None:
        """The values of arguments, which are forgotten; None when one is not there."""
        found: list[Value] = [None] * len(nodes)
        for position in range(len(nodes) - 1, -1, -1):
            place = self._last.get(nodes[position], _NOWHERE)
            if place < 0:
                return None
            found[position] = self._stack[place][1]
            self._cut(place)
        return found

    def _cut(self, length: int) -> None:
        stack, last = self._stack, self._last
        while len(stack) > length:
            node, _, before = stack.pop()
            last[node] = before
