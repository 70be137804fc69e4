"""The schemas of the built-in kinds by Kubernetes version, from the bundle that ships in the package.

`load("1.36")` is quick: types are read from the bundle when a kind first needs them. The bundle is written by
`policygen.kube.generate`.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias

from policygen.kube import names
from policygen.kube.schema import Field, KindSchema, ListOf, ListType, MapOf, Node, Scalar, ScalarKind, Struct

SUPPORTED: Final = ("1.34", "1.35", "1.36", "1.37")
"""Kubernetes versions with a schema, oldest first."""

RECORDED: Final = "1.36"
"""The version whose behaviour has been compared with a running server; others are schema-checked only."""

_BUNDLE: Final = Path(__file__).with_name("data") / "kubernetes.json.gz"
"""Read by its path: `importlib.resources` alone would cost as much as all of this module."""

_SCALARS: Final[dict[str, ScalarKind]] = {
    "string": "string",
    "int32": "int32",
    "int64": "int64",
    "float64": "float",
    "bool": "bool",
    "bytes": "bytes",
    "resource.Quantity": "quantity",
    "intstr.IntOrString": "int-or-string",
    "meta/v1.Time": "time",
    "meta/v1.MicroTime": "micro-time",
    "meta/v1.Duration": "duration",
    "runtime.RawExtension": "raw",
    "meta/v1.FieldsV1": "raw",
}
_LIST_TYPES: Final[dict[str, ListType]] = {"atomic": "atomic", "set": "set", "map": "map"}

_Types: TypeAlias = dict[str, dict[str, str]]


@dataclass(slots=True)
class Catalog:
    """The kinds of one Kubernetes version. Schemas are built when first asked for, then kept."""

    version: str
    _kinds: dict[str, str]
    _types: _Types
    _atomic: frozenset[str]
    _unpublished: frozenset[str]
    _schemas: dict[tuple[str, str], KindSchema] = field(default_factory=dict)
    _structs: dict[str, Struct] = field(default_factory=dict)
    _fields: dict[str, Field] = field(default_factory=dict)
    _scalars: dict[ScalarKind, Scalar] = field(default_factory=dict)

    def kinds(self) -> tuple[tuple[str, str], ...]:
        """Every (apiVersion, kind), sorted."""
        return tuple(sorted(_split(name) for name in self._kinds))

    def types(self) -> tuple[str, ...]:
        """The names of the Go types that this version has, sorted."""
        return tuple(sorted(self._types))

    def api_versions(self, kind: str) -> tuple[str, ...]:
        """The apiVersions in which this version has a kind."""
        return tuple(api_version for api_version, name in self.kinds() if name == kind)

    def has(self, api_version: str, kind: str) -> bool:
        """Whether the version serves this kind (perhaps behind a feature gate: see `versions`)."""
        return f"{api_version} {kind}" in self._kinds

    def get(self, api_version: str, kind: str) -> KindSchema | None:
        """The schema of a kind, or None where the version does not have it."""
        found = self._schemas.get((api_version, kind))
        if found is None:
            type_name = self._kinds.get(f"{api_version} {kind}")
            if type_name is None:
                return None
            found = KindSchema(
                api_version,
                kind,
                self.struct(type_name),
                namespaced=kind not in names.CLUSTER_SCOPED,
                plural=names.plural(kind),
            )
            self._schemas[api_version, kind] = found
        return found

    def struct(self, type_name: str) -> Struct:
        """The struct of a Go type by its name, such as `core/v1.PodSpec`."""
        found = self._structs.get(type_name)
        if found is None:
            fields: dict[str, Field] = {}
            found = Struct(
                type_name,
                fields,
                atomic=type_name in self._atomic,
                published=type_name not in self._unpublished,
            )
            self._structs[type_name] = found  # before its fields: a type may contain itself
            fields.update((name, self._field(text)) for name, text in self._types[type_name].items())
        return found

    def _field(self, text: str) -> Field:
        """Read one field of the bundle: `TYPE [omitempty] [required] [list=map:a,b] [patch=…] [=DEFAULT]`."""
        found = self._fields.get(text)
        if found is None:
            words, has_default, default = text.partition(" =")
            type_text, *flags = words.split(" ")
            pointer = type_text.startswith("*")
            node = self._node(type_text.removeprefix("*"), flags)
            found = Field(
                node,
                pointer,
                "omitempty" in flags,
                "omitzero" in flags,
                "required" in flags,
                bool(has_default),
                json.loads(default) if has_default else None,
                *_patch(flags),
            )
            self._fields[text] = found
        return found

    def _node(self, type_text: str, flags: list[str]) -> Node:
        if type_text.startswith("[]"):
            element = self._node(type_text[2:].removeprefix("*"), [])
            for flag in flags:
                if flag.startswith("list="):
                    list_type, _, keys = flag[5:].partition(":")
                    return ListOf(element, _LIST_TYPES[list_type], tuple(keys.split(",")) if keys else ())
            return ListOf(element)
        if type_text.startswith("map[string]"):
            return MapOf(self._node(type_text[11:], []), atomic="map=atomic" in flags)
        kind = _SCALARS.get(type_text)
        if kind is not None:
            return self._scalars.setdefault(kind, Scalar(kind))
        struct = self.struct(type_text)
        if "map=granular" in flags and struct.atomic:
            return replace(struct, atomic=False)
        if "map=atomic" in flags and not struct.atomic:
            return replace(struct, atomic=True)
        return struct


@cache
def load(version: str) -> Catalog:
    """The catalogue of a supported version; `KeyError` for others (`versions` words it for users)."""
    bundle = _bundle()
    if version not in SUPPORTED:
        raise KeyError(version)
    kinds, types = bundle["kinds"], bundle["types"]
    atomic, unpublished = set(bundle["atomic"]), set(bundle["unpublished"])
    delta = bundle["versions"].get(version)
    if delta is not None:
        kinds = {name: entry for name, entry in (kinds | delta["kinds"]).items() if entry is not None}
        types = dict(types)
        for name, changes in delta["types"].items():
            fields = types.get(name, {}) | changes
            types[name] = {key: text for key, text in fields.items() if text is not None}
        atomic = atomic.symmetric_difference(delta["atomic"])
    return Catalog(version, kinds, types, frozenset(atomic), frozenset(unpublished))


@cache
def _bundle() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(gzip.decompress(_BUNDLE.read_bytes()))
    return loaded


def _patch(flags: list[str]) -> tuple[str, str]:
    for flag in flags:
        if flag.startswith("patch="):
            strategy, _, key = flag[6:].partition(":")
            return strategy, key
    return "", ""


def _split(name: str) -> tuple[str, str]:
    api_version, _, kind = name.partition(" ")
    return api_version, kind
