"""One line per diagnostic: `file:line:column: severity[code]: message`."""

from __future__ import annotations

from collections.abc import Iterable

from policygen.diagnostics import Diagnostic


def render(diagnostics: Iterable[Diagnostic]) -> str:
    """All diagnostics, none left out."""
    return "".join(_line(item) + "\n" for item in diagnostics)


def _line(item: Diagnostic) -> str:
    where = f"{item.primary.span}: " if item.primary else ""
    return f"{where}{item.severity}[{item.code}]: {' '.join(item.message.splitlines())}"
