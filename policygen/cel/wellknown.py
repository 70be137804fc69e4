"""Struct literals of protobuf's well-known types: `google.protobuf.Int64Value{value: 1}` is the number 1.

The API server's environment knows them because cel-go always does; policies hardly use them.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any, Final

from policygen.cel import types
from policygen.cel.errors import EvalError
from policygen.cel.types import Type
from policygen.cel.values import INT_MAX, INT_MIN, UINT_MAX, Duration, Timestamp, Uint, Value

_NS = 1_000_000_000
_MOMENT: Final = {"seconds": types.INT, "nanos": types.INT}
_VALUE_FIELDS: Final = {
    "null_value": types.INT,
    "number_value": types.DOUBLE,
    "string_value": types.STRING,
    "bool_value": types.BOOL,
    "struct_value": types.MAP_STRING_DYN,
    "list_value": types.LIST_DYN,
}
_WRAPPED: Final[Mapping[str, tuple[Type, Value]]] = {
    "BoolValue": (types.BOOL, False),
    "BytesValue": (types.BYTES, b""),
    "DoubleValue": (types.DOUBLE, 0.0),
    "FloatValue": (types.DOUBLE, 0.0),
    "Int32Value": (types.INT, 0),
    "Int64Value": (types.INT, 0),
    "StringValue": (types.STRING, ""),
    "UInt32Value": (types.UINT, Uint(0)),
    "UInt64Value": (types.UINT, Uint(0)),
}
_PREFIX: Final = "google.protobuf."

WELL_KNOWN: Final[Mapping[str, tuple[Type, Mapping[str, Type]]]] = {
    f"{_PREFIX}Timestamp": (types.TIMESTAMP, _MOMENT),
    f"{_PREFIX}Duration": (types.DURATION, _MOMENT),
    f"{_PREFIX}Value": (types.DYN, _VALUE_FIELDS),
    f"{_PREFIX}Struct": (types.MAP_STRING_DYN, {"fields": types.MAP_STRING_DYN}),
    f"{_PREFIX}ListValue": (types.LIST_DYN, {"values": types.LIST_DYN}),
    **{f"{_PREFIX}{name}": (types.wrapper(kind), {"value": kind}) for name, (kind, _) in _WRAPPED.items()},
}
"""Full name -> the CEL type of the literal, and its fields."""

ENUM_VALUES: Final[Mapping[str, int]] = {f"{_PREFIX}NullValue.NULL_VALUE": 0}
"""Constants that have a name."""

_RANGES: Final = {"Int32Value": (-(2**31), 2**31 - 1), "UInt32Value": (0, 2**32 - 1)}


def make_well_known(name: str, fields: Mapping[str, Value]) -> Value:
    """The value of such a literal."""
    short = name.removeprefix(_PREFIX)
    if short in _WRAPPED:
        return _wrapped(short, fields)
    match short:
        case "Timestamp":
            return Timestamp(_nanoseconds(fields))
        case "Duration":
            return Duration(_nanoseconds(fields))
        case "Struct":
            return fields.get("fields", {})
        case "ListValue":
            return fields.get("values", [])
        case _:
            return _any_value(fields)


def _wrapped(short: str, fields: Mapping[str, Value]) -> Value:
    value = fields.get("value", _WRAPPED[short][1])
    low, high = _RANGES.get(short, (INT_MIN, UINT_MAX))
    if isinstance(value, int) and not low <= value <= high:
        raise EvalError("unsigned integer overflow" if type(value) is Uint else "integer overflow")
    if short == "FloatValue":
        return _float32(value)
    return value


def _float32(value: float) -> float:
    try:
        narrowed: float = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
    return narrowed


def _nanoseconds(fields: Mapping[str, Any]) -> int:
    total = int(fields.get("seconds", 0)) * _NS + int(fields.get("nanos", 0))
    if not INT_MIN <= total <= INT_MAX * 100:
        raise EvalError("integer overflow")
    return total


def _any_value(fields: Mapping[str, Value]) -> Value:
    for name, value in fields.items():
        return None if name == "null_value" else value
    return None
