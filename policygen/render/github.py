"""Diagnostics as GitHub workflow commands, which show up as annotations on a pull request."""

from __future__ import annotations

from collections.abc import Iterable

from policygen.diagnostics import Diagnostic

_COMMAND = {"error": "error", "warning": "warning", "note": "notice"}


def render(diagnostics: Iterable[Diagnostic]) -> str:
    """One command per diagnostic."""
    return "".join(_command(item) + "\n" for item in diagnostics)


def _command(item: Diagnostic) -> str:
    properties = []
    if item.primary:
        line, column = item.primary.span.position
        end_line, end_column = item.primary.span.end_position
        properties = [f"file={_property(item.primary.span.source.name)}", f"line={line}", f"col={column}"]
        properties += [f"endLine={end_line}", f"endColumn={end_column}"]
    properties.append(f"title={_property(item.code)}")
    text = "\n".join([item.message, *item.notes, *(f"help: {text}" for text in item.help)])
    return f"::{_COMMAND[item.severity]} {','.join(properties)}::{_data(text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
