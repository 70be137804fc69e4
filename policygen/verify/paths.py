"""Places in an object as people write them in a suite: `spec.containers[name=main].env[name=RANK].value`.

Steps are names (`spec`), quoted names where there are dots or slashes (`labels["a.b/team"]`), positions
(`[0]`, `[-1]` from the end) and items of a list by the value of a field (`[name=main]`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from policygen.diagnostics import suggestion
from policygen.kube import schema as schemas
from policygen.kube.schema import KindSchema


@dataclass(frozen=True, slots=True)
class Where:
    """The item of a list whose field has this value; the value is compared as text."""

    field: str
    value: str


Step: TypeAlias = str | int | Where


class _Absent:
    __slots__ = ()

    def __repr__(self) -> str:
        return "absent"


ABSENT: Final = _Absent()
"""What `get` finds where there is nothing."""


class PathError(ValueError):
    """The text is no path; the message says why, in words for the user, and `hint` what may be meant."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


_NAME: Final = re.compile(r"[^.\[\]\"'\s]+")
_UNQUOTED: Final = re.compile(
    r"(?P<map>.*\b(?:limits|requests|labels|annotations|nodeSelector|matchLabels|hard))"
    r"\.(?P<key>[\w-]+(?:\.[\w-]+)+/[\w./-]+)"
)
"""A map whose keys have dots, and a key that is not quoted."""

_BARE: Final = re.compile(r"\[([A-Za-z_][\w.-]*)\]")
_BRACKET: Final = re.compile(
    r"""\[(?:"(?P<double>(?:[^"\\]|\\.)*)"|'(?P<single>[^']*)'|(?P<index>-?\d+)|(?P<field>[\w-]+)=(?P<value>"[^"]*"|[^\]]*))\]"""
)


def parse(text: str) -> tuple[Step, ...]:
    """The steps of a path; raises `PathError`."""
    unquoted = _UNQUOTED.fullmatch(text)
    if unquoted is not None:
        meant = f'{unquoted["map"].rpartition(".")[2]}["{unquoted["key"]}"]'
        raise PathError("a key with dots is quoted", f"write `{meant}`")
    found: list[Step] = []
    at = 0
    while at < len(text):
        if text[at] == "[":
            match = _BRACKET.match(text, at)
            if match is None:
                bare = _BARE.match(text, at)
                name = found[-1] if found and isinstance(found[-1], str) else ""
                hint = f"write `{name}[name={bare[1]}]`" if bare is not None else ""
                raise PathError(f'`{text[at:]}` is not `[0]`, `[name=value]` or `["key"]`', hint)
            found.append(_bracket(match))
        else:
            if text[at] == "." and found:
                at += 1
            match = _NAME.match(text, at)
            if match is None:
                raise PathError(
                    f"a name is expected at `{text[at:]}`" if at < len(text) else "the path ends in `.`"
                )
            found.append(match[0])
        at = match.end()
    if not found:
        raise PathError("the path is empty")
    return tuple(found)


def _bracket(match: re.Match[str]) -> Step:
    if match["index"] is not None:
        return int(match["index"])
    if match["field"] is not None:
        return Where(match["field"], match["value"].strip('"'))
    if match["double"] is not None:
        return re.sub(r"\\(.)", r"\1", match["double"])
    return match["single"]


def get(value: Any, steps: Sequence[Step]) -> Any:
    """What stands at a path, or `ABSENT`."""
    for step in steps:
        key = _key(value, step)
        if key is None:
            return ABSENT
        value = value[key]
    return value


def put(value: Any, steps: Sequence[Step], new: Any) -> Any:
    """A copy with a value at a path; absent parents are made, absent items appended."""
    if not steps:
        return new
    step, rest = steps[0], steps[1:]
    key = _key(value, step)
    if isinstance(step, str):
        below = value if isinstance(value, dict) else {}
        return {**below, step: put(below.get(step), rest, new)}
    items = list(value) if isinstance(value, list) else []
    if key is not None:
        items[key] = put(items[key], rest, new)
        return items
    fresh = {step.field: step.value} if isinstance(step, Where) and rest else None
    return [*items, put(fresh, rest, new)]


def remove(value: Any, steps: Sequence[Step]) -> Any:
    """A copy without what stands at a path; the value itself when nothing does."""
    key = _key(value, steps[0])
    if key is None:
        return value
    if len(steps) > 1:
        below = remove(value[key], steps[1:])
        if below is value[key]:
            return value
        if isinstance(value, dict):
            return {**value, key: below}
        return [*value[:key], below, *value[key + 1 :]]
    if isinstance(value, dict):
        return {name: item for name, item in value.items() if name != key}
    return [item for index, item in enumerate(value) if index != key]


def _key(value: Any, step: Step) -> Any:
    """The key or index of a step in a value, None where there is none."""
    match step:
        case str():
            return step if isinstance(value, dict) and step in value else None
        case int():
            if not isinstance(value, list) or not -len(value) <= step < len(value):
                return None
            return step % len(value)
        case Where():
            if isinstance(value, list):
                for index, item in enumerate(value):
                    if (
                        isinstance(item, dict)
                        and step.field in item
                        and as_text(item[step.field]) == step.value
                    ):
                        return index
            return None


def as_text(value: Any) -> str:
    """A scalar as it is written in a path."""
    if value is True or value is False:
        return str(value).lower()
    return str(value)


def undeclared(schema: KindSchema, steps: Sequence[Step]) -> tuple[str, str | None] | None:
    """The first step that the kind's schema does not declare, with a suggestion; None without one."""
    node: schemas.Node = schema.root
    for step in steps:
        below = schemas.child(node, step if isinstance(step, str) else schemas.ELEMENT)
        if below is None:
            fields = list(node.fields) if isinstance(node, schemas.Struct) else []
            name = step if isinstance(step, str) else show((step,))
            return name, suggestion(name, fields)
        node = below
    return None


def show(steps: Sequence[Step]) -> str:
    """Steps as text: the reverse of `parse`."""
    out = ""
    for step in steps:
        match step:
            case int():
                out += f"[{step}]"
            case Where():
                out += f"[{step.field}={step.value}]"
            case str():
                if _NAME.fullmatch(step):
                    out += f".{step}" if out else step
                else:
                    out += '["' + re.sub(r'(["\\])', r"\\\1", step) + '"]'
    return out
