"""Accessors of timestamps and durations: `getHours`, `getFullYear`, … (cel-go `cel/library.go`).

Without a time zone a timestamp is read in UTC, as Kubernetes configures it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from policygen.cel import types
from policygen.cel.decls import Example, FunctionDecl, Overload
from policygen.cel.errors import EvalError
from policygen.cel.gotime import (
    HOUR,
    MINUTE,
    SECOND,
    Civil,
    ZoneError,
    civil_time,
    duration_part,
    zone_offset,
)
from policygen.cel.values import Duration, Timestamp

_SAMPLE = "timestamp('2024-02-29T13:45:59.123Z')"


def _accessor(
    name: str,
    overload: str,
    read: Callable[[Civil], int],
    *,
    doc: str,
    examples: tuple[str, ...],
    duration_unit: tuple[str, int] | None = None,
) -> FunctionDecl:
    def in_utc(value: Timestamp) -> int:
        return read(civil_time(value.ns))

    def in_zone(value: Timestamp, zone: str) -> int:
        try:
            offset = zone_offset(zone, value.ns)
        except ZoneError as error:
            raise EvalError(str(error)) from None
        return read(civil_time(value.ns, offset))

    overloads = [
        Overload(
            overload,
            (types.TIMESTAMP,),
            types.INT,
            in_utc,
            member=True,
            doc=doc,
            examples=tuple(Example(example) for example in examples),
        ),
        Overload(f"{overload}_with_tz", (types.TIMESTAMP, types.STRING), types.INT, in_zone, member=True),
    ]
    if duration_unit is not None:
        duration_id, unit = duration_unit

        def of_duration(value: Duration) -> int:
            return duration_part(value.ns, unit)

        overloads.append(Overload(duration_id, (types.DURATION,), types.INT, of_duration, member=True))
    return FunctionDecl(name, tuple(overloads), doc=doc)


FUNCTIONS: Final = (
    _accessor(
        "getFullYear",
        "timestamp_to_year",
        lambda civil: civil.year,
        doc="the year",
        examples=(f"{_SAMPLE}.getFullYear() == 2024",),
    ),
    _accessor(
        "getMonth",
        "timestamp_to_month",
        lambda civil: civil.month - 1,
        doc="the month, from 0 for January",
        examples=(f"{_SAMPLE}.getMonth() == 1",),
    ),
    _accessor(
        "getDayOfYear",
        "timestamp_to_day_of_year",
        lambda civil: civil.yearday,
        doc="the day of the year, from 0",
        examples=(f"{_SAMPLE}.getDayOfYear() == 59",),
    ),
    _accessor(
        "getDayOfMonth",
        "timestamp_to_day_of_month",
        lambda civil: civil.day - 1,
        doc="the day of the month, from 0",
        examples=(f"{_SAMPLE}.getDayOfMonth() == 28",),
    ),
    _accessor(
        "getDate",
        "timestamp_to_day_of_month_1_based",
        lambda civil: civil.day,
        doc="the day of the month, from 1",
        examples=(f"{_SAMPLE}.getDate() == 29", f"{_SAMPLE}.getDate('+11:00') == 1"),
    ),
    _accessor(
        "getDayOfWeek",
        "timestamp_to_day_of_week",
        lambda civil: civil.weekday,
        doc="the day of the week, from 0 for Sunday",
        examples=(f"{_SAMPLE}.getDayOfWeek() == 4",),
    ),
    _accessor(
        "getHours",
        "timestamp_to_hours_tz",
        lambda civil: civil.hour,
        doc="the hour, or all the hours of a duration",
        examples=(f"{_SAMPLE}.getHours('America/New_York') == 8", "duration('90m').getHours() == 1"),
        duration_unit=("duration_to_hours", HOUR),
    ),
    _accessor(
        "getMinutes",
        "timestamp_to_minutes",
        lambda civil: civil.minute,
        doc="the minute, or all the minutes of a duration",
        examples=(f"{_SAMPLE}.getMinutes() == 45", "duration('90m').getMinutes() == 90"),
        duration_unit=("duration_to_minutes", MINUTE),
    ),
    _accessor(
        "getSeconds",
        "timestamp_to_seconds_tz",
        lambda civil: civil.second,
        doc="the second, or all the seconds of a duration",
        examples=(f"{_SAMPLE}.getSeconds() == 59", "duration('90m').getSeconds() == 5400"),
        duration_unit=("duration_to_seconds", SECOND),
    ),
    _accessor(
        "getMilliseconds",
        "timestamp_to_milliseconds",
        lambda civil: civil.millisecond,
        doc="the milliseconds of the second, or all the milliseconds of a duration",
        examples=(f"{_SAMPLE}.getMilliseconds() == 123", "duration('1.5s').getMilliseconds() == 1500"),
        duration_unit=("duration_to_milliseconds", 1_000_000),
    ),
)
