"""What a kind looks like: a small closed set of node types, for built-in kinds and for CRDs alike.

A `KindSchema` is the root of one kind. Nodes carry what structured-merge-diff's schema carries (list types,
map keys, atomic structs and maps, defaults of keys) and what Go's JSON coding needs (scalar kind, pointer,
`omitempty`). Inlined Go structs are already flattened into the struct that embeds them. Nodes compare and
hash by identity, so that compiled tables can be kept per node. A struct may contain itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias, assert_never

ScalarKind: TypeAlias = Literal[
    "string",
    "int32",
    "int64",
    "float",
    "bool",
    "bytes",
    "quantity",
    "int-or-string",
    "time",
    "micro-time",
    "duration",
    "raw",
]
ListType: TypeAlias = Literal["atomic", "set", "map"]

ELEMENT: Final = "[]"
"""The path step from a list to its elements, and nothing else."""


@dataclass(frozen=True, slots=True, eq=False)
class Constraints:
    """The value validations of a CRD's structural schema; None where the schema says nothing."""

    enum: tuple[Any, ...] | None = None
    pattern: str | None = None
    format: str | None = None
    minimum: float | None = None
    maximum: float | None = None
    exclusive_minimum: bool = False
    exclusive_maximum: bool = False
    multiple_of: float | None = None
    min_length: int | None = None
    max_length: int | None = None
    min_items: int | None = None
    max_items: int | None = None
    unique_items: bool = False
    min_properties: int | None = None
    max_properties: int | None = None
    all_of: tuple[Mapping[str, Any], ...] = ()
    any_of: tuple[Mapping[str, Any], ...] = ()
    one_of: tuple[Mapping[str, Any], ...] = ()
    none_of: Mapping[str, Any] | None = None
    """The schema under `not`."""
    cel: tuple[Mapping[str, Any], ...] = ()
    """`x-kubernetes-validations`, as written."""


@dataclass(frozen=True, slots=True, eq=False)
class Scalar:
    """A leaf. `raw` is any JSON value (RawExtension, FieldsV1, or a CRD's untyped preserved value).

    A CRD's `type: integer` reads as `int64` and `type: number` as `float`; `quantity`, `time` and the like
    occur in built-in kinds only.
    """

    kind: ScalarKind
    nullable: bool = False
    constraints: Constraints | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ListOf:
    """A list. `keys` name the element's key fields and are set for `list_type` `map` alone."""

    element: Node
    list_type: ListType = "atomic"
    keys: tuple[str, ...] = ()
    nullable: bool = False
    constraints: Constraints | None = None


@dataclass(frozen=True, slots=True, eq=False)
class MapOf:
    """A map from strings to values of one type; granular unless `atomic`."""

    value: Node
    atomic: bool = False
    nullable: bool = False
    constraints: Constraints | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Struct:
    """An object with declared fields. `name` is the Go type (`core/v1.Container`), empty in a CRD."""

    name: str
    fields: Mapping[str, Field] = field(repr=False)
    atomic: bool = False
    preserve_unknown: bool = False
    """Undeclared fields are kept (CRDs; a built-in kind drops them)."""
    embedded: bool = False
    """`x-kubernetes-embedded-resource`: has `apiVersion`, `kind` and `metadata` of its own."""
    published: bool = True
    """Whether the OpenAPI documents name this type; without it there is no structured merge."""
    nullable: bool = False
    constraints: Constraints | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """A field of a struct, with how Go encodes it."""

    type: Node
    pointer: bool = False
    omitempty: bool = False
    omitzero: bool = False
    required: bool = False
    has_default: bool = False
    default: Any = None
    """The OpenAPI default. For list-map keys it completes a missing key (a port's `protocol`)."""
    patch_strategy: str = ""
    """Of strategic merge patches: `merge`, `retainKeys` or both with a comma."""
    patch_merge_key: str = ""


Node: TypeAlias = Scalar | ListOf | MapOf | Struct


@dataclass(frozen=True, slots=True, eq=False)
class KindSchema:
    """The schema of one kind in one apiVersion."""

    api_version: str
    kind: str
    root: Struct
    builtin: bool = True
    """Built-in kinds pass through typed structs; custom kinds are kept as they were sent."""
    namespaced: bool = True
    plural: str = ""
    subresources: tuple[str, ...] = ()
    """Of a CRD: `status` and `scale` as declared."""

    def at(self, path: str | Sequence[str]) -> Node | None:
        """The node at a path such as `spec.containers[].env`, or None where the schema declares nothing."""
        node: Node = self.root
        for step in _steps(path):
            below = child(node, step)
            if below is None:
                return None
            node = below
        return node

    def field_at(self, path: str | Sequence[str]) -> Field | None:
        """The field (`pointer`, `omitempty`, default) that a path ends in, if it is one."""
        steps = _steps(path)
        if not steps:
            return None
        parent = self.at(steps[:-1])
        return parent.fields.get(steps[-1]) if isinstance(parent, Struct) else None

    def atomic_prefix(self, path: str | Sequence[str]) -> str | None:
        """The first atomic list, map or struct on the way to a path, the path's own end included.

        Where this is not None, ApplyConfiguration may not touch the path (apiserver `patch/smd.go`). An
        undeclared path has none either: ask `at` first.
        """
        node: Node = self.root
        walked: list[str] = []
        for step in _steps(path):
            below = child(node, step)
            if below is None:
                return None
            walked.append(step)
            if is_atomic(below):
                return join(walked)
            node = below
        return None

    def is_atomic(self, path: str | Sequence[str]) -> bool:
        """Whether the path is, or lies in, something that merges as a whole."""
        return self.atomic_prefix(path) is not None


def child(node: Node, step: str) -> Node | None:
    """One step down: a field name, a map key, or `[]` for the elements of a list."""
    match node:
        case Struct():
            found = node.fields.get(step)
            if found is not None:
                return found.type
            return ANY if node.preserve_unknown and step != ELEMENT else None
        case ListOf():
            return node.element if step == ELEMENT else None
        case MapOf():
            return node.value if step != ELEMENT else None
        case Scalar():
            return ANY if node.kind == "raw" else None
        case _:
            assert_never(node)


def is_atomic(node: Node) -> bool:
    """Whether a node is a list, map or struct that merges as a whole."""
    match node:
        case Struct() | MapOf():
            return node.atomic
        case ListOf():
            return node.list_type == "atomic"
        case Scalar():
            return False
        case _:
            assert_never(node)


def walk(node: Node, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Node]]:
    """Every node below and including this one, with its path; map values stand under `*`.

    A type inside itself (`CompositePodGroupTemplate` of 1.37) is reported once and not entered again.
    """
    yield from _walk(node, path, ())


def _walk(
    node: Node, path: tuple[str, ...], inside: tuple[Node, ...]
) -> Iterator[tuple[tuple[str, ...], Node]]:
    yield path, node
    match node:
        case Struct():
            if node in inside:
                return
            for name, found in node.fields.items():
                yield from _walk(found.type, (*path, name), (*inside, node))
        case ListOf():
            yield from _walk(node.element, (*path, ELEMENT), inside)
        case MapOf():
            yield from _walk(node.value, (*path, "*"), inside)
        case Scalar():
            return
        case _:
            assert_never(node)


_STEP = re.compile(r"\[\]|\[\"((?:[^\"\\]|\\.)*)\"\]|\['([^']*)'\]|([^.\[\]]+)")


def steps(path: str) -> tuple[str, ...]:
    """`spec.containers[].resources.limits["nvidia.com/gpu"]` as its steps."""
    found = []
    at = 0
    while at < len(path):
        if path[at] == "." and at > 0:
            at += 1
        match = _STEP.match(path, at)
        if match is None:
            raise ValueError(f"malformed path {path!r}")
        if match[1] is not None:
            found.append(match[1].replace('\\"', '"'))
        else:
            found.append(match[2] if match[2] is not None else match[0])
        at = match.end()
    return tuple(found)


def join(path: Sequence[str]) -> str:
    """Steps as one path: the reverse of `steps`."""
    out = ""
    for step in path:
        if step == ELEMENT:
            out += step
        elif re.fullmatch(r"[^.\[\]\"']+", step):
            out += f".{step}" if out else step
        else:
            out += '["' + step.replace('"', '\\"') + '"]'
    return out


def _steps(path: str | Sequence[str]) -> Sequence[str]:
    return steps(path) if isinstance(path, str) else path


ANY: Final = Scalar("raw")
"""Any JSON value."""
