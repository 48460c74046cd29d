"""Schedules in cron syntax: five fields, a descriptor such as @hourly, or @every with a duration. Times are UTC unless
the schedule begins with ``TZ=`` or ``CRON_TZ=`` and the name of a time zone. Pure.

Syntax and messages are those of the parser of the reference, robfig/cron v3.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final
from zoneinfo import ZoneInfo

from orchd.kinds.digits import integer
from orchd.kinds.gotext.durations import DurationError, parse_duration
from orchd.kinds.gotext.values import quote

_DESCRIPTORS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_MONTHS: Final = {
    name: number for number, name in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split(), 1)
}
_DAYS: Final = {name: number for number, name in enumerate("sun mon tue wed thu fri sat".split())}
#: (lowest, highest, names) of minute, hour, day of month, month, day of week.
_FIELDS: Final[tuple[tuple[int, int, dict[str, int]], ...]] = (
    (0, 59, {}),
    (0, 23, {}),
    (1, 31, {}),
    (1, 12, _MONTHS),
    (0, 6, _DAYS),
)
#: Days searched for the next time: February 29 may be eight years away.
_HORIZON: Final = 366 * 9


class ScheduleError(ValueError):
    """An invalid schedule; the message is that of the reference's parser."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """`every` is a period in seconds, or 0 if the sets of minutes apply. `any_day`, `any_weekday`: the field was a
    star."""

    minutes: frozenset[int] = frozenset()
    hours: frozenset[int] = frozenset()
    days: frozenset[int] = frozenset()
    months: frozenset[int] = frozenset()
    weekdays: frozenset[int] = frozenset()
    any_day: bool = True
    any_weekday: bool = True
    every: float = 0.0
    zone: tzinfo = UTC

    def after(self, moment: float) -> float | None:
        """The first scheduled time after `moment`, in seconds since the epoch; None if there is no such time within the
        horizon of some years."""
        if self.every:
            return float(int(moment) + self.every)
        first = int(moment) // 60 * 60 + 60
        day = datetime.fromtimestamp(first, self.zone).replace(hour=0, minute=0, second=0)
        for _ in range(_HORIZON):
            if self._on(day):
                time = next(self._times(day, first), None)
                if time is not None:
                    return time
            day += timedelta(days=1)
        return None

    def _times(self, day: datetime, first: int) -> Iterator[float]:
        """The times of a day from `first` on. Where clocks are put forward times are left out, where they are put back
        they come twice, those of one hour before those of the next."""
        for hour in sorted(self.hours):
            for fold in (0, 1):
                for minute in sorted(self.minutes):
                    local = day.replace(hour=hour, minute=minute, fold=fold)
                    if fold and local.utcoffset() == local.replace(fold=0).utcoffset():
                        break
                    seconds = local.timestamp()
                    if seconds >= first and datetime.fromtimestamp(seconds, self.zone).hour == hour:
                        yield seconds

    def _on(self, day: datetime) -> bool:
        if day.month not in self.months:
            return False
        of_month, of_week = day.day in self.days, (day.weekday() + 1) % 7 in self.weekdays
        # If both fields are restricted, either may match.
        return (of_month and of_week) if self.any_day or self.any_weekday else (of_month or of_week)

    def between(self, earliest: float, latest: float) -> Iterator[float]:
        """Times after `earliest` up to and including `latest`."""
        moment = self.after(earliest)
        while moment is not None and moment <= latest:
            yield moment
            moment = self.after(moment)


def parse(text: str) -> Schedule:
    """Parse a schedule. Raises ScheduleError."""
    if not text:
        raise ScheduleError("empty spec string")
    zone: tzinfo = UTC
    if text.startswith(("TZ=", "CRON_TZ=")):
        prefix, _, text = text.partition(" ")
        zone, text = _zone(prefix.partition("=")[2]), text.strip()
    if text.startswith("@every "):
        return Schedule(every=_period(text))
    if text.startswith("@") and text not in _DESCRIPTORS:
        raise ScheduleError(f"unrecognized descriptor: {text}")
    fields = _DESCRIPTORS.get(text, text).split()
    if len(fields) != len(_FIELDS):
        raise ScheduleError(f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]")
    (minutes, _), (hours, _), (days, any_day), (months, _), (weekdays, any_weekday) = (
        _field(field, *limits) for field, limits in zip(fields, _FIELDS, strict=True)
    )
    return Schedule(minutes, hours, days, months, weekdays, any_day, any_weekday, zone=zone)


def _zone(name: str) -> tzinfo:
    try:
        return load_location(name)
    except ScheduleError as error:
        raise ScheduleError(f"provided bad location {name}: {error}") from None


def load_location(name: str) -> tzinfo:
    """The time zone of a name, UTC for "". Raises ScheduleError."""
    if name in ("", "Local"):
        return UTC
    if ".." in name or name.startswith(("/", "\\")):
        raise ScheduleError("time: invalid location name")
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, LookupError):
        raise ScheduleError(f"unknown time zone {name}") from None


def _period(text: str) -> float:
    """Whole seconds of an @every descriptor, at least one."""
    try:
        return float(max(1, parse_duration(text.removeprefix("@every ")) // 10**9))
    except DurationError as error:
        raise ScheduleError(f"failed to parse duration {text}: {error}") from None


def _field(text: str, low: int, high: int, names: dict[str, int]) -> tuple[frozenset[int], bool]:
    """(values, whether one of its parts is a star without a step) of a field. Without a part it has no values, and
    matches never."""
    values: set[int] = set()
    star = False
    for part in filter(None, text.split(",")):
        span, *steps = part.split("/")
        first, *rest = span.split("-")
        if first in ("*", "?"):
            start, end = low, high
        else:
            start = end = _number(first, names)
            if len(rest) > 1:
                raise ScheduleError(f"too many hyphens: {part}")
            if rest:
                end = _number(rest[0], names)
        if len(steps) > 1:
            raise ScheduleError(f"too many slashes: {part}")
        step = _number(steps[0], {}) if steps else 1
        if steps and not rest:
            end = high
        if start < low:
            raise ScheduleError(f"beginning of range ({start}) below minimum ({low}): {part}")
        if end > high:
            raise ScheduleError(f"end of range ({end}) above maximum ({high}): {part}")
        if start > end:
            raise ScheduleError(f"beginning of range ({start}) beyond end of range ({end}): {part}")
        if step == 0:
            raise ScheduleError(f"step of range should be a positive number: {part}")
        values.update(range(start, end + 1, step))
        star = star or (first in ("*", "?") and step == 1)
    return frozenset(values), star


def _number(text: str, names: dict[str, int]) -> int:
    if text.lower() in names:
        return names[text.lower()]
    if not re.fullmatch(r"[-+]?\d+", text, re.ASCII):
        raise ScheduleError(f"failed to parse int from {text}: strconv.Atoi: parsing {quote(text)}: invalid syntax")
    number = integer(text)
    if not -(2**63) <= number < 2**63:
        raise ScheduleError(f"failed to parse int from {text}: strconv.Atoi: parsing {quote(text)}: value out of range")
    if number < 0:
        raise ScheduleError(f"negative number ({number}) not allowed: {text}")
    return number
