"""What the value of a mutation does to the object (apiserver `mutating/patch/`, `mutating/dispatcher.go`).

Values are converted as Go converts them, because that decides what works: an ApplyConfiguration's fields
become native values, so a map literal inside a list is of a type that the merge does not know; a
JSONPatch's values go through protobuf's JSON, so an integer beyond 2^53 becomes a string, and a list or
map of `Object{}` crashes the server.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from policygen.admission.outcome import Denied
from policygen.admission.request import Object
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
from policygen.diagnostics import PolicygenError, make
from policygen.kube import custom, defaults
from policygen.kube.decode_errors import DecodeError
from policygen.kube.names import GroupVersionKind
from policygen.kube.roundtrip import convert, round_trip_strict
from policygen.kube.schema import KindSchema, Struct
from policygen.merge import jsonpatch, merge
from policygen.merge.typed import Foreign

_JSON_SAFE: Final = 2**53 - 1

_SUBRESOURCE_KINDS: Final = frozenset(
    {("autoscaling/v1", "Scale"), ("policy/v1", "Eviction"), ("authentication.k8s.io/v1", "TokenRequest")}
)
"""Kinds that occur as subresources of other groups only: their own group's OpenAPI document lacks them."""

FREE: Final = KindSchema("", "", Struct("", {}, preserve_unknown=True), builtin=False)
"""What a JSONPatch needs to know of a kind that nobody has defined: nothing."""


class MutationError(Exception):
    """A mutation failed; `failurePolicy` decides. The text is the server's."""


def apply_configuration(value: Any, subject_data: tuple[Any, ...], obj: Object, schema: KindSchema) -> Object:
    """The object with an `Object{…}` merged into it; `subject_data` is what expressions could read."""
    if type(value) is not ObjectValue:
        raise MutationError(f"unsupported return type from ApplyConfiguration expression: {type_name(value)}")
    check_type_names(value, value.type_name)
    patch = _Native(subject_data).object(value)
    patch["apiVersion"], patch["kind"] = obj.get("apiVersion"), obj.get("kind")
    if not schema.root.published or (schema.api_version, schema.kind) in _SUBRESOURCE_KINDS:
        raise MutationError(
            "error applying patch: failed to convert patch object to typed object: "
            f"no corresponding type for {schema.api_version}, Kind={schema.kind}"
        )
    try:
        merged: Object = merge.apply(schema, obj, patch)
    except merge.MergeError as error:
        raise MutationError(f"error applying patch: {error}") from error
    return merged


def json_patch(value: Any, obj: Object, schema: KindSchema) -> Object:
    """The object after a list of `JSONPatch{…}`; the same object where a `test` failed.

    Raises `Denied` when the result does not decode: that is a 500 whatever the failurePolicy.
    """
    operations = [_operation(item) for item in value]
    try:
        patched: Any = jsonpatch.apply(obj, operations)
    except jsonpatch.TestFailedError:
        return obj
    except jsonpatch.PatchError as error:
        raise MutationError(f"JSON Patch: {error}") from error
    except jsonpatch.PatchPanicError as error:
        raise panic(str(error)) from error
    if not operations:
        return obj
    if not isinstance(patched, dict):
        raise internal_error("json: cannot unmarshal array into Go value of type map[string]interface {}")
    document: Object = patched
    if not schema.builtin:
        return document
    typed = {"apiVersion": obj.get("apiVersion"), "kind": obj.get("kind"), **document}
    try:
        return round_trip_strict(typed, schema)
    except DecodeError as error:
        raise internal_error(error.message) from error


def finish(
    obj: Object, schema: KindSchema, requested: GroupVersionKind, *, with_defaults: bool = True
) -> Object:
    """A patched object through its typed struct and API defaulting, as after every mutation.

    A built-in kind that matched in another version than the client sent does not convert back: the server
    refuses every such request.
    """
    try:
        typed = convert(obj, schema)
    except DecodeError as error:
        raise MutationError(error.message) from error
    if schema.builtin and schema.api_version != requested.api_version:
        version = schema.api_version.rpartition("/")[2]
        raise MutationError(
            f"converting ({version}.{schema.kind}) to ({requested.version}.{schema.kind}): unknown conversion"
        )
    if not with_defaults:
        return typed
    return defaults.apply(typed, schema) if schema.builtin else custom.default(typed, schema)


def internal_error(text: str) -> Denied:
    """A 500 of the server."""
    return Denied(500, "InternalError", f"Internal error occurred: {text}", (text,))


def unknown_kind(kind: GroupVersionKind) -> PolicygenError:
    """Nobody has defined the kind: there are no types to merge by."""
    return PolicygenError(
        [
            make(
                "error",
                "unknown-kind",
                f"`{kind.kind}` of `{kind.api_version}` has no schema, so that nothing can be merged into it",
                help=("give its CustomResourceDefinition among the inputs",),
            )
        ]
    )


def panic(what: str) -> Denied:
    """The server crashes on this input and closes the connection."""
    return Denied(599, "ServerPanic", f"the API server panics and closes the connection: {what}")


def check_type_names(value: Any, expected: str) -> None:
    """Every `Object…{}` must be named after the path that it stands at (`dynamic/objects.go`)."""
    if type(value) is ObjectValue:
        if value.type_name != expected:
            raise MutationError(
                f'type mismatch: unexpected type name "{value.type_name}", expected "{expected}", '
                "which matches field name path from root Object type"
            )
        for name, item in value.fields.items():
            check_type_names(item, f"{expected}.{name}")
    elif isinstance(value, list):
        for item in value:
            check_type_names(item, expected)
    elif isinstance(value, Mapping) and _has_objects(value):
        for item in value.values():
            check_type_names(item, expected)


def _has_objects(value: Mapping[Any, Any]) -> bool:
    return any(type(item) is ObjectValue or isinstance(item, list) for item in value.values())


class _Native:
    """CEL values as the Go values that `ObjectVal.Value()` makes of them."""

    def __init__(self, data: tuple[Any, ...]) -> None:
        self._data = data
        self._containers: set[int] | None = None

    def object(self, value: ObjectValue) -> dict[str, Any]:
        return {name: self._field(item) for name, item in value.fields.items()}

    def _field(self, value: Any) -> Any:
        kind = type(value)
        if kind is str or kind is int or kind is bool or kind is float:
            return value
        if isinstance(value, list):
            return value if self._is_data(value) else [self._item(item) for item in value]
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
        if kind is str or kind is int or kind is bool or kind is float:
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
    if isinstance(value, Mapping):
        yield id(value)
        for item in value.values():
            yield from _container_ids(item)
    elif isinstance(value, (list, tuple)):
        yield id(value)
        for item in value:
            yield from _container_ids(item)


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


def _operation(value: Any) -> dict[str, Any]:
    if type(value) is not JSONPatchValue:
        raise MutationError(
            "type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch: "
            f"type conversion error from '{type_name(value)}'"
        )
    fields = value.fields
    operation: dict[str, Any] = {"op": fields.get("op") or "", "path": fields.get("path") or ""}
    if fields.get("from"):
        operation["from"] = fields["from"]
    if "value" in fields:
        item = fields["value"]
        if type(item) is ObjectValue:
            check_type_names(item, item.type_name)
        operation["value"] = _protobuf(item)
    return operation


def _protobuf(value: Any, *, nested: bool = False) -> Any:
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
        return _struct(value)
    if isinstance(value, list):
        return [_protobuf(item, nested=True) for item in value]
    if isinstance(value, Mapping):
        return {_key(key): _protobuf(item, nested=True) for key, item in value.items()}
    if kind is Optional:
        if value is NONE:
            raise _not_json("optional.none() dereference")
        return _protobuf(value.value, nested=nested)
    if kind is TypeValue:
        raise _not_json("type conversion not supported for 'type'")
    raise _not_json(f"type conversion error from '{_go_type(value)}' to '*structpb.Value'")


def _struct(value: ObjectValue) -> dict[str, Any]:
    """An `Object…{}` by `structpb.NewStruct`: every number is a float64, nested literals have no JSON."""
    return {name: _struct_field(item) for name, item in value.fields.items()}


def _struct_field(value: Any) -> Any:
    kind = type(value)
    if kind is str or kind is bool:
        return value
    if kind is int or kind is Uint:
        return _number(float(value))
    if kind is float:
        return _number(value)
    if kind is bytes:
        return base64.b64encode(value).decode()
    if kind is ObjectValue:
        return _struct(value)
    if isinstance(value, list):
        return [_struct_field(item) for item in value]
    if isinstance(value, Mapping):
        return {_key(key): _struct_field(item) for key, item in value.items()}
    if value is None:
        return None
    raise _not_json(f"proto: invalid type: {_foreign(value).type}")


def _number(value: float) -> Any:
    if math.isnan(value) or math.isinf(value):
        shown = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        raise _not_json(f"google.protobuf.Value cannot have {shown}")
    return int(value) if value.is_integer() and abs(value) < 1e21 else value


def _key(key: Any) -> str:
    if type(key) is not str:
        raise _not_json(f"type conversion error from '{_go_type(key)}' to 'string'")
    return key


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
