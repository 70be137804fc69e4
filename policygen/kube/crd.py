"""The schemas of custom kinds, read from CustomResourceDefinition manifests.

A structural schema becomes the same nodes as a built-in type (apiextensions-apiserver
`apiserver/schema/structural.go`), so that merging, defaulting and validation need no second form.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from policygen.diagnostics import fail
from policygen.kube import catalog
from policygen.kube.schema import (
    ANY,
    Constraints,
    Field,
    KindSchema,
    ListOf,
    ListType,
    MapOf,
    Node,
    Scalar,
    Struct,
)

_LIST_TYPES: Final[dict[str, ListType]] = {"atomic": "atomic", "set": "set", "map": "map"}


def schemas_from_crd(crd: Mapping[str, Any]) -> tuple[KindSchema, ...]:
    """The kinds that a definition serves, one per served version."""
    spec = crd.get("spec")
    if not isinstance(spec, Mapping) or not isinstance(spec.get("versions"), list):
        fail("invalid-crd", f"`{_name(crd)}` is not a CustomResourceDefinition with `spec.versions`")
    return tuple(
        schema_from_crd(crd, version["name"]) for version in spec["versions"] if version.get("served", True)
    )


def schema_from_crd(crd: Mapping[str, Any], version: str) -> KindSchema:
    """The schema of one version of a definition."""
    spec = crd["spec"]
    names = spec.get("names", {})
    for entry in spec["versions"]:
        if entry.get("name") == version:
            break
    else:
        fail("invalid-crd", f"`{_name(crd)}` has no version `{version}`")
    schema = entry.get("schema", {}).get("openAPIV3Schema")
    root = _node(schema, root=True) if schema else Struct("", _object_fields({}, ()), preserve_unknown=True)
    if not isinstance(root, Struct):
        fail("invalid-crd", f"the schema of `{_name(crd)}` version `{version}` is not an object")
    return KindSchema(
        f"{spec['group']}/{version}",
        names.get("kind", ""),
        root,
        builtin=False,
        namespaced=spec.get("scope") == "Namespaced",
        plural=names.get("plural", ""),
        subresources=tuple(entry.get("subresources", {})),
    )


def node_from_schema(schema: Mapping[str, Any]) -> Node:
    """The node of one structural schema."""
    return _node(schema)


def _node(schema: Mapping[str, Any], *, root: bool = False) -> Node:
    nullable = bool(schema.get("nullable"))
    if schema.get("x-kubernetes-int-or-string"):
        return Scalar("int-or-string", nullable, constraints(schema, without_any_of=True))
    match schema.get("type"):
        case "array":
            return _list(schema, nullable)
        case "object":
            return _object(schema, nullable, root=root)
        case "string":
            kind: Any = "string"
        case "integer":
            kind = "int64"
        case "number":
            kind = "float"
        case "boolean":
            kind = "bool"
        case _ if "properties" in schema or root:
            return _object(schema, nullable, root=root)
        case _:
            return ANY
    return Scalar(kind, nullable, constraints(schema))


def _list(schema: Mapping[str, Any], nullable: bool) -> Node:
    element = _node(schema.get("items") or {})
    list_type = _LIST_TYPES.get(schema.get("x-kubernetes-list-type", "atomic"), "atomic")
    keys = tuple(schema.get("x-kubernetes-list-map-keys", ())) if list_type == "map" else ()
    return ListOf(element, list_type, keys, nullable, constraints(schema))


def _object(schema: Mapping[str, Any], nullable: bool, *, root: bool) -> Node:
    atomic = schema.get("x-kubernetes-map-type") == "atomic"
    additional = schema.get("additionalProperties")
    properties = schema.get("properties") or {}
    embedded = bool(schema.get("x-kubernetes-embedded-resource"))
    preserve = bool(schema.get("x-kubernetes-preserve-unknown-fields"))
    if additional not in (None, False) and not properties:
        value = _node(additional) if isinstance(additional, Mapping) else ANY
        return MapOf(value, atomic, nullable, constraints(schema))
    required = schema.get("required", ())
    fields = _object_fields(properties, required) if root or embedded else _fields(properties, required)
    return Struct(
        "",
        fields,
        atomic=atomic,
        preserve_unknown=preserve,
        embedded=embedded,
        nullable=nullable,
        constraints=constraints(schema),
    )


def _fields(properties: Mapping[str, Any], required: Iterable[str]) -> dict[str, Field]:
    return {
        name: Field(
            _node(schema),
            required=name in required,
            has_default="default" in schema,
            default=schema.get("default"),
        )
        for name, schema in properties.items()
    }


def _object_fields(properties: Mapping[str, Any], required: Iterable[str]) -> dict[str, Field]:
    """The fields of an object: whatever the schema says, its metadata is ObjectMeta."""
    fields = _fields(properties, required)
    text = Scalar("string")
    fields.setdefault("apiVersion", Field(text))
    fields.setdefault("kind", Field(text))
    meta = catalog.load(catalog.RECORDED).struct("meta/v1.ObjectMeta")
    fields["metadata"] = Field(meta, required="metadata" in required)
    return fields


def constraints(schema: Mapping[str, Any], *, without_any_of: bool = False) -> Constraints | None:
    """What a schema demands of values, None when nothing."""
    found = {attribute: schema[key] for key, attribute in _PLAIN.items() if schema.get(key) is not None}
    if "enum" in schema:
        found["enum"] = tuple(schema["enum"])
    for key, attribute in _COMBINED.items():
        if schema.get(key) and not (without_any_of and _is_int_or_string(schema, key)):
            found[attribute] = tuple(schema[key])
    return Constraints(**found) if found else None


def _is_int_or_string(schema: Mapping[str, Any], key: str) -> bool:
    """Whether a combination says only what `x-kubernetes-int-or-string` says."""
    return key == "anyOf" and [entry.get("type") for entry in schema[key]] == ["integer", "string"]


def _name(crd: Mapping[str, Any]) -> str:
    metadata = crd.get("metadata")
    return str(metadata.get("name", "")) if isinstance(metadata, Mapping) else ""


_PLAIN: Final = {
    "pattern": "pattern",
    "format": "format",
    "minimum": "minimum",
    "maximum": "maximum",
    "exclusiveMinimum": "exclusive_minimum",
    "exclusiveMaximum": "exclusive_maximum",
    "multipleOf": "multiple_of",
    "minLength": "min_length",
    "maxLength": "max_length",
    "minItems": "min_items",
    "maxItems": "max_items",
    "uniqueItems": "unique_items",
    "minProperties": "min_properties",
    "maxProperties": "max_properties",
    "not": "none_of",
}
_COMBINED: Final = {
    "allOf": "all_of",
    "anyOf": "any_of",
    "oneOf": "one_of",
    "x-kubernetes-validations": "cel",
}
