"""Timestamps and durations: texts, parts, and time zones."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cache, lru_cache
from zoneinfo import TZPATH, ZoneInfo, ZoneInfoNotFoundError, available_timezones

from orchd.cel import durations, numbers
from orchd.cel.durations import DurationError
from orchd.cel.operators import NANOS
from orchd.cel.quoting import quote, quote_ascii
from orchd.cel.values import MAX_INT, MIN_INT, Duration, EvaluationError, Timestamp, wrapped

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: The first and the last second of the years 1 to 9999, and the length of the 400 years after which the calendar
#: repeats.
_FIRST, _LAST = -62_135_596_800, 253_402_300_799
_CYCLE = 146_097 * 86_400
#: An upper bound of the offsets of time zones, exclusive.
_MARGIN = 366 * 86_400
_DAY = 86_400
#: Names of zones are names of files, with at most as many bytes below the folder of zones.
_LONGEST_NAME, _LONGEST_PATH = 255, 4095 - len("/usr/share/zoneinfo/")
_RFC3339 = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{1,2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]+))?(?:(Z)|([+-])([0-9]{2}):([0-9]{2}))",
    re.ASCII,
)


def parse_duration(text: str) -> Duration | None:
    """Return the duration of ``1h30m``, ``-1.5s`` and the like, None if the text is not a duration or does not fit 64
    bits.
    """
    try:
        return Duration(durations.parse_duration(text))
    except DurationError:
        return None


#: Further names of units in data, and what names of units may begin with.
_MORE_UNITS = {"hr": 3600 * NANOS, "d": _DAY * NANOS, "w": 7 * _DAY * NANOS, "wk": 7 * _DAY * NANOS}
_LONG_UNITS = {"nano": 1, "micro": 10**3, "milli": 10**6, "sec": NANOS, "min": 60 * NANOS, "hour": 3600 * NANOS}
_LONG_UNITS |= {"day": _DAY * NANOS, "week": 7 * _DAY * NANOS}
#: A number and a unit. Linear: a number that is followed by anything else has no part that is followed by one.
_AMOUNT = re.compile(r"(?<![0-9])([0-9]++)[\t\n\f\r ]*+([A-Za-zµ]+)")


def read_duration(text: str) -> Duration | EvaluationError:
    """Return the duration of a text of format duration: one of `parse_duration`, or a text that contains whole numbers
    of units, which may be spelled out.
    """
    duration = parse_duration(text)
    if duration is not None:
        return duration
    total, has_amount = 0, False
    for amount, unit in _AMOUNT.findall(text):
        digits = amount.lstrip("0") or "0"
        if len(digits) > 19 or int(digits) > MAX_INT:
            return EvaluationError(f'Invalid duration {text}: strconv.Atoi: parsing "{amount}": value out of range')
        nanos = _size_of_unit(unit.lower())
        has_amount = has_amount or nanos > 0
        total += int(digits) * nanos
    if not has_amount:
        return EvaluationError(f"Invalid duration {text}: unable to parse {text} as duration")
    return Duration(wrapped(total))


def _size_of_unit(name: str) -> int:
    """Return the length of a unit in nanoseconds, 0 for an unknown name."""
    size = durations.UNITS.get(name) or _MORE_UNITS.get(name)
    return size or next((size for begin, size in _LONG_UNITS.items() if name.startswith(begin)), 0)


def parse_timestamp(text: str) -> Timestamp | None:
    """Return the instant of an RFC 3339 text, None for any other text."""
    match = _RFC3339.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    fraction, zulu, sign, zone_hours, zone_minutes = match.groups()[6:]
    if hour > 23 or minute > 59 or second > 59:
        return None
    days = days_from_civil(year, month, day)
    if days is None:
        return None
    offset = 0
    if zulu is None:
        if int(zone_hours) > 24 or int(zone_minutes) > 60:
            return None
        offset = (int(zone_hours) * 3600 + int(zone_minutes) * 60) * (-1 if sign == "-" else 1)
    nanos = int((fraction or "0")[:9].ljust(9, "0"))
    epoch = days * _DAY + hour * 3600 + minute * 60 + second - offset
    return Timestamp(epoch * NANOS + nanos, offset)


def days_from_civil(year: int, month: int, day: int) -> int | None:
    """Return the days since 1970-01-01 of a date, None if there is no such date. The year 0 is one before 1."""
    lengths = (31, 29 if _leap(year) else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
    if not 1 <= month <= 12 or not 1 <= day <= lengths[month - 1]:
        return None
    before = year - 1
    return before * 365 + before // 4 - before // 100 + before // 400 + sum(lengths[: month - 1]) + day - 719_163


def _leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def timestamp_text(value: Timestamp) -> str:
    """Return the RFC 3339 text, in the offset in which the instant was written."""
    moment = _local(value)
    nanos = value.nanos % NANOS
    fraction = f".{nanos:09d}".rstrip("0") if nanos else ""
    if not value.offset:
        zone = "Z"
    else:
        minutes = abs(value.offset) // 60
        zone = f"{'-' if value.offset < 0 else '+'}{minutes // 60:02d}:{minutes % 60:02d}"
    date = f"{year(value):04d}-{moment.month:02d}-{moment.day:02d}"
    return f"{date}T{moment.hour:02d}:{moment.minute:02d}:{moment.second:02d}{fraction}{zone}"


def duration_text(value: Duration) -> str:
    """Format a duration in seconds, such as ``1.5s``, with the decimals of the double nearest to it."""
    seconds, nanos = divmod(abs(value.nanos), NANOS)
    total = float(seconds) + nanos / 1e9
    return numbers.plain(-total if value.nanos < 0 else total) + "s"


def _local(value: Timestamp) -> datetime:
    """Return date and time in the offset of a timestamp, in a year that datetime knows: `_cycles` of the calendar
    away."""
    seconds = value.nanos // NANOS + value.offset
    return _EPOCH + timedelta(seconds=seconds - _cycles(seconds) * _CYCLE)


def _cycles(seconds: int) -> int:
    """Return by how many cycles of the calendar an instant is moved: none within the years that datetime knows
    whole."""
    if _FIRST + _MARGIN <= seconds <= _LAST - _MARGIN:
        return 0
    return (seconds - _FIRST) // _CYCLE - 10


def in_zone(value: Timestamp, zone: str) -> Timestamp:
    """Return the same instant with the offset of a time zone: a name, or ``+01:30``. Raises `EvaluationError`."""
    if ":" in zone:
        hours, _, minutes = zone.partition(":")
        span = _integer(hours) * 60
        span += -_integer(minutes) if zone.startswith("-") else _integer(minutes)
        return Timestamp(value.nanos, whole(wrapped(wrapped(span) * 60 * NANOS), NANOS))
    # The first year has the offset of the second: the calendar repeats, and offsets do not.
    moment = _local(Timestamp(max(value.nanos, (_FIRST + _MARGIN) * NANOS)))
    offset = moment.astimezone(_zone(zone)).utcoffset()
    return Timestamp(value.nanos, int(offset.total_seconds()) if offset is not None else 0)


def _integer(text: str) -> int:
    if not re.fullmatch(r"[+-]?[0-9]+", text, re.ASCII):
        raise EvaluationError(f"strconv.Atoi: parsing {quote(text)}: invalid syntax")
    # Python refuses to convert thousands of digits, leading zeros included.
    digits = text.lstrip("+-").lstrip("0") or "0"
    value = int(digits) if len(digits) <= 19 else MAX_INT + 2
    value = -value if text[0] == "-" else value
    if not MIN_INT <= value <= MAX_INT:
        raise EvaluationError(f"strconv.Atoi: parsing {quote(text)}: value out of range")
    return value


def _zone(name: str) -> tzinfo:
    """Return a time zone. Raises `EvaluationError` with the reference's text, which is that of its file system."""
    if name in ("", "UTC", "Local"):
        return UTC
    if ".." in name or name.startswith(("/", "\\")):
        raise EvaluationError("time: invalid location name")
    files = _zone_files()
    if name in files and not name.endswith("/"):
        try:
            return _load_zone(name)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise EvaluationError("malformed time zone information") from None
    first = name.partition("/")[0]
    if "\0" in name:
        raise EvaluationError("invalid argument")
    if len(name.encode()) > _LONGEST_PATH or len(first.encode()) > _LONGEST_NAME:
        raise EvaluationError("file name too long")
    if f"{name.rstrip('/')}/" in files:
        raise EvaluationError("is a directory")
    if name.rpartition("/")[0] in files:
        raise EvaluationError("not a directory")
    raise EvaluationError(f"unknown time zone {name}")


@lru_cache(maxsize=1)
def _zone_files() -> frozenset[str]:
    """Return names of time zones and, with a slash at the end, of their folders. Looking a name up reads no file."""
    names: set[str] = set()
    for base in TZPATH:
        for folder, folders, files in os.walk(base):
            within = os.path.relpath(folder, base)
            prefix = "" if within == os.curdir else f"{within}/"
            names.update(f"{prefix}{name}/" for name in folders)
            names.update(f"{prefix}{name}" for name in files)
    return frozenset(names or available_timezones())


@cache
def _load_zone(name: str) -> ZoneInfo:
    return ZoneInfo(name)


def whole(nanos: int, unit: int) -> int:
    """Return how many whole units there are, towards zero."""
    return nanos // unit if nanos >= 0 else -(-nanos // unit)


def year(value: Timestamp) -> int:
    return _local(value).year + 400 * _cycles(value.nanos // NANOS + value.offset)


def month(value: Timestamp) -> int:
    return _local(value).month - 1


def day_of_year(value: Timestamp) -> int:
    return _local(value).timetuple().tm_yday - 1


def day_of_month(value: Timestamp) -> int:
    return _local(value).day - 1


def date(value: Timestamp) -> int:
    return _local(value).day


def day_of_week(value: Timestamp) -> int:
    return _local(value).isoweekday() % 7


def hours(value: Timestamp) -> int:
    return _local(value).hour


def minutes(value: Timestamp) -> int:
    return _local(value).minute


def seconds(value: Timestamp) -> int:
    return _local(value).second


def milliseconds(value: Timestamp) -> int:
    return value.nanos % NANOS // 1_000_000


def parse_date_time(text: str) -> Timestamp | None:
    """Return the instant of a text of format date-time, RFC 3339 with or without a zone, None for any other text."""
    if not text:
        return Timestamp(0)
    return parse_timestamp(text) or parse_timestamp(f"{text}Z")


def date_failure(text: str) -> str:
    """Return the message of Go's parser for a text that is not a date."""
    return _failure(text, _LAYOUT[:5])


def date_time_failure(text: str) -> str:
    """Return the message of Go's parser for a text that is not a date and time."""
    return _failure(text, _LAYOUT)


_TWO_DIGITS = "([0-9]{2})"
#: The parts of a date and time as the reference names them, and their patterns.
_LAYOUT = (
    *(("2006", "[0-9]{4}"), ("-", "-"), ("01", _TWO_DIGITS), ("-", "-"), ("02", _TWO_DIGITS)),
    *(("T", "T"), ("15", "([0-9]{1,2})"), (":", ":"), ("04", _TWO_DIGITS), (":", ":")),
    ("05", f"{_TWO_DIGITS}(?:[.,][0-9]+)?"),
)
_BOUNDS = {"01": ("month", 1, 12), "15": ("hour", 0, 23), "04": ("minute", 0, 59), "05": ("second", 0, 59)}


def _failure(text: str, layout: Sequence[tuple[str, str]]) -> str:
    rest = text
    for element, pattern in layout:
        match = re.match(pattern, rest)
        if match is None:
            whole = "".join(name for name, _ in layout)
            wrong = f"cannot parse {quote_ascii(rest)} as {quote_ascii(element)}"
            return f"parsing time {quote_ascii(text)} as {quote_ascii(whole)}: {wrong}"
        rest = rest[match.end() :]
        name, least, most = _BOUNDS.get(element, ("", 0, 0))
        if name and not least <= int(match.group(1)) <= most:
            return f"parsing time {quote_ascii(text)}: {name} out of range"
    reason = f"extra text: {quote_ascii(rest)}" if rest else "day out of range"
    return f"parsing time {quote_ascii(text)}: {reason}"


def is_date_time(text: str) -> bool:
    """Say whether a text is of format date-time, strictly: RFC 3339 with at most 9 decimals."""
    if len(text) < 4:
        return False
    return re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:.*", text, re.ASCII) is not None and (
        parse_timestamp(text.upper()) is not None
    )
