"""The structured merge: a patch laid over a live object by the rules of its schema.

structured-merge-diff `typed/merge.go` with the rule "the patch wins":

- a scalar, or anything atomic, is replaced;
- structs and granular maps merge field by field; a field that only one side has is taken from it;
- items of associative lists are matched by their keys (`map`) or value (`set`) and merged;
- null and empty: where both sides are empty the patch's form of emptiness stays; a null or empty patch over
  something merges nothing into it.

**Order of a merged list.** Walk both lists. Items that only the live list has stay where they are in relation
to the items around them; shared items appear in the patch's order; an item that the live list repeats is kept
once, where the patch puts it, and the live copies are not merged into it.

Nothing is copied that did not change: the result shares its parts with both inputs, which stay untouched, and
a merge that changes nothing gives the live object itself.
"""

from __future__ import annotations

from typing import Any

from policygen.kube.schema import KindSchema, ListOf, MapOf, Struct
from policygen.merge.fieldpath import Key
from policygen.merge.typed import (
    InvalidError,
    KeyedItemError,
    Problem,
    Type,
    Untyped,
    atomics,
    element_type,
    field_type,
    item_key,
    preserves,
    validate,
)

_SCALARS = frozenset({str, int, bool, float})

_DUPLICATE = object()
"""Stands for the items of a live list that share a key."""


class MergeError(Exception):
    """The patch cannot be applied; the text is the API server's."""


def apply(schema: KindSchema, live: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """Apply a patch as a mutating policy's ApplyConfiguration does (apiserver `patch/smd.go`).

    The patch must have its types and may touch nothing atomic.
    """
    try:
        validate(schema.root, patch)
    except InvalidError as error:
        raise MergeError(f"failed to convert patch object to typed object: {error}") from error
    touched = atomics(schema.root, patch)
    if touched:
        text = "may not mutate atomic arrays, maps or structs: " + ", ".join(touched)
        raise MergeError(f"invalid ApplyConfiguration: {text}")
    try:
        if not schema.builtin:  # a built-in kind has come out of typed structs
            validate(schema.root, live, allow_duplicates=True)
        merged: dict[str, Any] = merge(schema.root, live, patch)
    except InvalidError as error:
        raise MergeError(f"failed to convert original object to typed object: {error}") from error
    return merged


def merge(node: Type, live: Any, patch: Any, *, preserve: bool = False) -> Any:
    """Merge two values that both are present and have the type."""
    match node:
        case Struct() | MapOf():
            if node.atomic:
                return patch
            return _merge_map(node, live, patch, preserve)
        case ListOf():
            if node.list_type == "atomic" or (not live and not patch):
                return patch
            return _merge_list(node, live or [], patch or [], preserve)
        case Untyped():
            if not node.deep or not isinstance(live, dict):
                return patch
            if patch is None:
                return live or patch
            return _merge_free(node, live, patch) if isinstance(patch, dict) else patch
        case _:
            return patch


def _merge_map(node: Struct | MapOf, live: Any, patch: Any, preserve: bool) -> Any:
    if not patch:
        return live or patch
    if not live:
        return patch
    below = preserves(node, preserve)
    changes = {}
    for key, value in patch.items():
        new = value
        if key in live:
            found = field_type(node, key, preserve)
            new = value if found is None else merge(found, live[key], value, preserve=below)
            if _unchanged(new, live[key]):
                continue
        changes[key] = new
    return {**live, **changes} if changes else live


def _merge_free(node: Untyped, live: dict[str, Any], patch: dict[str, Any]) -> Any:
    if not patch:
        return live or patch
    merged = {key: merge(node, live[key], value) if key in live else value for key, value in patch.items()}
    changes = {
        key: value for key, value in merged.items() if key not in live or not _unchanged(value, live[key])
    }
    return {**live, **changes} if changes else live


def _unchanged(new: Any, old: Any) -> bool:
    """Whether a merged value is the live one; a map or list that merged to nothing new is the same object."""
    return new is old or (type(new) is type(old) and type(new) in _SCALARS and new == old)


def _merge_list(node: ListOf, live: list[Any], patch: list[Any], preserve: bool) -> list[Any]:
    """The order rule of structured-merge-diff, `visitListItems`."""
    live_keys, live_items = _index(node, live)
    patch_keys, patch_items = _index(node, patch)
    element = element_type(node)

    def merged(key: Key) -> Any:
        mine = live_items.get(key, _DUPLICATE)
        return (
            patch_items[key]
            if mine is _DUPLICATE
            else merge(element, mine, patch_items[key], preserve=preserve)
        )

    shared = iter([key for key in patch_keys if key in live_items])
    next_shared = next(shared, None)
    done: set[Key] = set()
    out: list[Any] = []
    at, patch_at = 0, 0
    live_size, patch_size = len(live_keys), len(patch_keys)
    while at < live_size or patch_at < patch_size:
        if at < live_size and patch_at < patch_size:
            key = live_keys[at]
            if key == patch_keys[patch_at]:
                done.add(key)
                out.append(merged(key))
                at += 1
                patch_at += 1
                next_shared = next(shared, None)
                continue
            if key in patch_items and next_shared is not None and next_shared != key:
                at += 1  # shared, but it is not its turn
                continue
        if at < live_size:
            key = live_keys[at]
            if key not in patch_items:
                out.append(live[at])
                at += 1
                continue
            if key in done:
                at += 1
        if patch_at < patch_size:
            key = patch_keys[patch_at]
            done.add(key)
            out.append(merged(key))
            patch_at += 1
            if next_shared == key:
                next_shared = next(shared, None)
    if len(out) == len(live) and all(map(_unchanged, out, live)):
        return live
    return out


def _index(node: ListOf, items: list[Any]) -> tuple[list[Key], dict[Key, Any]]:
    keys: list[Key] = []
    by_key: dict[Key, Any] = {}
    for index, item in enumerate(items):
        try:
            key = item_key(node, item)
        except KeyedItemError as error:
            raise InvalidError([Problem("", f"element {index}: {error}")]) from error
        by_key[key] = _DUPLICATE if key in by_key else item
        keys.append(key)
    return keys, by_key
