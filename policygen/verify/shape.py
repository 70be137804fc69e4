"""Reading a hand-written document strictly: one table says what may stand where, and gives the JSON Schema.

Shapes are a small closed set. Reading checks a document against its shape and reports every fault with its
place; it changes nothing, so what comes after works on plain data that is known to be well formed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, assert_never

from policygen.diagnostics import Diagnostics, suggestion
from policygen.kube.reader import Document


@dataclass(frozen=True, slots=True)
class Text:
    """A string; one of `choices` when there are any."""

    doc: str = ""
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Bool:
    """`true` or `false`."""

    doc: str = ""


@dataclass(frozen=True, slots=True)
class Int:
    """A whole number."""

    doc: str = ""


@dataclass(frozen=True, slots=True)
class AnyValue:
    """Anything."""

    doc: str = ""


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list of one shape; `or_one` also takes a single item without the list."""

    item: Shape
    doc: str = ""
    or_one: bool = False


@dataclass(frozen=True, slots=True)
class MapOf:
    """A map from free names to one shape."""

    value: Shape
    doc: str = ""


@dataclass(frozen=True, slots=True)
class TextOrObject:
    """A name or a path, or a Kubernetes object written in place."""

    doc: str = ""


@dataclass(frozen=True, slots=True)
class Record:
    """A map with declared keys."""

    fields: Mapping[str, Shape]
    doc: str = ""
    required: tuple[str, ...] = ()


Shape: TypeAlias = Text | Bool | Int | AnyValue | ListOf | MapOf | TextOrObject | Record
Path: TypeAlias = tuple[str | int, ...]

_WORDS: dict[type, str] = {
    type(None): "nothing",
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "text",
    list: "a list",
    dict: "a map",
}


@dataclass(slots=True)
class Check:
    """Checks one document against a shape."""

    document: Document
    found: Diagnostics
    what: str
    """What the document is called in messages."""
    _depth: int = field(default=0)

    def check(self, shape: Shape, value: Any, path: Path = ()) -> None:
        """Report every fault below a place."""
        match shape:
            case Text():
                self._text(shape, value, path)
            case Bool():
                self._expect(isinstance(value, bool), "`true` or `false`", value, path)
            case Int():
                whole = isinstance(value, int) and not isinstance(value, bool)
                self._expect(whole, "a whole number", value, path)
            case AnyValue():
                return
            case ListOf():
                self._list(shape, value, path)
            case MapOf():
                if self._expect(isinstance(value, dict), "a map", value, path):
                    for key, item in value.items():
                        self.check(shape.value, item, (*path, key))
            case TextOrObject():
                fits = isinstance(value, dict) or (isinstance(value, str) and value != "")
                self._expect(fits, "a name, a path or an object", value, path)
            case Record():
                self._record(shape, value, path)
            case _:
                assert_never(shape)

    def _text(self, shape: Text, value: Any, path: Path) -> None:
        if not self._expect(isinstance(value, str), "text", value, path) or not shape.choices:
            return
        if value not in shape.choices:
            near = suggestion(value, shape.choices)
            self.found.error(
                "suite-value",
                f"`{value}` is not a value of `{_name(path)}`",
                self.document.span(path),
                "one of " + ", ".join(f"`{choice}`" for choice in shape.choices),
                help=[f"did you mean `{near}`?"] if near else [],
            )

    def _list(self, shape: ListOf, value: Any, path: Path) -> None:
        if not isinstance(value, list):
            if shape.or_one:
                self.check(shape.item, value, path)
            else:
                self._expect(False, "a list", value, path)
            return
        for index, item in enumerate(value):
            self.check(shape.item, item, (*path, index))

    def _record(self, shape: Record, value: Any, path: Path) -> None:
        if not self._expect(isinstance(value, dict), "a map", value, path):
            return
        for key, item in value.items():
            below = shape.fields.get(key)
            if below is None:
                self._unknown(key, shape, path)
            else:
                self.check(below, item, (*path, key))
        for key in shape.required:
            if key not in value:
                self.found.error(
                    "suite-value",
                    f"{self._place(path)} has no `{key}`",
                    self.document.span(path),
                    help=[f"add `{key}`: {_doc(shape.fields[key])}"],
                )

    def _unknown(self, key: str, shape: Record, path: Path) -> None:
        near = suggestion(key, shape.fields)
        known = ", ".join(f"`{name}`" for name in shape.fields)
        self.found.error(
            "suite-unknown-key",
            f"{self._place(path)} has no key `{key}`",
            self.document.key_span((*path, key)),
            "unknown key",
            help=[f"did you mean `{near}`?"] if near else [f"known keys: {known}"],
        )

    def _expect(self, fits: bool, wanted: str, value: Any, path: Path) -> bool:
        if not fits:
            got = _WORDS.get(type(value), "something else")
            message = f"`{_name(path)}` must be {wanted}, not {got}"
            self.found.error("suite-value", message, self.document.span(path))
        return fits

    def _place(self, path: Path) -> str:
        return f"`{_name(path)}`" if path else self.what


def _name(path: Path) -> str:
    """The nearest key, with its list index: `cases[2].expect`."""
    out = ""
    for step in path:
        out += f"[{step}]" if isinstance(step, int) else f".{step}" if out else step
    return out


def _doc(shape: Shape) -> str:
    return shape.doc.rstrip(".") or "it is required"


def json_schema(shape: Shape) -> dict[str, Any]:
    """The shape as JSON Schema (draft 2020-12), for editors."""
    described = {"description": shape.doc} if shape.doc else {}
    match shape:
        case Text():
            return {"type": "string", **({"enum": list(shape.choices)} if shape.choices else {}), **described}
        case Bool():
            return {"type": "boolean", **described}
        case Int():
            return {"type": "integer", **described}
        case AnyValue():
            return described
        case ListOf():
            item = json_schema(shape.item)
            many = {"type": "array", "items": item}
            return {"anyOf": [item, many], **described} if shape.or_one else {**many, **described}
        case MapOf():
            return {"type": "object", "additionalProperties": json_schema(shape.value), **described}
        case TextOrObject():
            return {"anyOf": [{"type": "string", "minLength": 1}, {"type": "object"}], **described}
        case Record():
            return {
                "type": "object",
                "properties": {name: json_schema(below) for name, below in shape.fields.items()},
                "additionalProperties": False,
                **({"required": list(shape.required)} if shape.required else {}),
                **described,
            }
        case _:
            assert_never(shape)
