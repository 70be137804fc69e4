"""Looking into values: fields, keys and indices (cel-go `interpreter/attributes.go`, `refQualify`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from policygen.cel import gotime
from policygen.cel.errors import EvalError
from policygen.cel.gotext import format_double
from policygen.cel.values import (
    NONE,
    Duration,
    JSONPatchValue,
    ObjectValue,
    Optional,
    TypeValue,
    Uint,
    Value,
    find,
    go_type,
    type_name,
)

ABSENT: Final = object()
_PATCH_DEFAULTS: Final = {"op": "", "path": "", "from": "", "value": None}
_NUMBERS: Final = frozenset({int, Uint, float})
_BEYOND: Final = 2**63
_KEYS: Final = frozenset({str, int, Uint, float, bool})


def check_key(key: Value) -> None:
    """Raise when a value is neither a key nor an index."""
    if type(key) not in _KEYS:
        raise EvalError(f"invalid qualifier type: {go_type(key)}")


def key_text(key: Value) -> str:
    """A key, or another value, as Go prints it in error messages (`%v`)."""
    match key:
        case bool():
            return "true" if key else "false"
        case None:
            return "0"
        case float():
            return format_double(key)
        case int():
            return str(int(key))
        case bytes():
            return f"[{' '.join(map(str, key))}]"
        case list():
            return f"[{', '.join(map(key_text, key))}]"
        case Duration():
            return gotime.format_duration(key.ns)
        case _:
            return str(key)


def get(target: Value, key: Value) -> Value:
    """`target[key]`, `target.key`."""
    found = lookup(target, key)
    if found is not ABSENT:
        return found
    if type(target) is JSONPatchValue and key in _PATCH_DEFAULTS:
        return _PATCH_DEFAULTS[key]
    if isinstance(target, list):
        raise EvalError(f"index out of bounds: {key_text(key)}")
    raise EvalError(f"no such key: {key_text(key)}")


def lookup(target: Value, key: Value) -> Value:
    """The value under a key, or `ABSENT`; an error when the key is of the wrong kind."""
    check_key(key)
    if isinstance(target, list):
        index = list_index(key)
        return target[index] if 0 <= index < len(target) else ABSENT
    if isinstance(target, Mapping):
        if type(key) is str:
            try:
                return target[key]
            except KeyError:
                return ABSENT
        return find(target, key, ABSENT)
    if type(target) is JSONPatchValue:
        value = target.fields.get(key, ABSENT)
        return ABSENT if value == "" and key != "value" else value
    return ABSENT


def get_field(target: Value, name: str) -> Value:
    """`target.name` where the checker knows that the target is an `Object…{}`, which has every field."""
    if type(target) is ObjectValue:
        return as_data(target.fields[name]) if name in target.fields else None
    return get(target, name)


def lookup_field(target: Value, name: str) -> Value:
    """The same, or `ABSENT`. Where the checker does not know it, an `Object…{}` has no field at all."""
    if type(target) is ObjectValue:
        return as_data(target.fields[name]) if name in target.fields else ABSENT
    return lookup(target, name)


def as_data(value: Value) -> Value:
    """A field of `Object…{}` as it is read back: the server keeps objects as plain data by then."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return _plain(value)


def _plain(value: Value) -> Value:
    match value:
        case ObjectValue():
            return {name: as_data(item) for name, item in value.fields.items()}
        case Optional():
            return _plain(value.value) if value.present else None
        case TypeValue():
            return value.name
        case _:
            return value


def list_index(key: Value) -> int:
    """An index from a number, which may be a uint or a whole double (cel-go `IndexOrError`)."""
    if type(key) not in _NUMBERS:
        raise EvalError(f"unsupported index type '{type_name(key)}' in list")
    if type(key) is float and not (key.is_integer() and abs(key) < _BEYOND):
        raise EvalError(f"unsupported index value {key_text(key)} in list")
    if type(key) is Uint and key >= _BEYOND:
        raise EvalError(f"unsupported index value {key_text(key)} in list")
    return int(key)


def is_present(target: Value, key: Value) -> bool:
    """Whether `has(target.key)`."""
    return lookup(target, key) is not ABSENT


def optional_get(target: Value, key: Value) -> Optional:
    """`target.?key`, `target[?key]`; the target may be an optional."""
    if type(target) is Optional:
        if target is NONE:
            return NONE
        target = target.value
    found = lookup(target, key)
    return NONE if found is ABSENT else Optional(found)


def unwrap(value: Value) -> Any:
    """What is in an optional, or the value itself."""
    return value.value if type(value) is Optional else value
