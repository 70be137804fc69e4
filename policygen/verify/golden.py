"""Golden results: the whole object, in a file that a person reads and reviews.

With `--update` nothing is written while cases run. What each case would write is collected; a file is
replaced only when the input has no error, every case that names it held otherwise, and all versions agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from policygen.diagnostics import Diagnostic, PolicygenError, Span, make
from policygen.kube import manifest, reader
from policygen.merge.diff import Change, diff
from policygen.verify.files import write_whole
from policygen.verify.report import Update
from policygen.verify.suite import Case


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a case would have its golden hold."""

    path: Path
    text: str
    case: str
    version: str
    is_new: bool
    changes: tuple[Change, ...]
    span: Span = field(compare=False, repr=False)
    held: bool = True
    """Whether everything else that the case expects held."""


def wanted(case: Case, got: dict[str, Any], version: str) -> Wanted | Diagnostic:
    """The golden as the case would have it, or why the file that is there must be left alone."""
    path = case.expect.golden
    assert path is not None, "the case has a golden"
    span = case.expect.spans["golden"]
    try:
        known = reader.load(path.read_text(encoding="utf-8"), str(path)) if path.exists() else None
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror or str(error) if isinstance(error, OSError) else "it is not UTF-8"
        return make("error", "golden-unreadable", f"cannot read golden `{path}`: {reason.lower()}", span)
    except PolicygenError as error:
        notes = [item.message for item in error.diagnostics[:3]]
        return make("error", "golden-unreadable", f"golden `{path}` is not one object", span, notes=notes)
    if known is not None and not isinstance(known, dict):
        return make("error", "golden-unreadable", f"golden `{path}` is not one object", span)
    if known is not None and _identity(known) != _identity(got):
        return make(
            "error",
            "golden-foreign",
            f"`{path}` is no golden of case `{case.name}`: it holds a `{known.get('kind')}`",
            span,
            help=["name another file; this one is never overwritten"],
        )
    changes = () if known is None else tuple(diff(known, got))
    return Wanted(path, manifest.write(got), case.name, version, known is None, changes, span)


def _identity(obj: dict[str, Any]) -> tuple[Any, Any]:
    return obj.get("apiVersion"), obj.get("kind")


def write_all(found: Iterable[Wanted]) -> Iterator[Update | Diagnostic]:
    """Write what has changed, file by file; what could not be written is a diagnostic."""
    by_path: dict[Path, list[Wanted]] = {}
    for item in found:
        by_path.setdefault(item.path, []).append(item)
    for path, items in by_path.items():
        first = items[0]
        other = next((item for item in items if item.text != first.text), None)
        if not all(item.held for item in items):
            continue
        if other is not None:
            yield _conflict(first, other)
        elif first.is_new or first.changes:
            try:
                write_whole(path, first.text)
            except OSError as error:
                reason = (error.strerror or str(error)).lower()
                yield make("error", "unwritable-output", f"cannot write `{path}`: {reason}", first.span)
            else:
                yield Update(path, first.is_new, first.changes, first.text)


def _conflict(first: Wanted, other: Wanted) -> Diagnostic:
    if first.case == other.case:
        who = f"case `{first.case}` on Kubernetes {first.version} and on {other.version}"
        help = ["give the case one `values` for each difference, or a suite for each version"]
    else:
        who = f"cases `{first.case}` and `{other.case}`"
        help = ["give each case a golden of its own"]
    return make(
        "error", "golden-conflict", f"{who} want different goldens `{first.path}`", first.span, help=help
    )
