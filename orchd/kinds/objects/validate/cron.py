"""Validation of cron schedules: five fields or a descriptor (crontab(5)).

Messages are those of the parser of the reference.
"""

from __future__ import annotations

import re
from typing import Final
from zoneinfo import ZoneInfo

from orchd.kinds.digits import integer
from orchd.kinds.gotext.durations import DurationError, parse_duration
from orchd.kinds.gotext.values import quote

_MONTHS: Final = {m: i for i, m in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split(), 1)}
_DAYS: Final = {d: i for i, d in enumerate("sun mon tue wed thu fri sat".split())}
#: (lowest, highest, names) of minute, hour, day of month, month, day of week.
_FIELDS: Final[tuple[tuple[int, int, dict[str, int]], ...]] = (
    (0, 59, {}), (0, 23, {}), (1, 31, {}), (1, 12, _MONTHS), (0, 6, _DAYS),
)
_DESCRIPTORS: Final = frozenset(("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"))


def schedule_error(schedule: str) -> str:
    """The error of a schedule, "" if it is valid."""
    if not schedule:
        return "empty spec string"
    text = schedule
    if text.startswith(("TZ=", "CRON_TZ=")):
        zone, _, text = text.partition(" ")
        name = zone.partition("=")[2]
        if ".." in name or name.startswith(("/", "\\")):
            return f"provided bad location {name}: time: invalid location name"
        try:
            ZoneInfo(name or "UTC")
        except (OSError, ValueError, KeyError):
            if name != "Local":
                return f"provided bad location {name}: unknown time zone {name}"
        text = text.strip()
    if text.startswith("@"):
        return _descriptor_error(text)
    parts = text.split()
    if len(parts) != 5:
        return f"expected exactly 5 fields, found {len(parts)}: [{' '.join(parts)}]"
    for part, field in zip(parts, _FIELDS, strict=True):
        for expression in filter(None, part.split(",")):
            wrong = _range_error(expression, field)
            if wrong:
                return wrong
    return ""


def _descriptor_error(text: str) -> str:
    if text in _DESCRIPTORS:
        return ""
    if text.startswith("@every "):
        duration = text.removeprefix("@every ")
        try:
            parse_duration(duration)
        except DurationError as error:
            return f"failed to parse duration {text}: {error}"
        return ""
    return f"unrecognized descriptor: {text}"



def _range_error(expression: str, field: tuple[int, int, dict[str, int]]) -> str:
    low, high, names = field
    span, *steps = expression.split("/")
    ends = span.split("-")
    try:
        if ends[0] in ("*", "?"):
            start, end = low, high
        else:
            start = _number(ends[0], names)
            end = start
            if len(ends) == 2:
                end = _number(ends[1], names)
            elif len(ends) > 2:
                return f"too many hyphens: {expression}"
        step = 1
        if steps:
            if len(steps) > 1:
                return f"too many slashes: {expression}"
            step = _number(steps[0], {})
            if len(ends) == 1 and ends[0] not in ("*", "?"):
                end = high
    except ValueError as error:
        return str(error)
    if start < low:
        return f"beginning of range ({start}) below minimum ({low}): {expression}"
    if end > high:
        return f"end of range ({end}) above maximum ({high}): {expression}"
    if start > end:
        return f"beginning of range ({start}) beyond end of range ({end}): {expression}"
    if step == 0:
        return f"step of range should be a positive number: {expression}"
    return ""


def _number(text: str, names: dict[str, int]) -> int:
    found = names.get(text.lower())
    if found is not None:
        return found
    if not re.fullmatch(r"[-+]?\d+", text, re.ASCII):
        raise ValueError(f"failed to parse int from {text}: strconv.Atoi: parsing {quote(text)}: invalid syntax")
    number = integer(text)
    if not -(2**63) <= number < 2**63:
        raise ValueError(f"failed to parse int from {text}: strconv.Atoi: parsing {quote(text)}: value out of range")
    if number < 0:
        raise ValueError(f"negative number ({number}) not allowed: {text}")
    return number
