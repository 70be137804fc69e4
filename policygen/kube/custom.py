"""Custom resources as the API server decodes and judges them: pruning, defaults, validation by their schema.

Follows apiextensions-apiserver `apiserver/schema/{pruning,defaulting,listtype}` and `apiserver/validation`,
whose texts come from kube-openapi `validation/errors`. CEL rules are not judged here.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias, assert_never

from policygen.kube import crd, objects, roundtrip
from policygen.kube.decode_errors import unknown_fields
from policygen.kube.gotime import parse_duration, parse_time
from policygen.kube.schema import ANY, Constraints, KindSchema, ListOf, MapOf, Node, Scalar, Struct

Path: TypeAlias = tuple[str | int, ...]
Kind: TypeAlias = Literal["required", "invalid", "unsupported", "too-long", "too-many", "duplicate"]


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """One field error of the server, before it is printed.

    `detail` is the text behind the value. For `unsupported` the choices are in `choices`, for `too-long` and
    `too-many` the limit is in `limit`.
    """

    kind: Kind
    path: Path
    value: Any = None
    detail: str = ""
    choices: tuple[Any, ...] = ()
    limit: int = 0


@dataclass(frozen=True, slots=True)
class Decoded:
    """A custom resource after decoding, and the paths of the fields that its schema does not declare."""

    value: dict[str, Any]
    unknown: tuple[str, ...] = ()


def decode(obj: Mapping[str, Any], schema: KindSchema) -> Decoded:
    """Prune, default, and bring the metadata into its typed form. Raises `DecodeError` for faulty metadata.

    Strict decoding refuses an object with unknown fields; others lose them.
    """
    unknown: list[str] = []
    value = _decoded_struct(obj, schema.root, (), unknown)
    return Decoded(value, tuple(unknown))


def default(obj: Mapping[str, Any], schema: KindSchema) -> dict[str, Any]:
    """Fill in the schema's defaults, as after a mutation; unknown fields stay."""
    return _decoded_struct(obj, schema.root, (), None)


def validate(obj: Mapping[str, Any], schema: KindSchema) -> list[FieldProblem]:
    """The field errors of an object by its schema, without its CEL rules."""
    body = {key: item for key, item in obj.items() if key not in ("apiVersion", "kind", "metadata")}
    root = Struct(
        "",
        {
            name: field
            for name, field in schema.root.fields.items()
            if name not in ("apiVersion", "kind", "metadata")
        },
        preserve_unknown=True,
        constraints=schema.root.constraints,
    )
    return list(_problems(body, root, ()))


def _decoded(value: Any, node: Node, path: Path, unknown: list[str] | None) -> Any:
    match node:
        case Struct() if isinstance(value, dict):
            return _decoded_struct(value, node, path, unknown)
        case MapOf() if isinstance(value, dict):
            return {name: _decoded(item, node.value, (*path, name), unknown) for name, item in value.items()}
        case ListOf() if isinstance(value, list):
            return [_decoded(item, node.element, (*path, index), unknown) for index, item in enumerate(value)]
        case _:
            return value


def _decoded_struct(
    value: Mapping[str, Any], node: Struct, path: Path, unknown: list[str] | None
) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, item in value.items():
        field = node.fields.get(name)
        if field is None:
            if node.preserve_unknown or unknown is None:
                out[name] = item
            else:
                unknown.append(objects.path_text((*path, name)))
        elif item is None and not field.type.nullable:
            continue  # a default is filled in below; without one the null goes
        elif field.type is ANY:
            out[name] = item
        elif isinstance(field.type, Struct) and field.type.name:
            out[name] = item if unknown is None else _metadata(item, field.type, (*path, name), unknown)
        else:
            out[name] = _decoded(item, field.type, (*path, name), unknown)
    for name, field in node.fields.items():
        if field.has_default and name not in out:
            out[name] = _decoded(objects.copy(field.default), field.type, (*path, name), unknown)
    return out


def _metadata(value: Any, node: Struct, path: Path, unknown: list[str]) -> Any:
    """Of the object or of one embedded in it: ObjectMeta whatever the schema says."""
    at = objects.path_text(path)
    unknown.extend(f"{at}.{name}" for name in unknown_fields(value, node))
    return roundtrip.typed(value, node, tuple(step for step in path if isinstance(step, str)))


def _problems(value: Any, node: Node, path: Path) -> Iterator[FieldProblem]:
    if value is None and (node.nullable or not path):
        return
    if not _has_type(value, node):
        yield _type_problem(path, type_name(node), _json_type(value))
        return
    if node.constraints is not None:
        yield from _constrained(value, node.constraints, path)
    yield from _problems_below(value, node, path)


def _problems_below(value: Any, node: Node, path: Path) -> Iterator[FieldProblem]:
    match node:
        case Struct():
            for name, field in node.fields.items():
                if field.required and name not in value:
                    yield FieldProblem("required", (*path, name))
            for name, item in value.items():
                if name in node.fields:
                    yield from _problems(item, node.fields[name].type, (*path, name))
        case MapOf():
            for name, item in value.items():
                yield from _problems(item, node.value, (*path, name))
        case ListOf():
            for index, item in enumerate(value):
                yield from _problems(item, node.element, (*path, index))
            yield from _repeated(value, node, path)
        case Scalar():
            return
        case _:
            assert_never(node)


def _repeated(value: list[Any], node: ListOf, path: Path) -> Iterator[FieldProblem]:
    """Duplicates in sets and keyed lists (`schema/listtype`)."""
    if node.list_type == "atomic":
        return
    seen: set[str] = set()
    for index, item in enumerate(value):
        if node.list_type == "set":
            shown: Any = item
        elif isinstance(item, dict):
            shown = {name: item[name] for name in node.keys if name in item}
        else:
            continue
        key = json.dumps(shown, sort_keys=True)
        if key in seen:
            yield FieldProblem("duplicate", (*path, index), shown)
        seen.add(key)


def _type_problem(path: Path, wanted: str, got: str) -> FieldProblem:
    text = f'{objects.path_text(path)} in body must be of type {wanted}: "{got}"'
    return FieldProblem("invalid", path, got, text)


def type_name(node: Node) -> str:
    """The `type` of a node's schema."""
    match node:
        case Struct() | MapOf():
            return "object"
        case ListOf():
            return "array"
        case Scalar():
            return _TYPES.get(node.kind, "string")
        case _:
            assert_never(node)


_TYPES: Final = {
    "int-or-string": "integer,string",
    "int64": "integer",
    "int32": "integer",
    "float": "number",
    "bool": "boolean",
}


def _json_type(value: Any) -> str:
    match value:
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "integer" if value.is_integer() else "number"
        case str():
            return "string"
        case list():
            return "array"
        case None:
            return "null"
        case _:
            return "object"


def _has_type(value: Any, node: Node) -> bool:
    match node:
        case Struct() | MapOf():
            return isinstance(value, dict)
        case ListOf():
            return isinstance(value, list)
        case Scalar():
            found = _json_type(value)
            match node.kind:
                case "raw":
                    return True
                case "int-or-string":
                    return found in ("integer", "string")
                case "float":
                    return found in ("integer", "number")
                case "int64" | "int32":
                    return found == "integer"
                case "bool":
                    return found == "boolean"
                case _:
                    return found == "string"
        case _:
            assert_never(node)


def _constrained(value: Any, rules: Constraints, path: Path) -> Iterator[FieldProblem]:
    where = f"{objects.path_text(path)} in body"
    if rules.enum is not None and not any(_same(value, choice) for choice in rules.enum):
        yield FieldProblem("unsupported", path, value, choices=rules.enum)
    match value:
        case bool():
            pass
        case int() | float():
            yield from _of_number(value, rules, path, where)
        case str():
            yield from _of_text(value, rules, path, where)
        case list():
            yield from _of_list(value, rules, path, where)
        case dict():
            if rules.min_properties is not None and len(value) < rules.min_properties:
                yield _invalid(path, value, f"{where} should have at least {rules.min_properties} properties")
            if rules.max_properties is not None and len(value) > rules.max_properties:
                yield FieldProblem("too-many", path, len(value), limit=rules.max_properties)
    yield from _combined(value, rules, path, where)


def _of_number(value: float, rules: Constraints, path: Path, where: str) -> Iterator[FieldProblem]:
    low, high = rules.minimum, rules.maximum
    if low is not None and (value <= low if rules.exclusive_minimum else value < low):
        than = "greater than" if rules.exclusive_minimum else "greater than or equal to"
        yield _invalid(path, value, f"{where} should be {than} {_number(low)}")
    if high is not None and (value >= high if rules.exclusive_maximum else value > high):
        than = "less than" if rules.exclusive_maximum else "less than or equal to"
        yield _invalid(path, value, f"{where} should be {than} {_number(high)}")
    if rules.multiple_of and not float(value / rules.multiple_of).is_integer():
        yield _invalid(path, value, f"{where} should be a multiple of {_number(rules.multiple_of)}")
    if rules.format == "int32" and not -(2**31) <= value < 2**31:
        yield _invalid(path, value, f'{where} must be of type int32: "{_number(value)}"')


def _of_text(value: str, rules: Constraints, path: Path, where: str) -> Iterator[FieldProblem]:
    if rules.max_length is not None and len(value) > rules.max_length:
        yield FieldProblem("too-long", path, value, limit=rules.max_length)
    if rules.min_length is not None and len(value) < rules.min_length:
        yield _invalid(path, value, f"{where} should be at least {rules.min_length} chars long")
    if rules.pattern is not None and not _matches(rules.pattern, value):
        yield _invalid(path, value, f"{where} should match '{rules.pattern}'")
    if rules.format is not None and not _has_format(value, rules.format):
        yield _invalid(path, value, f"{where} must be of type {rules.format}: {json.dumps(value)}")


def _of_list(value: list[Any], rules: Constraints, path: Path, where: str) -> Iterator[FieldProblem]:
    if rules.max_items is not None and len(value) > rules.max_items:
        yield FieldProblem("too-many", path, len(value), limit=rules.max_items)
    if rules.min_items is not None and len(value) < rules.min_items:
        yield _invalid(path, value, f"{where} should have at least {rules.min_items} items")
    if rules.unique_items and len({json.dumps(item, sort_keys=True) for item in value}) < len(value):
        yield _invalid(path, value, f"{where} shouldn't contain duplicates")


def _combined(value: Any, rules: Constraints, path: Path, where: str) -> Iterator[FieldProblem]:
    """`allOf`, `anyOf`, `oneOf` and `not`, which may hold constraints only."""
    if rules.all_of and not all(_accepts(schema, value) for schema in rules.all_of):
        for schema in rules.all_of:
            yield from _problems(value, _partial(schema), path)
        yield _invalid(path, value, f"{where} must validate all the schemas (allOf)")
    if rules.any_of and not any(_accepts(schema, value) for schema in rules.any_of):
        yield _invalid(path, value, f"{where} must validate at least one schema (anyOf)")
    if rules.one_of:
        fitting = sum(_accepts(schema, value) for schema in rules.one_of)
        if fitting != 1:
            found = "none valid" if fitting == 0 else f"{fitting} valid alternatives"
            yield _invalid(
                path, value, f"{where} must validate one and only one schema (oneOf). Found {found}"
            )
    if rules.none_of is not None and _accepts(rules.none_of, value):
        yield _invalid(path, value, f"{where} must not validate the schema (not)")


def _accepts(schema: Mapping[str, Any], value: Any) -> bool:
    return next(_problems(value, _partial(schema), ("",)), None) is None


def _partial(schema: Mapping[str, Any]) -> Node:
    """The node of a schema inside a combination: it often says only what is required or allowed."""
    if "type" not in schema and ("required" in schema or "properties" in schema):
        required: Sequence[str] = schema.get("required", ())
        properties = {name: {"x-kubernetes-preserve-unknown-fields": True} for name in required}
        return crd.node_from_schema(
            {**schema, "type": "object", "properties": properties | dict(schema.get("properties", {}))}
        )
    node = crd.node_from_schema(schema)
    return node if node is not ANY else Scalar("raw", constraints=crd.constraints(schema))


def _invalid(path: Path, value: Any, detail: str) -> FieldProblem:
    return FieldProblem("invalid", path, value, detail)


def _same(left: Any, right: Any) -> bool:
    return bool(left == right) and isinstance(left, bool) == isinstance(right, bool)


def _number(value: float) -> str:
    """A number as Go's `%v` prints a float64."""
    if float(value).is_integer() and abs(value) < 1e21:
        return str(int(value))
    return repr(value) if math.isfinite(value) else str(value)


@lru_cache(512)
def _matcher(pattern: str) -> Any:
    import re2

    return re2.compile(pattern.encode("utf-8", "replace").decode())


def _matches(pattern: str, value: str) -> bool:
    text = value if value.isascii() else value.encode("utf-8", "replace").decode()
    return _matcher(pattern).search(text) is not None


_FORMATS: Final[Mapping[str, re.Pattern[str]]] = {
    "date": re.compile(r"\d{4}-\d{2}-\d{2}"),
    "uuid": re.compile(r"(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}"),
    "ipv4": re.compile(r"((25[0-5]|2[0-4]\d|1?\d?\d)(\.(?!$)|$)){4}"),
    "mac": re.compile(r"(?i)([0-9a-f]{2}[:-]){5}[0-9a-f]{2}"),
}


def _has_format(value: str, name: str) -> bool:
    """Whether a text has a format; those that the server does not know are not checked."""
    if name in ("date-time", "datetime"):
        return parse_time(value) is not None
    if name == "duration":
        return parse_duration(value) is not None
    if name == "byte":
        return roundtrip.is_base64(value)
    pattern = _FORMATS.get(name)
    return pattern is None or pattern.fullmatch(value) is not None
