"""Go's way to read and write numbers and quote text, where Python's differs (`strconv`, `fmt`)."""

from __future__ import annotations

import re
from typing import Final

from policygen.kube.gotext import quote, quoted

_INT = re.compile(r"[+-]?[0-9]+")
_UINT = re.compile(r"[0-9]+")
_DECIMAL_FLOAT = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_HEX_FLOAT = re.compile(r"[+-]?0[xX]([0-9a-fA-F]+(\.[0-9a-fA-F]*)?|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+")
_SPECIAL_FLOAT = re.compile(r"[+-]?inf(inity)?|nan", re.IGNORECASE)
_MISPLACED_UNDERSCORE = re.compile(r"(^|[^0-9a-fA-FxX])_|_($|[^0-9a-fA-F])")
_LONGEST_NUMBER = 4000
_BOOLS: Final = {
    **dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True),
    **dict.fromkeys(("0", "f", "F", "FALSE", "false", "False"), False),
}


def quote_bytes(data: bytes) -> str:
    r"""`strconv.Quote` of a string that may not be UTF-8: bytes that are not appear as `\xff`."""
    text = data.decode("utf-8", "surrogateescape")
    return (
        '"'
        + "".join(
            f"\\x{ord(char) - 0xDC00:02x}" if 0xDC80 <= ord(char) < 0xDD00 else quoted(char) for char in text
        )
        + '"'
    )


def format_double(value: float) -> str:
    """`strconv.FormatFloat(value, 'g', -1, 64)`, CEL's `string(double)`: `1e+06`, `1e-07`, `NaN`, `+Inf`."""
    if value != value:  # noqa: PLR0124
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "+Inf" if value > 0 else "-Inf"
    sign, digits, point = _shortest(value)
    exponent = point - 1
    if exponent < -4 or exponent >= 6:
        mantissa = digits[0] + ("." + digits[1:] if len(digits) > 1 else "")
        return f"{sign}{mantissa}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
    return sign + _plain(digits, point)


def format_plain(value: float) -> str:
    """`strconv.FormatFloat(value, 'f', -1, 64)`: the shortest form without an exponent."""
    sign, digits, point = _shortest(value)
    return sign + _plain(digits, point)


def _shortest(value: float) -> tuple[str, str, int]:
    """Sign, the shortest digits that give the value back, and how many of them precede the point."""
    mantissa, _, exponent = repr(value).lower().partition("e")
    sign = "-" if mantissa.startswith("-") else ""
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    return (sign, digits, point) if digits else (sign, "0", 1)


def _plain(digits: str, point: int) -> str:
    if point <= 0:
        return "0." + "0" * -point + digits
    if len(digits) <= point:
        return digits + "0" * (point - len(digits))
    return f"{digits[:point]}.{digits[point:]}"


def parse_int(text: str) -> int | None:
    """`strconv.ParseInt(text, 10, 64)`, or None where it fails."""
    if _INT.fullmatch(text) is None or len(text) > _LONGEST_NUMBER:
        return None
    value = int(text)
    return value if -(1 << 63) <= value < 1 << 63 else None


def parse_uint(text: str) -> int | None:
    """`strconv.ParseUint(text, 10, 64)`, or None where it fails."""
    if _UINT.fullmatch(text) is None or len(text) > _LONGEST_NUMBER:
        return None
    value = int(text)
    return value if value < 1 << 64 else None


def parse_double(text: str) -> float | None:
    """`strconv.ParseFloat(text, 64)`, or None where it fails: also when the number is out of range."""
    if "_" in text:
        if _MISPLACED_UNDERSCORE.search(text):
            return None
        text = text.replace("_", "")
    if _SPECIAL_FLOAT.fullmatch(text):
        return float(text)
    if _HEX_FLOAT.fullmatch(text):
        try:
            return float.fromhex(text)
        except OverflowError:
            return None
    if _DECIMAL_FLOAT.fullmatch(text) is None:
        return None
    value = float(text)
    return None if value in (float("inf"), float("-inf")) else value


def parse_bool(text: str) -> bool | None:
    """`strconv.ParseBool`, or None where it fails."""
    return _BOOLS.get(text)


def atoi_error(text: str) -> str:
    """The error text of `strconv.Atoi` for a text that is no int64."""
    problem = "value out of range" if _INT.fullmatch(text) else "invalid syntax"
    return f"strconv.Atoi: parsing {quote(text)}: {problem}"
