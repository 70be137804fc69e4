"""The typed round trip: what is left of an object after Go has decoded it into its struct and encoded it.

Objects of built-in kinds pass through it before the first policy and between mutations. Empty `omitempty`
values vanish, fields that Go always writes appear (`resources: {}`, `name: ""`), quantities become canonical,
undeclared fields are dropped. A node is turned into one function when it is first used; values that do not
change are returned as they are, and nothing is changed in place.

Follows encoding/json and sigs.k8s.io/json. Error texts are in `decode_errors`.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import Any, Final, Literal, TypeAlias, assert_never

from policygen.kube import decode_errors
from policygen.kube.gotime import format_duration, format_time, parse_duration, parse_time
from policygen.kube.quantity import Quantity, QuantityError
from policygen.kube.schema import Field, KindSchema, ListOf, MapOf, Node, Scalar, ScalarKind, Struct

Convert: TypeAlias = Callable[[Any], Any]
Mode: TypeAlias = Literal["plain", "strict", "convert"]

DROP: Final = object()
"""What a field's function returns when Go leaves the field out."""


class _MismatchError(Exception):
    """The value does not decode; `decode_errors` finds out where and says it in Go's words."""


def round_trip(value: Mapping[str, Any], schema: KindSchema) -> dict[str, Any]:
    """The object after decoding and encoding; undeclared fields are dropped. Custom kinds stay as they are.

    Raises `DecodeError` with the text of Go's JSON decoder when a value has the wrong type.
    """
    return _run(value, schema, "plain")


def round_trip_strict(value: Mapping[str, Any], schema: KindSchema) -> dict[str, Any]:
    """As `round_trip`, but undeclared fields raise `DecodeError` (`strict decoding error: …`)."""
    return _run(value, schema, "strict")


def convert(value: Mapping[str, Any], schema: KindSchema) -> dict[str, Any]:
    """As `round_trip`, with the errors of apimachinery's unstructured converter (`runtime/converter.go`)."""
    if not schema.builtin:
        return value if isinstance(value, dict) else dict(value)
    try:
        out: dict[str, Any] = _converter(schema.root, "convert")(value)
    except _MismatchError:
        raise decode_errors.conversion_error(value, schema) from None
    return out


def typed(value: Any, node: Struct, path: tuple[str, ...] = ()) -> Any:
    """A part of an object after decoding and encoding; `path` is where it stands, for the error."""
    try:
        return converter(node)(value)
    except _MismatchError:
        raise decode_errors.decode_error(value, node, ".".join(path)) from None


def converter(node: Node) -> Convert:
    """The function that round-trips values of a node."""
    return _converter(node, "plain")


def _run(value: Mapping[str, Any], schema: KindSchema, mode: Mode) -> dict[str, Any]:
    if not schema.builtin:
        return value if isinstance(value, dict) else dict(value)
    try:
        out: dict[str, Any] = _converter(schema.root, mode)(value)
    except _MismatchError:
        raise decode_errors.decode_error(value, schema.root) from None
    return out


@cache
def _converter(node: Node, mode: Mode) -> Convert:
    match node:
        case Scalar():
            return _int32_wrapped if mode == "convert" and node.kind == "int32" else _SCALARS[node.kind]
        case ListOf():
            return _list(node, mode)
        case MapOf():
            return _map(node, mode)
        case Struct():
            return _struct(node, mode)
        case _:
            assert_never(node)


def _struct(node: Struct, mode: Mode) -> Convert:
    fields: dict[str, Convert] = {}
    always: dict[str, Field] = {}

    def build() -> None:
        """Fill the tables on first use: a type may contain itself."""
        for name, declared in node.fields.items():
            fields[name] = _field(declared, mode)
            if _is_always_written(declared):
                always[name] = declared

    unknown = _refuse if mode == "strict" else _drop

    def step(value: Any) -> Any:
        if type(value) is not dict:
            raise _MismatchError
        if not fields:
            build()
        out = None
        for name, item in value.items():
            new = fields.get(name, unknown)(item)
            if new is item:
                continue
            if out is None:
                out = dict(value)
            if new is DROP:
                del out[name]
            else:
                out[name] = new
        for name, declared in always.items():
            if name not in value:
                if out is None:
                    out = dict(value)
                out[name] = zero(declared)
        return value if out is None else out

    return step


def _drop(_: Any) -> Any:
    """An undeclared field."""
    return DROP


def _refuse(_: Any) -> Any:
    """An undeclared field under strict decoding."""
    raise _MismatchError


def _field(declared: Field, mode: Mode) -> Convert:
    """The function of a field: null and emptiness are handled here, everything else by the node's own."""
    node = declared.type
    if isinstance(node, Scalar) and not declared.pointer:
        special = _OMITTED.get(node.kind) if declared.omitempty else None
        if mode == "convert" and node.kind == "int32" and special is not None:
            special = _int32_wrapped_omitted
        if special is not None:
            return special
    inner = _converter(node, mode)
    written = _is_always_written(declared)
    if declared.omitempty and isinstance(node, ListOf | MapOf):
        empty: tuple[Any, ...] = (None, []) if isinstance(node, ListOf) else (None, {})

        def emptiable(value: Any) -> Any:
            return DROP if not value and value in empty else inner(value)

        return emptiable

    def plain(value: Any) -> Any:
        if value is None:
            return zero(declared) if written else DROP
        return inner(value)

    return plain


def _is_always_written(declared: Field) -> bool:
    """Whether Go writes the field when it holds its zero value."""
    if declared.omitzero:
        return False
    if not declared.omitempty:
        return True
    return not declared.pointer and _is_go_struct(declared.type)


def _is_go_struct(node: Node) -> bool:
    """Whether the Go type is a struct, which `omitempty` never leaves out."""
    match node:
        case Struct():
            return True
        case Scalar():
            return node.kind in _STRUCT_SCALARS
        case ListOf() | MapOf():
            return False
        case _:
            assert_never(node)


def zero(declared: Field) -> Any:
    """What Go writes for a field that holds its zero value."""
    return None if declared.pointer else zero_of(declared.type)


def zero_of(node: Node) -> Any:
    """What Go writes for the zero value of a type. Containers are new on each call."""
    match node:
        case Struct():
            return {
                name: zero(declared) for name, declared in node.fields.items() if _is_always_written(declared)
            }
        case ListOf() | MapOf():
            return None
        case Scalar():
            return _ZEROS[node.kind]
        case _:
            assert_never(node)


def _list(node: ListOf, mode: Mode) -> Convert:
    element = node.element
    inner = _converter(element, mode)

    def step(value: Any) -> Any:
        if type(value) is not list:
            raise _MismatchError
        out = None
        for index, item in enumerate(value):
            new = zero_of(element) if item is None else inner(item)
            if new is not item:
                if out is None:
                    out = list(value)
                out[index] = new
        return value if out is None else out

    return step


def _map(node: MapOf, mode: Mode) -> Convert:
    below = node.value
    inner = _converter(below, mode)

    def step(value: Any) -> Any:
        if type(value) is not dict:
            raise _MismatchError
        out = None
        for name, item in value.items():
            new = zero_of(below) if item is None else inner(item)
            if new is not item:
                if out is None:
                    out = dict(value)
                out[name] = new
        return value if out is None else out

    return step


def _string(value: Any) -> Any:
    if type(value) is str:
        return value
    raise _MismatchError


def _string_omitted(value: Any) -> Any:
    if type(value) is str:
        return value or DROP
    if value is None:
        return DROP
    raise _MismatchError


def _bool(value: Any) -> Any:
    if type(value) is bool:
        return value
    raise _MismatchError


def _bool_omitted(value: Any) -> Any:
    if type(value) is bool:
        return value or DROP
    if value is None:
        return DROP
    raise _MismatchError


def _whole(bits: int) -> Convert:
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1

    def step(value: Any) -> Any:
        if type(value) is int and low <= value <= high:
            return value
        if type(value) is float and value.is_integer() and low <= value <= high:
            return int(value)
        raise _MismatchError

    return step


def _whole_omitted(bits: int) -> Convert:
    inner = _whole(bits)

    def step(value: Any) -> Any:
        return DROP if value is None else inner(value) or DROP

    return step


def _int32_wrapped(value: Any) -> Any:
    """The unstructured converter cuts integers to their lowest bits, without a word."""
    whole = _INT64(value)
    return whole if -(2**31) <= whole < 2**31 else (whole + 2**31) % 2**32 - 2**31


def _int32_wrapped_omitted(value: Any) -> Any:
    return DROP if value is None else _int32_wrapped(value) or DROP


def _float(value: Any) -> Any:
    if type(value) is float or type(value) is int:
        return value
    raise _MismatchError


def _float_omitted(value: Any) -> Any:
    return DROP if value is None else _float(value) or DROP


def _quantity(value: Any) -> Any:
    if type(value) is str:
        text = value
    elif type(value) is int or type(value) is float:
        text = decode_errors.number_text(value)
    else:
        raise _MismatchError
    try:
        canonical = canonical_quantity(text)
    except QuantityError:
        raise _MismatchError from None
    return value if canonical == value else canonical


@lru_cache(4096)
def canonical_quantity(text: str) -> str:
    """The quantity as Go writes it; raises `QuantityError`."""
    return str(Quantity.parse(text.strip(" \t\n\v\f\r\x85\xa0")))


def _int_or_string(value: Any) -> Any:
    return value if type(value) is str else _INT32(value)


def _time(value: Any) -> Any:
    return _reformatted(value, micro=False)


def _micro_time(value: Any) -> Any:
    return _reformatted(value, micro=True)


def _reformatted(value: Any, *, micro: bool) -> Any:
    parsed = parse_time(value) if type(value) is str else None
    if parsed is None:
        raise _MismatchError
    text = format_time(parsed, micro=micro)
    return value if text == value else text


def _duration(value: Any) -> Any:
    parsed = parse_duration(value) if type(value) is str else None
    if parsed is None:
        raise _MismatchError
    text = format_duration(parsed)
    return value if text == value else text


def _bytes(value: Any) -> Any:
    if type(value) is not str:
        raise _MismatchError
    try:
        decoded = base64.b64decode(value.replace("\r", "").replace("\n", ""), validate=True)
    except (binascii.Error, ValueError):
        raise _MismatchError from None
    text = base64.b64encode(decoded).decode()
    return value if text == value else text


def is_base64(text: str) -> bool:
    """Whether Go would decode a text as bytes."""
    try:
        _bytes(text)
    except _MismatchError:
        return False
    return True


def _bytes_omitted(value: Any) -> Any:
    return DROP if value is None else _bytes(value) or DROP


def _raw(value: Any) -> Any:
    return value


_INT32: Final = _whole(32)
_INT64: Final = _whole(64)

_SCALARS: Final[dict[ScalarKind, Convert]] = {
    "string": _string,
    "int32": _INT32,
    "int64": _INT64,
    "float": _float,
    "bool": _bool,
    "bytes": _bytes,
    "quantity": _quantity,
    "int-or-string": _int_or_string,
    "time": _time,
    "micro-time": _micro_time,
    "duration": _duration,
    "raw": _raw,
}
_OMITTED: Final[dict[ScalarKind, Convert]] = {
    "string": _string_omitted,
    "bool": _bool_omitted,
    "int32": _whole_omitted(32),
    "int64": _whole_omitted(64),
    "float": _float_omitted,
    "bytes": _bytes_omitted,
}
_STRUCT_SCALARS: Final = frozenset({"quantity", "int-or-string", "time", "micro-time", "duration", "raw"})
_ZEROS: Final[dict[ScalarKind, Any]] = {
    "string": "",
    "int32": 0,
    "int64": 0,
    "float": 0,
    "bool": False,
    "bytes": None,
    "quantity": "0",
    "int-or-string": 0,
    "time": None,
    "micro-time": None,
    "duration": "0s",
    "raw": None,
}
