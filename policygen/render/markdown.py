"""Pieces of Markdown as code hosts render it. No text of a user can break out of its place."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#!~])")


def escaped(text: str) -> str:
    """Text that is shown as it is."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def code(text: str) -> str:
    """Text in a fixed-width font, also inside a table."""
    flat = " ".join(text.split())
    ticks = "`" * (max((len(run) for run in re.findall(r"`+", flat)), default=0) + 1)
    space = " " if flat.startswith("`") or flat.endswith("`") else ""
    return f"{ticks}{space}{flat}{space}{ticks}".replace("|", "\\|")


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; the cells are Markdown already."""
    lines = [f"| {' | '.join(head)} |", f"|{'|'.join(' --- ' for _ in head)}|"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(lines)


def fenced(text: str, language: str = "") -> str:
    """A block of code with a fence that the text does not hold."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def folded(title: str, body: str) -> str:
    """A part that opens on a click."""
    return f"<details><summary>{escape(title)}</summary>\n\n{body}\n\n</details>"
