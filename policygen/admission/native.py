"""CEL values as the Go values that the server makes of them, because that decides which patches work.

- An ApplyConfiguration's fields become native values (`cel/mutation/dynamic/objects.go`): a map literal
  inside a list is then of a type that the merge does not know.
- A JSONPatch's values go through protobuf's JSON: an integer beyond 2^53 becomes a string, and a list or
  map of `Object…{}` crashes the server.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from policygen.admission.outcome import MutationError, panic
from policygen.cel.values import (
    NONE,
    Duration,
    JSONPatchValue,
    ObjectValue,
    Optional,
    Timestamp,
    TypeValue,
    Uint,
    type_name,
)
from policygen.diagnostics import fail
from policygen.merge.typed import Foreign

_JSON_SAFE: Final = 2**53 - 1

_MAX_VALUES: Final = 1_000_000

_NATIVE: Final = frozenset({str, int, bool, float})
"""Values that are the same in CEL, in Go and in JSON."""


def check_size(value: Any, limit: int = _MAX_VALUES) -> None:
    """Refuse what no server can store: lists that hold a list many times over grow beyond all bounds.

    The server would run out of memory, or be refused by its database, which takes 1.5 MiB.
    """
    left = limit
    pending: list[Any] = [value]
    while pending:
        current = pending.pop()
        if isinstance(current, (ObjectValue, JSONPatchValue)):
            current = current.fields
        if isinstance(current, Mapping):
            below: Collection[Any] = current.values()
        elif isinstance(current, list):
            below = current
        else:
            continue
        left -= len(below)
        if left < 0:
            fail("value-too-large", f"an expression's value holds more than {limit:,} values")
        pending += [item for item in below if type(item) not in _NATIVE]


class Native:
    """CEL values as `ObjectVal.Value()` gives them. `data` is what the expressions could read."""

    def __init__(self, data: tuple[Any, ...]) -> None:
        self._data = data
        self._containers: set[int] | None = None

    def object(self, value: ObjectValue) -> dict[str, Any]:
        """The fields of an `Object…{}`."""
        return {name: self._field(item) for name, item in value.fields.items()}

    def _field(self, value: Any) -> Any:
        kind = type(value)
        if kind in _NATIVE:
            return value
        if kind is list:
            if all(type(item) is ObjectValue for item in value):
                return [self.object(item) for item in value]
            return value if self._is_data(value) else [self._item(item) for item in value]
        if kind is dict and all(type(item) in _NATIVE for item in value.values()):
            return value if all(type(key) is str for key in value) else self._map(value)
        if isinstance(value, Mapping):
            return value if self._is_data(value) else self._map(value)
        return self._item(value)

    def _map(self, value: Mapping[Any, Any]) -> dict[str, Any]:
        for key in value:
            if type(key) is not str:
                raise MutationError(f'map key "{key}" is of type {_go_type(key)}, not string')
        return {key: self._item(item) for key, item in value.items()}

    def _item(self, value: Any) -> Any:
        """An element of a list or map: its `Value()`, so that nested literals stay of CEL's own Go types."""
        kind = type(value)
        if kind in _NATIVE:
            return value
        if kind is ObjectValue:
            return self.object(value)
        if isinstance(value, (list, Mapping)):
            return value if self._is_data(value) else _foreign(value)
        if kind is Optional and value is not NONE:
            return self._item(value.value)
        return _foreign(value)

    def _is_data(self, value: Any) -> bool:
        """Whether a container comes from the request's data and was not made by the expression."""
        if self._containers is None:
            self._containers = set(_container_ids(self._data))
        return id(value) in self._containers


def _container_ids(value: Any) -> Iterator[int]:
    pending = [value]
    while pending:
        current = pending.pop()
        if isinstance(current, (dict, list, tuple)):
            yield id(current)
            below = current.values() if isinstance(current, dict) else current
            pending += [item for item in below if type(item) not in _NATIVE]


def _foreign(value: Any) -> Foreign:
    match value:
        case None:
            return Foreign("structpb.NullValue", "NULL_VALUE", "0")
        case Uint():
            return Foreign("uint64", str(int(value)), hex(value))
        case bytes():
            text = "[" + " ".join(map(str, value)) + "]"
            return Foreign("[]uint8", text, "[]byte{" + ", ".join(map(hex, value)) + "}")
        case Duration():
            return Foreign("time.Duration", str(value.ns), str(value.ns))
        case Timestamp():
            return Foreign("time.Time", _timestamp_text(value), "time.Time{}")
        case list():
            return Foreign("[]ref.Val", "[]", "[]ref.Val{}")
        case Mapping():
            return Foreign("map[ref.Val]ref.Val", "map[]", "map[ref.Val]ref.Val{}")
        case _:
            return Foreign(_go_type(value), str(value), str(value))


def _go_type(value: Any) -> str:
    return type_name(value).rpartition(".")[2]


def protobuf(value: Any, native: Native, *, nested: bool = False) -> Any:
    """A value through `structpb.Value` to JSON, as cel-go's literals convert themselves."""
    kind = type(value)
    if value is None or kind is str or kind is bool:
        return value
    if kind is int or kind is Uint:
        return int(value) if -_JSON_SAFE <= value <= _JSON_SAFE else str(int(value))
    if kind is float:
        return _number(value)
    if kind is bytes:
        return base64.b64encode(value).decode()
    if kind is Duration:
        return _duration_text(value.ns)
    if kind is Timestamp:
        return _timestamp_text(value)
    if kind is ObjectValue:
        if nested:
            raise panic("a list or map in the `value` of a JSONPatch holds `Object…{}`")
        return _new_value(native.object(value))
    if isinstance(value, list):
        return [protobuf(item, native, nested=True) for item in value]
    if isinstance(value, Mapping):
        return {_key(key): protobuf(item, native, nested=True) for key, item in value.items()}
    if kind is Optional:
        if value is NONE:
            raise _not_json("optional.none() dereference")
        return protobuf(value.value, native, nested=nested)
    if kind is TypeValue:
        raise _not_json("type conversion not supported for 'type'")
    raise _not_json(f"type conversion error from '{_go_type(value)}' to '*structpb.Value'")


def _new_value(value: Any) -> Any:
    """A native value by `structpb.NewValue`: every number is a float64."""
    kind = type(value)
    if value is None or kind is str or kind is bool:
        return value
    if kind is int or kind is float:
        return _number(float(value))
    if kind is dict:
        return {name: _new_value(item) for name, item in value.items()}
    if kind is list:
        return [_new_value(item) for item in value]
    assert type(value) is Foreign, "native values are JSON or of a Go type"
    if value.type == "uint64":
        return _number(float(value.text))
    if value.type == "[]uint8":
        return base64.b64encode(bytes(map(int, value.text[1:-1].split()))).decode()
    raise _not_json(f"proto: invalid type: {value.type}")


def _number(value: float) -> Any:
    if math.isnan(value) or math.isinf(value):
        shown = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        raise _not_json(f"google.protobuf.Value cannot have {shown}")
    return int(value) if value.is_integer() and abs(value) < 1e21 else value


def _key(key: Any) -> str:
    if type(key) is str:
        return key
    if type(key) is bool:
        raise _not_json("type conversion error from bool to 'string'")
    raise _not_json(f"unsupported type conversion from '{type_name(key)}' to string")


def _not_json(text: str) -> MutationError:
    return MutationError(
        f"JSONPath valueExpression evaluated to a type that could not marshal to JSON: {text}"
    )


def _duration_text(nanoseconds: int) -> str:
    sign = "-" if nanoseconds < 0 else ""
    seconds, rest = divmod(abs(nanoseconds), 10**9)
    return f"{sign}{seconds}{_fraction(rest)}s"


def _timestamp_text(value: Timestamp) -> str:
    seconds, rest = divmod(value.ns, 10**9)
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    return f"{moment:%Y-%m-%dT%H:%M:%S}".zfill(19) + _fraction(rest) + "Z"


def _fraction(nanoseconds: int) -> str:
    """Protobuf's JSON: none, three, six or nine digits."""
    if not nanoseconds:
        return ""
    digits = f"{nanoseconds:09d}"
    while digits.endswith("000"):
        digits = digits[:-3]
    return "." + digits
