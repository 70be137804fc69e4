"""Conditions on devices -> CEL selectors; an attribute that a device lacks never aborts the allocation.

A selector is evaluated for every device that a driver publishes. Reading a name that the device does not have
is an error, and one error makes the allocator fail on that node (`dynamic-resource-allocation/structured`);
so each test is guarded by `has()`. An unknown domain alone is harmless: it reads as an empty map.
"""

from __future__ import annotations

from policygen.compiler.ir_objects import Selector
from policygen.compiler.model import Condition, Device
from policygen.compiler.places import Text


def class_selectors(device: Device) -> tuple[Selector, ...]:
    """The selectors of a DeviceClass; the driver comes first, as it decides most quickly."""
    driver = Selector(f"device.driver == {_text(device.driver)}", device.span)
    return (driver, *request_selectors(device.conditions, device.cel))


def request_selectors(conditions: tuple[Condition, ...], cel: tuple[Text, ...]) -> tuple[Selector, ...]:
    """One selector a condition, then the user's own."""
    own = tuple(Selector(text.value.strip(), text.span) for text in cel)
    return tuple(Selector(condition_cel(item), item.span) for item in conditions) + own


def condition_cel(condition: Condition) -> str:
    """One condition as CEL. A device that lacks the value does not satisfy it, whatever the operator."""
    source = "attributes" if condition.kind == "attribute" else "capacity"
    path = f"device.{source}[{_text(condition.domain)}].{condition.name}"
    match condition.operator:
        case "exists":
            return f"has({path})"
        case "absent":
            return f"!has({path})"
        case "contains" | "startsWith" | "endsWith":
            test = f"{path}.{condition.operator}({_text(str(condition.values[0]))})"
        case "in":
            test = _membership(path, condition)
        case "notIn":
            test = f"!({_membership(path, condition)})"
        case "==" | "!=" | "<" | "<=" | ">" | ">=":
            test = _comparison(path, condition.operator, condition.type, condition.values[0])
    return f"has({path}) && {test}"


def _membership(path: str, condition: Condition) -> str:
    if condition.type in {"version", "quantity"}:
        tests = [_comparison(path, "==", condition.type, value) for value in condition.values]
        return " || ".join(tests) if len(tests) == 1 else "(" + " || ".join(tests) + ")"
    return f"{path} in [{', '.join(_literal(value) for value in condition.values)}]"


def _comparison(path: str, operator: str, type_: str, value: str | int | bool) -> str:
    if type_ == "quantity":
        return f"{path}.compareTo(quantity({_text(str(value))})) {operator} 0"
    if type_ == "version":
        return f"{path}.compareTo(semver({_text(str(value))})) {operator} 0"
    if value is True and operator == "==":
        return path
    return f"{path} {operator} {_literal(value)}"


def _literal(value: str | int | bool) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else _text(value)


def _text(value: str) -> str:
    """A text as a CEL literal in single quotes."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\t", "\\t")
    return f"'{escaped}'"
