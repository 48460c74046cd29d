"""Times of objects, and seconds since the epoch."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchd.kinds.times import TimeError, canonical_microtime, canonical_time, microtime, seconds_of, timestamp

TIMES = [
    ("2020-01-01T00:00:00Z", "2020-01-01T00:00:00Z"),
    ("2020-01-01T02:00:00.999+02:00", "2020-01-01T00:00:00Z"),
    ("2020-12-31T23:30:00-01:00", "2021-01-01T00:30:00Z"),
    ("2020-02-29T1:00:00Z", "2020-02-29T01:00:00Z"),
    ("0001-01-01T00:00:00Z", None),
]


@pytest.mark.parametrize(("text", "canonical"), TIMES)
def test_times_are_canonical(text: str, canonical: str | None) -> None:
    """Times are stored in UTC with seconds; the zero time is null."""
    assert canonical_time(text) == canonical


SECONDS, MICRO = "2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05.000000Z07:00"
BAD_TIMES = [
    ("yesterday", f'parsing time "yesterday" as "{SECONDS}": cannot parse "yesterday" as "2006"'),
    ("", f'parsing time "" as "{SECONDS}": cannot parse "" as "2006"'),
    ("\xe9\n\x7f", f'parsing time "\\xc3\\xa9\\x0a\x7f" as "{SECONDS}": cannot parse "\\xc3\\xa9\\x0a\x7f" as "2006"'),
    ("2020-13-01T00:00:00Z", 'parsing time "2020-13-01T00:00:00Z": month out of range'),
    ("2020-02-30T00:00:00Z", 'parsing time "2020-02-30T00:00:00Z": day out of range'),
    ("2020-02-01T24:00:00Z", 'parsing time "2020-02-01T24:00:00Z": hour out of range'),
    ("0000-01-01T00:00:00Z", 'parsing time "0000-01-01T00:00:00Z": year out of range'),
    ("2020-02-01", f'parsing time "2020-02-01" as "{SECONDS}": cannot parse "" as "T"'),
    ("2020-02-01T00:00:00", f'parsing time "2020-02-01T00:00:00" as "{SECONDS}": cannot parse "" as "Z07:00"'),
    ("2020-02-01T00:00:00Zx", 'parsing time "2020-02-01T00:00:00Zx": extra text: "x"'),
]


@pytest.mark.parametrize(("text", "message"), BAD_TIMES)
def test_invalid_times_are_refused(text: str, message: str) -> None:
    """The error names the first part that does not match."""
    with pytest.raises(TimeError) as caught:
        canonical_time(text)
    assert str(caught.value) == message


@pytest.mark.parametrize("year", [2023, 2024])
def test_days_exist(year: int) -> None:
    """Exactly the days of the calendar are accepted, with and without microseconds."""
    days = {f"{year}-{month:02}-{day:02}" for month in range(14) for day in range(33)}
    first = datetime(year, 1, 1)
    existing = {f"{first + timedelta(days=n):%Y-%m-%d}" for n in range(366 if year == 2024 else 365)}

    def accepts(canonical: Callable[[str], str | None], text: str) -> bool:
        try:
            return canonical(text) == text
        except TimeError:
            return False

    assert {day for day in days if accepts(canonical_time, f"{day}T00:00:00Z")} == existing
    assert {day for day in days if accepts(canonical_microtime, f"{day}T00:00:00.000000Z")} == existing


def test_microtimes_want_six_digits() -> None:
    """A time with microseconds has exactly six digits of fraction."""
    assert canonical_microtime("2020-01-01T01:00:00.123456+01:00") == "2020-01-01T00:00:00.123456Z"
    with pytest.raises(TimeError) as caught:
        canonical_microtime("2020-01-01T00:00:00Z")
    assert str(caught.value) == f'parsing time "2020-01-01T00:00:00Z" as "{MICRO}": cannot parse "Z" as ".000000"'


@given(st.datetimes(min_value=datetime(1, 2, 1)), st.integers(-720, 720))
def test_time_zones_do_not_matter(moment: datetime, offset: int) -> None:
    """A moment has one canonical text, whatever its zone."""
    if moment > datetime(9990, 1, 1):
        return
    utc = moment.replace(tzinfo=UTC)
    local = utc.astimezone(timezone(timedelta(minutes=offset)))
    assert canonical_microtime(local.isoformat(timespec="microseconds")) == utc.isoformat(
        timespec="microseconds"
    ).replace("+00:00", "Z")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2020-01-01T00:00:00Z", 1577836800.0),
        ("2020-01-01T01:00:00+01:00", 1577836800.0),
        ("2020-01-01T00:00:00", 1577836800.0),
        ("2020-01-01T00:00:00.250000Z", 1577836800.25),
        ("1969-12-31T23:59:59Z", -1.0),
        ("", None),
        (None, None),
    ],
)
def test_seconds_of_a_time(text: str | None, seconds: float | None) -> None:
    """A time without a zone is in UTC; an absent one has no seconds."""
    assert seconds_of(text) == seconds


@given(st.integers(-(10**9), 10**10), st.integers(0, 999_999))
def test_times_are_written_as_they_are_read(whole: int, micros: int) -> None:
    """A MicroTime keeps microseconds, a Time drops them."""
    assert seconds_of(timestamp(whole)) == whole
    assert seconds_of(microtime(whole + micros / 1e6)) == pytest.approx(whole + micros / 1e6, abs=1e-5)
    assert canonical_microtime(microtime(whole)) == microtime(whole)
