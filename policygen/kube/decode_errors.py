"""Why an object does not decode, in the words of Go's JSON decoder and of apimachinery's converter.

Only looked at after the round trip has failed, so it may take its time. encoding/json goes on after a type
error and reports the first; undeclared fields are reported together, after all types were right. Keys are
visited in the order in which Go writes maps, which is how both clients and patches send them: sorted.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, assert_never

from policygen.kube.gotime import parse_duration, parse_time
from policygen.kube.quantity import Quantity, QuantityError
from policygen.kube.schema import KindSchema, ListOf, MapOf, Node, Scalar, ScalarKind, Struct

MAX_STRICT: Final = 100
"""Strict errors beyond this many are not reported (sigs.k8s.io/json)."""


class DecodeError(Exception):
    """The object does not decode. The text is the server's; `paths` name undeclared fields."""

    def __init__(self, message: str, paths: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.paths = paths


def decode_error(value: Any, root: Struct, path: str = "") -> DecodeError:
    """The error for a value, standing at a path, that the strict or the plain round trip refused."""
    for problem in _Walk(root.name).problems(value, root, path, root):
        return DecodeError(problem)
    unknown = unknown_fields(value, root)
    listed = ", ".join(f'unknown field "{path}"' for path in unknown[:MAX_STRICT])
    return DecodeError(f"strict decoding error: {listed}", unknown)


def unknown_fields(value: Any, root: Node) -> tuple[str, ...]:
    """The paths of undeclared fields, keys sorted: `spec.containers[0].nope`."""
    return tuple(_unknown(value, root, ""))


def conversion_error(value: Any, schema: KindSchema) -> DecodeError:
    """The error of `FromUnstructured`, as the mutating plugin passes it on."""
    group, _, version = schema.api_version.rpartition("/")
    for problem in _Conversion().problems(value, schema.root):
        return DecodeError(
            f"unable to convert unstructured object to {group}/{version}, Kind={schema.kind}: {problem}"
        )
    return decode_error(value, schema.root)  # a number that Go would wrap around: told as when it is decoded


def number_text(value: float) -> str:
    """A number as Go's encoder writes it: the shortest digits, with an exponent only far from 1."""
    if isinstance(value, int):
        return str(value)
    text = repr(value)
    mantissa, _, exponent = text.partition("e")
    power = int(exponent or 0)
    if not exponent:
        return text.removesuffix(".0")
    if power < -6 or power >= 21:
        return f"{mantissa.removesuffix('.0')}e{power:+d}"
    sign = "-" if mantissa.startswith("-") else ""
    before, _, after = mantissa.lstrip("-").partition(".")
    if power < 0:
        return f"{sign}0.{'0' * (-power - 1)}{before}{after.removesuffix('0')}"
    digits = (before + after).removesuffix("0") if after == "0" else before + after
    return sign + digits.ljust(power + 1, "0")


def type_text(node: Node) -> str:
    """How Go prints the type."""
    match node:
        case Struct():
            package, _, name = node.name.rpartition(".")
            return f"{package.rpartition('/')[2]}.{name}"
        case ListOf():
            return f"[]{type_text(node.element)}"
        case MapOf():
            return f"map[string]{type_text(node.value)}"
        case Scalar():
            return _GO_TYPES[node.kind]
        case _:
            assert_never(node)


_GO_TYPES: Final[dict[ScalarKind, str]] = {
    "string": "string",
    "int32": "int32",
    "int64": "int64",
    "float": "float64",
    "bool": "bool",
    "bytes": "[]uint8",
    "quantity": "resource.Quantity",
    "int-or-string": "intstr.IntOrString",
    "time": "v1.Time",
    "micro-time": "v1.MicroTime",
    "duration": "v1.Duration",
    "raw": "runtime.RawExtension",
}


def _unknown(value: Any, node: Node, path: str) -> Iterator[str]:
    match node:
        case Struct() if isinstance(value, dict):
            for name, item in sorted(value.items()):
                below = f"{path}.{name}" if path else name
                declared = node.fields.get(name)
                if declared is not None:
                    yield from _unknown(item, declared.type, below)
                elif not node.preserve_unknown:
                    yield below
        case ListOf() if isinstance(value, list):
            for index, item in enumerate(value):
                yield from _unknown(item, node.element, f"{path}[{index}]")
        case MapOf() if isinstance(value, dict):
            for name, item in sorted(value.items()):
                yield from _unknown(item, node.value, f"{path}.{name}")
        case _:
            return


@dataclass(frozen=True, slots=True)
class _Walk:
    """encoding/json's errors: the innermost struct, and the field names from the root."""

    root: str

    def problems(self, value: Any, node: Node, path: str, inside: Struct) -> Iterator[str]:
        if value is None:
            return
        match node:
            case Struct():
                if not isinstance(value, dict):
                    yield self._type_error(_kind(value), node, path, inside)
                    return
                for name, item in value.items():
                    declared = node.fields.get(name)
                    if declared is not None:
                        yield from self.problems(
                            item, declared.type, f"{path}.{name}" if path else name, node
                        )
            case ListOf():
                if not isinstance(value, list):
                    yield self._type_error(_kind(value), node, path, inside)
                    return
                for item in value:
                    yield from self.problems(item, node.element, path, inside)
            case MapOf():
                if not isinstance(value, dict):
                    yield self._type_error(_kind(value), node, path, inside)
                    return
                for _, item in sorted(value.items()):
                    yield from self.problems(item, node.value, path, inside)
            case Scalar():
                yield from self._scalar(value, node, path, inside)
            case _:
                assert_never(node)

    def _scalar(self, value: Any, node: Scalar, path: str, inside: Struct) -> Iterator[str]:
        match node.kind:
            case "string" if type(value) is not str:
                yield self._type_error(_kind(value), node, path, inside)
            case "bool" if type(value) is not bool:
                yield self._type_error(_kind(value), node, path, inside)
            case "int32" | "int64":
                if not _fits(value, 32 if node.kind == "int32" else 64):
                    yield self._type_error(_kind(value, literal=True), node, path, inside)
            case "float" if type(value) not in (int, float):
                yield self._type_error(_kind(value), node, path, inside)
            case "int-or-string" if type(value) is not str and not _fits(value, 32):
                yield self._type_error(_kind(value, literal=True), Scalar("int32"), path, inside)
            case "bytes" if type(value) is not str:
                yield self._type_error(_kind(value), node, path, inside)
            case "bytes":
                yield from _base64_error(value)
            case "quantity":
                yield from _quantity_error(value)
            case "time" | "micro-time" | "duration" if type(value) is not str:
                yield self._type_error(_kind(value), Scalar("string"), path, inside)
            case "time" if parse_time(value) is None:
                yield _time_error(value, "2006-01-02T15:04:05Z07:00")
            case "micro-time" if parse_time(value) is None:
                yield _time_error(value, "2006-01-02T15:04:05.000000Z07:00")
            case "duration" if parse_duration(value) is None:
                yield f"time: invalid duration {json.dumps(value, ensure_ascii=False)}"
            case _:
                return

    def _type_error(self, value: str, node: Node, path: str, inside: Struct) -> str:
        if not path:
            return f"json: cannot unmarshal {value} into Go value of type {type_text(node)}"
        struct = inside.name.rpartition(".")[2]
        return (
            f"json: cannot unmarshal {value} into Go struct field {struct}.{path} of type {type_text(node)}"
        )


class _Conversion:
    """The errors of apimachinery `runtime/converter.go`, which carry no path."""

    def problems(self, value: Any, node: Node) -> Iterator[str]:
        if value is None:
            return
        match node:
            case Struct():
                if not isinstance(value, dict):
                    yield f"cannot restore struct from: {_go_kind(value)}"
                    return
                for name, declared in node.fields.items():
                    if name in value:
                        yield from self.problems(value[name], declared.type)
            case ListOf():
                if not isinstance(value, list):
                    yield f"cannot restore slice from {_go_kind(value)}"
                    return
                for item in value:
                    yield from self.problems(item, node.element)
            case MapOf():
                if not isinstance(value, dict):
                    yield f"cannot restore map from {_go_kind(value)}"
                    return
                for item in value.values():
                    yield from self.problems(item, node.value)
            case Scalar():
                yield from self._scalar(value, node)
            case _:
                assert_never(node)

    def _scalar(self, value: Any, node: Scalar) -> Iterator[str]:
        match node.kind:
            case "string" | "bool" | "int32" | "int64" | "float":
                yield from self._plain(value, node.kind)
            case "raw":
                return
            case _:
                for problem in _Walk("").problems(value, node, "", Struct("", {})):
                    yield problem
                    return

    def _plain(self, value: Any, kind: ScalarKind) -> Iterator[str]:
        target = _GO_TYPES[kind]
        match value:
            case bool():
                fine = kind == "bool"
                convertible = kind == "bool"
            case str():
                fine = kind == "string"
                convertible = kind == "string"
            case int():
                fine = kind in ("float", "int32", "int64")  # too large ones are cut, not refused
                convertible = kind != "bool"
            case float():
                fine = kind == "float" or (kind in ("int32", "int64") and value.is_integer())
                convertible = kind in ("int32", "int64")
            case _:
                fine = convertible = False
        if fine:
            return
        if convertible:
            yield f"cannot convert {_go_type(value)} to {target}"
        else:
            yield f"unrecognized type: {target}"


def _fits(value: Any, bits: int) -> bool:
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1
    if type(value) is float:
        return value.is_integer() and low <= value <= high
    return type(value) is int and low <= value <= high


def _kind(value: Any, *, literal: bool = False) -> str:
    """encoding/json's word for a JSON value."""
    match value:
        case bool():
            return "bool"
        case int() | float():
            return f"number {number_text(value)}" if literal else "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def _go_type(value: Any) -> str:
    match value:
        case bool():
            return "bool"
        case int():
            return "int64"
        case float():
            return "float64"
        case str():
            return "string"
        case list():
            return "[]interface {}"
        case _:
            return "map[string]interface {}"


def _go_kind(value: Any) -> str:
    match value:
        case list():
            return "slice"
        case dict():
            return "map"
        case _:
            return _go_type(value)


def _quantity_error(value: Any) -> Iterator[str]:
    text = value if isinstance(value, str) else number_text(value) if type(value) in (int, float) else ""
    try:
        Quantity.parse(text.strip() if text else json.dumps(value))
    except QuantityError as error:
        yield str(error)


def _base64_error(text: str) -> Iterator[str]:
    alphabet = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
    count = 0
    for index, character in enumerate(text):
        if character in "\r\n":
            continue
        if character not in alphabet:
            tail = text[index:].replace("\r", "").replace("\n", "")
            if character == "=" and (count % 4, tail) in ((2, "=="), (3, "=")):
                return
            yield f"illegal base64 data at input byte {index}"
            return
        count += 1
    if count % 4:
        yield f"illegal base64 data at input byte {len(text) - count % 4}"


def _time_error(text: str, layout: str) -> str:
    shown = json.dumps(text, ensure_ascii=False)
    return f'parsing time {shown} as "{layout}": cannot parse {shown} as "2006"'


def paths_of(value: Mapping[str, Any], schema: KindSchema) -> tuple[str, ...]:
    """The undeclared fields of an object of any kind."""
    return unknown_fields(value, schema.root)
