"""Times of objects: RFC 3339 in UTC, to the second (Time) or the microsecond (MicroTime).

`parse_time` and the canonical forms are for text of any origin: their errors are those of the reference's parser, which
are recorded facts. `seconds_of` is for times as the API writes them.
"""

from __future__ import annotations

import re
import time
from calendar import monthrange
from datetime import UTC, datetime, timedelta
from typing import Final

from orchd.kinds.shorttexts import remember_short

_RFC3339: Final = "2006-01-02T15:04:05Z07:00"
_RFC3339_MICRO: Final = "2006-01-02T15:04:05.000000Z07:00"
#: Canonical times of days that every year has; excludes the year 0, which the parser rejects.
_PLAIN: Final = (
    r"(?!0000)\d{4}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)"
    r"T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d"
)
_PLAIN_TIME = re.compile(_PLAIN + r"Z\Z", re.ASCII)
_PLAIN_MICRO = re.compile(_PLAIN + r"\.\d{6}Z\Z", re.ASCII)
_ZERO_TIME: Final = datetime(1, 1, 1, tzinfo=UTC)


class TimeError(ValueError):
    """A malformed time. The message is the reference's."""


def seconds_of(text: str | None) -> float | None:
    """Seconds since the epoch of a time, UTC if it has no zone; None for None and "". Raises ValueError."""
    return _seconds(text) if text else None


@remember_short(8192)
def _seconds(text: str) -> float:
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def timestamp(seconds: float) -> str:
    """The Time of seconds since the epoch."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def microtime(seconds: float) -> str:
    """The MicroTime of seconds since the epoch."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def canonical_time(text: str) -> str | None:
    """RFC 3339 in UTC without fraction; None for the zero time, which JSON shows as null. Raises TimeError."""
    if _PLAIN_TIME.match(text) and not text.startswith("0001-01-01T00:00:00"):
        return text
    return _format(parse_time(text), "seconds")


def canonical_microtime(text: str) -> str | None:
    """RFC 3339 in UTC with exactly six digits of fraction; None for the zero time. Raises TimeError."""
    if _PLAIN_MICRO.match(text) and not text.startswith("0001-01-01T00:00:00.000000"):
        return text
    return _format(parse_time(text, micro=True), "microseconds")


def _format(moment: datetime, timespec: str) -> str | None:
    return None if moment == _ZERO_TIME else moment.replace(tzinfo=None).isoformat(timespec=timespec) + "Z"


def parse_time(text: str, *, micro: bool = False) -> datetime:
    """Parse RFC 3339 to a moment in UTC, to the microsecond. `micro` requires exactly six fractional digits.

    Raises TimeError that names the first malformed part.
    """
    return _TimeReader(text, _RFC3339_MICRO if micro else _RFC3339).read(micro)


def _quote(text: str) -> str:
    # Imported here because only errors need it: commands load no module of expressions before their first request.
    from orchd.cel.quoting import quote_ascii

    return quote_ascii(text)


class _TimeReader:
    """Parses the parts of a time in order. `rest` is the unparsed text."""

    def __init__(self, text: str, layout: str) -> None:
        self.text = text
        self.layout = layout
        self.rest = text

    def wrong(self, part: str) -> TimeError:
        return TimeError(
            f"parsing time {_quote(self.text)} as {_quote(self.layout)}: "
            f"cannot parse {_quote(self.rest)} as {_quote(part)}"
        )

    def out_of_range(self, what: str) -> TimeError:
        return TimeError(f"parsing time {_quote(self.text)}: {what} out of range")

    def literal(self, text: str) -> None:
        if not self.rest.startswith(text):
            raise self.wrong(text)
        self.rest = self.rest[len(text) :]

    def digits(self, count: int, part: str, *, least: int | None = None) -> int:
        took = 0
        while took < count and took < len(self.rest) and self.rest[took] in "0123456789":
            took += 1
        if took < (count if least is None else least):
            raise self.wrong(part)
        number = int(self.rest[:took])
        self.rest = self.rest[took:]
        return number

    def read(self, micro: bool) -> datetime:
        year = self.digits(4, "2006")
        self.literal("-")
        month = self.digits(2, "01")
        if not 1 <= month <= 12:
            raise self.out_of_range("month")
        self.literal("-")
        day = self.digits(2, "02")
        self.literal("T")
        # The reference accepts an hour of one digit.
        hour = self.digits(2, "15", least=1)
        if hour > 23:
            raise self.out_of_range("hour")
        self.literal(":")
        minute = self.digits(2, "04")
        if minute > 59:
            raise self.out_of_range("minute")
        self.literal(":")
        second = self.digits(2, "05")
        if second > 59:
            raise self.out_of_range("second")
        fraction = self.six_digits() if micro else self.any_fraction()
        offset = self.zone()
        if self.rest:
            raise TimeError(f"parsing time {_quote(self.text)}: extra text: {_quote(self.rest)}")
        if (
            not 1
            <= day
            <= (monthrange(max(year, 1), month)[1] if year else 29 if month == 2 else monthrange(4, month)[1])
        ):
            raise self.out_of_range("day")
        try:
            moment = datetime(year, month, day, hour, minute, second, fraction, UTC)
            return moment - timedelta(seconds=offset)
        except (ValueError, OverflowError):
            raise self.out_of_range("year") from None

    def six_digits(self) -> int:
        if len(self.rest) < 7 or self.rest[0] not in ".,":
            raise self.wrong(".000000")
        if not re.fullmatch("[0-9]{6}", self.rest[1:7]):
            raise self.wrong(".000000")
        number = int(self.rest[1:7])
        self.rest = self.rest[7:]
        return number

    def any_fraction(self) -> int:
        match = re.match("[.,]([0-9]+)", self.rest)
        if match is None:
            return 0
        self.rest = self.rest[match.end() :]
        return int((match.group(1) + "000000")[:6])

    def zone(self) -> int:
        """Parse the time zone as seconds east of UTC."""
        if self.rest.startswith("Z"):
            self.rest = self.rest[1:]
            return 0
        match = re.match("([+-])([0-9]{2}):([0-9]{2})", self.rest)
        if match is None:
            raise self.wrong("Z07:00")
        self.rest = self.rest[match.end() :]
        seconds = int(match.group(2)) * 3600 + int(match.group(3)) * 60
        return seconds if match.group(1) == "+" else -seconds
