"""Rules by Go type, applied wherever the type occurs in an object: the form of defaults and conversions.

A node of a schema becomes one function when it is first needed; parts of an object in which no rule can apply
are not visited. Values that do not change are returned as they are, and nothing is changed in place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from policygen.kube import roundtrip
from policygen.kube.schema import KindSchema, ListOf, MapOf, Node, Scalar, Struct

Rule: TypeAlias = "tuple[str, Any] | Callable[[dict[str, Any]], Mapping[str, Any] | None]"
"""A field and what an absent one becomes, or a function from a struct to the fields that it changes.

A function that takes a field away gives it the value `REMOVED`.
"""

REMOVED: Final = object()
EMPTY_MAP: Final[Mapping[str, Any]] = {}
"""Stands for a new empty map."""

_NEVER: Final = object()
_Step: TypeAlias = Callable[[Any], Any]


@dataclass(frozen=True, slots=True, eq=False)
class TypeRules:
    """A table of rules by type, and the functions that were made of it."""

    table: Mapping[str, tuple[Rule, ...]]
    _steps: dict[Node, _Step | None] = field(default_factory=dict)

    def apply(self, value: dict[str, Any], schema: KindSchema) -> dict[str, Any]:
        """The object with the rules applied. It must be as Go encodes it (`roundtrip`)."""
        step = self._step(schema.root)
        out: dict[str, Any] = value if step is None else step(value)
        return out

    def _step(self, node: Node) -> _Step | None:
        """The function of a node, None when nothing in or below it has a rule."""
        if node in self._steps:
            return self._steps[node]
        found: _Step | None = None
        if self._concerned(node, ()):
            match node:
                case Struct():
                    found = self._struct(node)
                case ListOf():
                    found = _list(self._step(node.element))
                case MapOf():
                    found = _map(self._step(node.value))
                case Scalar():
                    found = None
        self._steps[node] = found
        return found

    def _concerned(self, node: Node, inside: tuple[Node, ...]) -> bool:
        match node:
            case Struct():
                if node.name in self.table:
                    return True
                if node in inside:
                    return False
                return any(self._concerned(below.type, (*inside, node)) for below in node.fields.values())
            case ListOf():
                return self._concerned(node.element, inside)
            case MapOf():
                return self._concerned(node.value, inside)
            case Scalar():
                return False

    def _struct(self, node: Struct) -> _Step:
        rules = self.table.get(node.name, ())
        constants = tuple((*rule, _absent(node, rule[0])) for rule in rules if isinstance(rule, tuple))
        functions = tuple(rule for rule in rules if not isinstance(rule, tuple))
        below: dict[str, _Step] = {}

        def build() -> None:
            """Fill the table on first use: a type may contain itself."""
            for name, declared in node.fields.items():
                found = self._step(declared.type)
                if found is not None:
                    below[name] = found

        pending = [build]

        def step(value: dict[str, Any]) -> dict[str, Any]:
            if pending:
                pending.pop()()
            out = _filled(value, constants)
            for function in functions:
                changes = function(out)
                if changes:
                    out = {name: item for name, item in (out | dict(changes)).items() if item is not REMOVED}
            return _stepped(out, below)

        return step


def _absent(node: Struct, name: str) -> Any:
    """The value that means the same as absence: Go always writes a field without `omitempty`."""
    declared = node.fields[name]
    return _NEVER if declared.omitempty else roundtrip.zero(declared)


def _filled(value: dict[str, Any], constants: tuple[tuple[str, Any, Any], ...]) -> dict[str, Any]:
    """The constants come first: functions of the same type read them."""
    out = value
    for name, constant, absent in constants:
        if name not in value or value[name] == absent:
            if out is value:
                out = dict(value)
            out[name] = {} if constant is EMPTY_MAP else constant
    return out


def _stepped(value: dict[str, Any], steps: Mapping[str, _Step]) -> dict[str, Any]:
    """A struct with its fields' own steps taken."""
    out = value
    for name, step in steps.items():
        item = value.get(name)
        if item is not None:
            new = step(item)
            if new is not item:
                if out is value:
                    out = dict(value)
                out[name] = new
    return out


def _list(inner: _Step | None) -> _Step | None:
    if inner is None:
        return None

    def step(value: list[Any]) -> list[Any]:
        out = value
        for index, item in enumerate(value):
            new = inner(item)
            if new is not item:
                if out is value:
                    out = list(value)
                out[index] = new
        return out

    return step


def _map(inner: _Step | None) -> _Step | None:
    if inner is None:
        return None

    def step(value: dict[str, Any]) -> dict[str, Any]:
        out = value
        for name, item in value.items():
            new = inner(item)
            if new is not item:
                if out is value:
                    out = dict(value)
                out[name] = new
        return out

    return step
