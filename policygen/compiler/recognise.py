"""Which files are specs, told from their text alone: suites and manifests may lie beside them.

Loads no YAML library: commands ask this of every file before they know whether there is anything to compile.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

MAX_BYTES: Final = 10 * 1024 * 1024
"""What a spec may have at most."""

SUFFIXES: Final = (".yaml", ".yml")
"""Files that are looked at when a directory is named."""

_OURS = re.compile(
    r"""^["']?(?:apiVersion["']?:\s*["']?policygen\.dev/|kind["']?:\s*["']?PlacementPolicy\b)""", re.MULTILINE
)
"""One of the two is enough: a spec that lacks the other is told so when it is read."""
_OTHER_KIND = re.compile(r"""^kind:\s*["']?(PolicySuite|Suite|Inventory)\b""", re.MULTILINE)
_UNREADABLE: Final = "apiVersion: policygen.dev/"
"""Stands for a text that cannot be read: reading it again will say why."""


def is_spec_text(text: str) -> bool:
    """Whether a text looks like a spec."""
    return _OURS.search(text) is not None and _OTHER_KIND.search(text) is None


def is_spec_file(path: Path) -> bool:
    """Whether a regular file of sensible size looks like a spec; pipes and devices are read only once."""
    return is_spec_text(peek(path))


def spec_files(directory: Path) -> list[Path]:
    """The files of a directory that hold specs, by name; one that cannot be read counts, to be reported."""
    return [
        path
        for path in sorted(directory.iterdir())
        if path.suffix in SUFFIXES and path.is_file() and is_spec_text(_peek_or(path, _UNREADABLE))
    ]


def peek(path: Path) -> str:
    """The text of a regular file of sensible size, and nothing of anything else."""
    return _peek_or(path, "")


def _peek_or(path: Path, otherwise: str) -> str:
    try:
        if not path.is_file() or path.stat().st_size > MAX_BYTES:
            return ""
        return path.read_bytes().decode("utf-8", "replace")
    except (OSError, ValueError):
        return otherwise
