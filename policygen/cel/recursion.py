"""Room for deep trees: Python's own limit on nested calls is too low for what CEL allows.

cel-go accepts chains such as `1 + 1 + …` of any length that fits into 100,000 characters. Calls between
Python functions take no C stack, so the limit may be raised for the time of one walk.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

SHALLOW = 60
"""Trees up to this height need no help."""

_FRAMES_PER_LEVEL = 16


@contextmanager
def room_for(depth: int) -> Iterator[None]:
    """Allow walks over a tree of this height."""
    if depth <= SHALLOW:
        yield
        return
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(before + depth * _FRAMES_PER_LEVEL)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
