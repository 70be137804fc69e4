"""How a place in an object is written (structured-merge-diff `fieldpath/element.go`, `value/value.go`).

`.spec.containers[name="main"].ports[containerPort=80,protocol="TCP"]`, `[="value"]` in a set, `[0]` by index.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal
from typing import Any, TypeAlias

from policygen.kube.gotext import quote

Key: TypeAlias = tuple[Any, ...]
"""What two items of an associative list have in common when they are the same item."""


def field_element(name: str) -> str:
    """A field or map key."""
    return "." + name


def index_element(index: int) -> str:
    """A position in an atomic list."""
    return f"[{index}]"


def key_element(pairs: Iterable[tuple[str, Any]]) -> str:
    """An item of a list map, by its keys in alphabetical order."""
    return "[" + ",".join(f"{name}={value_text(value)}" for name, value in sorted(pairs, key=_first)) + "]"


def value_element(value: Any) -> str:
    """An item of a set."""
    return f"[={value_text(value)}]"


def value_text(value: Any) -> str:
    """A value inside a path element."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return go_float(value)
        case str():
            return quote(value)
        case list():
            return "[" + ",".join(map(value_text, value)) + "]"
        case dict():
            return "{" + ";".join(f"{key}={value_text(value[key])}" for key in sorted(value)) + "}"
        case _:
            return "{{undefined}}"


def identity(value: Any) -> Any:
    """A hashable stand-in: equal for equal values, and `true` is not 1."""
    kind = type(value)
    if kind is str or kind is int:
        return value
    if kind is bool:
        return ("bool", value)
    if kind is list:
        return ("list", *map(identity, value))
    if kind is dict:
        return ("map", *((key, identity(value[key])) for key in sorted(value)))
    return value


def go_float(value: float) -> str:
    """A float64 as Go's `%v` prints it: shortest digits, an exponent below -4 and from 21 on."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, digits)).rstrip("0")
    minus = "-" if sign else ""
    if not text:
        return minus + "0"
    power = exponent + len(digits) - 1
    if power < -4 or power >= 21:
        body = text[0] + ("." + text[1:] if len(text) > 1 else "")
        return f"{minus}{body}e{'-' if power < 0 else '+'}{abs(power):02d}"
    if power < 0:
        return f"{minus}0.{'0' * (-power - 1)}{text}"
    whole, fraction = text[: power + 1].ljust(power + 1, "0"), text[power + 1 :]
    return f"{minus}{whole}.{fraction}" if fraction else minus + whole


def _first(pair: tuple[str, Any]) -> str:
    return pair[0]
