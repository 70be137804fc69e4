"""Counts the cost of one evaluation as cel-go's observer does (`interpreter/runtimecost.go`).

cel-go finds the arguments of a call on a stack of values that it has seen, by node id, and charges nothing
for a call whose arguments are not there. That is kept here, because it shows in the numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

from policygen.cel.errors import CostLimitExceededError
from policygen.cel.values import Value


class Tracker:
    """The cost so far, and the values seen."""

    __slots__ = ("_places", "_stack", "cost", "limit")

    def __init__(self, limit: int | None) -> None:
        self.cost = 0
        self.limit = limit
        self._stack: list[tuple[int, Value]] = []
        self._places: dict[int, list[int]] = {}

    def push(self, node: int, value: Value) -> None:
        """Keep a value that a node had; this is where the limit is looked at."""
        places = self._places.get(node)
        if places is None:
            self._places[node] = [len(self._stack)]
        else:
            places.append(len(self._stack))
        self._stack.append((node, value))
        if self.limit is not None and self.cost > self.limit:
            raise CostLimitExceededError

    def drop(self, *nodes: int) -> None:
        """Forget the value of each node and what was seen after it."""
        for node in nodes:
            places = self._places.get(node)
            if places:
                self._cut(places[-1])

    def drop_args(self, nodes: Sequence[int]) -> list[Value] | None:
        """The values of arguments, which are forgotten; None when one is not there."""
        found: list[Value] = [None] * len(nodes)
        for position in range(len(nodes) - 1, -1, -1):
            places = self._places.get(nodes[position])
            if not places:
                return None
            found[position] = self._stack[places[-1]][1]
            self._cut(places[-1])
        return found

    def _cut(self, length: int) -> None:
        stack, places = self._stack, self._places
        while len(stack) > length:
            places[stack.pop()[0]].pop()
