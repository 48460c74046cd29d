"""Cron schedules: their syntax, and the times that they name."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from orchd.kinds.cron import ScheduleError, parse
from orchd.kinds.gotext.values import quote
from tests.kinds.objects.validate.test_validate_groups import errors_of

#: schedule -> error of the reference's parser, "" if it accepts the schedule.
ODD_SCHEDULES = {
    "* * * * *": "",
    "*/5 1-3,7 ? jan-mar SUN": "",
    "+5 * * * *": "",
    ", * * * *": "",
    "*-7 * * * *": "",
    " 0 0 31 12 6": "",
    "@daily": "",
    "@every 0": "",
    "@every 1h30m": "",
    "TZ= * * * * *": "",
    "TZ=UTC 1 * * * *": "",
    "TZ=UTC  @hourly ": "",
    "@hourly ": "unrecognized descriptor: @hourly ",
    " @hourly": "expected exactly 5 fields, found 1: [@hourly]",
    "@every ": 'failed to parse duration @every : time: invalid duration ""',
    "@every 1h ": 'failed to parse duration @every 1h : time: unknown unit "h " in duration "1h "',
    "@every  1h": 'failed to parse duration @every  1h: time: invalid duration " 1h"',
    "@every 5": 'failed to parse duration @every 5: time: missing unit in duration "5"',
    "@every 5d": 'failed to parse duration @every 5d: time: unknown unit "d" in duration "5d"',
    "@every x": 'failed to parse duration @every x: time: invalid duration "x"',
    "* * * *": "expected exactly 5 fields, found 4: [* * * *]",
    "60 * * * *": "end of range (60) above maximum (59): 60",
    "* * 0 * *": "beginning of range (0) below minimum (1): 0",
    "5-1 * * * *": "beginning of range (5) beyond end of range (1): 5-1",
    "*/0 * * * *": "step of range should be a positive number: */0",
    "1-2-3 * * * *": "too many hyphens: 1-2-3",
    "*/1/2 * * * *": "too many slashes: */1/2",
    "-0 * * * *": 'failed to parse int from : strconv.Atoi: parsing "": invalid syntax',
    "*/-1 * * * *": "negative number (-1) not allowed: -1",
    "x * * * *": 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax',
    "\u00b2 * * * *": 'failed to parse int from \u00b2: strconv.Atoi: parsing "\u00b2": invalid syntax',
    "99999999999999999999 * * * *": (
        'failed to parse int from 99999999999999999999: strconv.Atoi: parsing "99999999999999999999": value out of range'
    ),
    "TZ=UTC": "expected exactly 5 fields, found 0: []",
    "TZ=../x * * * * *": "provided bad location ../x: time: invalid location name",
    "TZ=Mars/Base * * * * *": "provided bad location Mars/Base: unknown time zone Mars/Base",
}


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("schedule", "moment", "following"),
    [
        ("* * * * *", "2024-01-01T00:00:30", "2024-01-01T00:01:00"),
        ("*/15 3 * * *", "2024-01-01T03:45:00", "2024-01-02T03:00:00"),
        ("0 0 29 2 *", "2023-03-01T00:00:00", "2024-02-29T00:00:00"),
        ("0 12 * * mon-fri", "2024-01-05T12:00:00", "2024-01-08T12:00:00"),
        ("0 0 13 * fri", "2024-01-01T00:00:00", "2024-01-05T00:00:00"),
        ("@monthly", "2024-01-31T00:00:00", "2024-02-01T00:00:00"),
        ("5,10-12/2 * * * *", "2024-01-01T00:05:00", "2024-01-01T00:10:00"),
        ("@every 1h30m", "2024-01-01T00:00:00", "2024-01-01T01:30:00"),
        ("@every 1.5h", "2024-01-01T00:00:00", "2024-01-01T01:30:00"),
        ("5,,10 * * * *", "2024-01-01T00:05:00", "2024-01-01T00:10:00"),
        ("TZ= 0 12 * * *", "2024-01-01T00:00:00", "2024-01-01T12:00:00"),
        ("TZ=Asia/Tokyo 0 12 * * *", "2024-01-01T00:00:00", "2024-01-01T03:00:00"),
        # A star with a step restricts the day: either field may match.
        ("0 0 */14 * fri", "2024-01-01T00:00:00", "2024-01-05T00:00:00"),
        ("0 0 */1 * fri", "2024-01-01T00:00:00", "2024-01-05T00:00:00"),
        ("+5 0 * * *", "2024-01-01T00:00:00", "2024-01-01T00:05:00"),
        ("CRON_TZ=Asia/Kolkata @daily", "2024-01-01T00:00:00", "2024-01-01T18:30:00"),
        ("CRON_TZ=America/New_York 0 20 31 12 *", "2024-01-01T00:00:00", "2024-01-01T01:00:00"),
        # 2:30 does not exist in Berlin on March 31, and comes twice on October 27.
        ("TZ=Europe/Berlin 30 2 * * *", "2024-03-30T12:00:00", "2024-04-01T00:30:00"),
        ("TZ=Europe/Berlin 30 2 * * *", "2024-10-26T12:00:00", "2024-10-27T00:30:00"),
        ("TZ=Europe/Berlin 0,30 2 * * *", "2024-10-27T00:00:00", "2024-10-27T00:30:00"),
        ("TZ=Europe/Berlin 0,30 2 * * *", "2024-10-27T00:30:00", "2024-10-27T01:00:00"),
    ],
)
def test_next_time_of_a_schedule(schedule: str, moment: str, following: str) -> None:
    """The next time of a schedule after a moment."""
    assert parse(schedule).after(at(moment)) == at(following)


@pytest.mark.parametrize(("schedule", "message"), ODD_SCHEDULES.items())
def test_validation_reports_the_error_of_a_schedule(schedule: str, message: str) -> None:
    """A cron job is refused with the error of its schedule, and for that alone."""
    causes = errors_of("batch/v1/cronjobs", {"spec": {"schedule": schedule, "concurrencyPolicy": "Allow"}})
    reported = [cause for cause in causes if cause.startswith("spec.schedule")]
    assert reported == [f"spec.schedule: Invalid value: {quote(schedule)}: {message}"] * bool(message)


@pytest.mark.parametrize("text", ["", "TZ=UTC " * 5000 + "* * * * *", "9" * 5000 + " * * * *"])
def test_long_and_empty_schedules_are_refused(text: str) -> None:
    """Empty schedules, and numbers and texts of any length, raise the parser's error."""
    with pytest.raises(ScheduleError, match=r"empty spec|expected exactly|out of range"):
        parse(text)


@pytest.mark.parametrize("schedule", ["0 0 30 2 *", ", * * * *"])
def test_impossible_date_has_no_next_time(schedule: str) -> None:
    """A date that does not exist, and a field without a value, have no next time."""
    assert parse(schedule).after(at("2024-01-01T00:00:00")) is None
