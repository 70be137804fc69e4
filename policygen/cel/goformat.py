"""The format texts of `string.format` (cel-go `ext/formatting.go`, the version with locales; `en_US`).

Reading them is apart from writing values, so that the checker can look at a literal before anything runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from policygen.cel.gotext import atoi_error, parse_int

_MOST_DIGITS = 100_000
_LONGEST = 1 << 24
"""A longer text is refused instead of filling memory."""


class FormatError(ValueError):
    """A format text, or an argument for it, that does not fit; the message is cel-go's."""


class Clause(NamedTuple):
    """`%.2f`: the letter, and the precision if one was given."""

    verb: str
    precision: int | None


_NUMBERS: Final = frozenset({"int", "uint"})
_PRINTABLE: Final = _NUMBERS | {
    "list", "map", "double", "bool", "string", "google.protobuf.Timestamp", "bytes",
    "google.protobuf.Duration", "type", "null_type",
}  # fmt: skip
ACCEPTED: Final = {
    "s": _PRINTABLE,
    "d": _NUMBERS,
    "f": frozenset({"double", "string"}),
    "e": frozenset({"double", "string"}),
    "b": _NUMBERS | {"bool"},
    "x": _NUMBERS | {"string", "bytes"},
    "X": _NUMBERS | {"string", "bytes"},
    "o": _NUMBERS,
}
"""The types, by run-time name, that each clause takes; of texts `f` and `e` take `NaN` and the infinities."""

_HEX = "only integers, byte buffers, and strings can be formatted as hex"
_REFUSALS: Final = {
    "s": (
        "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, "
        "durations, and timestamps"
    ),
    "d": "decimal clause can only be used on integers",
    "f": "fixed-point clause can only be used on doubles",
    "e": "scientific clause can only be used on doubles",
    "b": "only integers and bools can be formatted as binary",
    "x": _HEX,
    "X": _HEX,
    "o": "octal clause can only be used on integers",
}


def refusal(clause: Clause, given: str) -> FormatError:
    """The error for an argument of a type that a clause does not take."""
    return FormatError(f"error during formatting: {_REFUSALS[clause.verb]}, was given {given}")


def interpolate(text: str, count: int, write: Callable[[int, Clause], str]) -> str:
    """The text with each clause replaced by what `write` makes of the argument with that index."""
    out: list[str] = []
    position = index = length = 0
    while True:
        percent = text.find("%", position)
        if percent < 0:
            out.append(text[position:])
            return "".join(out)
        out.append(text[position:percent])
        if text.startswith("%%", percent):
            out.append("%")
            position = percent + 2
            continue
        if index >= count:
            raise FormatError(f"index {index} out of range")
        if percent + 1 >= len(text):
            raise FormatError("unexpected end of string")
        clause, position = _read_clause(text, percent + 1)
        out.append(write(index, clause))
        index += 1
        length += len(out[-1])
        if length > _LONGEST:
            raise FormatError("formatted text is too long")


def _read_clause(text: str, position: int) -> tuple[Clause, int]:
    precision = None
    if text[position] == ".":
        end = position + 1
        while end < len(text) and text[end] in "0123456789":
            end += 1
        if end >= len(text):
            raise _unreadable("error while parsing precision: could not find end of precision specifier")
        digits = text[position + 1 : end]
        precision = parse_int(digits)
        if precision is None:
            problem = f"error while converting precision to integer: {atoi_error(digits)}"
            raise _unreadable(f"error while parsing precision: {problem}")
        position = end
    verb = text[position]
    if verb not in ACCEPTED:
        first = chr(verb.encode("utf-8", "replace")[0])
        raise _unreadable(f'unrecognized formatting clause "{first}"')
    return Clause(verb, precision), position + 1


def _unreadable(problem: str) -> FormatError:
    return FormatError(f"could not parse formatting clause: {problem}")


_SUPERSCRIPT: Final = str.maketrans("0123456789-+", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺")


def fixed(value: float, precision: int | None) -> str:
    """`%.3f` as the locale `en_US` writes it: `1,234.500`, `∞`."""
    if value != value:  # noqa: PLR0124
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "∞" if value > 0 else "-∞"
    digits = 6 if precision is None else precision
    if digits > _MOST_DIGITS:
        raise FormatError("error during formatting: precision is too large")
    return f"{value:,.{digits}f}"


def scientific(value: float, precision: int | None) -> str:
    """`%e` as the locale `en_US` writes it: `1.052033×10⁰³`; what looks like a precision is a width."""
    width = 6 if precision is None else precision
    if width > _MOST_DIGITS:
        raise FormatError("error during formatting: precision is too large")
    if value != value or value in (float("inf"), float("-inf")):  # noqa: PLR0124
        return fixed(value, None).rjust(width)
    mantissa, _, exponent = f"{value:.6e}".partition("e")
    return f"{mantissa}×10{exponent.removeprefix('+').translate(_SUPERSCRIPT)}".rjust(width)
