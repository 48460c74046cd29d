"""Durations in Go's form, and the errors of its parser."""

from __future__ import annotations

import re
from typing import Final

from orchd.cel.durations import format_duration
from orchd.kinds.digits import integer


class DurationError(ValueError):
    """An invalid duration; the message is that of Go's parser."""


_UNITS: Final = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_DURATION_PART = re.compile(r"([0-9]*)(\.[0-9]*)?([^0-9.]*)")
_SPECIAL: Final = re.compile(r'[\x00-\x1f"\\\x80-\U0010ffff]')
_MAX_INT64: Final = 2**63 - 1
_MAX_FRACTION: Final = 30


def parse_duration(text: str) -> int:
    """Parse a duration such as ``1h30m`` or ``-1.5s`` to nanoseconds. Raises DurationError."""
    invalid = DurationError(f"time: invalid duration {_quoted(text)}")
    negative = text.startswith("-")
    rest = text[1:] if text[:1] in ("-", "+") else text
    if rest == "0":
        return 0
    if not rest:
        raise invalid
    total = at = 0
    while at < len(rest):
        match = _DURATION_PART.match(rest, at)
        assert match is not None
        whole, fraction, unit = match.group(1), (match.group(2) or "")[1:], match.group(3)
        if not whole and not fraction:
            raise invalid
        if integer(whole or "0") > _MAX_INT64 + 1:
            raise invalid
        if not unit:
            raise DurationError(f"time: missing unit in duration {_quoted(text)}")
        scale = _UNITS.get(unit)
        if scale is None:
            raise DurationError(f"time: unknown unit {_quoted(unit)} in duration {_quoted(text)}")
        # Digits below a nanosecond are ignored, which bounds their number.
        fraction = fraction[:_MAX_FRACTION]
        total += integer(whole or "0") * scale + int(fraction or "0") * scale // 10 ** len(fraction)
        if total > _MAX_INT64:
            raise invalid
        at = match.end()
    return -total if negative else total


def _quoted(text: str) -> str:
    """`text` in quotes, with escaped bytes for whatever is not printable ASCII."""
    return '"' + _SPECIAL.sub(_escape, text) + '"'


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    if character in '"\\':
        return "\\" + character
    return "".join(f"\\x{byte:02x}" for byte in character.encode("utf-8", "surrogateescape"))


def parse_seconds(text: str) -> float:
    """Parse a duration to seconds. Raises DurationError."""
    return parse_duration(text) / 10**9


def canonical_duration(text: str) -> str:
    """A duration in canonical form. Raises DurationError."""
    return format_duration(parse_duration(text))


def format_seconds(seconds: float) -> str:
    """Format seconds as a duration in canonical form."""
    return format_duration(round(seconds * 10**9))
