"""Texts of durations as Go parses and prints them (package time, ParseDuration and Duration.String)."""

from __future__ import annotations

import re
from typing import Final

#: Units and their nanoseconds.
UNITS: Final = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_PART = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^0-9.]*)")
_SPECIAL: Final = re.compile(r'[\x00-\x1f"\\\x80-\U0010ffff]')
_LIMIT: Final = 2**63
#: Digits that are read of a number: more than `_LIMIT` has, and of a fraction: those below a nanosecond do not count.
_MOST_DIGITS: Final = 30


class DurationError(ValueError):
    """An invalid duration; the message is that of Go's parser."""


def parse_duration(text: str) -> int:
    """Parse a duration such as ``1h30m`` or ``-1.5s`` to nanoseconds of 64 bits. Raises DurationError."""
    negative = text.startswith("-")
    rest = text[1:] if text[:1] in ("-", "+") else text
    if rest == "0":
        return 0
    if not rest:
        raise _invalid(text)
    total = at = 0
    while at < len(rest):
        match = _PART.match(rest, at)
        assert match is not None
        whole, fraction, unit = match[1], (match[2] or "")[:_MOST_DIGITS], match[3]
        digits = whole.lstrip("0")[:_MOST_DIGITS] or "0"
        if not (whole or fraction) or int(digits) > _LIMIT:
            raise _invalid(text)
        if not unit:
            raise DurationError(f"time: missing unit in duration {_quoted(text)}")
        scale = UNITS.get(unit)
        if scale is None:
            raise DurationError(f"time: unknown unit {_quoted(unit)} in duration {_quoted(text)}")
        total += int(digits) * scale + int(fraction or "0") * scale // 10 ** len(fraction)
        if total > _LIMIT:
            raise _invalid(text)
        at = match.end()
    if total == _LIMIT and not negative:
        raise _invalid(text)
    return -total if negative else total


def _invalid(text: str) -> DurationError:
    return DurationError(f"time: invalid duration {_quoted(text)}")


def _quoted(text: str) -> str:
    """`text` in quotes, with escaped bytes for whatever is not printable ASCII."""
    return '"' + _SPECIAL.sub(_escape, text) + '"'


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    if character in '"\\':
        return "\\" + character
    return "".join(f"\\x{byte:02x}" for byte in character.encode("utf-8", "surrogateescape"))


def format_duration(nanoseconds: int) -> str:
    """Format nanoseconds canonically: ``1h0m0s``, ``1.5s``, ``100ms``, ``0s``."""
    if nanoseconds == 0:
        return "0s"
    sign, left = ("-", -nanoseconds) if nanoseconds < 0 else ("", nanoseconds)
    if left < 10**9:
        unit, scale = ("ns", 1) if left < 10**3 else ("µs", 10**3) if left < 10**6 else ("ms", 10**6)
        return f"{sign}{_decimal(left, scale)}{unit}"
    minutes, seconds = divmod(left, 60 * 10**9)
    text = f"{_decimal(seconds, 10**9)}s"
    if minutes:
        hours, minutes = divmod(minutes, 60)
        text = f"{minutes}m{text}"
        if hours:
            text = f"{hours}h{text}"
    return sign + text


def _decimal(number: int, scale: int) -> str:
    whole, part = divmod(number, scale)
    if not part:
        return str(whole)
    digits = str(part).rjust(len(str(scale)) - 1, "0").rstrip("0")
    return f"{whole}.{digits}"
