"""CEL types: how they are built, how they print, what can be assigned to what.

Names follow cel-go `common/types/types.go`. A `Type` is a value: equal types are equal objects, and the
planner may keep them in sets. Assignability with type parameters needs a substitution and lives in
`policygen.cel.inference`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from policygen.cel.recursion import room_for

_DEEPEST: Final = 300
"""Lists nest as deep as the parser allows."""

Kind: TypeAlias = Literal[
    "any",
    "bool",
    "bytes",
    "double",
    "duration",
    "dyn",
    "error",
    "int",
    "list",
    "map",
    "null",
    "opaque",
    "param",
    "string",
    "struct",
    "timestamp",
    "type",
    "uint",
    "wrapper",
]


@dataclass(frozen=True, slots=True)
class Type:
    """One CEL type. `name` is the run-time type name (`null_type`, `google.protobuf.Duration`, `list`)."""

    kind: Kind
    name: str
    params: tuple[Type, ...] = ()

    def __str__(self) -> str:
        with room_for(_DEEPEST):
            return _format(self)

    @property
    def declared(self) -> str:
        """As cel-go's `Type.String`: `google.protobuf.Duration` where messages say `duration`."""
        with room_for(_DEEPEST):
            return _declared(self)

    @property
    def is_dyn(self) -> bool:
        """Whether anything goes: `dyn`, and what could not be checked."""
        return self.kind in {"dyn", "any", "error"}


DYN = Type("dyn", "dyn")
ANY = Type("any", "google.protobuf.Any")
ERROR = Type("error", "*error*")
NULL = Type("null", "null_type")
BOOL = Type("bool", "bool")
INT = Type("int", "int")
UINT = Type("uint", "uint")
DOUBLE = Type("double", "double")
STRING = Type("string", "string")
BYTES = Type("bytes", "bytes")
DURATION = Type("duration", "google.protobuf.Duration")
TIMESTAMP = Type("timestamp", "google.protobuf.Timestamp")
TYPE = Type("type", "type")


def list_of(element: Type) -> Type:
    """`list(element)`."""
    return Type("list", "list", (element,))


def map_of(key: Type, value: Type) -> Type:
    """`map(key, value)`."""
    return Type("map", "map", (key, value))


def type_of(inner: Type) -> Type:
    """`type(inner)`, the type of a type."""
    return Type("type", "type", (inner,))


def optional_of(inner: Type) -> Type:
    """`optional_type(inner)`."""
    return Type("opaque", "optional_type", (inner,))


def opaque(name: str, *params: Type) -> Type:
    """A type with operations but no fields, such as `kubernetes.Quantity`."""
    return Type("opaque", name, params)


def struct(name: str) -> Type:
    """A type with fields, which the environment's type provider knows."""
    return Type("struct", name)


def param(name: str) -> Type:
    """A type parameter of an overload, such as `A`."""
    return Type("param", name)


def wrapper(inner: Type) -> Type:
    """A primitive that may be null."""
    return Type("wrapper", f"wrapper({inner.name})", (inner,))


def has_params(checked: Type) -> bool:
    """Whether a type parameter occurs in the type."""
    return checked.kind == "param" or any(map(has_params, checked.params))


def is_optional(checked: Type) -> bool:
    """Whether this is some `optional_type(…)`."""
    return checked.kind == "opaque" and checked.name == "optional_type"


LIST_DYN = list_of(DYN)
MAP_DYN = map_of(DYN, DYN)
MAP_STRING_DYN = map_of(STRING, DYN)

_PRINTED = {
    "null": "null",
    "duration": "duration",
    "timestamp": "timestamp",
    "any": "any",
    "error": "!error!",
}


def _format(shown: Type) -> str:
    """As cel-go `checker/format.go` and `types.String` print it."""
    if shown.kind == "wrapper":
        return f"wrapper({_format(shown.params[0])})"
    if shown.params:
        return f"{shown.name}({', '.join(map(_format, shown.params))})"
    return _PRINTED.get(shown.kind, shown.name)


def _declared(shown: Type) -> str:
    if shown.params:
        return f"{shown.name}({', '.join(map(_declared, shown.params))})"
    return shown.name
