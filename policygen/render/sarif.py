"""Diagnostics as SARIF 2.1.0, which code-scanning services read."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from policygen import __version__
from policygen.diagnostics import Diagnostic, Label

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVEL = {"error": "error", "warning": "warning", "note": "note"}


def render(diagnostics: Iterable[Diagnostic]) -> str:
    """One run with a rule per code and a result per diagnostic."""
    items = list(diagnostics)
    codes = sorted({item.code for item in items})
    run = {
        "tool": {
            "driver": {
                "name": "policygen",
                "semanticVersion": __version__,
                "rules": [_rule(code) for code in codes],
            }
        },
        "columnKind": "unicodeCodePoints",
        "results": [_result(item, codes.index(item.code)) for item in items],
    }
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2, ensure_ascii=False) + "\n"


def _rule(code: str) -> dict[str, Any]:
    return {"id": code, "shortDescription": {"text": code.replace("-", " ")}}


def _result(item: Diagnostic, index: int) -> dict[str, Any]:
    text = "\n".join([item.message, *item.notes, *(f"help: {text}" for text in item.help)])
    result: dict[str, Any] = {
        "ruleId": item.code,
        "ruleIndex": index,
        "level": _LEVEL[item.severity],
        "message": {"text": text},
    }
    if item.primary:
        result["locations"] = [_location(item.primary)]
    if item.related:
        result["relatedLocations"] = [{"id": n, **_location(label)} for n, label in enumerate(item.related)]
    return result


def _location(label: Label) -> dict[str, Any]:
    line, column = label.span.position
    end_line, end_column = label.span.end_position
    path = PurePath(label.span.source.name)
    uri = path.as_uri() if path.is_absolute() else quote(path.as_posix(), safe="/:~")
    location: dict[str, Any] = {
        "physicalLocation": {
            "artifactLocation": {"uri": uri},
            "region": {
                "startLine": line,
                "startColumn": column,
                "endLine": end_line,
                "endColumn": end_column,
            },
        }
    }
    if label.text:
        location["message"] = {"text": label.text}
    return location
