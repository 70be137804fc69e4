"""Golden results: the whole object, in a file that a person reads and reviews."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from policygen.diagnostics import Diagnostic, PolicygenError, make
from policygen.kube import manifest, reader
from policygen.merge.diff import diff
from policygen.verify.expect import show_changes
from policygen.verify.suite import Case


def compare(case: Case, got: dict[str, Any], *, update: bool) -> Iterator[Diagnostic]:
    """The difference from the golden file as one failure; with `update` it is written and shown as a note."""
    path = case.expect.golden
    assert path is not None
    span = case.expect.spans["golden"]
    try:
        known = reader.load(path.read_text(encoding="utf-8"), str(path)) if path.exists() else None
    except (OSError, UnicodeDecodeError) as error:
        yield make("error", "golden-unreadable", f"cannot read golden `{path}`: {error}", span)
        return
    except PolicygenError as error:
        yield from error.diagnostics
        return
    if known == got:
        return
    if update:
        write(path, manifest.write(got))
        return
    if known is None:
        message = f"case `{case.name}`: there is no golden `{path}`"
        yield make("error", "case-failed", message, span, help=["`policygen verify --update` writes it"])
        return
    notes = [show_changes(diff(known, got))]
    message = f"case `{case.name}`: the result differs from its golden"
    help = ["if the change is meant, `policygen verify --update` writes it"]
    yield make("error", "case-failed", message, span, notes=notes, help=help)


def write(path: Path, text: str) -> None:
    """Replace a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
        Path(temporary).replace(path)
    except OSError:
        Path(temporary).unlink(missing_ok=True)
        raise
