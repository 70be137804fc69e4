"""A history of what was typed, kept between runs where the system keeps such things."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_LONGEST = 1000


@contextmanager
def history(name: str) -> Iterator[None]:
    """Read the history before, and write it after; nothing happens where there is no `readline`."""
    try:
        import readline
    except ImportError:
        yield
        return
    path = _directory() / f"{name}_history"
    with suppress(OSError):
        readline.read_history_file(path)
    readline.set_history_length(_LONGEST)
    try:
        yield
    finally:
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            readline.write_history_file(path)


def _directory() -> Path:
    state = os.environ.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local" / "state") / "policygen"
