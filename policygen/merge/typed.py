"""A value against its schema (structured-merge-diff `typed/validate.go`), and what no patch may touch.

The checks word their findings as the API server does. A value may hold `Foreign` leaves: values of a patch
that are no JSON (an unsigned integer, a duration, CEL's null), which no type accepts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, TypeAlias

from policygen.kube.gotext import quote
from policygen.kube.schema import ANY, ListOf, MapOf, Node, Scalar, Struct
from policygen.merge.fieldpath import (
    Key,
    field_element,
    go_float,
    identity,
    index_element,
    key_element,
    value_element,
)


@dataclass(frozen=True, slots=True)
class Foreign:
    """A value of a Go type that structured-merge-diff does not know."""

    type: str
    """`%T`: `uint64`."""
    text: str
    """`%v`."""
    syntax: str
    """`%#v`."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A finding: where, and what in the server's words."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


@dataclass(frozen=True, slots=True, eq=False)
class Untyped:
    """Any value. `deep` maps merge key by key (a schema that preserves unknown fields), others as a whole."""

    deep: bool


Type: TypeAlias = Node | Untyped

DEDUCED: Final = Untyped(deep=True)
UNTYPED: Final = Untyped(deep=False)

_NUMERIC: Final = frozenset({"int32", "int64", "float"})
_TEXT: Final = frozenset({"string", "bytes", "duration"})


class InvalidError(Exception):
    """A value does not have its type."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems
        lines = [str(problem) for problem in problems]
        text = lines[0] if len(lines) == 1 else "\n".join(["errors:", *(f"  {line}" for line in lines)])
        super().__init__(text)


class KeyedItemError(Exception):
    """An item of an associative list that cannot be told from the others."""


def validate(root: Type, value: Any, *, allow_duplicates: bool = False) -> None:
    """Raise `InvalidError` when the value does not have the type.

    Duplicate items of an associative list are an error in a patch and allowed in a live object.
    """
    problems = list(_check(root, value, "", False, allow_duplicates))
    if problems:
        raise InvalidError(problems)


def atomics(root: Type, value: Any) -> list[str]:
    """Paths of the atomic lists, maps and structs in a patch, sorted (apiserver `patch/smd.go`)."""
    return sorted(_atomics(root, value, "", False))


def field_type(node: Struct | MapOf, name: str, preserve: bool) -> Type | None:
    """The type of a field, None where the schema declares none.

    An object without any property is free-form, and one that preserves unknown fields hands that down.
    """
    if isinstance(node, MapOf):
        return _resolved(node.value)
    found = node.fields.get(name)
    if found is not None:
        return _resolved(found.type)
    return DEDUCED if preserves(node, preserve) or not node.fields else None


def preserves(node: Node, inherited: bool) -> bool:
    """Whether undeclared fields of a struct are kept: by its own word, or by that of one around it."""
    return isinstance(node, Struct) and (node.preserve_unknown or (inherited and not node.name))


def element_type(node: ListOf) -> Type:
    """The type of a list's items."""
    return _resolved(node.element)


def _resolved(node: Node) -> Type:
    if type(node) is Scalar and node.kind == "raw":
        return DEDUCED if node is ANY else UNTYPED
    return node


def item_key(node: ListOf, item: Any) -> Key:
    """What identifies an item of an associative list; `KeyedItemError` when it cannot be told."""
    if node.list_type == "map":
        if type(item) is not dict:
            what = "a null element" if item is None else "non-map elements"
            raise KeyedItemError(f"associative list with keys may not have {what}")
        return tuple([identity(item[key]) if key in item else _default(node, key) for key in node.keys])
    if isinstance(item, dict):
        raise KeyedItemError("associative list without keys has an element that's a map type")
    if isinstance(item, list):
        raise KeyedItemError("not supported: associative list with lists as elements")
    if item is None:
        raise KeyedItemError("associative list without keys has an element that's an explicit null")
    return (identity(item),)


def item_element(node: ListOf, item: Any) -> str:
    """The path element of an item that has a key."""
    if node.list_type == "set":
        return value_element(item)
    return key_element((key, item[key] if key in item else _key_defaults(node)[key]) for key in node.keys)


def _default(node: ListOf, key: str) -> Any:
    defaults = _key_defaults(node)
    if key not in defaults:
        text = "associative list with keys has an element that omits key field"
        raise KeyedItemError(f"{text} {quote(key)} (and doesn't have default value)")
    return identity(defaults[key])


@cache
def _key_defaults(node: ListOf) -> dict[str, Any]:
    element = node.element
    if not isinstance(element, Struct):
        return {}
    fields = ((key, element.fields.get(key)) for key in node.keys)
    return {key: field.default for key, field in fields if field is not None and field.has_default}


def _check(node: Type, value: Any, path: str, preserve: bool, duplicates: bool) -> Iterator[Problem]:
    match node:
        case Scalar():
            problem = _scalar_problem(node, value)
            if problem is not None:
                yield Problem(path, problem)
        case Struct() | MapOf():
            yield from _check_map(node, value, path, preserve, duplicates)
        case ListOf():
            yield from _check_list(node, value, path, preserve, duplicates)
        case Untyped():
            if isinstance(value, Foreign):
                yield Problem(path, f"expected map, got &{{{value.text}}}")
            elif type(value) is dict:
                for key, item in value.items():
                    yield from _check(node, item, path + field_element(key), preserve, duplicates)
            elif type(value) is list:
                for index, item in enumerate(value):
                    yield from _check(UNTYPED, item, path + index_element(index), preserve, duplicates)


def _check_map(
    node: Struct | MapOf, value: Any, path: str, preserve: bool, duplicates: bool
) -> Iterator[Problem]:
    if value is None:
        return
    if type(value) is not dict:
        yield Problem(path, f"expected map, got {_wrapped(value)}")
        return
    below = preserves(node, preserve)
    for key, item in value.items():
        found = field_type(node, key, preserve)
        if found is None:
            yield Problem(path + field_element(key), "field not declared in schema")
            return
        yield from _check(found, item, path + field_element(key), below, duplicates)


def _check_list(node: ListOf, value: Any, path: str, preserve: bool, duplicates: bool) -> Iterator[Problem]:
    if value is None:
        return
    if type(value) is not list:
        yield Problem(path, f"expected list, got {_wrapped(value)}")
        return
    element = element_type(node)
    seen = set()
    for index, item in enumerate(value):
        if node.list_type == "atomic":
            step = index_element(index)
        else:
            try:
                key = item_key(node, item)
            except KeyedItemError as error:
                yield Problem(path, f"element {index}: {error}")
                return
            step = item_element(node, item)
            if key in seen and not duplicates:
                yield Problem(path, f"duplicate entries for key {step}")
            seen.add(key)
        yield from _check(element, item, path + step, preserve, duplicates)


def _scalar_problem(node: Scalar, value: Any) -> str | None:
    kind = type(value)
    if value is None:
        return None
    if node.kind in _NUMERIC:
        if kind is not int and kind is not float:
            return f"expected numeric (int or float), got {_go_type(value)}"
    elif node.kind == "bool":
        if kind is not bool:
            return f"expected boolean, got {_wrapped(value)}"
    elif node.kind in _TEXT and not _has_format(node):
        if kind is not str:
            return f"expected string, got &value.valueUnstructured{{Value:{_go_syntax(value)}}}"
    elif kind not in (int, float, str, bool):
        return f"expected any scalar, got {_wrapped(value)}"
    return None


def _has_format(node: Scalar) -> bool:
    """A string with a format other than `byte` is any scalar to the merge (kube-openapi `schemaconv`)."""
    return node.constraints is not None and node.constraints.format not in (None, "", "byte")


def _atomics(node: Type, value: Any, path: str, preserve: bool) -> Iterator[str]:
    match node:
        case Struct() | MapOf() if type(value) is dict:
            if node.atomic:
                yield path
            if type(node) is Struct:
                below = preserves(node, preserve)
                for key, item in value.items():
                    found = node.fields.get(key)
                    if found is not None:
                        yield from _atomics(_resolved(found.type), item, path + field_element(key), below)
        case ListOf() if type(value) is list:
            if node.list_type == "atomic":
                yield path
            element = element_type(node)
            for index, item in enumerate(value):
                yield from _atomics(element, item, path + index_element(index), preserve)
        case Untyped() if (type(value) is dict and not node.deep) or type(value) is list:
            yield path
            if type(value) is list:
                for index, item in enumerate(value):
                    yield from _atomics(UNTYPED, item, path + index_element(index), preserve)
        case _:
            return


def _wrapped(value: Any) -> str:
    """A value as Go's `%v` prints the pointer to the struct around it."""
    return f"&{{{_go_text(value)}}}"


def _go_text(value: Any) -> str:
    match value:
        case None:
            return "<nil>"
        case bool():
            return "true" if value else "false"
        case float():
            return go_float(value)
        case Foreign():
            return value.text
        case list():
            return "[" + " ".join(map(_go_text, value)) + "]"
        case dict():
            return "map[" + " ".join(f"{key}:{_go_text(value[key])}" for key in sorted(value)) + "]"
        case _:
            return str(value)


def _go_type(value: Any) -> str:
    match value:
        case Foreign():
            return value.type
        case bool():
            return "bool"
        case str():
            return "string"
        case list():
            return "[]interface {}"
        case dict():
            return "map[string]interface {}"
        case _:
            return "int64" if isinstance(value, int) else "float64"


def _go_syntax(value: Any) -> str:
    match value:
        case None:
            return "interface {}(nil)"
        case bool():
            return "true" if value else "false"
        case str():
            return quote(value)
        case float():
            return go_float(value)
        case Foreign():
            return value.syntax
        case list():
            return "[]interface {}{" + ", ".join(map(_go_syntax, value)) + "}"
        case dict():
            pairs = (f"{quote(key)}:{_go_syntax(value[key])}" for key in sorted(value))
            return "map[string]interface {}{" + ", ".join(pairs) + "}"
        case _:
            return str(value)
