"""Type conversions: `int(…)`, `string(…)`, `timestamp(…)`, … (cel-go `common/types`, `ConvertToType`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from policygen.cel import types
from policygen.cel.cost import first_text_cost
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
from policygen.cel.errors import EvalError
from policygen.cel.gotext import format_double, parse_bool, parse_double, parse_int, parse_uint
from policygen.cel.gotime import (
    MAX_UNIX,
    MIN_UNIX,
    SECOND,
    duration_text,
    format_rfc3339,
    parse_duration,
    parse_rfc3339,
)
from policygen.cel.types import Type
from policygen.cel.values import INT_MAX, Duration, Timestamp, TypeValue, Uint, Value, type_name

_TWO_63: Final = float(1 << 63)
_TWO_64: Final = float(1 << 64)


def identity(value: Value) -> Value:
    """The value itself."""
    return value


def _failed(source: str, target: str) -> EvalError:
    return EvalError(f"type conversion error from '{source}' to '{target}'")


def int_from_double(value: float) -> int:
    """A double without its fraction."""
    if not -_TWO_63 < value < _TWO_63:
        raise EvalError("integer overflow")
    return int(value)


def int_from_uint(value: Uint) -> int:
    """A uint that fits an int."""
    if value > INT_MAX:
        raise EvalError("integer overflow")
    return int(value)


def int_from_string(value: str) -> int:
    """Decimal digits with an optional sign."""
    number = parse_int(value)
    if number is None:
        raise _failed("string", "int")
    return number


def int_from_timestamp(value: Timestamp) -> int:
    """Seconds since 1970."""
    return value.ns // SECOND


def int_from_duration(value: Duration) -> int:
    """Nanoseconds."""
    return value.ns


def uint_from_int(value: int) -> Uint:
    """An int that is not negative."""
    if value < 0:
        raise EvalError("unsigned integer overflow")
    return Uint(value)


def uint_from_double(value: float) -> Uint:
    """A double without its fraction."""
    if not 0 <= value < _TWO_64:
        raise EvalError("unsigned integer overflow")
    return Uint(int(value))


def uint_from_string(value: str) -> Uint:
    """Decimal digits without a sign."""
    number = parse_uint(value)
    if number is None:
        raise _failed("string", "uint")
    return Uint(number)


def double_from_number(value: int) -> float:
    """The nearest double."""
    return float(value)


def double_from_string(value: str) -> float:
    """A number as Go's `strconv.ParseFloat` reads it."""
    number = parse_double(value)
    if number is None:
        raise _failed("string", "double")
    return number


def bool_from_string(value: str) -> bool:
    """`1`, `t`, `true`, `True`, `TRUE` and their opposites."""
    truth = parse_bool(value)
    if truth is None:
        raise _failed("string", "bool")
    return truth


def bytes_from_string(value: str) -> bytes:
    """The text in UTF-8."""
    return value.encode("utf-8", "replace")


def string_from_bytes(value: bytes) -> str:
    """UTF-8 as text."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise EvalError("invalid UTF-8 in bytes, cannot convert to string") from None


def string_from_int(value: int) -> str:
    """Decimal digits."""
    return str(int(value))


def string_from_bool(value: bool) -> str:
    """`true` or `false`."""
    return "true" if value else "false"


def string_from_timestamp(value: Timestamp) -> str:
    """RFC 3339 with the offset that the timestamp was written with."""
    return format_rfc3339(value.ns, value.offset)


def string_from_duration(value: Duration) -> str:
    """Seconds, as in `1.5s`."""
    return duration_text(value.ns)


def string_of(value: Value) -> str | None:
    """`string(value)`, or None for a type that has no such conversion."""
    match value:
        case str():
            return value
        case bool():
            return string_from_bool(value)
        case int():
            return string_from_int(value)
        case float():
            return format_double(value)
        case bytes():
            return string_from_bytes(value)
        case Timestamp():
            return string_from_timestamp(value)
        case Duration():
            return string_from_duration(value)
        case TypeValue():
            return value.name
        case _:
            return None


def timestamp_from_int(value: int) -> Timestamp:
    """Seconds since 1970."""
    if not MIN_UNIX <= value <= MAX_UNIX:
        raise EvalError("timestamp overflow")
    return Timestamp(value * SECOND)


def timestamp_from_string(value: str) -> Timestamp:
    """An RFC 3339 time."""
    instant = parse_rfc3339(value)
    if instant is None:
        raise _failed("string", "google.protobuf.Timestamp")
    if not MIN_UNIX <= instant.ns // SECOND <= MAX_UNIX:
        raise EvalError("timestamp overflow")
    return Timestamp(instant.ns, instant.offset)


def duration_from_int(value: int) -> Duration:
    """Declared, but no int has a duration."""
    raise _failed(type_name(value), "google.protobuf.Duration")


def duration_from_string(value: str) -> Duration:
    """A duration as Go writes it, such as `1h30m`."""
    ns = parse_duration(value)
    if ns is None:
        raise _failed("string", "google.protobuf.Duration")
    return Duration(ns)


def type_of_value(value: Value) -> TypeValue:
    """The type of a value."""
    return TypeValue(type_name(value))


def _estimate_to_bytes(args: Sequence[Estimated]) -> CallEstimate:
    size = args[0].size_or_any
    return CallEstimate(size.scaled(0.1), size * Range(1, 4))


def _estimate_from_bytes(args: Sequence[Estimated]) -> CallEstimate:
    size = args[0].size_or_any
    return CallEstimate(size.scaled(0.1), Range(size.least // 4, size.greatest))


def _conversion(
    name: str, result: Type, doc: str, examples: tuple[Example, ...], *overloads: Overload
) -> FunctionDecl:
    first = overloads[0]
    documented = Overload(
        first.id,
        first.params,
        result,
        first.bind,
        cost=first.cost,
        estimate=first.estimate,
        doc=doc,
        examples=examples,
    )
    return FunctionDecl(name, (documented, *overloads[1:]), doc=doc, fold=True)


def _from(
    source: Type,
    overload_id: str,
    result: Type,
    bind: Binding,
    *,
    cost: Cost = 1,
    estimate: Estimate | None = None,
) -> Overload:
    return Overload(overload_id, (source,), result, bind, cost=cost, estimate=estimate)


_A = types.param("A")

FUNCTIONS: Final = (
    FunctionDecl(
        "type",
        (
            Overload(
                "type",
                (_A,),
                types.type_of(_A),
                type_of_value,
                doc="the type of a value",
                examples=(Example("type(1) == int"), Example("type('a') != bytes")),
            ),
        ),
        bind=type_of_value,
        doc="the type of a value",
        fold=True,
    ),
    FunctionDecl(
        "dyn",
        (
            Overload(
                "to_dyn",
                (_A,),
                types.DYN,
                identity,
                doc="the value, with its type left to run time",
                examples=(Example("dyn(1) == 1.0"),),
            ),
        ),
        bind=identity,
        doc="the value, with its type left to run time",
        fold=True,
    ),
    _conversion(
        "bool",
        types.BOOL,
        "a text such as `true` or `f` as a bool",
        (
            Example("bool('true')"),
            Example("bool('yes')", error="type conversion error from 'string' to 'bool'"),
        ),
        _from(types.BOOL, "bool_to_bool", types.BOOL, identity),
        _from(types.STRING, "string_to_bool", types.BOOL, bool_from_string),
    ),
    _conversion(
        "bytes",
        types.BYTES,
        "the UTF-8 of a text",
        (Example("bytes('é') == b'\\303\\251'"),),
        _from(types.BYTES, "bytes_to_bytes", types.BYTES, identity),
        _from(
            types.STRING,
            "string_to_bytes",
            types.BYTES,
            bytes_from_string,
            cost=first_text_cost,
            estimate=_estimate_to_bytes,
        ),
    ),
    _conversion(
        "double",
        types.DOUBLE,
        "a number, or a text that is one, as a double",
        (Example("double('1e3') == 1000.0"), Example("double(3) == 3.0")),
        _from(types.DOUBLE, "double_to_double", types.DOUBLE, identity),
        _from(types.INT, "int64_to_double", types.DOUBLE, double_from_number),
        _from(types.STRING, "string_to_double", types.DOUBLE, double_from_string),
        _from(types.UINT, "uint64_to_double", types.DOUBLE, double_from_number),
    ),
    _conversion(
        "duration",
        types.DURATION,
        "a text such as `1h30m` as a duration",
        (Example("duration('1h30m') == duration('90m')"),),
        _from(types.DURATION, "duration_to_duration", types.DURATION, identity),
        _from(types.INT, "int64_to_duration", types.DURATION, duration_from_int),
        _from(types.STRING, "string_to_duration", types.DURATION, duration_from_string),
    ),
    _conversion(
        "int",
        types.INT,
        "a number without its fraction, a text, seconds of a timestamp or nanoseconds of a duration",
        (
            Example("int(-1.9) == -1"),
            Example("int('42') == 42"),
            Example("int(timestamp('1970-01-01T00:01:00Z')) == 60"),
            Example("int('1.5')", error="type conversion error from 'string' to 'int'"),
        ),
        _from(types.INT, "int64_to_int64", types.INT, identity),
        _from(types.DOUBLE, "double_to_int64", types.INT, int_from_double),
        _from(types.DURATION, "duration_to_int64", types.INT, int_from_duration),
        _from(types.STRING, "string_to_int64", types.INT, int_from_string),
        _from(types.TIMESTAMP, "timestamp_to_int64", types.INT, int_from_timestamp),
        _from(types.UINT, "uint64_to_int64", types.INT, int_from_uint),
    ),
    _conversion(
        "string",
        types.STRING,
        "a value as text",
        (
            Example("string(1.5) == '1.5'"),
            Example("string(duration('90m')) == '5400s'"),
            Example("string(1e6) == '1e+06'"),
        ),
        _from(types.STRING, "string_to_string", types.STRING, identity),
        _from(types.BOOL, "bool_to_string", types.STRING, string_from_bool),
        _from(
            types.BYTES,
            "bytes_to_string",
            types.STRING,
            string_from_bytes,
            cost=first_text_cost,
            estimate=_estimate_from_bytes,
        ),
        _from(types.DOUBLE, "double_to_string", types.STRING, format_double),
        _from(types.DURATION, "duration_to_string", types.STRING, string_from_duration),
        _from(types.INT, "int64_to_string", types.STRING, string_from_int),
        _from(types.TIMESTAMP, "timestamp_to_string", types.STRING, string_from_timestamp),
        _from(types.UINT, "uint64_to_string", types.STRING, string_from_int),
    ),
    _conversion(
        "timestamp",
        types.TIMESTAMP,
        "an RFC 3339 text, or seconds since 1970, as a timestamp",
        (Example("timestamp(60) == timestamp('1970-01-01T00:01:00Z')"),),
        _from(types.TIMESTAMP, "timestamp_to_timestamp", types.TIMESTAMP, identity),
        _from(types.INT, "int64_to_timestamp", types.TIMESTAMP, timestamp_from_int),
        _from(types.STRING, "string_to_timestamp", types.TIMESTAMP, timestamp_from_string),
    ),
    _conversion(
        "uint",
        types.UINT,
        "a number that is not negative, without its fraction, or a text that is one",
        (Example("uint('7') == 7u"), Example("uint(-1)", error="unsigned integer overflow")),
        _from(types.UINT, "uint64_to_uint64", types.UINT, identity),
        _from(types.DOUBLE, "double_to_uint64", types.UINT, uint_from_double),
        _from(types.INT, "int64_to_uint64", types.UINT, uint_from_int),
        _from(types.STRING, "string_to_uint64", types.UINT, uint_from_string),
    ),
)
