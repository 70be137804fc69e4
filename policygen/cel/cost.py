"""What calls cost at run time: cel-go's defaults (`interpreter/runtimecost.go`) and Kubernetes' helpers.

Cost functions take the argument values and the result; an `EvalError` among them has size 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import repeat
from math import ceil
from typing import Final

from policygen.cel.values import Value

STRING_FACTOR: Final = 0.1
"""Cost of looking at one character."""

REGEX_FACTOR: Final = 0.25
"""Cost of one character of a regular expression."""

IDENT_COST: Final = 1
LIST_COST: Final = 10
MAP_COST: Final = 30
STRUCT_COST: Final = 40


def size_of(value: Value) -> int:
    """Characters of a string, bytes, elements or entries; 1 for anything else (cel-go `actualSize`)."""
    if isinstance(value, (str, bytes, list, Mapping)):
        return len(value)
    size = getattr(value, "cel_size", None)
    return size if type(size) is int else 1


def text_cost(value: Value, factor: float = STRING_FACTOR) -> int:
    """Going once over a text."""
    return ceil(size_of(value) * factor)


def first_text_cost(args: Sequence[Value], _result: Value) -> int:
    """Going once over the first argument: `startsWith`, `trim`, `quantity`, …"""
    return ceil(size_of(args[0]) * STRING_FACTOR)


def order_cost(args: Sequence[Value], _result: Value) -> int:
    """Comparing two values: the smaller one is looked at."""
    return ceil(min(size_of(args[0]), size_of(args[1])) * STRING_FACTOR)


def equality_cost(args: Sequence[Value], _result: Value) -> int:
    """The same for `==`, but 1 where the left side is one of Kubernetes' own types."""
    name = getattr(args[0], "cel_type_name", "")
    if name.startswith(("kubernetes.", "net.")):
        return 1
    return ceil(min(size_of(args[0]), size_of(args[1])) * STRING_FACTOR)


def concat_cost(args: Sequence[Value], _result: Value) -> int:
    """Copying both texts."""
    return ceil((size_of(args[0]) + size_of(args[1])) * STRING_FACTOR)


def regex_cost(args: Sequence[Value], _result: Value) -> int:
    """Matching the first argument against the second: `matches`, `find`, `findAll`."""
    text = ceil((1.0 + size_of(args[0])) * STRING_FACTOR)
    return text * ceil(size_of(args[1]) * REGEX_FACTOR)


def contains_cost(args: Sequence[Value], _result: Value) -> int:
    """Searching one text in another."""
    return text_cost(args[0]) * text_cost(args[1])


def traversal_cost(value: Value) -> int:
    """Going over a value as a tree; texts count by bytes, rounded down (apiserver `library/cost.go`)."""
    return _traversal(value, {})


def _traversal(value: Value, known: dict[int, tuple[Value, int]]) -> int:
    """The same; what stands in several places is gone over once and counted for each."""
    if isinstance(value, str):
        return int(len(value.encode("utf-8", "surrogatepass")) * STRING_FACTOR)
    if isinstance(value, bytes):
        return int(len(value) * STRING_FACTOR)
    if not isinstance(value, (list, Mapping)):
        return 1
    before = known.get(id(value))
    if before is not None:
        return before[1]
    if isinstance(value, list):
        total = sum(map(_traversal, value, repeat(known)))
    else:
        total = sum(_traversal(key, known) + _traversal(item, known) for key, item in value.items())
    known[id(value)] = value, total
    return total


def first_traversal_cost(args: Sequence[Value], _result: Value) -> int:
    """Going over the first argument as a tree: `sum`, `max`, `isSorted`, `indexOf`, …"""
    return traversal_cost(args[0]) if args else 0
