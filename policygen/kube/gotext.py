"""Text as Go quotes it (`strconv.Quote`, `%q`)."""

from __future__ import annotations

from typing import Final

_NAMED_ESCAPES: Final = {
    "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v",
    "\\": "\\\\", '"': '\\"',
}  # fmt: skip


def quote(text: str) -> str:
    r"""Double quotes, Go's escapes, `\x`, `\u` and `\U` for what cannot be printed."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join(map(quoted, text)) + '"'


def quoted(char: str) -> str:
    """One character inside the quotes."""
    escape = _NAMED_ESCAPES.get(char)
    if escape is not None:
        return escape
    if char.isprintable():
        return char
    code = ord(char)
    if code < 0x20 or code == 0x7F:
        return f"\\x{code:02x}"
    if 0xD800 <= code < 0xE000:
        return "\ufffd"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
