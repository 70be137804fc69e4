r"""The syntax of Go's regular expressions: what is wrong with a pattern, in Go's words.

Follows Go `regexp/syntax/parse.go` with the flags of `regexp.Compile`. The parser keeps no tree, only what
its errors depend on, and writes the pattern again for RE2: groups capture nothing and have no names, and
the Unicode classes have the names that RE2 knows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from policygen.cel.goregex_classes import POSIX_CLASSES, unicode_class

MISSING_PAREN: Final = "missing closing )"
UNEXPECTED_PAREN: Final = "unexpected )"
MISSING_BRACKET: Final = "missing closing ]"
INVALID_RANGE: Final = "invalid character class range"
INVALID_ESCAPE: Final = "invalid escape sequence"
INVALID_CAPTURE: Final = "invalid named capture"
INVALID_PERL: Final = "invalid or unsupported Perl syntax"
INVALID_REPEAT: Final = "invalid nested repetition operator"
MISSING_ARGUMENT: Final = "missing argument to repetition operator"
INVALID_COUNT: Final = "invalid repeat count"
TRAILING_BACKSLASH: Final = "trailing backslash at end of expression"
INVALID_UTF8: Final = "invalid UTF-8"
TOO_DEEP: Final = "expression nests too deeply"
TOO_LARGE: Final = "expression too large"

_MAX_REPEAT = 1000
_MAX_HEIGHT = 1000
_MAX_SIZE = (128 << 20) // 40

_COUNT = re.compile(r"\{(0|[1-9][0-9]*)(?:(,)(0|[1-9][0-9]*)?)?\}")
_CAPTURE = re.compile(r"\(\?P?<")
_CAPTURE_NAME = re.compile(r"[A-Za-z0-9_]+")
_SURROGATE = re.compile("[\ud800-\udfff]")
_HEX_BRACED = re.compile(r"\\x\{([0-9a-fA-F]+)\}")
_HEX_PAIR = re.compile(r"\\x([0-9a-fA-F]{2})")
_OCTAL = re.compile(r"\\(0[0-7]{0,2}|[1-7][0-7]{1,2})")
_C_ESCAPES: Final = {"a": 7, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
_ASSERTIONS: Final = "AbBz"
_PERL_CLASSES: Final = "dDsSwW"


class RegexError(ValueError):
    """A pattern that Go refuses; the message is Go's."""

    def __init__(self, code: str, fragment: str) -> None:
        super().__init__(f"error parsing regexp: {code}: `{fragment}`")


@dataclass(frozen=True, slots=True)
class _Node:
    """What later checks need to know of a parsed piece: its height, its size, the product of its repeats."""

    height: int = 1
    size: int = 1
    repeats: int = 1


@dataclass(slots=True)
class _Group:
    """An open group: the alternatives that are closed, and the pieces of the one being read."""

    closed: list[_Node]
    pieces: list[_Node]


def check(pattern: str) -> str:
    """The pattern in RE2's syntax; `RegexError` where Go refuses it."""
    return _Parser(pattern).parse()


class _Parser:
    """Reads a pattern once from left to right, as Go does, so that the first error is Go's."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.position = 0
        self.stack = [_Group([], [])]
        self.out: list[str] = []
        self.repeated_from = -1
        """Where the repetition operator just before began, or -1: operators do not stack."""

    def parse(self) -> str:
        found = _SURROGATE.search(self.pattern)
        if found:
            raise RegexError(INVALID_UTF8, self.pattern[: found.start()])
        while self.position < len(self.pattern):
            start = self.position
            repeated = self._step()
            self.repeated_from = start if repeated else -1
        if len(self.stack) != 1:
            raise RegexError(MISSING_PAREN, self.pattern)
        self._close(self.stack.pop())
        return "".join(self.out)

    def _step(self) -> bool:
        """Read one element; whether it was a repetition operator."""
        char = self.pattern[self.position]
        if char in "*+?":
            self._repeat(self.position + 1, 0, -1 if char != "?" else 1, counted=False)
            return True
        if char == "{":
            count = _COUNT.match(self.pattern, self.position)
            if count is not None:
                self._count(count)
                return True
        match char:
            case "(":
                self._open()
            case ")":
                self._shut()
            case "|":
                group = self.stack[-1]
                group.closed.append(_concat(group.pieces))
                group.pieces = []
                self._emit(1)
            case "[":
                self._class()
            case "\\":
                self._escape()
            case "{":
                self.out.append("\\{")
                self.position += 1
                self.stack[-1].pieces.append(_Node())
            case _:
                self._push(1)
        return False

    def _emit(self, length: int) -> None:
        self.out.append(self.pattern[self.position : self.position + length])
        self.position += length

    def _push(self, length: int) -> None:
        self.stack[-1].pieces.append(_Node())
        self._emit(length)

    def _count(self, count: re.Match[str]) -> None:
        least = _bounded(count[1])
        most = -1 if count[2] and count[3] is None else _bounded(count[3] or count[1])
        if least > _MAX_REPEAT or most > _MAX_REPEAT or (0 <= most < least):
            raise RegexError(INVALID_COUNT, count[0])
        self._repeat(count.end(), least, most, counted=True)

    def _repeat(self, end: int, least: int, most: int, *, counted: bool) -> None:
        before = self.position
        if self.pattern.startswith("?", end):
            end += 1
        if self.repeated_from >= 0:
            raise RegexError(INVALID_REPEAT, self.pattern[self.repeated_from : end])
        pieces = self.stack[-1].pieces
        operator = self.pattern[before:end]
        if not pieces:
            raise RegexError(MISSING_ARGUMENT, operator)
        piece = pieces.pop()
        repeats = piece.repeats
        if counted:
            repeats *= max(most if most >= 0 else least, 1)
            if max(least, most) >= 2 and repeats > _MAX_REPEAT:
                raise RegexError(INVALID_COUNT, operator)
            if most == 0:
                repeats = 1
        pieces.append(self._node(piece.height + 1, _repeated_size(piece.size, least, most), repeats))
        self._emit(end - before)

    def _node(self, height: int, size: int, repeats: int) -> _Node:
        if height > _MAX_HEIGHT:
            raise RegexError(TOO_DEEP, self.pattern)
        if size > _MAX_SIZE:
            raise RegexError(TOO_LARGE, self.pattern)
        return _Node(height, size, repeats)

    def _close(self, group: _Group) -> _Node:
        """The alternation that a group is."""
        group.closed.append(_concat(group.pieces))
        alternatives = group.closed
        height = max(node.height for node in alternatives) + (len(alternatives) > 1)
        size = sum(node.size for node in alternatives) + len(alternatives) - 1
        return self._node(height, size, max(node.repeats for node in alternatives))

    def _open(self) -> None:
        if not self.pattern.startswith("(?", self.position):
            self.out.append("(?:")
            self.position += 1
        elif _CAPTURE.match(self.pattern, self.position):
            self._open_named()
        elif not self._flags():
            return
        self.stack.append(_Group([], []))

    def _open_named(self) -> None:
        rest = self.pattern[self.position :]
        end = rest.find(">")
        if end < 0:
            raise RegexError(INVALID_CAPTURE, rest)
        name = rest[rest.index("<") + 1 : end]
        if _CAPTURE_NAME.fullmatch(name) is None:
            raise RegexError(INVALID_CAPTURE, rest[: end + 1])
        self.out.append("(?:")
        self.position += end + 1

    def _flags(self) -> bool:
        """`(?i)`, `(?s-m:`: whether a group was opened."""
        start, position = self.position, self.position + 2
        negated = seen = False
        while position < len(self.pattern):
            char = self.pattern[position]
            position += 1
            if char in "imsU":
                seen = True
            elif char == "-" and not negated:
                negated, seen = True, False
            elif char in ":)" and (seen or not negated):
                self._emit(position - start)
                return char == ":"
            else:
                break
        raise RegexError(INVALID_PERL, self.pattern[start:position])

    def _shut(self) -> None:
        if len(self.stack) < 2:
            raise RegexError(UNEXPECTED_PAREN, self.pattern)
        inner = self._close(self.stack.pop())
        self.stack[-1].pieces.append(self._node(inner.height + 1, inner.size + 2, inner.repeats))
        self._emit(1)

    def _escape(self) -> None:
        following = self.pattern[self.position + 1 : self.position + 2]
        if following == "C":
            raise RegexError(INVALID_ESCAPE, r"\C")
        if following == "Q":
            self._literal_run()
        elif following and following in _ASSERTIONS:
            self._push(2)
        else:
            self.stack[-1].pieces.append(_Node())
            if not self._escaped_class():
                self._character_escape()

    def _literal_run(self) -> None:
        r"""`\Q…\E`: everything between is literal; without an end, everything that follows."""
        start = self.position + 2
        end = self.pattern.find(r"\E", start)
        text = self.pattern[start:] if end < 0 else self.pattern[start:end]
        self.stack[-1].pieces.extend(_Node() for _ in text)
        self.out.extend(_escaped(ord(char)) for char in text)
        self.position = len(self.pattern) if end < 0 else end + 2

    def _escaped_class(self) -> bool:
        r"""`\d`, `\pL`, `\p{Greek}`: whether there was such a class."""
        following = self.pattern[self.position + 1 : self.position + 2]
        if following and following in _PERL_CLASSES:
            self._emit(2)
            return True
        if following not in ("p", "P"):
            return False
        name = self.pattern[self.position + 2 : self.position + 3]
        end = self.position + 3
        if name == "{":
            closing = self.pattern.find("}", self.position)
            if closing < 0:
                raise RegexError(INVALID_RANGE, self.pattern[self.position :])
            name, end = self.pattern[end:closing], closing + 1
        known = unicode_class(name.removeprefix("^"))
        if known is None:
            raise RegexError(INVALID_RANGE, self.pattern[self.position : end])
        negated = (following == "P") != name.startswith("^")
        self.out.append(rf"\{'P' if negated else 'p'}{{{known}}}")
        self.position = end
        return True

    def _character_escape(self) -> None:
        self.out.append(_escaped(self._read_escape()))

    def _read_escape(self) -> int:
        """The character that an escape means (`parseEscape`)."""
        start = self.position
        following = self.pattern[start + 1 : start + 2]
        if not following:
            raise RegexError(TRAILING_BACKSLASH, "")
        found = _OCTAL.match(self.pattern, start)
        if found is not None:
            self.position = found.end()
            return int(found[1], 8)
        found = _HEX_BRACED.match(self.pattern, start) or _HEX_PAIR.match(self.pattern, start)
        if found is not None and len(found[1]) < 40 and int(found[1], 16) <= 0x10FFFF:
            self.position = found.end()
            return int(found[1], 16)
        if following == "x":
            raise RegexError(INVALID_ESCAPE, self.pattern[start : self._hex_end(start)])
        self.position = start + 2
        if following in _C_ESCAPES:
            return _C_ESCAPES[following]
        if following.isascii() and not following.isalnum():
            return ord(following)
        raise RegexError(INVALID_ESCAPE, self.pattern[start : start + 2])

    def _hex_end(self, start: int) -> int:
        r"""How far Go reads a broken `\x…` before it gives up."""
        position = start + 2
        if not self.pattern.startswith("{", position):
            return min(position + 2, len(self.pattern))
        value, position = 0, position + 1
        while position < len(self.pattern):
            char = self.pattern[position]
            position += 1
            if char not in "0123456789abcdefABCDEF":
                break
            value = value * 16 + int(char, 16)
            if value > 0x10FFFF:
                break
        return position

    def _class(self) -> None:
        whole = self.position
        self.stack[-1].pieces.append(_Node())
        self._emit(2 if self.pattern.startswith("[^", whole) else 1)
        first = True
        while first or not self.pattern.startswith("]", self.position):
            first = False
            if not (self._posix_class() or self._class_escape()):
                self._class_range(whole)
        self._emit(1)

    def _posix_class(self) -> bool:
        if not self.pattern.startswith("[:", self.position):
            return False
        end = self.pattern.find(":]", self.position + 2)
        if end < 0:
            return False
        name = self.pattern[self.position : end + 2]
        if name not in POSIX_CLASSES:
            raise RegexError(INVALID_RANGE, name)
        self._emit(len(name))
        return True

    def _class_escape(self) -> bool:
        return self.pattern.startswith("\\", self.position) and self._escaped_class()

    def _class_range(self, whole: int) -> None:
        start = self.position
        low = high = self._class_char(whole)
        follows = self.pattern[self.position : self.position + 2]
        if len(follows) == 2 and follows[0] == "-" and follows[1] != "]":
            self.position += 1
            high = self._class_char(whole)
            if high < low:
                raise RegexError(INVALID_RANGE, self.pattern[start : self.position])
        self.out.append(_escaped(low) if low == high else f"{_escaped(low)}-{_escaped(high)}")

    def _class_char(self, whole: int) -> int:
        if self.position >= len(self.pattern):
            raise RegexError(MISSING_BRACKET, self.pattern[whole:])
        if self.pattern[self.position] == "\\":
            return self._read_escape()
        self.position += 1
        return ord(self.pattern[self.position - 1])


def _escaped(code: int) -> str:
    """One literal character for RE2, in or outside a class."""
    char = chr(code)
    if (char.isascii() and char.isalnum()) or char in " _":
        return char
    return rf"\x{{{code:x}}}"


def _bounded(digits: str) -> int:
    return int(digits) if len(digits) < 9 else _MAX_REPEAT + 1


def _concat(pieces: list[_Node]) -> _Node:
    if not pieces:
        return _Node()
    return _Node(
        max(piece.height for piece in pieces) + (len(pieces) > 1),
        sum(piece.size for piece in pieces),
        max(piece.repeats for piece in pieces),
    )


def _repeated_size(size: int, least: int, most: int) -> int:
    """Instructions of a repetition (`calcSize`)."""
    if most < 0:
        return 2 + size if least == 0 else 1 + least * size
    return max(1, most * size + most - least)
