"""What changed between two objects, as a list that can be read and applied.

Items of a list are matched by `name` where all have one, else as whole values. `apply(diff(a, b), a) == b`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Final, Literal, TypeAlias

from policygen.kube.gotext import quote

Step: TypeAlias = str | int


class _Absent:
    __slots__ = ()

    def __repr__(self) -> str:
        return "absent"


ABSENT: Final = _Absent()


@dataclass(frozen=True, slots=True)
class Change:
    """One change. `steps` locate it in the object as it is once all changes before it are applied."""

    op: Literal["add", "remove", "replace"]
    steps: tuple[Step, ...]
    path: str
    """For people: `spec.containers[name="main"].image`."""
    before: Any = ABSENT
    after: Any = ABSENT


def diff(before: Any, after: Any) -> list[Change]:
    """The changes that lead from one JSON value to another."""
    return list(_diff(before, after, (), ""))


def apply(changes: Iterable[Change], value: Any) -> Any:
    """The value after the changes; the value itself is not changed."""
    for change in changes:
        value = _apply(change, value, change.steps)
    return value


def _diff(before: Any, after: Any, steps: tuple[Step, ...], path: str) -> Iterator[Change]:
    if before is after:
        return
    if type(before) is dict and type(after) is dict:
        yield from _diff_maps(before, after, steps, path)
    elif type(before) is list and type(after) is list:
        yield from _diff_lists(before, after, steps, path)
    elif type(before) is not type(after) or before != after:
        yield Change("replace", steps, path, before, after)


def _diff_maps(
    before: dict[str, Any], after: dict[str, Any], steps: tuple[Step, ...], path: str
) -> Iterator[Change]:
    for key, value in before.items():
        below, shown = (*steps, key), _field(path, key)
        if key not in after:
            yield Change("remove", below, shown, before=value)
        else:
            yield from _diff(value, after[key], below, shown)
    for key, value in after.items():
        if key not in before:
            yield Change("add", (*steps, key), _field(path, key), after=value)


def _diff_lists(before: list[Any], after: list[Any], steps: tuple[Step, ...], path: str) -> Iterator[Change]:
    """From the end to the start, so that no change moves the place of a later one."""
    named = _named(before) and _named(after)
    left, right = (_keys(before, named), _keys(after, named))
    matched = SequenceMatcher(None, left, right, autojunk=False).get_opcodes()
    for tag, start, end, other_start, other_end in reversed(matched):
        if tag == "equal" or (tag == "replace" and not named and end - start == other_end - other_start):
            for offset in reversed(range(end - start)):
                index, item = start + offset, before[start + offset]
                shown = path + _item(item, index, named)
                yield from _diff(item, after[other_start + offset], (*steps, index), shown)
            continue
        for index in reversed(range(start, end)):
            item = before[index]
            yield Change("remove", (*steps, index), path + _item(item, index, named), before=item)
        for other in reversed(range(other_start, other_end)):
            item = after[other]
            yield Change("add", (*steps, start), path + _item(item, other, named), after=item)


def _named(items: list[Any]) -> bool:
    names = [item.get("name") if type(item) is dict else None for item in items]
    return all(isinstance(name, str) for name in names) and len(set(names)) == len(names)


def _keys(items: list[Any], named: bool) -> list[str]:
    return [item["name"] if named else json.dumps(item, sort_keys=True, default=repr) for item in items]


def _field(path: str, key: str) -> str:
    plain = key.replace("-", "").replace("_", "").isalnum()
    step = key if plain else f"[{quote(key)}]"
    return f"{path}.{step}" if path and plain else path + step


def _item(item: Any, index: int, named: bool) -> str:
    return f"[name={quote(item['name'])}]" if named else f"[{index}]"


def _apply(change: Change, value: Any, steps: tuple[Step, ...]) -> Any:
    if not steps:
        return change.after
    out = value.copy()
    step, *rest = steps
    if rest:
        out[step] = _apply(change, value[step], tuple(rest))
    elif change.op == "remove":
        del out[step]
    elif change.op == "add" and isinstance(step, int):
        out.insert(step, change.after)
    else:
        out[step] = change.after
    return out
