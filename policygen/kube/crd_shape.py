"""Whether a CustomResourceDefinition has the shape of one, before anything is made of it.

The table names the fields that are read, with the type that each must have (apiextensions v1 `types.go`,
`types_jsonschema.go`); others are not looked at. What the values mean is not judged here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from policygen.diagnostics import fail

_Check: TypeAlias = Callable[[Any, str], Iterator[tuple[str, str]]]


def check(crd: Mapping[str, Any]) -> None:
    """Raise a diagnostic that names the first fault."""
    for path, wanted in _DEFINITION(crd, ""):
        metadata = crd.get("metadata")
        name = metadata.get("name") if isinstance(metadata, Mapping) else None
        fail("invalid-crd", f"`{path}` of the CustomResourceDefinition `{name}` is not {wanted}")


def _is(wanted: str, *types: type) -> _Check:
    def check_type(value: Any, path: str) -> Iterator[tuple[str, str]]:
        if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
            yield path, wanted

    return check_type


def _fields(wanted: str, table: Mapping[str, _Check], required: tuple[str, ...] = ()) -> _Check:
    """A map whose known fields must pass; null counts as absent."""

    def check_fields(value: Any, path: str) -> Iterator[tuple[str, str]]:
        if not isinstance(value, Mapping):
            yield path or "the object", wanted
            return
        for name in required:
            if value.get(name) is None:
                yield _join(path, name), "given"
        for name, inner in table.items():
            if name in value:
                yield from inner(value[name], _join(path, name))

    return check_fields


def _list_of(inner: _Check) -> _Check:
    def check_items(value: Any, path: str) -> Iterator[tuple[str, str]]:
        if not isinstance(value, list):
            yield path, "a list"
            return
        for index, item in enumerate(value):
            yield from inner(item, f"{path}[{index}]")

    return check_items


def _map_of(inner: _Check) -> _Check:
    def check_values(value: Any, path: str) -> Iterator[tuple[str, str]]:
        if not isinstance(value, Mapping):
            yield path, "a map"
            return
        for name, item in value.items():
            yield from inner(item, _join(path, str(name)))

    return check_values


def _schema(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """A JSON schema, as deep as it goes."""
    yield from _fields("a schema", _SCHEMA)(value, path)


def _schema_or_bool(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if not isinstance(value, bool):
        yield from _schema(value, path)


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


_TEXT: Final = _is("text", str)
_BOOL: Final = _is("true or false", bool)
_NUMBER: Final = _is("a number", int, float)
_COUNT: Final = _is("a whole number", int)
_TEXTS: Final = _list_of(_TEXT)
_SCHEMAS: Final = _list_of(_schema)

_SCHEMA: Final[dict[str, _Check]] = {
    "type": _TEXT,
    "format": _TEXT,
    "pattern": _TEXT,
    "nullable": _BOOL,
    "properties": _map_of(_schema),
    "additionalProperties": _schema_or_bool,
    "items": _schema,
    "required": _TEXTS,
    "enum": _list_of(lambda _value, _path: iter(())),
    "minimum": _NUMBER,
    "maximum": _NUMBER,
    "multipleOf": _NUMBER,
    "exclusiveMinimum": _BOOL,
    "exclusiveMaximum": _BOOL,
    "uniqueItems": _BOOL,
    **dict.fromkeys(
        ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), _COUNT
    ),
    "allOf": _SCHEMAS,
    "anyOf": _SCHEMAS,
    "oneOf": _SCHEMAS,
    "not": _schema,
    "x-kubernetes-preserve-unknown-fields": _BOOL,
    "x-kubernetes-embedded-resource": _BOOL,
    "x-kubernetes-int-or-string": _BOOL,
    "x-kubernetes-list-type": _TEXT,
    "x-kubernetes-list-map-keys": _TEXTS,
    "x-kubernetes-map-type": _TEXT,
    "x-kubernetes-validations": _list_of(
        _fields(
            "a rule",
            {
                "rule": _TEXT,
                "message": _TEXT,
                "messageExpression": _TEXT,
                "fieldPath": _TEXT,
                "reason": _TEXT,
            },
        )
    ),
}

_VERSION: Final = _fields(
    "a version",
    {
        "name": _TEXT,
        "served": _BOOL,
        "schema": _fields("a map", {"openAPIV3Schema": _schema}),
        "subresources": _fields("a map", {}),
    },
    required=("name",),
)

_DEFINITION: Final = _fields(
    "a definition",
    {
        "spec": _fields(
            "a map",
            {
                "group": _TEXT,
                "scope": _TEXT,
                "names": _fields("a map", {"kind": _TEXT, "plural": _TEXT}, required=("kind", "plural")),
                "versions": _list_of(_VERSION),
            },
            required=("group", "names", "versions"),
        )
    },
    required=("spec",),
)
