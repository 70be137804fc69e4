"""Label selectors: the object form, the text form of the command line, and matching.

Follows apimachinery `labels/selector.go` and `apis/meta/v1/helpers.go`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, cast

from policygen.kube import names

Operator: TypeAlias = Literal["In", "NotIn", "Exists", "DoesNotExist"]
OPERATORS: Final[tuple[Operator, ...]] = ("In", "NotIn", "Exists", "DoesNotExist")


class SelectorError(ValueError):
    """The selector means nothing; the text is the server's."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on a label."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether labels fulfil it; an absent label is `NotIn` everything."""
        match self.operator:
            case "In":
                return self.key in labels and labels[self.key] in self.values
            case "NotIn":
                return self.key not in labels or labels[self.key] not in self.values
            case "Exists":
                return self.key in labels
            case "DoesNotExist":
                return self.key not in labels

    def __str__(self) -> str:
        match self.operator:
            case "In" if len(self.values) == 1:
                return f"{self.key}={self.values[0]}"
            case "In":
                return f"{self.key} in ({','.join(self.values)})"
            case "NotIn":
                return f"{self.key} notin ({','.join(self.values)})"
            case "Exists":
                return self.key
            case "DoesNotExist":
                return f"!{self.key}"


@dataclass(frozen=True, slots=True)
class Selector:
    """All requirements must hold; with none, everything matches, and with `nothing`, nothing does."""

    requirements: tuple[Requirement, ...] = ()
    nothing: bool = False

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether labels are selected."""
        return not self.nothing and all(requirement.matches(labels) for requirement in self.requirements)

    def __str__(self) -> str:
        return ",".join(str(requirement) for requirement in self.requirements)


EVERYTHING: Final = Selector()
NOTHING: Final = Selector(nothing=True)


def from_object(selector: Mapping[str, Any] | None) -> Selector:
    """A selector from its object form: null selects nothing, an empty one everything.

    Raises `SelectorError`.
    """
    if selector is None:
        return NOTHING
    found = [
        Requirement(key, "In", (value,)) for key, value in sorted((selector.get("matchLabels") or {}).items())
    ]
    for entry in selector.get("matchExpressions") or ():
        operator = entry.get("operator", "")
        if operator not in OPERATORS:
            raise SelectorError(f'"{operator}" is not a valid label selector operator')
        values = tuple(sorted(entry.get("values") or ()))
        found.append(Requirement(entry.get("key", ""), cast("Operator", operator), values))
    for requirement in found:
        _check(requirement)
    return Selector(tuple(sorted(found, key=lambda requirement: requirement.key)))


_TOKEN: Final = re.compile(r"\s*(==|!=|=|!|,|\(|\)|[^\s=!,()]+)\s*")


def parse(text: str) -> Selector:
    """A selector from its text form: `app=a,tier in (x,y),!old`. Raises `SelectorError`."""
    tokens = _tokens(text)
    found = []
    at = 0
    while at < len(tokens):
        requirement, at = _requirement(tokens, at)
        _check(requirement)
        found.append(requirement)
        if at < len(tokens):
            if tokens[at] != "," or at + 1 == len(tokens):
                raise SelectorError(f"found '{tokens[at]}', expected: ',' or 'end of string'")
            at += 1
    return Selector(tuple(found))


def _tokens(text: str) -> list[str]:
    found = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            break
        found.append(match[1])
        at = match.end()
    return found


def _requirement(tokens: list[str], at: int) -> tuple[Requirement, int]:
    if tokens[at] == "!":
        return Requirement(_word(tokens, at + 1), "DoesNotExist"), at + 2
    key = _word(tokens, at)
    operator = tokens[at + 1] if at + 1 < len(tokens) else ","
    match operator:
        case ",":
            return Requirement(key, "Exists"), at + 1
        case "=" | "==":
            value, end = _value(tokens, at + 2)
            return Requirement(key, "In", (value,)), end
        case "!=":
            value, end = _value(tokens, at + 2)
            return Requirement(key, "NotIn", (value,)), end
        case "in" | "notin":
            values, end = _values(tokens, at + 2)
            return Requirement(key, "In" if operator == "in" else "NotIn", values), end
        case _:
            raise SelectorError(f"found '{operator}', expected: in, notin, =, ==, !=, gt, lt")


def _word(tokens: list[str], at: int) -> str:
    if at >= len(tokens) or tokens[at] in ("=", "==", "!=", "!", ",", "(", ")"):
        raise SelectorError(f"found '{tokens[at] if at < len(tokens) else ''}', expected: identifier")
    return tokens[at]


def _value(tokens: list[str], at: int) -> tuple[str, int]:
    """A value may be empty: `app=`."""
    if at >= len(tokens) or tokens[at] == ",":
        return "", at
    return _word(tokens, at), at + 1


def _values(tokens: list[str], at: int) -> tuple[tuple[str, ...], int]:
    if at >= len(tokens) or tokens[at] != "(":
        raise SelectorError(f"found '{tokens[at] if at < len(tokens) else ''}', expected: '('")
    try:
        end = tokens.index(")", at)
    except ValueError:
        raise SelectorError("found '', expected: ',' or ')'") from None
    text = "".join(tokens[at + 1 : end])
    return tuple(sorted(set(text.split(",")))), end + 1


def _check(requirement: Requirement) -> None:
    problems = names.qualified_name(requirement.key)
    if problems:
        raise SelectorError(f'key: Invalid value: "{requirement.key}": {"; ".join(problems)}')
    if requirement.operator in ("In", "NotIn") and not requirement.values:
        raise SelectorError(
            "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty"
        )
    if requirement.operator in ("Exists", "DoesNotExist") and requirement.values:
        shown = " ".join(requirement.values)
        raise SelectorError(
            f"values: Invalid value: [{shown}]: values set must be empty for exists and does not exist"
        )
    for index, value in enumerate(requirement.values):
        problems = names.label_value(value)
        if problems:
            raise SelectorError(
                f'values[{index}][{requirement.key}]: Invalid value: "{value}": {"; ".join(problems)}'
            )
