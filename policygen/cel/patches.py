"""`JSONPatch{…}` values (apiserver `pkg/cel/mutation/jsonpatch.go`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from policygen.cel.errors import EvalError
from policygen.cel.values import JSONPatchValue, ObjectValue, Value, type_name

_TEXTS: Final = frozenset({"op", "path", "from"})
_GO_TYPES: Final = {
    "bool": "bool",
    "bytes": "[]uint8",
    "double": "float64",
    "google.protobuf.Duration": "time.Duration",
    "google.protobuf.Timestamp": "time.Time",
    "int": "int64",
    "list": "[]ref.Val",
    "map": "map[ref.Val]ref.Val",
    "null_type": "structpb.NullValue",
    "uint": "uint64",
}


def make_patch(fields: Mapping[str, Value]) -> JSONPatchValue:
    """A patch from its fields; `op`, `path` and `from` must be texts, as `dyn` may not be."""
    for name in _TEXTS & fields.keys():
        value = fields[name]
        if type(value) is not str:
            kind = type_name(value)
            shown = "map[string]interface {}" if type(value) is ObjectValue else _GO_TYPES.get(kind, kind)
            raise EvalError(f"unexpected type {shown} for JSONPatchType '{name}' field")
    return JSONPatchValue(fields)
