"""CEL values as YAML or JSON; what neither can say is written as CEL would print it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from math import isfinite
from typing import Any

from policygen.cel import gotime
from policygen.cel.values import (
    Duration,
    JSONPatchValue,
    ObjectValue,
    Optional,
    Timestamp,
    TypeValue,
    Uint,
    Value,
)

_DEEPEST = 100
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9._/()-]*( [A-Za-z0-9._/()-]+)*")
_WORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
"""What YAML does not read as text."""


def render(answer: Mapping[str, Value], output: str) -> str:
    """A mapping of values as a document."""
    data = {name: plain(value) for name, value in answer.items()}
    if output == "json":
        return json.dumps(data, ensure_ascii=False, indent=2) + "\n"
    return "".join(_entry(name, value) for name, value in data.items())


def _entry(name: str, value: Any) -> str:
    if isinstance(value, (list, dict)) and value:
        from policygen.kube.manifest import write

        return write({name: value})
    plainly = isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _WORDS
    return f"{name}: {value if plainly else json.dumps(value, ensure_ascii=False)}\n"


def plain(value: Value, depth: int = 0) -> Any:
    """A value as JSON data, for people to read."""
    if depth > _DEEPEST:
        return "…"
    match value:
        case None | bool() | str():
            return value
        case Uint():
            return int(value)
        case int():
            return value
        case float():
            return value if isfinite(value) else str(value)
        case bytes():
            return repr(value)[1:]
        case list():
            return [plain(item, depth + 1) for item in value]
        case Mapping():
            return {_key(key): plain(item, depth + 1) for key, item in value.items()}
        case Optional():
            return {"optional": plain(value.value, depth + 1)} if value.present else "optional.none()"
        case ObjectValue() | JSONPatchValue():
            return {_key(key): plain(item, depth + 1) for key, item in value.fields.items()}
        case Duration():
            return gotime.duration_text(value.ns)
        case Timestamp():
            return gotime.format_rfc3339(value.ns, value.offset)
        case TypeValue():
            return value.name
        case _:
            return str(value)


def _key(key: Value) -> str:
    return str(key).lower() if type(key) is bool else str(key)
