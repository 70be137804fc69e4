"""What operators do with values whose types are only known at run time (cel-go `common/types`).

The planner's code does most of it inline; this is what it falls back on.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from policygen.cel.errors import EvalError, NoSuchOverloadError
from policygen.cel.values import INT_MAX, INT_MIN, UINT_MAX, Duration, Timestamp, Uint, Value, equal
from policygen.diagnostics import fail

_NS_PER_SECOND = 1_000_000_000
_MAX_LIST: Final = 10_000_000
TIMESTAMP_MIN: Final = -62_135_596_800 * _NS_PER_SECOND
TIMESTAMP_MAX: Final = 253_402_300_799 * _NS_PER_SECOND + 999_999_999


def int_of(value: int) -> int:
    """An int64, or `integer overflow`."""
    if INT_MIN <= value <= INT_MAX:
        return value
    raise EvalError("integer overflow")


def uint_of(value: int) -> Uint:
    """A uint64, or `unsigned integer overflow`."""
    if 0 <= value <= UINT_MAX:
        return Uint(value)
    raise EvalError("unsigned integer overflow")


def duration_of(ns: int) -> Duration:
    """A duration within int64 nanoseconds, or `integer overflow`."""
    if INT_MIN <= ns <= INT_MAX:
        return Duration(ns)
    raise EvalError("integer overflow")


def timestamp_of(ns: int, offset: int = 0) -> Timestamp:
    """A timestamp between the years 1 and 9999, or `timestamp overflow`."""
    if TIMESTAMP_MIN <= ns <= TIMESTAMP_MAX:
        return Timestamp(ns, offset)
    raise EvalError("timestamp overflow")


# --- arithmetic -----------------------------------------------------------------------------------------


def add(left: Value, right: Value) -> Value:
    """`left + right`."""
    kind, other = type(left), type(right)
    if kind is other:
        if kind is int:
            return int_of(left + right)
        if kind is str or kind is float or kind is bytes:
            return left + right
        if kind is Uint:
            return uint_of(int(left) + int(right))
        if kind is Duration:
            return duration_of(left.ns + right.ns)
    if kind is Timestamp and other is Duration:
        return timestamp_of(left.ns + right.ns, left.offset)
    if kind is Duration and other is Timestamp:
        return timestamp_of(left.ns + right.ns, right.offset)
    if isinstance(left, list) and isinstance(right, list):
        if len(left) + len(right) > _MAX_LIST:
            fail("value-too-large", f"an expression makes a list of more than {_MAX_LIST:,} values")
        return left + right
    raise _no_overload("_+_", left)


def subtract(left: Value, right: Value) -> Value:
    """`left - right`."""
    kind, other = type(left), type(right)
    if kind is other:
        if kind is int:
            return int_of(left - right)
        if kind is float:
            return left - right
        if kind is Uint:
            return uint_of(int(left) - int(right))
        if kind is Duration:
            return duration_of(left.ns - right.ns)
        if kind is Timestamp:
            return duration_of(left.ns - right.ns)
    if kind is Timestamp and other is Duration:
        return timestamp_of(left.ns - right.ns, left.offset)
    raise _no_overload("_-_", left)


def multiply(left: Value, right: Value) -> Value:
    """`left * right`."""
    kind = type(left)
    if kind is type(right):
        if kind is int:
            return int_of(left * right)
        if kind is float:
            return left * right
        if kind is Uint:
            return uint_of(int(left) * int(right))
    raise _no_overload("_*_", left)


def divide(left: Value, right: Value) -> Value:
    """`left / right`; integers are rounded towards zero."""
    kind = type(left)
    if kind is type(right):
        if kind is int:
            return int_of(_quotient(left, right))
        if kind is float:
            return divide_doubles(left, right)
        if kind is Uint:
            return uint_of(_quotient(int(left), int(right)))
    raise _no_overload("_/_", left)


def _quotient(left: int, right: int) -> int:
    if right == 0:
        raise EvalError("division by zero")
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def divide_doubles(left: float, right: float) -> float:
    """IEEE 754 division, which knows no error."""
    if right != 0:
        return left / right
    if left == 0 or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


def modulo(left: Value, right: Value) -> Value:
    """`left % right`; the sign is that of the left side."""
    kind = type(left)
    if kind is type(right) and (kind is int or kind is Uint):
        if right == 0:
            raise EvalError("modulus by zero")
        if left == INT_MIN and right == -1:
            raise EvalError("integer overflow")
        rest = abs(int(left)) % abs(int(right))
        return Uint(rest) if kind is Uint else (-rest if left < 0 else rest)
    raise _no_overload("_%_", left)


def negate(value: Value) -> Value:
    """`-value`."""
    kind = type(value)
    if kind is int:
        return int_of(-value)
    if kind is float:
        return -value
    if kind is Duration:
        return duration_of(-value.ns)
    raise _no_overload("-_", value)


def logical_not(value: Value) -> Value:
    """`!value`."""
    if value is True:
        return False
    if value is False:
        return True
    raise NoSuchOverloadError


_ARITHMETIC: Final = {
    "_+_": frozenset({int, str, float, bytes, Uint, Duration, Timestamp, list}),
    "_-_": frozenset({int, float, Uint, Duration, Timestamp}),
    "_*_": frozenset({int, float, Uint}),
    "_/_": frozenset({int, float, Uint}),
    "_%_": frozenset({int, Uint}),
    "-_": frozenset({bool, int, float, Duration}),
}


def _no_overload(function: str, left: Value) -> NoSuchOverloadError:
    """A left side that knows the operator says less than one that does not (cel-go's traits)."""
    if type(left) in _ARITHMETIC[function]:
        return NoSuchOverloadError()
    return NoSuchOverloadError(f"no such overload: {function}")


# --- comparison -----------------------------------------------------------------------------------------

_NUMBERS: Final = frozenset({int, Uint, float})
_ORDERED: Final = frozenset({bool, int, Uint, float, str, bytes, Duration, Timestamp})


def compare(function: str, left: Value, right: Value) -> int:
    """Negative, zero or positive; numbers compare across their types."""
    kind, other = type(left), type(right)
    if kind in _NUMBERS and other in _NUMBERS:
        return _compare_numbers(left, right)
    if kind is other and kind in _ORDERED:
        return int(left > right) - int(left < right)
    if kind in _ORDERED:
        raise NoSuchOverloadError
    raise NoSuchOverloadError(f"no such overload: {function}")


def _compare_numbers(left: float, right: float) -> int:
    if left != left or right != right:  # noqa: PLR0124 - NaN
        raise EvalError("NaN values cannot be ordered")
    if type(left) is float and type(right) is not float and INT_MIN <= right <= UINT_MAX:
        right = float(right)
    elif type(right) is float and type(left) is not float and INT_MIN <= left <= UINT_MAX:
        left = float(left)
    return int(left > right) - int(left < right)


def less(left: Value, right: Value) -> bool:
    """`left < right`."""
    return compare("_<_", left, right) < 0


def less_equals(left: Value, right: Value) -> bool:
    """`left <= right`."""
    return compare("_<=_", left, right) <= 0


def greater(left: Value, right: Value) -> bool:
    """`left > right`."""
    return compare("_>_", left, right) > 0


def greater_equals(left: Value, right: Value) -> bool:
    """`left >= right`."""
    return compare("_>=_", left, right) >= 0


def not_equal(left: Value, right: Value) -> bool:
    """`left != right`."""
    return not equal(left, right)


def contains(element: Value, container: Value) -> bool:
    """`element in container`: elements of a list by equality, keys of a map."""
    if isinstance(container, list):
        return any(equal(element, item) for item in container)
    if isinstance(container, Mapping):
        return has_key(container, element)
    raise NoSuchOverloadError("no such overload: @in")


def has_key(container: Mapping[Any, Value], key: Value) -> bool:
    """Whether a map has a key; numbers match across their types and `true` is not 1."""
    kind = type(key)
    if kind is str:
        return key in container
    if kind is bool or (kind in _NUMBERS and key in (0, 1)):
        return any((type(known) is bool) == (kind is bool) and known == key for known in container)
    if kind in _NUMBERS:
        return key in container
    return False


def not_strictly_false(value: Value) -> bool:
    """Whether a loop of `all` or `exists` goes on: an error counts as true."""
    return value is not False
