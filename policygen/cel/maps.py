"""Maps in the making: literals, and what macros build entry by entry (cel-go `types/map.go`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policygen.cel.access import key_text
from policygen.cel.errors import EvalError, ServerPanicError
from policygen.cel.values import NONE, MixedMap, Optional, Value


def put(
    made: Mapping[Any, Value], key: Value, value: Value, *, optional: bool = False
) -> Mapping[Any, Value]:
    """Add an entry to a map that is being made; the map may become another one."""
    if optional:
        if type(value) is not Optional:
            entry, shown = key_text(key), key_text(value)
            raise EvalError(f"cannot initialize optional entry '{entry}' from non-optional value {shown}")
        if value is NONE:
            return without(made, key)
        value = value.value
    if type(key) is bytes:
        raise ServerPanicError("runtime error: hash of unhashable type types.Bytes")
    if not isinstance(made, MixedMap) and _needs_mixed(made, key):
        made = MixedMap(made)
    if isinstance(made, MixedMap):
        made.put(key, value)
    else:
        assert isinstance(made, dict)
        made[key] = value
    return made


def merged(target: Mapping[Any, Value], entries: Mapping[Any, Value]) -> Mapping[Any, Value]:
    """A new map with the entries of both."""
    made: Mapping[Any, Value] = MixedMap(target) if isinstance(target, MixedMap) else dict(target)
    for key, value in entries.items():
        made = put(made, key, value)
    return made


def without(made: Mapping[Any, Value], key: Value) -> Mapping[Any, Value]:
    """The map without a key."""
    return {known: value for known, value in made.items() if not _is_same(known, key)}


def _is_same(known: Value, key: Value) -> bool:
    return type(known) is type(key) and bool(known == key)


def _needs_mixed(made: Mapping[Any, Value], key: Value) -> bool:
    """Whether a key cannot stand in a `dict` beside the others: it has no hash, or equals another kind's."""
    if type(key) is str:
        return False
    try:
        found = key in made
    except TypeError:
        return True
    return found and any(known == key and type(known) is not type(key) for known in made)
