"""Lists as sets: `sets.contains`, `sets.equivalent`, `sets.intersects` (cel-go `ext/sets.go`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from policygen.cel import types
from policygen.cel.cost import size_of
from policygen.cel.decls import (
    Binding,
    CallEstimate,
    Cost,
    Estimate,
    Estimated,
    Example,
    FunctionDecl,
    Overload,
    Range,
)
from policygen.cel.lib.lists import is_uniform, stop_beyond_limits
from policygen.cel.operations import contains
from policygen.cel.values import Value


def has_all(items: list[Value], wanted: list[Value]) -> bool:
    """Whether the first list has every element of the second."""
    if is_uniform(items) and is_uniform(wanted):
        return set(items).issuperset(wanted)
    stop_beyond_limits(len(items) * len(wanted))
    return all(contains(item, items) for item in wanted)


def has_any(items: list[Value], wanted: list[Value]) -> bool:
    """Whether the lists have an element in common."""
    if is_uniform(items) and is_uniform(wanted):
        return not set(items).isdisjoint(wanted)
    stop_beyond_limits(len(items) * len(wanted))
    return any(contains(item, items) for item in wanted)


def equivalent(left: list[Value], right: list[Value]) -> bool:
    """Whether each list has every element of the other."""
    return has_all(left, right) and has_all(right, left)


def _cost(factor: int) -> Cost:
    def cost(args: Sequence[Value], _result: Value) -> int:
        return 1 + size_of(args[0]) * size_of(args[1]) * factor

    return cost


def _estimate(factor: int) -> Estimate:
    def estimate(args: Sequence[Estimated]) -> CallEstimate:
        return CallEstimate((args[0].size_or_any * args[1].size_or_any).scaled(factor) + Range(1, 1))

    return estimate


def _function(name: str, bind: Binding, factor: int, doc: str, *examples: Example) -> FunctionDecl:
    items = types.list_of(types.param("T"))
    return FunctionDecl(
        f"sets.{name}",
        (
            Overload(
                f"list_sets_{name}_list",
                (items, items),
                types.BOOL,
                bind,
                cost=_cost(factor),
                estimate=_estimate(factor),
                doc=doc,
                examples=examples,
            ),
        ),
    )


FUNCTIONS: Final = (
    _function(
        "contains",
        has_all,
        1,
        "whether the first list has every element of the second",
        Example("sets.contains([1, 2, 3], [3, 1])"),
        Example("!sets.contains([], [1])"),
    ),
    _function(
        "equivalent",
        equivalent,
        2,
        "whether two lists have the same elements, however often",
        Example("sets.equivalent([1, 2], [2, 1, 1])"),
    ),
    _function(
        "intersects",
        has_any,
        1,
        "whether two lists have an element in common",
        Example("sets.intersects([1], [1, 2])"),
        Example("!sets.intersects([1], [])"),
    ),
)
