"""Rules of custom kinds: the value validations of a CRD's structural schema.

kube-openapi `validation/validate`, apiextensions-apiserver `pkg/apiserver/validation/validation.go` and
`schema/listtype`. CEL rules of a CRD are evaluated with untyped values.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, assert_never

from policygen.admission.validation import metadata
from policygen.admission.validation.content import path_segment
from policygen.admission.validation.field import FieldErrors, Object, go_json
from policygen.kube.schema import Constraints, KindSchema, ListOf, MapOf, Node, Scalar, Struct

_TYPES: Final[Mapping[str, str]] = {
    "string": "string", "int32": "integer", "int64": "integer", "float": "number", "bool": "boolean",
    "int-or-string": "integer,string",
}  # fmt: skip


def validate(found: FieldErrors, obj: Object, schema: KindSchema) -> None:
    """Metadata, then the schema of the version, then list types."""
    meta = obj.get("metadata") or {}
    metadata.validate(found, meta, path_segment, namespaced=schema.namespaced, core=False)
    _body(found, obj, schema)


def validate_update(found: FieldErrors, obj: Object, old: Object, schema: KindSchema) -> None:
    """As on creation, and names stay."""
    metadata.validate_update(found, obj.get("metadata") or {}, old.get("metadata") or {})
    _body(found, obj, schema)


def _body(found: FieldErrors, obj: Object, schema: KindSchema) -> None:
    body = {key: value for key, value in obj.items() if key not in ("apiVersion", "kind", "metadata")}
    if isinstance(schema.root, Struct):
        _fields(found, body, schema.root, "", root=True)


def _node(found: FieldErrors, value: Any, node: Node, path: str) -> None:
    if value is None:
        if not node.nullable:
            _wrong_type(found, value, node, path)
        return
    match node:
        case Scalar():
            if _is_scalar(value, node.kind):
                _scalar(found, value, node.constraints, path)
            else:
                _wrong_type(found, value, node, path)
        case ListOf():
            _list(found, value, node, path)
        case MapOf():
            _map(found, value, node, path)
        case Struct():
            if isinstance(value, dict):
                _fields(found, value, node, path)
            else:
                _wrong_type(found, value, node, path)
        case _:
            assert_never(node)


def _is_scalar(value: Any, kind: str) -> bool:
    match kind:
        case "string":
            return isinstance(value, str)
        case "bool":
            return isinstance(value, bool)
        case "int32" | "int64":
            whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
            return whole and not isinstance(value, bool)
        case "float":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "int-or-string":
            return isinstance(value, int | str) and not isinstance(value, bool)
        case _:
            return True


def _wrong_type(found: FieldErrors, value: Any, node: Node, path: str) -> None:
    match node:
        case Scalar():
            wanted = _TYPES.get(node.kind, "object")
        case ListOf():
            wanted = "array"
        case MapOf() | Struct():
            wanted = "object"
        case _:
            assert_never(node)
    shown = "null" if value is None else _type_of(value)
    found.invalid(path, shown, f'{path} in body must be of type {wanted}: "{shown}"')


def _type_of(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "string"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    return "array" if isinstance(value, list) else "object"


def _fields(found: FieldErrors, value: Object, node: Struct, path: str, *, root: bool = False) -> None:
    prefix = f"{path}." if path else ""
    for name, field in node.fields.items():
        if root and name in ("apiVersion", "kind", "metadata"):
            continue
        if name in value:
            _node(found, value[name], field.type, prefix + name)
        elif field.required:
            found.required(prefix + name)
    if node.constraints is not None:
        _properties(found, len(value), node.constraints, path)
        _rules(found, value, node.constraints, path)


def _map(found: FieldErrors, value: Any, node: MapOf, path: str) -> None:
    if not isinstance(value, dict):
        _wrong_type(found, value, node, path)
        return
    for key, item in value.items():
        _node(found, item, node.value, f"{path}.{key}")
    if node.constraints is not None:
        _properties(found, len(value), node.constraints, path)
        _rules(found, value, node.constraints, path)


def _list(found: FieldErrors, value: Any, node: ListOf, path: str) -> None:
    if not isinstance(value, list):
        _wrong_type(found, value, node, path)
        return
    for index, item in enumerate(value):
        _node(found, item, node.element, f"{path}[{index}]")
    rules = node.constraints
    if rules is not None:
        if rules.min_items is not None and len(value) < rules.min_items:
            says = f"{path} in body should have at least {rules.min_items} items"
            found.invalid(path, len(value), says)
        if rules.max_items is not None and len(value) > rules.max_items:
            found.too_many(path, len(value), rules.max_items)
        _rules(found, value, rules, path)
    _unique(found, value, node, path)


def _unique(found: FieldErrors, value: list[Any], node: ListOf, path: str) -> None:
    """`listtype.ValidateListSetsAndMaps`."""
    if node.list_type == "atomic":
        return
    seen: set[str] = set()
    for index, item in enumerate(value):
        if node.list_type == "map":
            shown: Any = (
                {name: item.get(name) for name in sorted(node.keys)} if isinstance(item, dict) else item
            )
        else:
            shown = item
        key = go_json(shown)
        if key in seen:
            found.duplicate(f"{path}[{index}]", shown)
        seen.add(key)


def _properties(found: FieldErrors, number: int, rules: Constraints, path: str) -> None:
    if rules.min_properties is not None and number < rules.min_properties:
        says = f"{path} in body should have at least {rules.min_properties} properties"
        found.invalid(path, number, says)
    if rules.max_properties is not None and number > rules.max_properties:
        found.too_many(path, number, rules.max_properties)


def _scalar(found: FieldErrors, value: Any, rules: Constraints | None, path: str) -> None:
    if rules is None:
        return
    if isinstance(value, str):
        _text(found, value, rules, path)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        _number(found, value, rules, path)
    if rules.enum is not None and value not in rules.enum:
        choices = [str(item) if isinstance(item, str) else go_json(item) for item in rules.enum]
        found.unsupported(path, value, choices)
    _rules(found, value, rules, path)


def _text(found: FieldErrors, value: str, rules: Constraints, path: str) -> None:
    if rules.max_length is not None and len(value) > rules.max_length:
        found.too_long(path, rules.max_length)
    if rules.min_length is not None and len(value) < rules.min_length:
        says = f"{path} in body should be at least {rules.min_length} chars long"
        found.invalid(path, value, says)
    if rules.pattern is not None and not _matches(rules.pattern, value):
        found.invalid(path, value, f"{path} in body should match '{rules.pattern}'")


def _matches(pattern: str, value: str) -> bool:
    """CRD patterns are Go regular expressions; those of another dialect were refused with the CRD."""
    try:
        return re.search(pattern, value) is not None
    except re.error:
        return True


def _number(found: FieldErrors, value: float, rules: Constraints, path: str) -> None:
    low, high = rules.minimum, rules.maximum
    if high is not None and (value >= high if rules.exclusive_maximum else value > high):
        or_equal = "" if rules.exclusive_maximum else " or equal to"
        found.invalid(path, value, f"{path} in body should be less than{or_equal} {_plain(high)}")
    if low is not None and (value <= low if rules.exclusive_minimum else value < low):
        or_equal = "" if rules.exclusive_minimum else " or equal to"
        found.invalid(path, value, f"{path} in body should be greater than{or_equal} {_plain(low)}")
    step = rules.multiple_of
    if step and value % step:
        found.invalid(path, value, f"{path} in body should be a multiple of {_plain(step)}")


def _plain(number: float) -> str:
    return str(int(number)) if float(number).is_integer() else repr(float(number))


def _rules(found: FieldErrors, value: Any, rules: Constraints, path: str) -> None:
    """`x-kubernetes-validations`."""
    for rule in rules.cel:
        text = rule.get("rule") or ""
        if "oldSelf" in text or evaluate(text, value):
            continue
        says = rule.get("message") or f"failed rule: {text}"
        shown = _type_of(value) if isinstance(value, dict | list) else value
        found.invalid(path, shown, says)


def evaluate(text: str, value: Any) -> bool:
    """One rule on `self`; a rule that fails to compile or to run is not fulfilled."""
    from policygen.cel import types
    from policygen.cel.env import base_env
    from policygen.cel.errors import CompileError, EvalError
    from policygen.cel.program import compile_program

    try:
        program = compile_program(text, base_env(36).declare({"self": types.DYN}))
        return program.evaluate({"self": value}) is True
    except (CompileError, EvalError):
        return False
