"""What the value of a mutation does to the object (apiserver `mutating/patch/`, `mutating/dispatcher.go`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from policygen.admission.native import Native, check_size, protobuf
from policygen.admission.outcome import MutationError, internal_error, panic
from policygen.admission.request import Object
from policygen.cel.values import JSONPatchValue, ObjectValue, type_name
from policygen.diagnostics import PolicygenError, make
from policygen.kube import custom, defaults
from policygen.kube.decode_errors import DecodeError
from policygen.kube.names import GroupVersionKind
from policygen.kube.roundtrip import convert, round_trip_strict
from policygen.kube.schema import KindSchema, Struct
from policygen.merge import jsonpatch, merge

_MANY_COPIES: Final = 10
"""Each copy can double what it copies from."""

_PLAIN: Final = frozenset({str, int, bool, float, type(None)})

_SUBRESOURCE_KINDS: Final = frozenset(
    {("autoscaling/v1", "Scale"), ("policy/v1", "Eviction"), ("authentication.k8s.io/v1", "TokenRequest")}
)
"""Kinds that occur as subresources of other groups only: their own group's OpenAPI document lacks them."""

FREE: Final = KindSchema("", "", Struct("", {}, preserve_unknown=True), builtin=False)
"""What a JSONPatch needs to know of a kind that nobody has defined: nothing."""


def apply_configuration(value: Any, subject_data: tuple[Any, ...], obj: Object, schema: KindSchema) -> Object:
    """The object with an `Object{…}` merged into it; `subject_data` is what expressions could read."""
    if type(value) is not ObjectValue:
        raise MutationError(f"unsupported return type from ApplyConfiguration expression: {type_name(value)}")
    check_size(value)
    check_type_names(value)
    patch = Native(subject_data).object(value)
    patch["apiVersion"], patch["kind"] = obj.get("apiVersion"), obj.get("kind")
    if not schema.root.published or (schema.api_version, schema.kind) in _SUBRESOURCE_KINDS:
        raise MutationError(
            "error applying patch: failed to convert patch object to typed object: "
            f"no corresponding type for {schema.api_version}, Kind={schema.kind}"
        )
    try:
        merged: Object = merge.apply(schema, obj, patch)
    except merge.MergeError as error:
        raise MutationError(f"error applying patch: {error}") from error
    return merged


def json_patch(value: Any, subject_data: tuple[Any, ...], obj: Object, schema: KindSchema) -> Object:
    """The object after a list of `JSONPatch{…}`; the same object where a `test` failed.

    Raises `Denied` when the result does not decode: that is a 500 whatever the failurePolicy.
    """
    check_size(value)
    native = Native(subject_data)
    operations = [_operation(item, native) for item in value]
    try:
        patched: Any = jsonpatch.apply(obj, operations)
    except jsonpatch.TestFailedError:
        return obj
    except jsonpatch.PatchError as error:
        raise MutationError(f"JSON Patch: {error}") from error
    except jsonpatch.PatchPanicError as error:
        raise panic(str(error)) from error
    if not operations:
        return obj
    if sum(operation["op"] == "copy" for operation in operations) > _MANY_COPIES:
        check_size(patched)
    if patched is None:
        if not schema.builtin:
            raise internal_error("Object 'Kind' is missing in 'null'")
        patched = {}
    if not isinstance(patched, dict):
        raise internal_error("json: cannot unmarshal array into Go value of type map[string]interface {}")
    document: Object = patched
    if not schema.builtin:
        return document
    typed = {**document, "apiVersion": document.get("apiVersion") or schema.api_version}
    typed["kind"] = document.get("kind") or schema.kind
    if (typed["apiVersion"], typed["kind"]) != (schema.api_version, schema.kind):
        registered = f'is registered for version "{typed["apiVersion"]}" in scheme "{_SCHEME}"'
        raise internal_error(f'no kind "{typed["kind"]}" {registered}')
    try:
        return round_trip_strict(typed, schema)
    except DecodeError as error:
        raise internal_error(error.message) from error


def finish(
    obj: Object, schema: KindSchema, requested: GroupVersionKind, *, with_defaults: bool = True
) -> Object:
    """A patched object through its typed struct and API defaulting, as after every mutation.

    A built-in kind that matched in another version than the client sent does not convert back: the server
    refuses every such request.
    """
    try:
        typed = convert(obj, schema)
    except DecodeError as error:
        raise MutationError(error.message) from error
    if schema.builtin and schema.api_version != requested.api_version:
        version = schema.api_version.rpartition("/")[2]
        raise MutationError(
            f"converting ({version}.{schema.kind}) to ({requested.version}.{schema.kind}): unknown conversion"
        )
    if not with_defaults:
        return typed
    return defaults.apply(typed, schema) if schema.builtin else custom.default(typed, schema)


def unknown_kind(kind: GroupVersionKind) -> PolicygenError:
    """Nobody has defined the kind: there are no types to merge by."""
    return PolicygenError(
        [
            make(
                "error",
                "unknown-kind",
                f"`{kind.kind}` of `{kind.api_version}` has no schema, so that nothing can be merged into it",
                help=("give its CustomResourceDefinition among the inputs",),
            )
        ]
    )


_SCHEME: Final = "pkg/api/legacyscheme/scheme.go:30"


def check_type_names(value: ObjectValue) -> None:
    """Every `Object…{}` must be named after the path that it stands at (`dynamic/objects.go`)."""
    found = list(_misnamed(value, value.type_name))
    if found:
        raise MutationError("type mismatch: " + "\n".join(found))


def _misnamed(value: Any, expected: str) -> Iterator[str]:
    kind = type(value)
    if kind is ObjectValue:
        if value.type_name != expected:
            yield (
                f'unexpected type name "{value.type_name}", expected "{expected}", '
                "which matches field name path from root Object type"
            )
        for name, item in value.fields.items():
            if type(item) not in _PLAIN:
                yield from _misnamed(item, f"{expected}.{name}")
    elif kind is list or kind is dict:
        for item in value if kind is list else value.values():
            if type(item) not in _PLAIN:
                yield from _misnamed(item, expected)


def _operation(value: Any, native: Native) -> dict[str, Any]:
    if type(value) is not JSONPatchValue:
        raise MutationError(
            "type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch: "
            f"type conversion error from '{type_name(value)}'"
        )
    fields = value.fields
    operation: dict[str, Any] = {"op": fields.get("op") or "", "path": fields.get("path") or ""}
    if fields.get("from"):
        operation["from"] = fields["from"]
    if "value" in fields:
        item = fields["value"]
        if type(item) is ObjectValue:
            check_type_names(item)
        operation["value"] = protobuf(item, native)
    return operation
