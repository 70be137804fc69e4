"""Diagnostics as JSON: a stable form for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from policygen.diagnostics import Diagnostic, Label


def render(diagnostics: Iterable[Diagnostic]) -> str:
    """`{"diagnostics": [{code, severity, message, primary, related, notes, help}]}`."""
    return (
        json.dumps({"diagnostics": [to_json(item) for item in diagnostics]}, indent=2, ensure_ascii=False)
        + "\n"
    )


def to_json(item: Diagnostic) -> dict[str, Any]:
    """One diagnostic as plain data."""
    return {
        "code": item.code,
        "severity": item.severity,
        "message": item.message,
        "primary": _label(item.primary) if item.primary else None,
        "related": [_label(label) for label in item.related],
        "notes": list(item.notes),
        "help": list(item.help),
    }


def _label(label: Label) -> dict[str, Any]:
    line, column = label.span.position
    end_line, end_column = label.span.end_position
    return {
        "file": label.span.source.name,
        "line": line,
        "column": column,
        "endLine": end_line,
        "endColumn": end_column,
        "text": label.text,
    }
