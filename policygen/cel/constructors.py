"""Steps that make lists, maps and structs (cel-go `evalList`, `evalMap`, `evalObj`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from policygen.cel.access import key_text
from policygen.cel.cost import LIST_COST, MAP_COST, STRUCT_COST
from policygen.cel.errors import EvalError
from policygen.cel.maps import put
from policygen.cel.patches import make_patch
from policygen.cel.steps import Frame, Step
from policygen.cel.values import NONE, ObjectValue, Optional, Value
from policygen.cel.wellknown import WELL_KNOWN, make_well_known


class MakeList:
    """`[a, ?b]`."""

    __slots__ = ("elements", "id", "optional")

    def __init__(self, node: int, elements: Sequence[Step], optional: frozenset[int]) -> None:
        self.id = node
        self.elements = elements
        self.optional = optional

    def eval(self, frame: Frame) -> Value:
        """Evaluate and count."""
        value = self._value(frame)
        frame.tracker.drop_args([element.id for element in self.elements])
        frame.tracker.cost += LIST_COST
        frame.tracker.push(self.id, value)
        return value

    def _value(self, frame: Frame) -> Value:
        made = []
        for index, element in enumerate(self.elements):
            value = element.eval(frame)
            if isinstance(value, EvalError):
                return value
            if index in self.optional:
                if type(value) is not Optional:
                    return EvalError(
                        f"cannot initialize optional list element from non-optional value {key_text(value)}"
                    )
                if value is NONE:
                    continue
                value = value.value
            made.append(value)
        return made


class MakeMap:
    """`{k: v, ?k: v}`."""

    __slots__ = ("entries", "id")

    def __init__(self, node: int, entries: Sequence[tuple[Step, Step, bool]]) -> None:
        self.id = node
        self.entries = entries

    def eval(self, frame: Frame) -> Value:
        """Evaluate and count."""
        value = self._value(frame)
        frame.tracker.drop_args([step.id for key, item, _ in self.entries for step in (key, item)])
        frame.tracker.cost += MAP_COST
        frame.tracker.push(self.id, value)
        return value

    def _value(self, frame: Frame) -> Value:
        made: Mapping[Any, Value] = {}
        for key_step, value_step, optional in self.entries:
            key = key_step.eval(frame)
            if isinstance(key, EvalError):
                return key
            value = value_step.eval(frame)
            if isinstance(value, EvalError):
                return value
            try:
                made = put(made, key, value, optional=optional)
            except EvalError as error:
                return error
        return made


class MakeStruct:
    """`Object.spec{field: value}`, `JSONPatch{…}`."""

    __slots__ = ("fields", "id", "type_name")

    def __init__(self, node: int, name: str, fields: Sequence[tuple[str, Step, bool]]) -> None:
        self.id = node
        self.type_name = name
        self.fields = fields

    def eval(self, frame: Frame) -> Value:
        """Evaluate and count."""
        value = self._value(frame)
        frame.tracker.drop_args([step.id for _, step, _ in self.fields])
        frame.tracker.cost += STRUCT_COST
        frame.tracker.push(self.id, value)
        return value

    def _value(self, frame: Frame) -> Value:
        made: Mapping[Any, Value] = {}
        for name, step, optional in self.fields:
            value = step.eval(frame)
            if isinstance(value, EvalError):
                return value
            try:
                made = put(made, name, value, optional=optional)
            except EvalError as error:
                return error
        try:
            return make_struct(self.type_name, made)
        except EvalError as error:
            return error


def make_struct(name: str, fields: Mapping[Any, Value]) -> Value:
    """A struct from its fields."""
    if name == "JSONPatch":
        return make_patch(fields)
    if name in WELL_KNOWN:
        return make_well_known(name, fields)
    return ObjectValue(name, fields)
