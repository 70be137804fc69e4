"""Text to tokens: cel-go's `CEL.g4`, lexer part.

Text that is no token becomes one `error` token at which lexing stops, so that the parser reports whichever
fault comes first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of text.

    `kind` is `ident`, `escaped`, `int`, `uint`, `float`, `string`, `bytes`, `end`, `error`, or the text
    itself for operators and the words `in`, `true`, `false`, `null`.
    """

    kind: str
    text: str
    offset: int


_ESCAPE = r"""\\(?:[abfnrtv"'\\?`]|[0-3][0-7][0-7]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})"""
_QUOTED = (
    r'"""(?:' + _ESCAPE + r'|[^\\])*?"""'
    r"|'''(?:" + _ESCAPE + r"|[^\\])*?'''"
    r'|"(?:' + _ESCAPE + r'|[^\\"\n\r])*"'
    r"|'(?:" + _ESCAPE + r"|[^\\'\n\r])*'"
)
_RAW = (
    r'[rR](?:"""(?:.|\n)*?"""'
    r"|'''(?:.|\n)*?'''"
    r'|"[^"\n\r]*"'
    r"|'[^'\n\r]*')"
)
_TOKEN: Final = re.compile(
    rf"""
    (?P<space>(?:[\t \r\n\f]+|//[^\n]*)+)
  | (?P<bytes>[bB](?:{_RAW}|{_QUOTED}))
  | (?P<string>{_RAW}|{_QUOTED})
  | (?P<float>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)
  | (?P<uint>(?:0x[0-9a-fA-F]+|[0-9]+)[uU])
  | (?P<int>0x[0-9a-fA-F]+|[0-9]+)
  | (?P<ident>[A-Za-z_][A-Za-z0-9_]*)
  | (?P<escaped>`[A-Za-z0-9_.\-/\ ]+`)
  | (?P<op>==|!=|<=|>=|&&|\|\||[<>\[\]{{}}().,\-!?:+*/%])
    """,
    re.VERBOSE,
)
_WORDS: Final = frozenset({"in", "true", "false", "null"})


def tokenize(text: str) -> list[Token]:
    """All tokens, the last of which is `end` or `error`."""
    tokens: list[Token] = []
    match, at, length = _TOKEN.match, 0, len(text)
    while at < length:
        found = match(text, at)
        if found is None:
            tokens.append(Token("error", text[at], at))
            return tokens
        kind = found.lastgroup or ""
        if kind != "space":
            piece = found.group()
            if kind == "op" or (kind == "ident" and piece in _WORDS):
                kind = piece
            tokens.append(Token(kind, piece, at))
        at = found.end()
    tokens.append(Token("end", "", length))
    return tokens
