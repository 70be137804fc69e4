"""Go's texts of numbers and times: laws that every value obeys."""

import math
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from policygen.cel.gotext import format_double, format_plain, parse_double, parse_int, parse_uint
from policygen.cel.gotime import (
    MAX_UNIX,
    MIN_UNIX,
    SECOND,
    civil_time,
    duration_seconds,
    format_duration,
    format_rfc3339,
    parse_duration,
    parse_rfc3339,
)
from policygen.kube.gotext import quote

int64 = st.integers(-(2**63), 2**63 - 1)
instants = st.integers(MIN_UNIX * SECOND, MAX_UNIX * SECOND)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_doubles_read_back(value: float) -> None:
    """Both forms give the same double again; an exponent has at least two digits and a sign."""
    for text in (format_double(value), format_plain(value)):
        again = parse_double(text)
        assert again == value
        assert again is not None
        assert math.copysign(1, again) == math.copysign(1, value)
    mantissa, mark, exponent = format_double(value).partition("e")
    assert "." not in mantissa or not mantissa.endswith("0")
    assert not mark or (exponent[0] in "+-" and len(exponent) >= 3)
    assert "e" not in format_plain(value)


@given(st.integers(-(2**70), 2**70))
def test_integers_within_64_bits(value: int) -> None:
    """What does not fit is refused."""
    assert parse_int(str(value)) == (value if -(2**63) <= value < 2**63 else None)
    assert parse_uint(str(value)) == (value if 0 <= value < 2**64 else None)


@given(int64)
def test_durations_read_back(ns: int) -> None:
    """Go's form gives the same nanoseconds again, and the seconds are near."""
    assert parse_duration(format_duration(ns)) == ns
    assert math.isclose(duration_seconds(ns), ns / 1e9, rel_tol=1e-12)


@given(st.text(alphabet="+-.0123456789nsuµmh ", max_size=12))
def test_any_duration_fits_or_is_refused(text: str) -> None:
    """No text does anything else."""
    ns = parse_duration(text)
    assert ns is None or -(2**63) <= ns < 2**63


@given(instants, st.integers(-14 * 60, 14 * 60))
def test_times_read_back(ns: int, minutes: int) -> None:
    """RFC 3339 at any offset gives the same instant again, and the calendar is Python's."""
    civil = civil_time(ns)
    expected = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=ns // SECOND)
    assert (civil.year, civil.month, civil.day) == (expected.year, expected.month, expected.day)
    assert (civil.hour, civil.minute, civil.second) == (expected.hour, expected.minute, expected.second)
    assert civil.yearday + 1 == expected.timetuple().tm_yday
    assert civil.weekday == expected.isoweekday() % 7
    if MIN_UNIX + 86400 < ns // SECOND < MAX_UNIX - 86400:
        instant = parse_rfc3339(format_rfc3339(ns, minutes * 60))
        assert instant is not None
        assert (instant.ns, instant.offset) == (ns, minutes * 60)


@given(st.text(max_size=20))
def test_quoted_text_is_one_line_of_printable_characters(text: str) -> None:
    """`quote` hides nothing and breaks no line."""
    quoted = quote(text)
    assert quoted[0] == quoted[-1] == '"'
    assert quoted.isprintable()
