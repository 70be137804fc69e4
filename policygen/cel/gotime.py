"""Go's durations, RFC 3339 times and time zones (`time.ParseDuration`, `time.Parse`, `time.LoadLocation`).

Durations and instants are integers: nanoseconds, the latter since 1970 UTC.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from policygen.cel.gotext import atoi_error, format_plain, parse_int
from policygen.kube.gotime import (
    HOUR,
    MINUTE,
    SECOND,
    Instant,
    days_in,
    days_since_epoch,
    format_duration,
    parse_duration,
    parse_rfc3339,
)

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

__all__ = [
    "HOUR",
    "MAX_UNIX",
    "MINUTE",
    "MIN_UNIX",
    "SECOND",
    "Civil",
    "Instant",
    "ZoneError",
    "civil_time",
    "duration_part",
    "duration_seconds",
    "duration_text",
    "format_duration",
    "format_rfc3339",
    "parse_duration",
    "parse_rfc3339",
    "zone_offset",
]

MIN_UNIX: Final = -62135596800
"""0001-01-01T00:00:00Z, the first second of CEL's timestamps."""
MAX_UNIX: Final = 253402300799
"""9999-12-31T23:59:59Z, the last."""


class ZoneError(ValueError):
    """A text that names no time zone; the message is Go's."""


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
    while days_since_epoch(year + 1, 1, 1) <= days:
        year += 1
    while days_since_epoch(year, 1, 1) > days:
        year -= 1
    yearday = days - days_since_epoch(year, 1, 1)
    month, day = 1, yearday
    while day >= days_in(year, month):
        day -= days_in(year, month)
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
