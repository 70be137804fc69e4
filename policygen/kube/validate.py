"""Strict checks of an object against a version's schema, all findings at once and with paths.

`check` is for what we emit or lint: ours to word, each finding with its path. What the API server says about
an object that does not decode is in `decode_errors`; its rules beyond the schema are not here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, assert_never

from policygen.diagnostics import suggestion
from policygen.kube import catalog, objects, roundtrip, versions
from policygen.kube.gotime import parse_duration, parse_time
from policygen.kube.quantity import is_quantity
from policygen.kube.schema import ELEMENT, KindSchema, ListOf, MapOf, Node, Scalar, ScalarKind, Struct

Path: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that the schema does not allow. The message names the path."""

    path: Path
    message: str
    help: str = ""


def check(obj: Mapping[str, Any], version: str) -> list[Problem]:
    """What a version's schema has against an object of a built-in kind, in document order."""
    api_version, kind = str(obj.get("apiVersion", "")), str(obj.get("kind", ""))
    schema = catalog.load(version).get(api_version, kind)
    if schema is None:
        missing = versions.kind_missing(api_version, kind, version)
        return [Problem(("kind",), missing or f"Kubernetes {version} has no `{kind}` in `{api_version}`")]
    return check_schema(obj, schema, version)


def check_schema(obj: Mapping[str, Any], schema: KindSchema, version: str = "") -> list[Problem]:
    """As `check`, against a schema that is at hand (a CRD's)."""
    return list(_Checker(schema, version).problems(obj, schema.root, ()))


@dataclass(frozen=True, slots=True)
class _Checker:
    schema: KindSchema
    version: str

    def problems(self, value: Any, node: Node, path: Path) -> Iterator[Problem]:
        """The problems of a value that is not null."""
        match node:
            case Struct():
                yield from self._struct(value, node, path)
            case ListOf():
                if not isinstance(value, list):
                    yield _wrong(path, value, "a list")
                    return
                for index, item in enumerate(value):
                    yield from self._element(item, node.element, (*path, index))
                yield from _duplicates(value, node, path)
            case MapOf():
                if not isinstance(value, dict):
                    yield _wrong(path, value, "a map")
                    return
                for name, item in value.items():
                    yield from self._element(item, node.value, (*path, name))
            case Scalar():
                if not _fits(value, node.kind):
                    yield _wrong(path, value, _WORDS[node.kind])
            case _:
                assert_never(node)

    def _struct(self, value: Any, node: Struct, path: Path) -> Iterator[Problem]:
        if not isinstance(value, dict):
            yield _wrong(path, value, "a map")
            return
        for name, item in value.items():
            declared = node.fields.get(name)
            if declared is not None:
                if item is not None:
                    yield from self.problems(item, declared.type, (*path, name))
                elif declared.required:
                    yield Problem(
                        (*path, name), f"`{objects.path_text((*path, name))}` is required, but null"
                    )
            elif not node.preserve_unknown:
                yield self._unknown(name, node, (*path, name))
        for name, declared in node.fields.items():
            if declared.required and name not in value:
                yield Problem((*path, name), f"`{objects.path_text((*path, name))}` is required")

    def _element(self, item: Any, node: Node, path: Path) -> Iterator[Problem]:
        if item is None:
            if not (isinstance(node, Scalar) and node.kind == "raw") and not node.nullable:
                yield _wrong(path, item, "a value")
        else:
            yield from self.problems(item, node, path)

    def _unknown(self, name: str, node: Struct, path: Path) -> Problem:
        shown = objects.path_text(path)
        pattern = tuple(ELEMENT if isinstance(step, int) else step for step in path)
        where = ""
        if self.version and self.schema.builtin:
            having = versions.field_versions(self.schema.api_version, self.schema.kind, pattern)
            where = f"; Kubernetes {having[0]} has it" if having else ""
        close = suggestion(name, node.fields)
        message = f"`{self.schema.kind}` has no field `{shown}`" + (
            f" in Kubernetes {self.version}{where}" if self.version else ""
        )
        return Problem(path, message, f"did you mean `{close}`?" if close else "")


def _duplicates(value: list[Any], node: ListOf, path: Path) -> Iterator[Problem]:
    """Two elements of a set, or of a list keyed by fields, that are the same to the API server."""
    if node.list_type == "atomic":
        return
    seen: set[Any] = set()
    for index, item in enumerate(value):
        if node.list_type == "set":
            key: Any = item if isinstance(item, str | int | float) else None
        elif isinstance(item, dict) and isinstance(node.element, Struct):
            key = tuple(str(item.get(name, _default(node.element, name))) for name in node.keys)
        else:
            key = None
        if key is not None and key in seen:
            yield Problem((*path, index), f"`{objects.path_text((*path, index))}` repeats an earlier element")
        seen.add(key)


def _default(node: Struct, name: str) -> Any:
    declared = node.fields.get(name)
    return declared.default if declared is not None else None


def _wrong(path: Path, value: Any, wanted: str) -> Problem:
    return Problem(path, f"`{objects.path_text(path)}` must be {wanted}, not {_describe(value)}")


def _describe(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return f"`{str(value).lower()}`"
        case str():
            return f'the text "{value}"' if len(value) <= 40 else "a text"
        case int() | float():
            return f"the number {value}"
        case list():
            return "a list"
        case _:
            return "a map"


def _fits(value: Any, kind: ScalarKind) -> bool:
    match kind:
        case "string":
            return isinstance(value, str)
        case "bool":
            return isinstance(value, bool)
        case "int32":
            return type(value) is int and -(2**31) <= value < 2**31
        case "int64":
            return type(value) is int and -(2**63) <= value < 2**63
        case "float":
            return type(value) in (int, float)
        case "quantity":
            return (isinstance(value, str) and is_quantity(value.strip())) or type(value) in (int, float)
        case "int-or-string":
            return isinstance(value, str) or (type(value) is int and -(2**31) <= value < 2**31)
        case "time" | "micro-time":
            return isinstance(value, str) and parse_time(value) is not None
        case "duration":
            return isinstance(value, str) and parse_duration(value) is not None
        case "bytes":
            return isinstance(value, str) and roundtrip.is_base64(value)
        case "raw":
            return True
        case _:
            assert_never(kind)


_WORDS: Final[Mapping[ScalarKind, str]] = {
    "string": "a text",
    "bool": "true or false",
    "int32": "a whole number of 32 bits",
    "int64": "a whole number",
    "float": "a number",
    "quantity": "a quantity such as `4Gi`",
    "int-or-string": "a whole number or a text",
    "time": "a time such as `2026-01-02T03:04:05Z`",
    "micro-time": "a time such as `2026-01-02T03:04:05.000000Z`",
    "duration": "a duration such as `1m30s`",
    "bytes": "base64",
    "raw": "any value",
}
