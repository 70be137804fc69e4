"""What went wrong, where, and what to do: the one shape of every error that a user can cause.

A `Diagnostic` has a code, a severity, one message that is enough alone, at most one primary label and any
number of related ones, notes (facts) and help (actions). Rendering is in `policygen.render`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from typing import Literal, NoReturn, TypeAlias

Severity: TypeAlias = Literal["error", "warning", "note"]

MAX_SHOWN = 100
"""More diagnostics than this are counted, not shown (cel-go caps its errors likewise)."""

_SEVERITY_ORDER: dict[Severity, int] = {"error": 0, "warning": 1, "note": 2}


@dataclass(frozen=True)
class Source:
    """A text with a name. Lines and columns count from 1, columns in code points."""

    name: str
    text: str

    @cached_property
    def line_starts(self) -> list[int]:
        """Offset of the first code point of every line."""
        starts = [0]
        find = self.text.find
        at = find("\n")
        while at >= 0:
            starts.append(at + 1)
            at = find("\n", at + 1)
        return starts

    def position(self, offset: int) -> tuple[int, int]:
        """The line and column of an offset; an offset outside the text is moved to its nearest end."""
        offset = max(0, min(offset, len(self.text)))
        line = bisect_right(self.line_starts, offset)
        return line, offset - self.line_starts[line - 1] + 1

    def offset(self, line: int, column: int) -> int:
        """The offset of a line and column, both from 1 and moved into the text where they lie outside."""
        starts = self.line_starts
        line = max(1, min(line, len(starts)))
        end = starts[line] - 1 if line < len(starts) else len(self.text)
        return max(0, min(starts[line - 1] + column - 1, end))

    def line(self, number: int) -> str:
        """The text of a line without its end."""
        start = self.line_starts[number - 1]
        end = self.text.find("\n", start)
        return self.text[start : len(self.text) if end < 0 else end].rstrip("\r")


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range of offsets in a source."""

    source: Source
    start: int
    end: int

    @property
    def position(self) -> tuple[int, int]:
        """Line and column of the start, from 1."""
        return self.source.position(self.start)

    @property
    def end_position(self) -> tuple[int, int]:
        """Line and column just behind the end, from 1."""
        return self.source.position(self.end)

    def __str__(self) -> str:
        line, column = self.position
        return f"{self.source.name}:{line}:{column}"


@dataclass(frozen=True, slots=True)
class Label:
    """A span and a few words that stand under it."""

    span: Span
    text: str = ""


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One thing to tell the user. `code` is kebab-case and has a page `docs/errors/<code>.md`."""

    code: str
    severity: Severity
    message: str
    primary: Label | None = None
    related: tuple[Label, ...] = ()
    notes: tuple[str, ...] = ()
    help: tuple[str, ...] = ()

    @property
    def sort_key(self) -> tuple[str, int, int, str, str]:
        """By file, then place, then severity; those without a place come first."""
        if self.primary is None:
            return "", -1, _SEVERITY_ORDER[self.severity], self.code, self.message
        span = self.primary.span
        return span.source.name, span.start, _SEVERITY_ORDER[self.severity], self.code, self.message


class PolicygenError(Exception):
    """The input is at fault. Carries the diagnostics that say how."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics: tuple[Diagnostic, ...] = tuple(diagnostics)
        super().__init__("; ".join(diagnostic.message for diagnostic in self.diagnostics))


class PolicygenInternalError(Exception):
    """A bug in policygen, never the user's fault."""


@dataclass(slots=True)
class Diagnostics:
    """Collects diagnostics, so that a user fixes ten things per run instead of one."""

    items: list[Diagnostic] = field(default_factory=list)
    _kept: set[Diagnostic] = field(default_factory=set, init=False, repr=False, compare=False)

    def add(self, diagnostic: Diagnostic) -> None:
        """Keep one diagnostic; the same one twice is kept once."""
        if diagnostic not in self._kept:
            self._kept.add(diagnostic)
            self.items.append(diagnostic)

    def error(
        self,
        code: str,
        message: str,
        span: Span | None = None,
        label: str = "",
        *,
        related: Iterable[Label] = (),
        notes: Iterable[str] = (),
        help: Iterable[str] = (),
    ) -> None:
        """Keep an error."""
        self.add(make("error", code, message, span, label, related=related, notes=notes, help=help))

    def warning(
        self,
        code: str,
        message: str,
        span: Span | None = None,
        label: str = "",
        *,
        related: Iterable[Label] = (),
        notes: Iterable[str] = (),
        help: Iterable[str] = (),
    ) -> None:
        """Keep a warning."""
        self.add(make("warning", code, message, span, label, related=related, notes=notes, help=help))

    def extend(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Keep several."""
        for diagnostic in diagnostics:
            self.add(diagnostic)

    @property
    def has_errors(self) -> bool:
        """Whether anything kept is an error."""
        return any(item.severity == "error" for item in self.items)

    def sorted(self) -> tuple[Diagnostic, ...]:
        """All of them in the order in which people read them."""
        return tuple(sorted(self.items, key=lambda item: item.sort_key))

    def raise_if_errors(self) -> None:
        """Raise `PolicygenError` with everything collected, warnings too, when there is an error."""
        if self.has_errors:
            raise PolicygenError(self.sorted())

    def __iter__(self) -> Iterator[Diagnostic]:
        return iter(self.items)


def make(
    severity: Severity,
    code: str,
    message: str,
    span: Span | None = None,
    label: str = "",
    *,
    related: Iterable[Label] = (),
    notes: Iterable[str] = (),
    help: Iterable[str] = (),
) -> Diagnostic:
    """A diagnostic whose primary label is optional."""
    primary = None if span is None else Label(span, label)
    return Diagnostic(code, severity, message, primary, tuple(related), tuple(notes), tuple(help))


def fail(
    code: str,
    message: str,
    span: Span | None = None,
    label: str = "",
    *,
    related: Iterable[Label] = (),
    notes: Iterable[str] = (),
    help: Iterable[str] = (),
) -> NoReturn:
    """Raise a `PolicygenError` with one error."""
    raise PolicygenError([make("error", code, message, span, label, related=related, notes=notes, help=help)])


def suggestion(word: str, candidates: Iterable[str]) -> str | None:
    """The candidate that was probably meant, if one is close; letter case alone always counts as close."""
    pool = sorted(set(candidates))
    for candidate in pool:
        if candidate.lower() == word.lower():
            return candidate
    close = get_close_matches(word, pool, n=1, cutoff=0.7)
    return close[0] if close else None
