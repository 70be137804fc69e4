"""Go's time and duration texts, as far as API objects hold them (`metav1.Time`, `MicroTime`, `Duration`)."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

_RFC3339: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)T(\d{1,2}):(\d\d):(\d\d)(?:[.,](\d+))?(?:(Z)|([+-])(\d\d):(\d\d))"
).fullmatch
_UNITS: Final = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_PART: Final = re.compile(r"(\d*)(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h)")


def parse_time(text: str) -> datetime | None:
    """An RFC 3339 time in UTC, cut to microseconds; None when Go would not parse it."""
    match = _RFC3339(text)
    if match is None:
        return None
    year, month, day, hour, minute, second, fraction, _, sign, off_hours, off_minutes = match.groups()
    micro = int((fraction or "0").ljust(6, "0")[:6])
    try:
        moment = datetime(int(year), int(month), int(day), int(hour), int(minute), int(second), micro, UTC)
        if sign:
            if int(off_hours) > 24 or int(off_minutes) > 60:
                return None
            offset = timedelta(hours=int(off_hours), minutes=int(off_minutes))
            moment = moment - offset if sign == "+" else moment + offset
    except (ValueError, OverflowError):
        return None
    return moment


def format_time(moment: datetime, *, micro: bool = False) -> str:
    """RFC 3339 in UTC, to the second, or with six digits of fraction."""
    text = f"{moment.year:04d}-{moment:%m-%dT%H:%M:%S}"
    return f"{text}.{moment.microsecond:06d}Z" if micro else f"{text}Z"


def parse_duration(text: str) -> int | None:
    """Nanoseconds of a Go duration such as `1h15m30.5s`; None when Go would not parse it."""
    rest = text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return 0
    if not rest:
        return None
    total = 0
    at = 0
    while at < len(rest):
        match = _PART.match(rest, at)
        if match is None or not (match[1] or match[2]):
            return None
        unit = _UNITS[match[3]]
        total += int(match[1] or "0") * unit
        if match[2]:
            total += int(match[2]) * unit // 10 ** len(match[2])
        at = match.end()
    if total > 2**63 - (0 if text.startswith("-") else 1):
        return None
    return -total if text.startswith("-") else total


def format_duration(nanoseconds: int) -> str:
    """A duration as Go's `Duration.String` writes it."""
    if nanoseconds == 0:
        return "0s"
    sign = "-" if nanoseconds < 0 else ""
    rest = abs(nanoseconds)
    if rest < 1_000_000_000:
        for unit, size in (("ns", 1), ("µs", 1_000), ("ms", 1_000_000)):
            if rest < size * 1000:
                return f"{sign}{_decimal(rest, size)}{unit}"
    minutes, seconds = divmod(rest, _UNITS["m"])
    hours, minutes = divmod(minutes, 60)
    text = f"{_decimal(seconds, 1_000_000_000)}s"
    if hours:
        return f"{sign}{hours}h{minutes}m{text}"
    return f"{sign}{minutes}m{text}" if minutes else f"{sign}{text}"


def _decimal(value: int, size: int) -> str:
    whole, fraction = divmod(value, size)
    if not fraction:
        return str(whole)
    return f"{whole}.{str(fraction).rjust(len(str(size)) - 1, '0').rstrip('0')}"
