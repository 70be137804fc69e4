"""Faults in a text and how cel-go prints them (`common/error.go`, `common/errors.go`)."""

from __future__ import annotations

from dataclasses import dataclass, field

from policygen.cel.errors import CompileError, Issue
from policygen.diagnostics import Source

MAX_ERRORS = 100
_MAX_SNIPPET = 16384
_NOWHERE = -1


@dataclass(slots=True)
class SourceErrors:
    """Collects faults in one expression; raises them all at once."""

    text: str
    issues: list[Issue] = field(default_factory=list)

    def report(
        self, offset: int, message: str, *, undefined_field: str | None = None, node: int | None = None
    ) -> None:
        """Keep a fault at an offset; -1 means that it has no place."""
        if offset == _NOWHERE:
            self.issues.append(Issue(message, 0, -1, -1))
            return
        line, column = Source("<input>", self.text).position(offset)
        # the end of an empty text has no column in cel-go
        column = column - 1 if self.text else -1
        self.issues.append(Issue(message, offset, line, column, undefined_field, node))

    def raise_if_any(self) -> None:
        """Raise `CompileError` with cel-go's text when anything was reported."""
        if not self.issues:
            return
        ordered = tuple(sorted(self.issues, key=lambda issue: (issue.line, issue.column)))
        shown = [self._display(issue) for issue in ordered[:MAX_ERRORS]]
        if len(ordered) > MAX_ERRORS:
            shown.append(f"{len(ordered) - MAX_ERRORS} more errors were truncated")
        raise CompileError("\n".join(shown), ordered)

    def _display(self, issue: Issue) -> str:
        column = 0 if issue.line < 0 else issue.column + 1
        head = f"ERROR: <input>:{issue.line}:{column}: {issue.message}"
        if issue.line < 0 or not self.text:
            return head
        snippet = Source("<input>", self.text)
        start = snippet.line_starts[issue.line - 1]
        end = self.text.find("\n", start)
        line = self.text[start : end if end >= 0 else len(self.text)].replace("\t", " ")
        if len(line.encode("utf-8", "surrogatepass")) > _MAX_SNIPPET:
            return head
        marks = "".join("." if ord(char) < 128 else "．" for char in line[: issue.column])
        at = line[issue.column : issue.column + 1]
        pointer = "＾" if at and ord(at) >= 128 else "^"
        return f"{head}\n | {line}\n | {marks}{pointer}"
