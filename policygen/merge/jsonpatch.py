"""RFC 6902 as the API server applies it, which is not quite as the RFC says it.

The behaviour and texts of evanphx/json-patch v4 with its default options, called by apiserver
`patch/json_patch.go`:

- a `test` that fails raises `TestFailedError`: the caller leaves the object as it was;
- a path through an absent, null or scalar value is `missing path`; `replace` of an absent map key adds it;
- `-` is understood by `add` alone; negative indices count from the end (from behind the end for `add`);
- `copy` and `move` of an absent map key: `copy` writes null, `move` fails;
- an operation without `value` writes null;
- a null that an operation writes with `value: null` is a map without memory: it equals an empty map, and
  writing below it crashes the server.

Nothing is copied that does not lie on a changed path.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from policygen.kube.gotext import quote

_MISSING: Final = "missing value"
_ESCAPE: Final = re.compile(r"\\(.)")
_INDEX = re.compile(r"[+-]?[0-9]+").fullmatch


class PatchError(Exception):
    """The patch does not apply; the text is the server's without its prefix `JSON Patch: `."""


class TestFailedError(PatchError):
    """A `test` operation failed."""

    __test__ = False


class PatchPanicError(Exception):
    """The server would crash on this operation."""


class _NullMap(dict[str, Any]):
    """A null that an operation wrote, while the patch runs: Go reads it as a nil map."""


def apply(document: Any, operations: Sequence[Mapping[str, Any]]) -> Any:
    """The document after all operations. The document itself and the values are not changed."""
    for operation in operations:
        kind = operation.get("op", "")
        if _undecodable(kind):
            raise PatchError("Unexpected kind: unknown")
        handler = _HANDLERS.get(kind)
        if handler is None:
            raise PatchError(f"Unexpected kind: {kind}")
        document = handler(document, operation)
    if any("value" in operation and operation["value"] is None for operation in operations):
        return _settled(document)
    return document


def _settled(value: Any) -> Any:
    """The document with plain nulls."""
    match value:
        case _NullMap():
            return None
        case dict():
            return {key: _settled(item) for key, item in value.items()}
        case list():
            return [_settled(item) for item in value]
        case _:
            return value


def _value(operation: Mapping[str, Any]) -> Any:
    """What an operation writes."""
    value = operation.get("value")
    return _NullMap() if value is None and "value" in operation else value


def escape(key: str) -> str:
    """A key as one step of a path."""
    return key.replace("~", "~0").replace("/", "~1")


def _undecodable(text: str) -> str:
    """The letter of an escape that Go writes and JSON does not know: the server quotes as Go does.

    `strconv.Quote` writes control characters, and unprintable ones beyond U+FFFF, as a, v, x or U behind a
    backslash.
    """
    if text.isprintable():
        return ""
    return next((found[1] for found in _ESCAPE.finditer(quote(text)) if found[1] in "avxU"), "")


def _path(operation: Mapping[str, Any], key: str = "path") -> str:
    """The path of an operation, or its source with the key `from`."""
    path = str(operation[key])
    letter = _undecodable(path)
    if letter:
        kind = operation["op"]
        lost = key == "path" and kind in ("add", "remove", "copy")
        text = _MISSING if lost else f"invalid character '{letter}' in string escape code"
        raise PatchError(f"{kind} operation failed to decode {key}: {text}")
    return path


def _add(document: Any, operation: Mapping[str, Any]) -> Any:
    path = _path(operation)
    document, parent, key = _open(document, path)
    if parent is None:
        raise PatchError(f'add operation does not apply: doc is missing path: "{path}": {_MISSING}')
    _insert(parent, key, _value(operation), f"error in add for path: '{path}'")
    return document


def _remove(document: Any, operation: Mapping[str, Any]) -> Any:
    path = _path(operation)
    document, parent, key = _open(document, path)
    if parent is None:
        raise PatchError(f'remove operation does not apply: doc is missing path: "{path}": {_MISSING}')
    _delete(parent, key, f"error in remove for path: '{path}'")
    return document


def _replace(document: Any, operation: Mapping[str, Any]) -> Any:
    path = _path(operation)
    value = _value(operation)
    if path == "":
        if "value" not in operation:
            raise PatchPanicError("a `replace` of the whole document without a value")
        if not isinstance(value, (dict, list)):
            raise PatchError("replace operation value must be object or array: %!w(<nil>)")
        return value
    document, parent, key = _open(document, path)
    if parent is None:
        raise PatchError(f"replace operation does not apply: doc is missing path: {path}: {_MISSING}")
    if type(parent) is list:
        try:
            parent[_position(parent, key)] = value
        except PatchError:
            text = f"replace operation does not apply: doc is missing key: {path}: {_MISSING}"
            raise PatchError(text) from None
    else:
        _write(parent, key, value)
    return document


def _move(document: Any, operation: Mapping[str, Any]) -> Any:
    source = _source(operation, "move")
    document, parent, key = _open(document, source)
    if parent is None:
        raise PatchError(f"move operation does not apply: doc is missing from path: {source}: {_MISSING}")
    try:
        value = _get(parent, key)
    except PatchError as error:
        raise PatchError(f"error in move for path: '{key}': {error}") from None
    _delete(parent, key, f"error in move for path: '{key}'")
    path = _path(operation)
    document, parent, key = _open(document, path)
    if parent is None:
        raise PatchError(
            f"move operation does not apply: doc is missing destination path: {path}: {_MISSING}"
        )
    _insert(parent, key, value, f"error in move for path: '{path}'")
    return document


def _copy(document: Any, operation: Mapping[str, Any]) -> Any:
    source = _source(operation, "copy")
    parent, key = _find(document, source)
    if parent is None:
        raise PatchError(f"copy operation does not apply: doc is missing from path: {source}: {_MISSING}")
    try:
        value = _get(parent, key)
    except PatchError as error:
        raise PatchError(f"error in copy for from: '{source}': {error}") from None
    path = _path(operation)
    document, parent, key = _open(document, path)
    if parent is None:
        raise PatchError(
            f"copy operation does not apply: doc is missing destination path: {path}: {_MISSING}"
        )
    _insert(parent, key, value, "error while adding value during copy")
    return document


def _test(document: Any, operation: Mapping[str, Any]) -> Any:
    path = _path(operation)
    if path == "":
        found = document
    else:
        parent, key = _find(document, path)
        if parent is None:
            raise PatchError(f"test operation does not apply: is missing path: {path}: {_MISSING}")
        try:
            found = _get(parent, key)
        except PatchError as error:
            raise PatchError(f"error in test for path: '{path}': {error}") from None
    absent = "value" not in operation
    # a null in the patch is a value that equals neither an absent one nor a null
    same = absent if found is None else not absent and _same(found, _value(operation))
    if not same:
        raise TestFailedError(f"testing value {path} failed: test failed")
    return document


_HANDLERS: Final = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}


def _source(operation: Mapping[str, Any], kind: str) -> str:
    source = operation.get("from")
    if source is None:
        raise PatchError(f"{kind} operation failed to decode from: operation, missing from field: {_MISSING}")
    return _path(operation, "from")


def _steps(path: str) -> list[str]:
    if "~" not in path:
        return path.split("/")
    return [step.replace("~1", "/").replace("~0", "~") for step in path.split("/")]


def _find(document: Any, path: str) -> tuple[Any, str]:
    """The container of a path's last step, to read from; None when the path leads nowhere."""
    steps = _steps(path)
    if len(steps) < 2:
        return None, ""
    at = document
    for step in steps[1:-1]:
        at = _step(at, step)
        if at is None:
            return None, ""
    return at, steps[-1]


def _open(document: Any, path: str) -> tuple[Any, Any, str]:
    """The document with every container on the path copied, the last of them, and the last step."""
    steps = _steps(path)
    if len(steps) < 2 or _find(document, path)[0] is None:
        return document, None, ""
    at = root = _copied(document)
    for step in steps[1:-1]:
        index: Any = _position(at, step) if type(at) is list else step
        below = _copied(at[index])
        at[index] = below
        at = below
    return root, at, steps[-1]


def _copied(container: Any) -> Any:
    return container if type(container) is _NullMap else container.copy()


def _write(container: dict[str, Any], key: str, value: Any) -> None:
    if type(container) is _NullMap:
        raise PatchPanicError(f"`{key}` is written below a null that the patch itself has written")
    container[key] = value


def _step(container: Any, step: str) -> Any:
    """One step down to another container, None when there is none."""
    try:
        found = _get(container, step)
    except PatchError:
        return None
    return found if isinstance(found, (dict, list)) else None


def _get(container: Any, key: str) -> Any:
    """The value under a key (None when a map lacks it) or at an index (an error when out of range)."""
    if isinstance(container, dict):
        return container.get(key)
    return container[_position(container, key)]


def _position(items: list[Any], key: str) -> int:
    index = _integer(key)
    if index >= len(items) or index < -len(items):
        raise PatchError(f"Unable to access invalid index: {index}: invalid index referenced")
    return index + len(items) if index < 0 else index


def _integer(key: str) -> int:
    if _INDEX(key) is None:
        raise PatchError(f"strconv.Atoi: parsing {quote(key)}: invalid syntax")
    index = int(key)
    if not -(2**63) <= index < 2**63:
        raise PatchError(f"strconv.Atoi: parsing {quote(key)}: value out of range")
    return index


def _insert(container: Any, key: str, value: Any, context: str) -> None:
    if isinstance(container, dict):
        _write(container, key, value)
        return
    if key == "-":
        container.append(value)
        return
    try:
        index = _integer(key)
    except PatchError as error:
        text = f"{context}: value was not a proper array index: '{key}': {error}"
        raise PatchError(text) from None
    size = len(container) + 1
    if index >= size or index < -size:
        raise PatchError(f"{context}: Unable to access invalid index: {index}: invalid index referenced")
    container.insert(index + size if index < 0 else index, value)


def _delete(container: Any, key: str, context: str) -> None:
    if isinstance(container, dict):
        if key not in container:
            raise PatchError(f"{context}: Unable to remove nonexistent key: {key}: {_MISSING}")
        del container[key]
        return
    try:
        del container[_position(container, key)]
    except PatchError as error:
        raise PatchError(f"{context}: {error}") from None


def _same(left: Any, right: Any) -> bool:
    """JSON equality; a number is compared by its digits, and `true` is not 1.

    Neither side is null, as a value that an operation has is a `_NullMap`: that equals an empty map, and on
    the right an empty list too.
    """
    if isinstance(left, dict):
        return (
            isinstance(right, dict)
            and left.keys() == right.keys()
            and all(_same_items(value, right[key]) for key, value in left.items())
        )
    if isinstance(left, list):
        if type(right) is _NullMap:
            return not left
        return isinstance(right, list) and len(left) == len(right) and all(map(_same_elements, left, right))
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    return bool(left == right)


def _same_items(left: Any, right: Any) -> bool:
    return left is right if left is None or right is None else _same(left, right)


def _same_elements(left: Any, right: Any) -> bool:
    if left is None or right is None:
        raise PatchPanicError("a `test` compares lists, and an element is null")
    return _same(left, right)
