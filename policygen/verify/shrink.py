"""The smallest object that still shows a fault: what can go, goes, as long as the fault stays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

MAX_TRIES = 120
"""Objects tried for one fault: a small example is worth little when it takes seconds."""

_KEPT = frozenset(
    {("apiVersion",), ("kind",), ("metadata",), ("metadata", "name"), ("metadata", "namespace")}
)


def shrink(obj: dict[str, Any], shows: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Remove keys and list items, from the outside in, while `shows` stays true."""
    if not shows(obj):
        return obj
    tries = 0
    progress = True
    while progress and tries < MAX_TRIES:
        progress = False
        for path in list(_removable(obj, ())):
            tries += 1
            if tries > MAX_TRIES:
                break
            smaller = _without(obj, path)
            if smaller is not None and shows(smaller):
                obj = smaller
                progress = True
    return obj


def _removable(value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
    """Places that may go: large parts first, items of a list from its end."""
    if isinstance(value, dict):
        for key in value:
            if (*path, key) not in _KEPT:
                yield (*path, key)
        for key, item in value.items():
            yield from _removable(item, (*path, key))
    elif isinstance(value, list):
        for index in reversed(range(len(value))):
            yield (*path, index)
        for index, item in enumerate(value):
            yield from _removable(item, (*path, index))


def _without(value: Any, path: tuple[str | int, ...]) -> Any:
    """A copy without a place, or None when it is gone already."""
    step, rest = path[0], path[1:]
    if isinstance(step, str):
        if not isinstance(value, dict) or step not in value:
            return None
        if not rest:
            return {key: item for key, item in value.items() if key != step}
        below = _without(value[step], rest)
        return None if below is None else {**value, step: below}
    if not isinstance(value, list) or step >= len(value):
        return None
    if not rest:
        return [*value[:step], *value[step + 1 :]]
    below = _without(value[step], rest)
    return None if below is None else [*value[:step], below, *value[step + 1 :]]
