"""Texts of durations as Go prints them (package time, Duration.String)."""

from __future__ import annotations


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
