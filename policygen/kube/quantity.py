"""`resource.Quantity`: parsing, canonical form, comparison and arithmetic as Go does them.

Follows apimachinery `pkg/api/resource/{quantity,amount,math,suffix}.go`, with its two representations:
a scaled int64, and an arbitrary decimal where that does not suffice. Which of them holds a value can be
seen from outside (`as_int64` refuses decimals), so it is kept.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import ClassVar, Final

MAX_INT64: Final = (1 << 63) - 1
MIN_INT64: Final = -(1 << 63)

FORMAT_WRONG: Final = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
NUMERIC_WRONG: Final = "unable to parse numeric part of quantity"
SUFFIX_WRONG: Final = "unable to parse quantity's suffix"

_NANO = -9
_QUICK_DIGITS = 18
"""Decimal texts with more digits are held as decimals (`maxInt64Factors`), also where an int64 would do."""
_MAX_DIGITS = 4000
"""Values with more digits are refused: Go would spend memory without bound on them."""

_KEPT = 32
"""Longer texts are read anew each time, so that the memory of what was read stays small."""

_SHAPE = re.compile(r"([+-]?)0*([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)")
_EXPONENT = re.compile(r"[eE]([-+]?[0-9]+)")
_DECIMAL_SUFFIXES: Final = {
    "n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18,
}  # fmt: skip
_BINARY_SUFFIXES: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_BY_EXPONENT: Final = {exponent: suffix for suffix, exponent in _DECIMAL_SUFFIXES.items()}
_BINARY_BY_EXPONENT: Final = {exponent: suffix for suffix, exponent in _BINARY_SUFFIXES.items()}


class QuantityError(ValueError):
    """A text that is no quantity, or a result out of all proportion."""


class Format(Enum):
    """The kind of suffix with which a quantity was written, and is written again."""

    DECIMAL_SI = "DecimalSI"
    DECIMAL_EXPONENT = "DecimalExponent"
    BINARY_SI = "BinarySI"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Quantity:
    """`unscaled` × 10^`scale`. Equal quantities may be written differently: `1Gi` and `1024Mi`."""

    cel_type_name: ClassVar[str] = "kubernetes.Quantity"
    unscaled: int
    scale: int = 0
    format: Format = Format.DECIMAL_SI
    is_decimal: bool = False
    text: str = ""

    @staticmethod
    def parse(text: str) -> Quantity:
        """The quantity that a text means; `QuantityError` has the server's words when it means none."""
        return _parsed(text) if len(text) <= _KEPT else _parse(text)

    @staticmethod
    def of(value: int, form: Format = Format.DECIMAL_SI) -> Quantity:
        """A whole number as a quantity (`resource.NewQuantity`)."""
        return Quantity(value, 0, form, not MIN_INT64 <= value <= MAX_INT64)

    @property
    def sign(self) -> int:
        """-1, 0 or 1."""
        return (self.unscaled > 0) - (self.unscaled < 0)

    def compare(self, other: Quantity) -> int:
        """-1, 0 or 1, by value; exact, whatever the exponents."""
        if self.scale == other.scale:
            return (self.unscaled > other.unscaled) - (self.unscaled < other.unscaled)
        if self.sign != other.sign:
            return 1 if self.sign > other.sign else -1
        if self.unscaled == 0:
            return 0
        mine, theirs = self._magnitude(), other._magnitude()
        if abs(mine - theirs) > 2:
            return self.sign if mine > theirs else -self.sign
        low = min(self.scale, other.scale)
        left = self.unscaled * int(10 ** (self.scale - low))
        right = other.unscaled * int(10 ** (other.scale - low))
        return (left > right) - (left < right)

    def _magnitude(self) -> int:
        """The number of digits before the decimal point, right within one."""
        return self.unscaled.bit_length() * 30103 // 100000 + self.scale

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and self.compare(other) == 0

    def __hash__(self) -> int:
        unscaled, scale = _strip(self.unscaled, 10)
        return hash((unscaled, scale + self.scale if unscaled else 0))

    def __lt__(self, other: Quantity) -> bool:
        return self.compare(other) < 0

    def __le__(self, other: Quantity) -> bool:
        return self.compare(other) <= 0

    def __gt__(self, other: Quantity) -> bool:
        return self.compare(other) > 0

    def __ge__(self, other: Quantity) -> bool:
        return self.compare(other) >= 0

    def __bool__(self) -> bool:
        return self.unscaled != 0

    def __add__(self, other: Quantity) -> Quantity:
        """The sum, in the format of the left side unless that is zero (`Quantity.Add`)."""
        form = self.format if self.unscaled else other.format
        if self.is_decimal or other.is_decimal:
            return _decimal_sum(self, other, form)
        if other.unscaled == 0:
            return Quantity(self.unscaled, self.scale, form)
        if self.unscaled == 0:
            return Quantity(other.unscaled, other.scale, form)
        if abs(self.scale - other.scale) < 19:
            low = min(self.scale, other.scale)
            left = self.unscaled * int(10 ** (self.scale - low))
            right = other.unscaled * int(10 ** (other.scale - low))
            if _fits(left) and _fits(right) and _fits(left + right):
                return Quantity(left + right, low, form)
        return _decimal_sum(self, other, form)

    def __neg__(self) -> Quantity:
        return Quantity(
            -self.unscaled, self.scale, self.format, self.is_decimal or self.unscaled == MIN_INT64
        )

    def __sub__(self, other: Quantity) -> Quantity:
        """The difference, in the format of the left side unless that is zero (`Quantity.Sub`)."""
        return self + -other

    def as_int64(self) -> int | None:
        """The value where the quick representation holds a whole int64 (`AsInt64`), else None."""
        if self.is_decimal or self.scale < 0 or (self.scale >= 19 and self.unscaled):
            return None
        value = self.unscaled * int(10**self.scale) if self.unscaled else 0
        return value if _fits(value) else None

    def value(self) -> int:
        """The value rounded away from zero to a whole number, within int64."""
        return self._scaled(0)

    def milli_value(self) -> int:
        """The value in thousandths, rounded away from zero, within int64."""
        return self._scaled(-3)

    def _scaled(self, scale: int) -> int:
        up = self.scale - scale
        if self._magnitude() - scale > 25:
            return MAX_INT64 if self.unscaled > 0 else MIN_INT64 if self.unscaled else 0
        if up >= 0:
            return max(MIN_INT64, min(MAX_INT64, self.unscaled * int(10**up)))
        return max(MIN_INT64, min(MAX_INT64, _divide_away(self.unscaled, -up)))

    def approximate_float(self) -> float:
        """The value as a double, in Go's steps: the unscaled value times a power of ten."""
        try:
            base = float(self.unscaled)
        except OverflowError:
            base = float("inf") if self.unscaled > 0 else float("-inf")
        return base if self.scale == 0 else base * _pow10(self.scale)

    def __str__(self) -> str:
        """The canonical form: the largest suffix that needs no fraction."""
        return self.text or _canonical(self)

    def __repr__(self) -> str:
        return f"Quantity({str(self)!r})"


def is_quantity(text: str) -> bool:
    """Whether a text parses as a quantity."""
    try:
        Quantity.parse(text)
    except QuantityError:
        return False
    return True


@lru_cache(maxsize=4096)
def _parsed(text: str) -> Quantity:
    return _parse(text)


def _parse(text: str) -> Quantity:
    """`ParseQuantity`. A text that is canonical already is kept as the written form, as Go keeps it."""
    match = _SHAPE.fullmatch(text)
    if match is None or not text:
        raise QuantityError(FORMAT_WRONG)
    sign, digits, fraction, suffix = match.groups(default="")
    digits = digits or "0"
    exponent, form = _suffix(suffix)
    shifted = digits + fraction
    if len(shifted) > _MAX_DIGITS:
        raise QuantityError(NUMERIC_WRONG)
    number = int(shifted)
    value = -number if sign == "-" else number
    if form is Format.BINARY_SI:
        quick = not fraction and 15 - len(digits) - exponent * 3 // 10 - 1 >= 0
        if quick and number << exponent <= MAX_INT64:
            return Quantity(value << exponent, 0, form, text=text if number & 7 else "")
        value, scale = value << exponent, -len(fraction)
    else:
        scale = _wrap32(exponent - len(fraction))
        if len(shifted) <= _QUICK_DIGITS and scale >= _NANO:
            kept = scale % 3 == 0 and not shifted.endswith("000") and shifted[0] != "0"
            return Quantity(value, scale, form, text=text if kept else "")
    if not text[: match.start(4)].strip("+-."):
        raise QuantityError(NUMERIC_WRONG)
    return _parse_slowly(value, scale, form)


def _suffix(suffix: str) -> tuple[int, Format]:
    exponent = _DECIMAL_SUFFIXES.get(suffix)
    if exponent is not None:
        return exponent, Format.DECIMAL_SI
    exponent = _BINARY_SUFFIXES.get(suffix)
    if exponent is not None:
        return exponent, Format.BINARY_SI
    match = _EXPONENT.fullmatch(suffix)
    if match is None or len(suffix) > 40 or not _fits(int(match[1])):
        raise QuantityError(SUFFIX_WRONG)
    return _wrap32(int(match[1])), Format.DECIMAL_EXPONENT


def _parse_slowly(value: int, scale: int, form: Format) -> Quantity:
    """The decimal representation: finer than nano is rounded away from zero, binary is capped."""
    if value:
        value, scale = _round_away(value, scale, _NANO), _NANO
    magnitude = abs(value)
    if form is Format.BINARY_SI:
        unit = 10**-scale if scale < 0 else 1
        if magnitude > MAX_INT64 * unit:
            value, scale = (MAX_INT64 if value > 0 else -MAX_INT64), 0
        elif 0 < magnitude < unit:
            form = Format.DECIMAL_SI
    return Quantity(value, scale, form, is_decimal=True)


def _decimal_sum(left: Quantity, right: Quantity, form: Format) -> Quantity:
    low = min(left.scale, right.scale)
    if max(left.scale, right.scale) - low > _MAX_DIGITS:
        raise QuantityError("quantities are too far apart to be added")
    total = left.unscaled * 10 ** (left.scale - low) + right.unscaled * 10 ** (right.scale - low)
    return Quantity(total, low, form, is_decimal=True)


def _canonical(quantity: Quantity) -> str:
    if quantity.unscaled == 0:
        return "0"
    form = quantity.format
    if form is Format.BINARY_SI:
        whole = _round_away(quantity.unscaled, quantity.scale, 0)
        if abs(whole) >= 1024 and Quantity(whole) == quantity:
            amount, times = _strip(whole, 1024, most=6)
            return _digits(amount) + _BINARY_BY_EXPONENT.get(times * 10, "")
        form = Format.DECIMAL_SI
    amount, times = _strip(quantity.unscaled, 10)
    exponent = quantity.scale + times
    amount *= 10 ** (exponent % 3)
    exponent -= exponent % 3
    suffix = _DECIMAL_BY_EXPONENT.get(exponent) if form is Format.DECIMAL_SI else None
    if suffix is None:
        suffix = f"e{exponent}" if exponent else ""
    return _digits(amount) + suffix


def _digits(number: int) -> str:
    if number.bit_length() > _MAX_DIGITS * 3:
        raise QuantityError("quantity has too many digits")
    return str(number)


def _strip(number: int, factor: int, most: int = _MAX_DIGITS) -> tuple[int, int]:
    """The number without its factors of `factor`, up to `most` of them, and how many there were."""
    times = 0
    while number and times < most and number % factor == 0:
        number //= factor
        times += 1
    return number, times


def _round_away(number: int, scale: int, target: int) -> int:
    """`number` × 10^`scale` in units of 10^`target`, rounded away from zero."""
    if scale < target:
        return _divide_away(number, target - scale)
    if scale - target > _MAX_DIGITS:
        raise QuantityError(NUMERIC_WRONG)
    return number * int(10 ** (scale - target))


def _divide_away(number: int, places: int) -> int:
    if number == 0:
        return 0
    magnitude = abs(number)
    result = 1 if places > magnitude.bit_length() else -(-magnitude // int(10**places))
    return result if number > 0 else -result


def _fits(number: int) -> bool:
    return MIN_INT64 <= number <= MAX_INT64


def _wrap32(number: int) -> int:
    """The int32 that Go's conversion gives."""
    return (number + (1 << 31)) % (1 << 32) - (1 << 31)


def _pow10(exponent: int) -> float:
    """Go's `math.Pow10`: a product of two table entries, and beyond double's range 0 or infinity."""
    if exponent > 308:
        return float("inf")
    if exponent < -323:
        return 0.0
    high, low = divmod(abs(exponent), 32)
    if exponent >= 0:
        return float(10 ** (32 * high)) * float(10**low)
    return float(f"1e-{32 * high}") / float(10**low)
