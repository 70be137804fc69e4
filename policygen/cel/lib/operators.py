"""Operators: arithmetic, comparison, membership, selection (cel-go `common/stdlib/standard.go`).

The planner compiles most of them inline; what stands here is their signatures, their meaning for values whose
types are only known at run time, and their cost.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from policygen.cel import types
from policygen.cel.cost import concat_cost, equality_cost, order_cost, size_of
from policygen.cel.decls import Example, FunctionDecl, Overload
from policygen.cel.errors import EvalError, NoSuchOverloadError
from policygen.cel.types import Type
from policygen.cel.values import (
    INT_MAX,
    INT_MIN,
    UINT_MAX,
    Duration,
    Timestamp,
    Uint,
    Value,
    equal,
    type_name,
)
from policygen.diagnostics import fail

A, B = types.param("A"), types.param("B")
_LIST, _MAP = types.list_of(A), types.map_of(A, B)
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


# --- declarations ---------------------------------------------------------------------------------------


def _in_list_cost(args: Sequence[Value], _result: Value) -> int:
    return size_of(args[1])


_COSTS: Final = {"add_string": concat_cost, "add_bytes": concat_cost, "in_list": _in_list_cost}


def _operator(
    name: str, bind: Any, *signatures: tuple[str, tuple[Type, ...], Type], doc: str, example: str
) -> FunctionDecl:
    overloads = tuple(
        Overload(overload, params, result, bind, cost=_COSTS.get(overload, 1))
        for overload, params, result in signatures
    )
    first = Overload(
        overloads[0].id,
        overloads[0].params,
        overloads[0].result,
        bind,
        cost=overloads[0].cost,
        doc=doc,
        examples=(Example(example),),
    )
    return FunctionDecl(name, (first, *overloads[1:]), bind, doc)


_SCALARS: Final = (("double", types.DOUBLE), ("int64", types.INT), ("uint64", types.UINT))
_COMPARED: Final = (
    ("bool", types.BOOL, types.BOOL),
    ("int64", types.INT, types.INT),
    ("int64_double", types.INT, types.DOUBLE),
    ("int64_uint64", types.INT, types.UINT),
    ("uint64", types.UINT, types.UINT),
    ("uint64_double", types.UINT, types.DOUBLE),
    ("uint64_int64", types.UINT, types.INT),
    ("double", types.DOUBLE, types.DOUBLE),
    ("double_int64", types.DOUBLE, types.INT),
    ("double_uint64", types.DOUBLE, types.UINT),
    ("string", types.STRING, types.STRING),
    ("bytes", types.BYTES, types.BYTES),
    ("timestamp", types.TIMESTAMP, types.TIMESTAMP),
    ("duration", types.DURATION, types.DURATION),
)
_TEXT_ORDER: Final = frozenset({"string", "bytes"})


def _comparison(name: str, word: str, bind: Any, example: str) -> FunctionDecl:
    overloads = tuple(
        Overload(
            f"{word}_{suffix}",
            (left, right),
            types.BOOL,
            bind,
            cost=order_cost if suffix in _TEXT_ORDER else 1,
            doc="compares two values of one type, or two numbers" if index == 0 else "",
            examples=(Example(example),) if index == 0 else (),
        )
        for index, (suffix, left, right) in enumerate(_COMPARED)
    )
    return FunctionDecl(name, overloads, bind)


def _arithmetic(word: str) -> tuple[tuple[str, tuple[Type, ...], Type], ...]:
    return tuple((f"{word}_{suffix}", (kind, kind), kind) for suffix, kind in _SCALARS)


FUNCTIONS: Final = (
    FunctionDecl(
        "_?_:_",
        (
            Overload(
                "conditional",
                (types.BOOL, A, A),
                A,
                doc="the second value when the first is true, otherwise the third",
                examples=(Example("(1 < 2 ? 'a' : 'b') == 'a'"),),
            ),
        ),
    ),
    FunctionDecl(
        "_&&_",
        (
            Overload(
                "logical_and",
                (types.BOOL, types.BOOL),
                types.BOOL,
                doc="both; false on either side wins over an error on the other",
                examples=(Example("!(1 / 0 == 1 && false)"),),
            ),
        ),
    ),
    FunctionDecl(
        "_||_",
        (
            Overload(
                "logical_or",
                (types.BOOL, types.BOOL),
                types.BOOL,
                doc="either; true on either side wins over an error on the other",
                examples=(Example("1 / 0 == 1 || true"),),
            ),
        ),
    ),
    _operator("!_", logical_not, ("logical_not", (types.BOOL,), types.BOOL), doc="not", example="!false"),
    FunctionDecl(
        "@not_strictly_false",
        (Overload("not_strictly_false", (types.BOOL,), types.BOOL, not_strictly_false, strict=False),),
        not_strictly_false,
    ),
    FunctionDecl(
        "_==_",
        (
            Overload(
                "equals",
                (A, A),
                types.BOOL,
                equal,
                cost=equality_cost,
                doc="equality by content; numbers compare across their types",
                examples=(Example("[1, 2] == [1, 2]"), Example("dyn(1) == 1.0"), Example("dyn(true) != 1")),
            ),
        ),
        equal,
    ),
    FunctionDecl(
        "_!=_",
        (
            Overload(
                "not_equals",
                (A, A),
                types.BOOL,
                not_equal,
                cost=order_cost,
                doc="the opposite of equality",
                examples=(Example("'a' != 'b'"),),
            ),
        ),
        not_equal,
    ),
    _comparison("_<_", "less", less, "1 < 2.5"),
    _comparison("_<=_", "less_equals", less_equals, "'a' <= 'a'"),
    _comparison("_>_", "greater", greater, "2u > 1"),
    _comparison("_>=_", "greater_equals", greater_equals, "b'b' >= b'a'"),
    _operator(
        "_+_",
        add,
        ("add_bytes", (types.BYTES, types.BYTES), types.BYTES),
        ("add_double", (types.DOUBLE, types.DOUBLE), types.DOUBLE),
        ("add_duration_duration", (types.DURATION, types.DURATION), types.DURATION),
        ("add_duration_timestamp", (types.DURATION, types.TIMESTAMP), types.TIMESTAMP),
        ("add_timestamp_duration", (types.TIMESTAMP, types.DURATION), types.TIMESTAMP),
        ("add_int64", (types.INT, types.INT), types.INT),
        ("add_list", (_LIST, _LIST), _LIST),
        ("add_string", (types.STRING, types.STRING), types.STRING),
        ("add_uint64", (types.UINT, types.UINT), types.UINT),
        doc="the sum of numbers, durations and timestamps; texts and lists one after the other",
        example="[1] + [2] == [1, 2]",
    ),
    _operator(
        "_-_",
        subtract,
        ("subtract_double", (types.DOUBLE, types.DOUBLE), types.DOUBLE),
        ("subtract_duration_duration", (types.DURATION, types.DURATION), types.DURATION),
        ("subtract_int64", (types.INT, types.INT), types.INT),
        ("subtract_timestamp_duration", (types.TIMESTAMP, types.DURATION), types.TIMESTAMP),
        ("subtract_timestamp_timestamp", (types.TIMESTAMP, types.TIMESTAMP), types.DURATION),
        ("subtract_uint64", (types.UINT, types.UINT), types.UINT),
        doc="the difference",
        example="duration('1h') - duration('1m') == duration('59m')",
    ),
    _operator("_*_", multiply, *_arithmetic("multiply"), doc="the product", example="2 * 3 == 6"),
    _operator("_/_", divide, *_arithmetic("divide"), doc="the quotient", example="-7 / 2 == -3"),
    _operator("_%_", modulo, *_arithmetic("modulo")[1:], doc="the rest", example="-7 % 2 == -1"),
    _operator(
        "-_",
        negate,
        ("negate_double", (types.DOUBLE,), types.DOUBLE),
        ("negate_int64", (types.INT,), types.INT),
        doc="the opposite number",
        example="-(2) == -2",
    ),
    FunctionDecl(
        "_[_]",
        (
            Overload(
                "index_list",
                (_LIST, types.INT),
                A,
                doc="the element of a list or the value under a key",
                examples=(Example("[1, 2][0] == 1"), Example("{'a': 1}['a'] == 1")),
            ),
            Overload("index_map", (_MAP, A), B),
        ),
    ),
    _operator(
        "@in",
        contains,
        ("in_list", (A, _LIST), types.BOOL),
        ("in_map", (A, _MAP), types.BOOL),
        doc="whether a list has the element, or a map the key",
        example="'a' in {'a': 1}",
    ),
)

_V, _K = types.param("V"), types.param("K")
_OPTIONAL_V = types.optional_of(_V)
OPTIONAL_FUNCTIONS: Final = (
    FunctionDecl(
        "_?._",
        (
            Overload(
                "select_optional_field",
                (types.DYN, types.STRING),
                _OPTIONAL_V,
                doc="the field as an optional value",
                examples=(Example("{'a': 1}.?a.value() == 1"),),
            ),
        ),
    ),
    FunctionDecl(
        "_[?_]",
        (
            Overload(
                "list_optindex_optional_int",
                (types.list_of(_V), types.INT),
                _OPTIONAL_V,
                doc="the element or entry as an optional value",
                examples=(Example("![1][?5].hasValue()"),),
            ),
            Overload(
                "optional_list_optindex_optional_int",
                (types.optional_of(types.list_of(_V)), types.INT),
                _OPTIONAL_V,
            ),
            Overload("map_optindex_optional_value", (types.map_of(_K, _V), _K), _OPTIONAL_V),
            Overload(
                "optional_map_optindex_optional_value",
                (types.optional_of(types.map_of(_K, _V)), _K),
                _OPTIONAL_V,
            ),
        ),
    ),
    FunctionDecl(
        "_[_]",
        (
            Overload(
                "optional_list_index_int", (types.optional_of(types.list_of(_V)), types.INT), _OPTIONAL_V
            ),
            Overload("optional_map_index_value", (types.optional_of(types.map_of(_K, _V)), _K), _OPTIONAL_V),
        ),
    ),
)

__all__ = ["FUNCTIONS", "OPTIONAL_FUNCTIONS", "type_name"]
