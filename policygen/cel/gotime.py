"""Go's durations, RFC 3339 times and time zones (`time.ParseDuration`, `time.Parse`, `time.LoadLocation`).

Durations and instants are integers: nanoseconds, the latter since 1970 UTC.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from policygen.cel.gotext import atoi_error, format_plain, parse_int

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

SECOND: Final = 1_000_000_000
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE

MIN_UNIX: Final = -62135596800
"""0001-01-01T00:00:00Z, the first second of CEL's timestamps."""
MAX_UNIX: Final = 253402300799
"""9999-12-31T23:59:59Z, the last."""

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


class ZoneError(ValueError):
    """A text that names no time zone; the message is Go's."""


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


def duration_seconds(ns: int) -> float:
    """`Duration.Seconds`, rounded as Go rounds it."""
    whole, rest = _split(ns, SECOND)
    return float(whole) + float(rest) / 1e9


def _split(ns: int, unit: int) -> tuple[int, int]:
    """Quotient and remainder of Go's truncated division."""
    magnitude, rest = divmod(abs(ns), unit)
    return (magnitude, rest) if ns >= 0 else (-magnitude, -rest)


def duration_text(ns: int) -> str:
    """CEL's `string(duration)`: seconds without an exponent, `1.5s`."""
    return format_plain(duration_seconds(ns)) + "s"


def duration_part(ns: int, unit: int) -> int:
    """The whole hours, minutes, seconds (through a double, as Go's accessors) or milliseconds."""
    whole, rest = _split(ns, unit)
    return whole if unit == 1_000_000 else int(float(whole) + float(rest) / float(unit))


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
        1 <= month <= 12 and 1 <= day <= _days_in(year, month) and hour < 24 and minute < 60 and second < 60
    ):
        return None
    offset = 0
    if match[8]:
        east_hours, east_minutes = int(match[9]), int(match[10])
        if east_hours > 24 or east_minutes > 60:
            return None
        offset = (east_hours * 3600 + east_minutes * 60) * (-1 if match[8] == "-" else 1)
    nanoseconds = int((match[7] or "")[:9].ljust(9, "0"))
    seconds = _days(year, month, day) * 86400 + hour * 3600 + minute * 60 + second - offset
    return Instant(seconds * SECOND + nanoseconds, offset)


def format_rfc3339(ns: int, offset: int = 0) -> str:
    """`Time.Format(time.RFC3339Nano)` at an offset from UTC."""
    civil = civil_time(ns, offset)
    fraction = f".{ns % SECOND:09d}".rstrip("0") if ns % SECOND else ""
    zone = "Z"
    if offset:
        minutes = abs(offset) // 60
        zone = f"{'-' if offset < 0 else '+'}{minutes // 60:02d}:{minutes % 60:02d}"
    return (
        f"{civil.year:04d}-{civil.month:02d}-{civil.day:02d}"
        f"T{civil.hour:02d}:{civil.minute:02d}:{civil.second:02d}{fraction}{zone}"
    )


def _leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _days_in(year: int, month: int) -> int:
    if month == 2:
        return 29 if _leap(year) else 28
    return 30 if month in (4, 6, 9, 11) else 31


def _days(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01 in the proleptic Gregorian calendar."""
    before = year - 1
    days = before * 365 + before // 4 - before // 100 + before // 400
    days += _DAYS_BEFORE_MONTH[month - 1] + (1 if month > 2 and _leap(year) else 0) + day - 1
    return days - 719162


@dataclass(frozen=True, slots=True)
class Civil:
    """A wall clock's reading; `yearday` counts from 0, `weekday` from Sunday as 0."""

    year: int
    month: int
    day: int
    hour: int
    minute: int
    second: int
    millisecond: int
    yearday: int
    weekday: int


def civil_time(ns: int, offset: int = 0) -> Civil:
    """What a clock shows `offset` seconds east of UTC."""
    seconds, rest = divmod(ns, SECOND)
    days, of_day = divmod(seconds + offset, 86400)
    year = 1970 + days * 400 // 146097
    while _days(year + 1, 1, 1) <= days:
        year += 1
    while _days(year, 1, 1) > days:
        year -= 1
    yearday = days - _days(year, 1, 1)
    month, day = 1, yearday
    while day >= _days_in(year, month):
        day -= _days_in(year, month)
        month += 1
    minutes, second = divmod(of_day, 60)
    return Civil(
        year, month, day + 1, minutes // 60, minutes % 60, second, rest // 1_000_000, yearday, (days + 4) % 7
    )


def zone_offset(zone: str, ns: int) -> int:
    """Seconds east of UTC that a zone has at an instant: `Europe/Berlin`, `+05:30`, `-02:00`, `UTC`.

    Follows cel-go `cel/library.go` (`inTimeZone`); `ZoneError` has Go's words.
    """
    hours, colon, minutes = zone.partition(":")
    if not colon:
        return _named_offset(zone, ns)
    for part in (hours, minutes):
        if parse_int(part) is None:
            raise ZoneError(atoi_error(part))
    east = int(hours) * 60 - int(minutes) if zone.startswith("-") else int(hours) * 60 + int(minutes)
    return east * 60


def _named_offset(name: str, ns: int) -> int:
    if name in ("", "UTC", "Local"):
        return 0
    if ".." in name or name[0] in "/\\":
        raise ZoneError("time: invalid location name")
    location = _location(name)
    if location is None:
        raise ZoneError(f"unknown time zone {name}")
    from datetime import UTC, datetime, timedelta

    seconds = max(MIN_UNIX + 86400 * 2, min(MAX_UNIX - 86400 * 2, ns // SECOND))
    moment = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)).astimezone(location)
    offset = moment.utcoffset()
    return 0 if offset is None else int(offset.total_seconds())


@lru_cache(maxsize=256)
def _location(name: str) -> ZoneInfo | None:
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None
