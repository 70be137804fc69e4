"""Selections as cel-go evaluates them: a variable or a value, and what is looked up in it, one by one.

A chain such as `object.spec.containers[0].name` is one attribute with four qualifiers; each costs 1 when it
is applied, and the whole 1 more (cel-go `interpreter/attributes.go`).
"""

from __future__ import annotations

from typing import TypeAlias

from policygen.cel.access import ABSENT, get, get_field, lookup, lookup_field
from policygen.cel.cost import IDENT_COST
from policygen.cel.errors import EvalError, NoSuchOverloadError
from policygen.cel.steps import Frame, Step
from policygen.cel.values import NONE, Optional, Value


class ConstQualifier:
    """`.name`, `[0]`, `.?name`, `[?0]`. `field` is true where the checker knows the struct."""

    __slots__ = ("_get", "_lookup", "id", "key", "optional")

    def __init__(self, node: int, key: Value, *, optional: bool, field: bool = False) -> None:
        self.id = node
        self.key = key
        self.optional = optional
        self._get = get_field if field else get
        self._lookup = lookup_field if field else lookup

    def qualify(self, frame: Frame, target: Value) -> Value:
        """The value, or raise."""
        try:
            found = self._get(target, self.key)
        except EvalError as error:
            _observe(frame, self.id, error)
            raise
        _observe(frame, self.id, found)
        return found

    def qualify_if_present(self, frame: Frame, target: Value) -> Value:
        """The value, or `ABSENT`."""
        found = self._lookup(target, self.key)
        if found is not ABSENT:
            _observe(frame, self.id, found)
        return found


class TestQualifier:
    """The last name of `has(a.b)`."""

    __slots__ = ("_lookup", "id", "key", "optional")
    __test__ = False

    def __init__(self, node: int, key: str, *, field: bool = False) -> None:
        self.id = node
        self.key = key
        self.optional = False
        self._lookup = lookup_field if field else lookup

    def qualify(self, frame: Frame, target: Value) -> Value:
        """The value, or raise."""
        try:
            present = self._lookup(target, self.key) is not ABSENT
        except EvalError as error:
            _observe(frame, self.id, error)
            raise
        _observe(frame, self.id, present)
        return present

    def qualify_if_present(self, frame: Frame, target: Value) -> Value:
        """The value, or `ABSENT`."""
        found = self._lookup(target, self.key)
        if found is not ABSENT:
            _observe(frame, self.id, found)
        return found


class AttributeQualifier:
    """`[expr]`, where the index is itself an attribute."""

    __slots__ = ("attribute", "id", "optional")

    def __init__(self, node: int, attribute: Attribute, *, optional: bool) -> None:
        self.id = node
        self.attribute = attribute
        self.optional = optional

    def qualify(self, frame: Frame, target: Value) -> Value:
        """The value, or raise."""
        try:
            found = get(target, self.attribute.resolve(frame))
        except EvalError as error:
            _observe(frame, self.id, error)
            raise
        _observe(frame, self.id, found)
        return found

    def qualify_if_present(self, frame: Frame, target: Value) -> Value:
        """The value, or `ABSENT`."""
        found = lookup(target, self.attribute.resolve(frame))
        if found is not ABSENT:
            _observe(frame, self.id, found)
        return found


Qualifier: TypeAlias = ConstQualifier | TestQualifier | AttributeQualifier


def _observe(frame: Frame, node: int, value: Value) -> None:
    frame.tracker.cost += 1
    frame.tracker.push(node, value)


def _apply(frame: Frame, target: Value, qualifiers: list[Qualifier]) -> Value:
    """Look up one after the other; after an optional one an absent key gives `optional.none()`."""
    is_optional = type(target) is Optional
    if is_optional:
        if target is NONE:
            return NONE
        target = target.value
    for qualifier in qualifiers:
        is_optional = is_optional or qualifier.optional
        if is_optional:
            target = qualifier.qualify_if_present(frame, target)
            if target is ABSENT:
                return NONE
        else:
            target = qualifier.qualify(frame, target)
    return Optional(target) if is_optional else target


class Absolute:
    """A variable with qualifiers."""

    __slots__ = ("_id", "name", "qualifiers")

    def __init__(self, node: int, name: str) -> None:
        self._id = node
        self.name = name
        self.qualifiers: list[Qualifier] = []

    @property
    def id(self) -> int:
        """The id that its value has: that of the last qualifier."""
        return self.qualifiers[-1].id if self.qualifiers else self._id

    def add(self, qualifier: Qualifier) -> None:
        """Look up one more."""
        self.qualifiers.append(qualifier)

    def resolve(self, frame: Frame) -> Value:
        """The value, or raise."""
        target = frame.resolve(self.name)
        return _apply(frame, target, self.qualifiers) if self.qualifiers else target


class Relative:
    """Any other value with qualifiers."""

    __slots__ = ("_id", "operand", "qualifiers")

    def __init__(self, node: int, operand: Step) -> None:
        self._id = node
        self.operand = operand
        self.qualifiers: list[Qualifier] = []

    @property
    def id(self) -> int:
        """The id that its value has: that of the last qualifier."""
        return self.qualifiers[-1].id if self.qualifiers else self._id

    def add(self, qualifier: Qualifier) -> None:
        """Look up one more."""
        self.qualifiers.append(qualifier)

    def resolve(self, frame: Frame) -> Value:
        """The value, or raise."""
        target = self.operand.eval(frame)
        if isinstance(target, EvalError):
            raise target
        return _apply(frame, target, self.qualifiers) if self.qualifiers else target


class Conditional:
    """`condition ? a : b`; qualifiers go to both branches."""

    __slots__ = ("_id", "condition", "falsy", "truthy")

    def __init__(self, node: int, condition: Step, truthy: Attribute, falsy: Attribute) -> None:
        self._id = node
        self.condition = condition
        self.truthy = truthy
        self.falsy = falsy

    @property
    def id(self) -> int:
        """The id that its value has: that of the last qualifier."""
        return self.truthy.id if self.truthy.id == self.falsy.id else self._id

    def add(self, qualifier: Qualifier) -> None:
        """Look up one more."""
        self.truthy.add(qualifier)
        self.falsy.add(qualifier)

    def resolve(self, frame: Frame) -> Value:
        """The value, or raise."""
        value = self.condition.eval(frame)
        if value is True:
            return self.truthy.resolve(frame)
        if value is False:
            return self.falsy.resolve(frame)
        raise value if isinstance(value, EvalError) else NoSuchOverloadError()


Attribute: TypeAlias = Absolute | Relative | Conditional


class AttributeStep:
    """An attribute as a value. `tests` is true for `has(…)`, which costs no more than its qualifiers."""

    __slots__ = ("attribute", "tests")

    def __init__(self, attribute: Attribute, *, tests: bool = False) -> None:
        self.attribute = attribute
        self.tests = tests

    @property
    def id(self) -> int:
        """The id that its value has: that of the last qualifier."""
        return self.attribute.id

    def eval(self, frame: Frame) -> Value:
        """Resolve and count."""
        try:
            value = self.attribute.resolve(frame)
            if self.tests and type(value) is Optional:
                value = value.present
        except EvalError as error:
            value = error
        tracker, attribute = frame.tracker, self.attribute
        if isinstance(attribute, Conditional):
            tracker.drop(attribute.falsy.id, attribute.truthy.id, attribute.condition.id)
        else:
            tracker.drop(attribute.id)
            if not self.tests:
                tracker.cost += IDENT_COST
        tracker.push(self.id, value)
        return value
