"""Diagnostics with the lines they speak of and carets under them (docs: `style` section 4)."""

from __future__ import annotations

from collections.abc import Iterable
from unicodedata import combining, east_asian_width

from policygen.diagnostics import MAX_SHOWN, Diagnostic, Label

_TAB = "    "
_MAX_WIDTH = 160


def render(diagnostics: Iterable[Diagnostic], *, color: bool = False) -> str:
    """All diagnostics, a blank line between them, and one closing line that counts them."""
    items = list(diagnostics)
    blocks = [_block(item, color) for item in items[:MAX_SHOWN]]
    if len(items) > MAX_SHOWN:
        blocks.append(f"{len(items) - MAX_SHOWN} more diagnostics were truncated\n")
    if items:
        blocks.append(summary(items) + "\n")
    return "\n".join(blocks)


def summary(items: list[Diagnostic]) -> str:
    """`2 errors and 1 warning in 1 file.`"""
    parts = []
    for severity, plural in (("error", "errors"), ("warning", "warnings"), ("note", "notes")):
        count = sum(item.severity == severity for item in items)
        if count:
            parts.append(f"{count} {severity if count == 1 else plural}")
    files = len({item.primary.span.source.name for item in items if item.primary})
    where = "" if not files else f" in {files} file" + ("" if files == 1 else "s")
    return " and ".join(parts) + where + "."


def _block(item: Diagnostic, color: bool) -> str:
    head = _paint(f"{item.severity}[{item.code}]", item.severity, color)
    lines = [f"{head}: {item.message}"]
    labels = [(item.primary, "-->", "^")] if item.primary else []
    labels += [(label, ":::", "-") for label in item.related]
    width = max((len(str(label.span.position[0])) for label, _, _ in labels), default=1)
    previous: Label | None = None
    for label, arrow, mark in labels:
        lines += _snippet(label, arrow, mark, width, first=previous is None)
        previous = label
    pad = " " * width
    lines += [f"{pad} = note: {_indent(note, width)}" for note in item.notes]
    lines += [f"{pad} = help: {_indent(text, width)}" for text in item.help]
    lines.append(f"{pad} = see:  docs/errors/{item.code}.md")
    return "\n".join(lines) + "\n"


def _indent(text: str, width: int) -> str:
    return text.replace("\n", "\n" + " " * (width + 9))


def _snippet(label: Label, arrow: str, mark: str, width: int, *, first: bool) -> list[str]:
    span = label.span
    line, column = span.position
    text = span.source.line(line)
    end_line, end_column = span.end_position
    last = end_column if end_line == line else len(text) + 1
    shown, before, under = _window(text, column - 1, max(last - 1, column))
    pad = " " * width
    caret = " " * before + mark * max(1, under) + (f" {label.text}" if label.text else "")
    lines = [f"{pad}{arrow} {span.source.name}:{line}:{column}"]
    if first:
        lines.append(f"{pad} |")
    return [*lines, f"{line:>{width}} | {shown}", f"{pad} | {caret}"]


def _window(text: str, start: int, end: int) -> tuple[str, int, int]:
    """The part of a line worth showing, the display width before the mark, and that of the mark."""
    end = min(end, max(len(text), start + 1))
    left = 0
    prefix = ""
    if len(text) > _MAX_WIDTH:
        left = max(0, start - _MAX_WIDTH // 3)
        prefix = "…" if left else ""
    visible = text[left : left + _MAX_WIDTH]
    suffix = "…" if left + _MAX_WIDTH < len(text) else ""
    before = display_width(prefix + text[left:start])
    under = display_width(text[start : min(end, left + _MAX_WIDTH)])
    return _printable(prefix + visible + suffix), before, under


def _printable(text: str) -> str:
    return "".join(_TAB if c == "\t" else c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def display_width(text: str) -> int:
    """Columns that a text takes on a terminal; a tab takes four, as it is shown here."""
    return sum(_char_width(char) for char in text)


def _char_width(char: str) -> int:
    if char == "\t":
        return len(_TAB)
    if combining(char):
        return 0
    return 2 if east_asian_width(char) in "WF" else 1


def _paint(text: str, severity: str, color: bool) -> str:
    if not color:
        return text
    code = {"error": "31;1", "warning": "33;1"}.get(severity, "36;1")
    return f"\x1b[{code}m{text}\x1b[0m"
