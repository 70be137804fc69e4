"""What generated code calls. Every function either gives the exact answer or raises; the caller then starts
again with the exact evaluator, which finds the server's words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import ceil
from typing import Any, Final, NoReturn

from policygen.cel import access, operations
from policygen.cel.access import ABSENT
from policygen.cel.cost import STRING_FACTOR, size_of
from policygen.cel.patches import make_patch
from policygen.cel.values import NONE, ObjectValue, Optional, Value, equal

GIVE_UP: Final = (LookupError, TypeError, AttributeError, ArithmeticError, ValueError, RecursionError)
"""What generated code may raise besides `EvalError` when a value is not what it was made for."""

SIZED: Final = frozenset({str, bytes, list, dict})
_TEXT_COSTS: Final = tuple(ceil(size * STRING_FACTOR) for size in range(4096))


class GiveUpError(ValueError):
    """The ordinary case does not hold."""


def give_up(*_: object) -> NoReturn:
    """Leave it to the exact evaluator."""
    raise GiveUpError


_EXACT: Final = frozenset({Optional, ObjectValue})
"""Values whose parts depend on what the checker knows of them."""


def text_cost(size: int) -> int:
    """`ceil(size * 0.1)` as cel-go rounds it."""
    return _TEXT_COSTS[size] if size < len(_TEXT_COSTS) else ceil(size * STRING_FACTOR)


def size(value: Value) -> int:
    """Characters, elements or entries; 1 for anything else."""
    return len(value) if type(value) in SIZED else size_of(value)


def order_cost(left: Value, right: Value) -> int:
    """Cost of comparing two values."""
    return text_cost(min(size(left), size(right)))


def index(target: Value, key: Value) -> Value:
    """`target[key]`."""
    if type(key) is str:
        if type(target) is dict:
            return target[key]
    elif type(key) is int and type(target) is list and 0 <= key < len(target):
        return target[key]
    if type(target) is ObjectValue:
        raise GiveUpError
    return access.get(target, key)


def present(target: Value, key: str) -> bool:
    """`has(target.key)`."""
    if type(target) in _EXACT:
        raise GiveUpError
    return access.is_present(target, key)


def optional_lookup(target: Value, key: Value) -> Value:
    """`target.?key`: the value or `ABSENT`."""
    if type(target) is dict and type(key) is str:
        return target.get(key, ABSENT)
    if type(target) in _EXACT:
        raise GiveUpError
    return access.lookup(target, key)


def make_optional(value: Value) -> Optional:
    """An optional from a value or `ABSENT`."""
    return NONE if value is ABSENT else Optional(value)


def elements(over: Value) -> Iterable[Value]:
    """What a macro with one variable goes over."""
    if isinstance(over, (list, Mapping)):
        return over
    raise GiveUpError


def pairs(over: Value) -> Iterable[tuple[Value, Value]]:
    """What a macro with two variables goes over."""
    if isinstance(over, list):
        return enumerate(over)
    if isinstance(over, Mapping):
        return over.items()
    raise GiveUpError


def contains(element: Value, container: Value) -> bool:
    """`element in container`."""
    if type(container) is dict and type(element) is str:
        return element in container
    return operations.contains(element, container)


HELPERS: Final[Mapping[str, Any]] = {
    "ABSENT": ABSENT,
    "GiveUpError": GiveUpError,
    "make_patch": make_patch,
    "NONE": NONE,
    "ObjectValue": ObjectValue,
    "Optional": Optional,
    "SIZED": SIZED,
    "add": operations.add,
    "compare": operations.compare,
    "contains": contains,
    "elements": elements,
    "equal": equal,
    "give_up": give_up,
    "index": index,
    "make_optional": make_optional,
    "optional_lookup": optional_lookup,
    "order_cost": order_cost,
    "pairs": pairs,
    "present": present,
    "size": size,
    "text_cost": text_cost,
}
"""The names that generated code may use."""
