"""Objects as JSON has them: copies, and reading and setting by path.

A path is a sequence of field names and list indices: `("spec", "containers", 0, "name")`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

Path: TypeAlias = Sequence[str | int]


def copy(value: Any) -> Any:
    """A deep copy of JSON data; scalars are shared. Several times as fast as `copy.deepcopy`."""
    if type(value) is dict:
        return {
            key: copy(item) if type(item) is dict or type(item) is list else item
            for key, item in value.items()
        }
    if type(value) is list:
        return [copy(item) if type(item) is dict or type(item) is list else item for item in value]
    return value


def get(value: Any, path: Path, default: Any = None) -> Any:
    """The value at a path; `default` where any step is absent or leads into a scalar."""
    for step in path:
        if isinstance(step, str):
            if not isinstance(value, dict) or step not in value:
                return default
        elif not isinstance(value, list) or not -len(value) <= step < len(value):
            return default
        value = value[step]
    return value


def has(value: Any, path: Path) -> bool:
    """Whether there is a value, be it null, at a path."""
    return get(value, path, _ABSENT) is not _ABSENT


def replaced(value: Any, path: Path, new: Any) -> Any:
    """The same data with another value at a path. Absent maps on the way are made; the input stays."""
    if not path:
        return new
    step, rest = path[0], path[1:]
    if isinstance(step, int):
        items = list(value)
        items[step] = replaced(items[step], rest, new)
        return items
    below = value.get(step) if isinstance(value, dict) else None
    return (value if isinstance(value, dict) else {}) | {step: replaced(below, rest, new)}


def removed(value: Any, path: Path) -> Any:
    """The same data without what is at a path, and the very same object where nothing is there."""
    if not path or not has(value, path):
        return value
    step, rest = path[0], path[1:]
    if isinstance(step, int):
        if not rest:
            return [*value[:step], *value[step:][1:]]
        return [removed(item, rest) if index == step else item for index, item in enumerate(value)]
    if not rest:
        return {key: item for key, item in value.items() if key != step}
    return value | {step: removed(value[step], rest)}


def labels(value: Mapping[str, Any]) -> dict[str, str]:
    """`metadata.labels`, empty when absent."""
    found = get(value, ("metadata", "labels"))
    return found if isinstance(found, dict) else {}


def identity(value: Mapping[str, Any]) -> tuple[str, str, str, str]:
    """apiVersion, kind, namespace and name; what is absent is empty."""
    metadata = value.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    return (
        str(value.get("apiVersion") or ""),
        str(value.get("kind") or ""),
        str(metadata.get("namespace") or ""),
        str(metadata.get("name") or metadata.get("generateName") or ""),
    )


def describe(value: Mapping[str, Any]) -> str:
    """An object as people name it: `Pod team-a/trainer`."""
    _, kind, namespace, name = identity(value)
    return f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"


def path_text(path: Iterable[str | int]) -> str:
    """A path as the API server prints it: `spec.containers[0].name`."""
    out = ""
    for step in path:
        if isinstance(step, int):
            out += f"[{step}]"
        else:
            out += f".{step}" if out else step
    return out


_ABSENT = object()
