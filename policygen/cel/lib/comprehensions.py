"""What the macros with two variables need: `cel.@mapInsert` (cel-go `ext/comprehensions.go`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from policygen.cel import types
from policygen.cel.access import key_text
from policygen.cel.decls import Example, FunctionDecl, Overload
from policygen.cel.errors import EvalError
from policygen.cel.maps import merged, put
from policygen.cel.operations import has_key
from policygen.cel.values import Value


def map_insert(target: Mapping[Any, Value], key: Value, value: Value) -> Mapping[Any, Value]:
    """The map with one more entry; its key must be new."""
    if has_key(target, key):
        raise already_there(key)
    return put({**target}, key, value) if type(target) is dict else merged(target, put({}, key, value))


def map_insert_all(target: Mapping[Any, Value], entries: Mapping[Any, Value]) -> Mapping[Any, Value]:
    """The map with the entries of another; their keys must be new."""
    for key in entries:
        if has_key(target, key):
            raise already_there(key)
    return merged(target, entries)


def already_there(key: Value) -> EvalError:
    """The error for a key that a map has already."""
    return EvalError(f"insert failed: key {key_text(key)} already exists")


_MAP: Final = types.map_of(types.param("K"), types.param("V"))

FUNCTIONS: Final = (
    FunctionDecl(
        "cel.@mapInsert",
        (
            Overload(
                "@mapInsert_map_map",
                (_MAP, _MAP),
                _MAP,
                map_insert_all,
                doc="what `transformMapEntry` becomes",
                examples=(
                    Example("{'a': 1}.transformMapEntry(k, v, {v: k}) == {1: 'a'}"),
                    Example(
                        "{'a': 1, 'b': 1}.transformMapEntry(k, v, {v: k})",
                        error="insert failed: key 1 already exists",
                    ),
                ),
            ),
            Overload(
                "@mapInsert_map_key_value",
                (_MAP, types.param("K"), types.param("V")),
                _MAP,
                map_insert,
                doc="what `transformMap` becomes",
                examples=(Example("{'a': 1}.transformMap(k, v, v + 1) == {'a': 2}"),),
            ),
        ),
    ),
)
