"""The values of literal tokens (cel-go `parser/unescape.go`)."""

from __future__ import annotations

import re
from math import isinf

from policygen.cel.values import INT_MAX, INT_MIN, UINT_MAX, Uint

_ESCAPE = re.compile(r"\\(?:([abfnrtv\"'\\?`])|([0-3][0-7]{2})|[xX](..)|u(.{4})|U(.{8}))", re.DOTALL)
_SIMPLE = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_LINE_ENDS = re.compile(r"\r\n?")


class LiteralError(ValueError):
    """The token has the form of a literal but no value; the text is cel-go's."""


def int_value(text: str) -> int:
    """`-12`, `0x1F`, `-0x1F`."""
    value = _integer(text.removeprefix("-"))
    value = -value if text.startswith("-") else value
    if not INT_MIN <= value <= INT_MAX:
        raise LiteralError("invalid int literal")
    return value


def uint_value(text: str) -> Uint:
    """`12u`, `0x1Fu`."""
    value = _integer(text[:-1])
    if value > UINT_MAX:
        raise LiteralError("invalid uint literal")
    return Uint(value)


def _integer(digits: str) -> int:
    if digits.startswith("0x"):
        return int(digits, 16)
    if len(digits.lstrip("0")) > 20:  # longer than any 64-bit number; Python refuses to read very long ones
        return UINT_MAX + 1
    return int(digits)


def float_value(text: str) -> float:
    """`-1.5e3`."""
    value = float(text)
    if isinf(value):
        raise LiteralError("invalid double literal")
    return value


def string_value(text: str) -> str:
    """A quoted string with its quotes and prefix."""
    body, raw = _body(text)
    if raw or "\\" not in body:
        return body
    return _ESCAPE.sub(_unescape, body)


def bytes_value(text: str) -> bytes:
    """A bytes literal without its `b`: text is UTF-8, hexadecimal and octal escapes are bytes."""
    body, raw = _body(text)
    if raw or "\\" not in body:
        return body.encode("utf-8", "surrogatepass")
    pieces, at = [], 0
    for found in _ESCAPE.finditer(body):
        pieces.append(body[at : found.start()].encode("utf-8", "surrogatepass"))
        pieces.append(_unescape_bytes(found))
        at = found.end()
    pieces.append(body[at:].encode("utf-8", "surrogatepass"))
    return b"".join(pieces)


def _body(text: str) -> tuple[str, bool]:
    text = _LINE_ENDS.sub("\n", text)
    raw = text[0] in "rR"
    if raw:
        text = text[1:]
    width = 3 if len(text) >= 6 and text[:3] in ('"""', "'''") else 1
    return text[width:-width], raw


def _unescape(found: re.Match[str]) -> str:
    simple, octal, *hexadecimal = found.groups()
    if simple is not None:
        return _SIMPLE.get(simple, simple)
    if octal is not None:
        return chr(int(octal, 8))
    code = int(next(digits for digits in hexadecimal if digits is not None), 16)
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise LiteralError("invalid unicode code point")
    return chr(code)


def _unescape_bytes(found: re.Match[str]) -> bytes:
    simple, octal, byte, *_ = found.groups()
    if simple is not None:
        return _SIMPLE.get(simple, simple).encode()
    if octal is None and byte is None:
        raise LiteralError("unable to unescape string")
    return bytes([int(octal, 8) if octal is not None else int(byte, 16)])
