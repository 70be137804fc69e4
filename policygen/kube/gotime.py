"""Go's durations and RFC 3339 times (`time.ParseDuration`, `time.Parse`), as `metav1` types hold them.

Durations and instants are integers: nanoseconds, the latter since 1970 UTC.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

SECOND: Final = 1_000_000_000
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE

_UNITS: Final = {
    "ns": 1, "us": 1000, "µs": 1000, "μs": 1000, "ms": 1_000_000, "s": SECOND, "m": MINUTE, "h": HOUR,
}  # fmt: skip
_STEP = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^0-9.]+)")
_LIMIT = 1 << 63
_RFC3339 = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{1,2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]+))?"
    r"(?:Z|([+-])([0-9]{2}):([0-9]{2}))"
)
_DAYS_BEFORE_MONTH: Final = (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def parse_duration(text: str) -> int | None:
    """`time.ParseDuration` in nanoseconds, or None where it fails."""
    negative = text.startswith("-")
    rest = text[1:] if text[:1] in ("-", "+") else text
    if rest == "0":
        return 0
    if not rest:
        return None
    total = position = 0
    while position < len(rest):
        step = _STEP.match(rest, position)
        amount = None if step is None else _step(*step.groups(default=""))
        if step is None or amount is None:
            return None
        total += amount
        if total > _LIMIT:
            return None
        position = step.end()
    if negative:
        return -total
    return total if total < _LIMIT else None


def _step(whole: str, fraction: str, unit_name: str) -> int | None:
    """One number with its unit; the fraction goes through doubles, as in Go."""
    unit = _UNITS.get(unit_name)
    if unit is None or not (whole or fraction) or len(whole.lstrip("0")) > 19:
        return None
    value = int(whole or "0") * unit
    if value > _LIMIT:
        return None
    kept, scale = 0, 1.0
    for digit in fraction:
        longer = kept * 10 + int(digit)
        if kept > (_LIMIT - 1) // 10 or longer > _LIMIT:
            break
        kept, scale = longer, scale * 10
    if kept:
        value += int(float(kept) * (float(unit) / scale))
    return value if value <= _LIMIT else None


def format_duration(ns: int) -> str:
    """`Duration.String`: `1h30m0s`, `1.5ms`, `0s`."""
    if ns == 0:
        return "0s"
    sign, magnitude = ("-", -ns) if ns < 0 else ("", ns)
    if magnitude < SECOND:
        for unit, name in ((1_000_000, "ms"), (1000, "µs"), (1, "ns")):
            if magnitude >= unit:
                return f"{sign}{_decimal(magnitude, unit)}{name}"
    seconds = _decimal(magnitude % MINUTE, SECOND)
    minutes = magnitude // MINUTE
    if minutes == 0:
        return f"{sign}{seconds}s"
    hours, minutes = divmod(minutes, 60)
    return f"{sign}{hours}h{minutes}m{seconds}s" if hours else f"{sign}{minutes}m{seconds}s"


def _decimal(number: int, unit: int) -> str:
    whole, rest = divmod(number, unit)
    if rest == 0:
        return str(whole)
    return f"{whole}.{str(rest).zfill(len(str(unit)) - 1).rstrip('0')}"


@dataclass(frozen=True, slots=True)
class Instant:
    """What a text says: nanoseconds since 1970, and seconds east of UTC."""

    ns: int
    offset: int


def parse_rfc3339(text: str) -> Instant | None:
    """`time.Parse(time.RFC3339, text)`, or None where it fails. The year may be 0."""
    match = _RFC3339.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    if not (
        1 <= month <= 12 and 1 <= day <= days_in(year, month) and hour < 24 and minute < 60 and second < 60
    ):
        return None
    offset = 0
    if match[8]:
        east_hours, east_minutes = int(match[9]), int(match[10])
        if east_hours > 24 or east_minutes > 60:
            return None
        offset = (east_hours * 3600 + east_minutes * 60) * (-1 if match[8] == "-" else 1)
    nanoseconds = int((match[7] or "")[:9].ljust(9, "0"))
    seconds = days_since_epoch(year, month, day) * 86400 + hour * 3600 + minute * 60 + second - offset
    return Instant(seconds * SECOND + nanoseconds, offset)


def parse_time(text: str) -> datetime | None:
    """An RFC 3339 time in UTC, cut to microseconds; None when Go would not parse it."""
    instant = parse_rfc3339(text)
    if instant is None:
        return None
    try:
        return _EPOCH + timedelta(microseconds=instant.ns // 1000)
    except OverflowError:
        return None


def format_time(moment: datetime, *, micro: bool = False) -> str:
    """RFC 3339 in UTC, to the second, or with six digits of fraction."""
    text = f"{moment.year:04d}-{moment:%m-%dT%H:%M:%S}"
    return f"{text}.{moment.microsecond:06d}Z" if micro else f"{text}Z"


def _leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def days_in(year: int, month: int) -> int:
    """How many days a month has."""
    if month == 2:
        return 29 if _leap(year) else 28
    return 30 if month in (4, 6, 9, 11) else 31


def days_since_epoch(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01 in the proleptic Gregorian calendar."""
    before = year - 1
    days = before * 365 + before // 4 - before // 100 + before // 400
    days += _DAYS_BEFORE_MONTH[month - 1] + (1 if month > 2 and _leap(year) else 0) + day - 1
    return days - 719162
