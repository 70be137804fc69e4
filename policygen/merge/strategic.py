"""Strategic merge patches: what `kubectl patch` and `kubectl edit` send for built-in kinds.

Apimachinery `pkg/util/strategicpatch/patch.go` as the API server calls it (`StrategicMergeMapPatch`: parallel
lists are merged, nulls that match nothing are dropped). Lists that the type declares with the patch strategy
`merge` are merged by their key, or as sets; every other list is replaced.

Directives: `$patch` (`replace`, `delete`, `merge`) in an object or a list's item, `$retainKeys`,
`$deleteFromPrimitiveList/<field>` and `$setElementOrder/<field>`.

Nothing is changed in place.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from policygen.kube.schema import Field, KindSchema, ListOf, MapOf, Node, Struct

Object: TypeAlias = dict[str, Any]

_PATCH: Final = "$patch"
_RETAIN: Final = "$retainKeys"
_DELETE: Final = "$deleteFromPrimitiveList/"
_ORDER: Final = "$setElementOrder/"
_PLAIN: Final = Field(type=Struct(name="", fields={}))
"""A field of which nothing is declared."""


class StrategicMergeError(Exception):
    """The patch cannot be applied; the text is the API server's."""


def apply(schema: KindSchema, live: Object, patch: Object) -> Object:
    """The live object with the patch laid over it."""
    if not schema.builtin:
        raise StrategicMergeError("unsupported media type: a custom resource takes no strategic merge patch")
    return _merge_map(schema.root, live, patch)


def _merge_map(node: Node, live: Object, patch: Object) -> Object:
    if _PATCH in patch:
        patch = dict(patch)
        match patch.pop(_PATCH):
            case "replace":
                return patch
            case "delete":
                return {}
            case "merge":
                pass
            case other:
                raise StrategicMergeError(f"Unknown patch type {json.dumps(other)} in map")
    out = _retain(live, patch)
    _put_in_order(node, out, patch)
    done = {key.removeprefix(_ORDER) for key in patch if key.startswith(_ORDER)}
    for key, value in patch.items():
        if key in done or key == _RETAIN or key.startswith(_ORDER):
            continue
        if key.startswith(_DELETE):
            name = key.removeprefix(_DELETE)
            if isinstance(out.get(name), list):
                out[name] = [item for item in out[name] if item not in value]
        elif value is None:
            out.pop(key, None)
        else:
            out[key] = _merge(_field(node, key), out.get(key), value)
    return out


def _merge(field: Field, live: Any, value: Any) -> Any:
    strategies = field.patch_strategy.split(",")
    if isinstance(live, dict) and isinstance(value, dict) and "replace" not in strategies:
        return _merge_map(field.type, live, value)
    if isinstance(live, list) and isinstance(value, list) and "merge" in strategies:
        return _merge_list(field, live, value)
    return _without_nulls(value)


def _field(node: Node, key: str) -> Field:
    if isinstance(node, Struct):
        return node.fields.get(key, _PLAIN)
    return Field(type=node.value) if isinstance(node, MapOf) else _PLAIN


def _element(field: Field) -> Node:
    return field.type.element if isinstance(field.type, ListOf) else _PLAIN.type


def _without_nulls(value: Any) -> Any:
    """What a patch adds where the object had nothing: nulls have nothing to remove there."""
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return value


def _retain(live: Object, patch: Object) -> Object:
    kept = patch.get(_RETAIN)
    if kept is None:
        return dict(live)
    if not isinstance(kept, list) or any(key not in kept and not key.startswith("$") for key in patch):
        raise StrategicMergeError("retainKeys list must contains all fields present in the patch")
    return {key: value for key, value in live.items() if key in kept}


def _merge_list(field: Field, live: list[Any], patch: list[Any]) -> list[Any]:
    if not live and not patch:
        return live
    if not any(isinstance(item, dict) for item in (*live, *patch)):
        merged = _distinct([*live, *patch])
        return _ordered(merged, patch, live, "")
    key = field.patch_merge_key
    if not key:
        raise StrategicMergeError("cannot merge lists without merge key")
    live, patch = _special(live, patch, key)
    merged = list(live)
    for item in patch:
        at = _position(merged, _key_of(item, key), key)
        if at < 0:
            merged.append(_without_nulls(item))
        else:
            merged[at] = _merge_map(_element(field), merged[at], item)
    return _ordered(merged, patch, live, key)


def _special(live: list[Any], patch: list[Any], key: str) -> tuple[list[Any], list[Any]]:
    """Carry out the items of a patch that are directives."""
    plain = []
    replace = False
    for item in patch:
        directive = item.get(_PATCH)
        if directive is None:
            plain.append(item)
        elif directive == "delete":
            gone = _key_of(item, key)
            live = [other for other in live if other.get(key) != gone]
        elif directive == "replace":
            replace = True
        elif directive == "merge":
            raise StrategicMergeError("merging lists cannot yet be specified in the patch")
        else:
            raise StrategicMergeError(f"Unknown patch type {json.dumps(directive)} in list")
    return (plain, []) if replace else (live, plain)


def _key_of(item: Mapping[str, Any], key: str) -> Any:
    if key not in item:
        shown = " ".join(f"{name}:{value}" for name, value in sorted(item.items()))
        raise StrategicMergeError(f"map: map[{shown}] does not contain declared merge key: {key}")
    return item[key]


def _position(items: list[Any], wanted: Any, key: str) -> int:
    for index, item in enumerate(items):
        if (item.get(key) if key and isinstance(item, dict) else item) == wanted:
            return index
    return -1


def _distinct(items: list[Any]) -> list[Any]:
    out: list[Any] = []
    for item in items:
        if item not in out:
            out.append(item)
    return out


def _put_in_order(node: Node, out: Object, patch: Object) -> None:
    """Merge and order the lists for which the patch says the order."""
    for directive, order in patch.items():
        if not directive.startswith(_ORDER):
            continue
        name = directive.removeprefix(_ORDER)
        field = _field(node, name)
        live, given = out.get(name), patch.get(name)
        if live is None and given is None:
            continue
        key = field.patch_merge_key
        merged = _merge_list(field, live, given) if live is not None and given is not None else live or given
        wanted = [item.get(key) if key else item for item in order]
        if given is not None and any((item.get(key) if key else item) not in wanted for item in given):
            raise StrategicMergeError(f"The order in patch list doesn't match {directive} list")
        out[name] = _ordered(list(merged or ()), order, live or [], key)


def _ordered(merged: list[Any], order: list[Any], live: list[Any], key: str) -> list[Any]:
    """`normalizeElementOrder`: patched items in the patch's order, the others where they were among them."""

    def at(items: list[Any], item: Any) -> int:
        return _position(items, item.get(key) if key else item, key)

    patched = sorted((item for item in merged if at(order, item) >= 0), key=lambda item: at(order, item))
    rest = sorted((item for item in merged if at(order, item) < 0), key=lambda item: at(live, item))
    out: list[Any] = []
    left, right = 0, 0
    while left < len(rest) and right < len(patched):
        first, second = at(live, rest[left]), at(live, patched[right])
        if 0 <= first < second:
            out.append(rest[left])
            left += 1
        else:
            out.append(patched[right])
            right += 1
    return [*out, *rest[left:], *patched[right:]]
