"""CEL values in Python, their equality and order.

| CEL | Python | |
|---|---|---|
| null, bool, string, bytes | `None`, `bool`, `str`, `bytes` | |
| int | `int` | always compare `type(x) is int`: `bool` and `Uint` are subclasses |
| uint | `Uint` | |
| double | `float` | |
| list, map | `list`, `dict` | JSON-like data is used as it is and never changed |
| duration, timestamp | `Duration`, `Timestamp` | nanoseconds |
| type | `TypeValue` | |
| optional | `Optional`, `NONE` | |
| `Object…{}`, `JSONPatch{}` | `ObjectValue`, `JSONPatchValue` | |
| quantity, semver, IP, … | any class with `cel_type_name` | opaque: Python `==` is CEL equality |

`True == 1 == 1.0` in Python; CEL values are therefore compared with `equal`, never with `==`.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import repeat
from math import inf, isfinite
from typing import Any, ClassVar, Protocol, TypeAlias, runtime_checkable

from policygen.cel.errors import EvalError
from policygen.cel.recursion import room_for

Value: TypeAlias = Any
"""A CEL value as the table above says."""

INT_MIN, INT_MAX, UINT_MAX = -(2**63), 2**63 - 1, 2**64 - 1


class Uint(int):
    """An unsigned 64-bit integer."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{int(self)}u"


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """A span of time in nanoseconds within int64."""

    cel_type_name: ClassVar[str] = "google.protobuf.Duration"
    ns: int


@dataclass(frozen=True, slots=True, order=True)
class Timestamp:
    """An instant: nanoseconds since 1970, and the offset from UTC that it was written with (for printing)."""

    cel_type_name: ClassVar[str] = "google.protobuf.Timestamp"
    ns: int
    offset: int = 0
    """Seconds east of UTC; two timestamps with the same `ns` are equal for CEL whatever the offset."""

    def __eq__(self, other: object) -> bool:
        return type(other) is Timestamp and other.ns == self.ns

    def __hash__(self) -> int:
        return hash(self.ns)


@dataclass(frozen=True, slots=True)
class TypeValue:
    """A type as a value; equal when the names are."""

    cel_type_name: ClassVar[str] = "type"
    name: str


class MixedMap(Mapping[Any, Value]):
    """A map with keys that a `dict` cannot hold side by side, such as `{1: 'a', true: 'b'}`, or not at all.

    A list or a map as a key is found only as the very same value, as in cel-go, where it is a pointer.
    """

    __slots__ = ("_entries",)

    def __init__(self, entries: Mapping[Any, Value]) -> None:
        self._entries = {_token(key): (key, value) for key, value in entries.items()}

    def put(self, key: Any, value: Value) -> None:
        """Add an entry; only while the map is being made."""
        self._entries[_token(key)] = key, value

    def __getitem__(self, key: Any) -> Value:
        exact = self._entries.get(_token(key))
        if exact is not None:
            return exact[1]
        for (kind, known), (_, value) in self._entries.items():
            if kind in _NUMBERS and type(key) in _NUMBERS and known == key:
                return value
        raise KeyError(key)

    def __iter__(self) -> Iterator[Any]:
        return (key for key, _ in self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)


def _token(key: Any) -> tuple[type, Any]:
    """What tells a key apart from every other one."""
    try:
        hash(key)
    except TypeError:
        return type(key), id(key)
    return type(key), key


class Optional:
    """`optional.of(value)`; the absent one is `NONE`, always tested with `is`."""

    __slots__ = ("value",)
    cel_type_name: ClassVar[str] = "optional_type"

    def __init__(self, value: Value) -> None:
        self.value = value

    @property
    def present(self) -> bool:
        """Whether there is a value."""
        return self is not NONE

    def __eq__(self, other: object) -> bool:
        if type(other) is not Optional or self.present != other.present:
            return False
        return equal(self.value, other.value)

    def __hash__(self) -> int:
        return hash((Optional, self.present))

    def __repr__(self) -> str:
        return f"optional.of({self.value!r})" if self.present else "optional.none()"


NONE = Optional(None)


@dataclass(frozen=True, slots=True)
class ObjectValue:
    """`Object.spec.containers{name: 'a'}`: a dynamic object of the apply configuration."""

    type_name: str
    fields: Mapping[str, Value]

    @property
    def cel_type_name(self) -> str:
        """Its type, `Object.spec.containers`."""
        return self.type_name


@dataclass(frozen=True, slots=True)
class JSONPatchValue:
    """`JSONPatch{op: …, path: …}`; `fields` holds only what was set."""

    cel_type_name: ClassVar[str] = "JSONPatch"
    fields: Mapping[str, Value]


@runtime_checkable
class Opaque(Protocol):
    """Any other CEL value: `cel_type_name` on the class, `==` as CEL equality, an optional `to_json()`."""

    @property
    def cel_type_name(self) -> str:
        """The run-time type name, such as `kubernetes.Quantity`."""
        ...


_NATIVE_NAMES: dict[type, str] = {
    bool: "bool",
    int: "int",
    Uint: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    list: "list",
    dict: "map",
    type(None): "null_type",
}


def type_name(value: Value) -> str:
    """The run-time type name of a value: `int`, `null_type`, `list`, `google.protobuf.Duration`, …"""
    native = _NATIVE_NAMES.get(type(value))
    if native is not None:
        return native
    named = getattr(value, "cel_type_name", None)
    if named is not None:
        return str(named)
    if isinstance(value, Mapping):
        return "map"
    return "unknown"


_GO_TYPES: Mapping[str, str] = {
    "bool": "types.Bool",
    "bytes": "types.Bytes",
    "double": "types.Double",
    "google.protobuf.Duration": "types.Duration",
    "google.protobuf.Timestamp": "types.Timestamp",
    "int": "types.Int",
    "list": "*types.baseList",
    "map": "*types.baseMap",
    "null_type": "types.Null",
    "optional_type": "*types.Optional",
    "string": "types.String",
    "type": "*types.Type",
    "uint": "types.Uint",
}


def go_type(value: Value) -> str:
    """The Go type that cel-go has for a value, as some of its messages show it."""
    name = type_name(value)
    return _GO_TYPES.get(name, name)


_PLAIN = frozenset({str, int, bool, type(None), float, bytes, Uint})
_NUMBERS = frozenset({int, Uint, float})


_Pairs: TypeAlias = dict[tuple[int, int], tuple[Value, Value]]
"""Lists and maps that have been compared, by identity; kept, so that no other takes their place."""


def equal(left: Value, right: Value) -> bool:
    """CEL equality: numbers across their types, `true` is not 1, lists and maps by content, NaN never.

    A list that stands in another one several times is compared once, so that `[v, v]` of `[w, w]` of … takes
    no more time than there are lists.
    """
    kind = type(left)
    if kind is type(right) and kind in _PLAIN:
        return bool(left == right)
    try:
        return _equal(left, right, {})
    except RecursionError:
        return _equal_deep(left, right)


def _equal(left: Value, right: Value, seen: _Pairs) -> bool:
    """The same within a comparison: a pair that was `seen` is equal, or all would have ended there."""
    kind, other = type(left), type(right)
    if kind is other and kind in _PLAIN:
        return bool(left == right)
    if kind in _NUMBERS and other in _NUMBERS:
        return _equal_numbers(left, right)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and (
            _is_seen(left, right, seen) or all(map(_equal, left, right, repeat(seen)))
        )
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return len(left) == len(right) and (
            _is_seen(left, right, seen)
            or all(
                (match := find(right, key, _ABSENT)) is not _ABSENT and _equal(value, match, seen)
                for key, value in left.items()
            )
        )
    if kind is ObjectValue and other is ObjectValue:
        return _same_in_go(left, right, {})
    if kind is JSONPatchValue and other is JSONPatchValue:
        return _equal_patches(left.fields, right.fields, seen)
    if kind is Optional and other is Optional:
        return left.present == right.present and _equal(left.value, right.value, seen)
    if kind in _PLAIN or right is None:
        return False
    if kind is not other and _refuses_others(left):
        raise EvalError("no such overload")
    return kind is other and bool(left == right)


def _is_seen(left: Value, right: Value, seen: _Pairs) -> bool:
    """Whether two values have been compared before; from now on they have."""
    key = (id(left), id(right))
    if key in seen:
        return True
    seen[key] = left, right
    return False


def _refuses_others(value: Value) -> bool:
    """Whether a value is one of Kubernetes' own types, which compare with their like only."""
    return str(getattr(value, "cel_type_name", "")).startswith(("kubernetes.", "net."))


def _same_in_go(left: Value, right: Value, seen: _Pairs) -> bool:
    """Equality inside `Object…{}`, which is Go's `reflect.DeepEqual` of cel-go's values.

    It knows no numbers of other types, and a list, which holds a Go function, equals only itself.
    """
    if left is right and not isinstance(left, float):
        return True
    if type(left) is not type(right) or isinstance(left, list):
        return False
    match left:
        case ObjectValue():
            return left.type_name == right.type_name and _same_in_go(left.fields, right.fields, seen)
        case Optional():
            return left.present and right.present and _same_in_go(left.value, right.value, seen)
        case Timestamp():
            return (left.ns, left.offset) == (right.ns, right.offset)
        case JSONPatchValue():
            return _equal_patches(left.fields, right.fields, {})
        case Mapping():
            return len(left) == len(right) and (
                _is_seen(left, right, seen)
                or all(key in right and _same_in_go(value, right[key], seen) for key, value in left.items())
            )
        case _:
            return bool(left == right)


def _equal_patches(left: Mapping[str, Value], right: Mapping[str, Value], seen: _Pairs) -> bool:
    """Whether two `JSONPatch{}` are equal; a text that was not set is empty."""
    return all(left.get(name, "") == right.get(name, "") for name in ("op", "from", "path")) and (
        ("value" in left) == ("value" in right) and _equal(left.get("value"), right.get("value"), seen)
    )


def _equal_numbers(left: float, right: float) -> bool:
    """As cel-go compares them: an integer next to a double is rounded to a double first."""
    if type(left) is float or type(right) is float:
        try:
            return float(left) == float(right)
        except OverflowError:
            return False
    return left == right


def _equal_deep(left: Value, right: Value) -> bool:
    """The same for values nested deeper than Python's stack; cyclic values are compared once per pair."""
    pending: list[tuple[Value, Value]] = [(left, right)]
    seen: _Pairs = {}
    while pending:
        one, two = pending.pop()
        if isinstance(one, list) and isinstance(two, list):
            pairs = list(zip(one, two, strict=False))
        elif isinstance(one, Mapping) and isinstance(two, Mapping):
            pairs = [(value, find(two, key, _ABSENT)) for key, value in one.items()]
        elif type(one) is Optional and type(two) is Optional and one.present == two.present:
            pending.append((one.value, two.value))
            continue
        elif isinstance(one, (list, Mapping)) or isinstance(two, (list, Mapping)) or not _equal(one, two, {}):
            return False
        else:
            continue
        if len(one) != len(two) or any(match is _ABSENT for _, match in pairs):
            return False
        if not _is_seen(one, two, seen):
            pending.extend(pairs)
    return True


_ABSENT = object()


def find(mapping: Mapping[Any, Value], key: Value, default: Value = None) -> Value:
    """The value under a key, where numbers match across their types and `true` is not 1."""
    kind = type(key)
    if kind is str or type(mapping) is MixedMap:
        return mapping.get(key, default)
    if kind is bool or (kind in _NUMBERS and key in (0, 1)):
        for known, value in mapping.items():
            if (type(known) is bool) == (kind is bool) and known == key:
                return value
        return default
    if kind is bool or kind in _NUMBERS:
        return mapping.get(key, default)
    return default


def to_json(value: Value) -> Any:
    """A value as JSON data, as the API server converts it; `EvalError` for what has no JSON form."""
    try:
        return _json(value)
    except RecursionError:
        pass
    try:
        with room_for(_DEEPEST):
            return _json(value)
    except RecursionError:
        raise EvalError("the data is nested too deeply") from None


def _json(value: Value) -> Any:
    kind = type(value)
    if kind in (str, bool, type(None)):
        return value
    if kind is int or kind is Uint:
        return int(value) if abs(value) <= _SAFE_INT else str(int(value))
    if kind is float:
        return value if isfinite(value) else _SPECIAL_DOUBLES.get(value, "NaN")
    if isinstance(value, list):
        return [_json(item) for item in value]
    if isinstance(value, Mapping):
        return {_json_key(key): _json(item) for key, item in value.items()}
    if kind is ObjectValue:
        return {key: _native(item) for key, item in value.fields.items()}
    return _scalar_json(value)


_SAFE_INT = 2**53 - 1
_DEEPEST = 2000
_SPECIAL_DOUBLES = {inf: "Infinity", -inf: "-Infinity"}


def _native(value: Value) -> Any:
    """A field of an `Object…` as Go encodes it: null becomes 0 and a duration its nanoseconds."""
    kind = type(value)
    if value is None:
        return 0
    if kind is Duration:
        return value.ns
    if kind is Optional:
        return _native(value.value) if value.present else None
    if kind is ObjectValue:
        return _json(value)
    if isinstance(value, list):
        return [_native(item) for item in value]
    if isinstance(value, Mapping):
        return {_json_key(key): _native(item) for key, item in value.items()}
    if kind in (int, float, str, bool):
        return value
    return int(value) if kind is Uint else _scalar_json(value)


def _scalar_json(value: Value) -> Any:
    from policygen.cel import gotime

    match value:
        case bytes():
            return b64encode(value).decode()
        case Duration():
            return gotime.duration_text(value.ns)
        case Timestamp():
            return gotime.format_rfc3339(value.ns, value.offset)
        case _:
            convert = getattr(value, "to_json", None)
            if convert is None:
                raise EvalError(f"unsupported type: {type_name(value)}")
            return convert()


def _json_key(key: Value) -> str:
    if type(key) is not str:
        raise EvalError(f"unsupported map key type: {type_name(key)}")
    return key
