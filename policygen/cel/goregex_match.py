"""Matching as Go's `regexp` does it, in linear time, through RE2."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from policygen.cel.goregex import RegexError, check

_MEMORY = 64 << 20


class Regex:
    """A compiled pattern. Texts are searched as UTF-8."""

    __slots__ = ("_anchor", "_match")

    def __init__(self, pattern: str) -> None:
        from re2 import Options, _Anchor, _re2

        options = Options()
        options.log_errors = False
        options.max_mem = _MEMORY
        options.never_capture = True
        compiled: Any = _re2.RE2(check(pattern).encode(), options)
        if not compiled.ok():
            raise RegexError("expression too large", pattern)
        self._match = compiled.Match
        self._anchor = _Anchor.UNANCHORED

    def matches(self, text: str) -> bool:
        """Whether the pattern occurs anywhere in the text (`MatchString`)."""
        data = text.encode("utf-8", "replace")
        return bool(self._match(self._anchor, data, 0, len(data))[0][0] >= 0)

    def find(self, text: str) -> str:
        """The leftmost occurrence, or the empty string (`FindString`)."""
        data = text.encode("utf-8", "replace")
        start, end = self._match(self._anchor, data, 0, len(data))[0]
        return data[start:end].decode() if start >= 0 else ""

    def find_all(self, text: str, limit: int = -1) -> list[str]:
        """Successive occurrences, at most `limit` of them unless that is negative (`FindAllString`)."""
        data = text.encode("utf-8", "replace")
        found: list[str] = []
        position, previous_end = 0, -1
        while position <= len(data) and (limit < 0 or len(found) < limit):
            start, end = self._match(self._anchor, data, position, len(data))[0]
            if start < 0:
                break
            if end == position:
                accepted = start != previous_end
                position = _next_rune(data, position)
            else:
                accepted = True
                position = end
            previous_end = end
            if accepted:
                found.append(data[start:end].decode())
        return found


def _next_rune(data: bytes, position: int) -> int:
    position += 1
    while position < len(data) and data[position] & 0xC0 == 0x80:
        position += 1
    return position


_KEPT = 4096
"""Longer patterns are compiled anew each time, so that the memory of what was compiled stays small."""


def compile_regex(pattern: str) -> Regex:
    """A compiled pattern, kept for the next use; `RegexError` where Go refuses it."""
    return _kept(pattern) if len(pattern) <= _KEPT else Regex(pattern)


@lru_cache(maxsize=512)
def _kept(pattern: str) -> Regex:
    return Regex(pattern)
