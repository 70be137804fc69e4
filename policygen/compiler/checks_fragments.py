"""Checks of what is passed on to Kubernetes as it is: security contexts and volume sources.

They end up inside CEL expressions, where no schema would look at them before the first pod does.
"""

from __future__ import annotations

from collections.abc import Iterator

from policygen.compiler.model import AddVolume, Json, Model, SetSecurityContext
from policygen.diagnostics import Diagnostics, Span, suggestion
from policygen.kube.catalog import load
from policygen.kube.quantity import is_quantity
from policygen.kube.schema import ListOf, MapOf, Node, Scalar, Struct

_KINDS = {"string": (str,), "bool": (bool,), "int32": (int,), "int64": (int,), "float": (int, float)}
_WORDS = {
    "string": "a text",
    "bool": "`true` or `false`",
    "int32": "a whole number",
    "int64": "a whole number",
    "float": "a number",
    "quantity": "a quantity",
    "int-or-string": "a whole number or a text",
}


def check_fragments(model: Model, found: Diagnostics) -> None:
    """Every field is one that the version has, with a value of its type."""
    catalog = load(model.kubernetes)
    volume = catalog.struct("core/v1.Volume")
    for rule in model.rules:
        for action in rule.actions:
            if isinstance(action, AddVolume):
                _check(volume, dict(action.source), action.span, model.kubernetes, found)
            elif isinstance(action, SetSecurityContext):
                name = "PodSecurityContext" if action.containers is None else "SecurityContext"
                value: Json = action.value
                for step in reversed(action.path):
                    value = {step: value}
                _check(catalog.struct(f"core/v1.{name}"), value, action.span, model.kubernetes, found)


def _check(node: Node, value: Json, span: Span, version: str, found: Diagnostics) -> None:
    for message, help in faults(node, value, ""):
        note = f"Kubernetes {version} has it so"
        found.error("not-in-schema", message, span, notes=[note], help=[help] if help else [])


def faults(node: Node, value: Json, path: str) -> Iterator[tuple[str, str]]:
    """What is wrong with a value by its schema: a message and perhaps a suggestion."""
    where = f"`{path}`" if path else "this"
    match node:
        case Struct():
            if not isinstance(value, dict):
                yield f"{where} must be a mapping", ""
                return
            yield from _struct_faults(node, value, path)
        case MapOf(value=below):
            if not isinstance(value, dict):
                yield f"{where} must be a mapping", ""
                return
            for key, item in value.items():
                yield from faults(below, item, f"{path}.{key}".lstrip("."))
        case ListOf(element=below):
            if not isinstance(value, list):
                yield f"{where} must be a list", ""
                return
            for index, item in enumerate(value):
                yield from faults(below, item, f"{path}[{index}]")
        case Scalar():
            if not _fits(node, value):
                word = _WORDS.get(node.kind, f"a {node.kind}")
                yield f"{where} must be {word}", ""


def _struct_faults(node: Struct, value: dict[str, Json], path: str) -> Iterator[tuple[str, str]]:
    for key, item in value.items():
        below = f"{path}.{key}".lstrip(".")
        field = node.fields.get(key)
        if field is None:
            close = suggestion(key, node.fields)
            yield f"unknown field `{below}`", f"did you mean `{close}`?" if close else ""
        else:
            yield from faults(field.type, item, below)
    for name, field in node.fields.items():
        if field.required and name not in value and path:
            yield f"`{path}` needs the field `{name}`", ""


def _fits(node: Scalar, value: Json) -> bool:
    if node.kind == "raw":
        return True
    if node.kind == "quantity":
        return (
            isinstance(value, str | int | float) and not isinstance(value, bool) and is_quantity(str(value))
        )
    if node.kind == "int-or-string":
        return isinstance(value, str | int) and not isinstance(value, bool)
    allowed = _KINDS.get(node.kind, (str,))
    return isinstance(value, allowed) and (bool in allowed or not isinstance(value, bool))
