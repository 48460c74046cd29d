"""Schedules in cron syntax: five fields, a descriptor such as @hourly, or @every with a duration. Times are UTC unless
the schedule begins with ``TZ=`` or ``CRON_TZ=`` and the name of a time zone. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

from orchd.kinds.digits import integer, is_whole
from orchd.kinds.gotext.durations import DurationError, parse_duration

_WORDS = {
    "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}
_MONTHS = {name: number for number, name in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split(), 1)}
_DAYS = {name: number for number, name in enumerate("sun mon tue wed thu fri sat".split())}
_RANGES: tuple[tuple[int, int, dict[str, int]], ...] = (
    (0, 59, {}), (0, 23, {}), (1, 31, {}), (1, 12, _MONTHS), (0, 6, _DAYS)
)
#: Days searched for the next time: February 29 may be eight years away.
_HORIZON = 366 * 9


class ScheduleError(ValueError):
    """An invalid schedule."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """`every` is a period in seconds, or 0 if the sets of minutes apply. `any_day`, `any_weekday`: the field was a star."""

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
                found = next(self._times(day, first), None)
                if found is not None:
                    return found
            day += timedelta(days=1)
        return None

    def _times(self, day: datetime, first: int) -> Iterator[float]:
        """The times of a day from `first` on. Where clocks are put forward times are left out, where they are put back they come
        twice, those of one hour before those of the next."""
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
    if text.startswith(("TZ=", "CRON_TZ=")):
        prefix, _, text = text.partition(" ")
        return replace(_parse_times(text), zone=_zone(prefix.partition("=")[2]))
    return _parse_times(text)


def _parse_times(text: str) -> Schedule:
    text = text.strip()
    if text.startswith("@every "):
        seconds = _duration(text[7:].strip())
        return Schedule(every=max(1.0, float(int(seconds))))
    fields = _WORDS.get(text, text).split()
    if len(fields) != 5:
        raise ScheduleError(f"expected exactly 5 fields, found {len(fields)}: {text!r}")
    sets = [_field(field, *limits) for field, limits in zip(fields, _RANGES, strict=True)]
    stars = [any(part.split("/")[0] in ("*", "?") for part in field.split(",")) for field in fields]
    return Schedule(sets[0], sets[1], sets[2], sets[3], sets[4], stars[2], stars[4])


def _zone(name: str) -> tzinfo:
    if name in ("", "Local"):
        return UTC
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, LookupError):
        raise ScheduleError(f"provided bad location {name}: unknown time zone {name}") from None


def _duration(text: str) -> float:
    try:
        return parse_duration(text) / 10**9
    except DurationError as error:
        raise ScheduleError(f"not a duration: {error}") from None


def _field(text: str, low: int, high: int, names: dict[str, int]) -> frozenset[int]:
    out: set[int] = set()
    for part in filter(None, text.split(",")):
        span, slash, step_text = part.partition("/")
        first, dash, last = span.partition("-")
        if first in ("*", "?"):
            start, end = low, high
        else:
            start = _value(first, names)
            end = _value(last, names) if dash else high if slash else start
        step = _value(step_text, {}) if slash else 1
        if not low <= start <= end <= high or step < 1:
            raise ScheduleError(f"out of range: {part!r}")
        out.update(range(start, end + 1, step))
    if not out:
        raise ScheduleError(f"empty field: {text!r}")
    return frozenset(out)


def _value(text: str, names: dict[str, int]) -> int:
    if is_whole(text):
        return integer(text)
    try:
        return names[text.lower()]
    except KeyError:
        raise ScheduleError(f"not a number: {text!r}") from None
