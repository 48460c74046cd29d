"""Formatting of times as ages."""

from __future__ import annotations

import datetime


def age_text(now: float, stamp: str) -> str:
    """Time since `stamp` in its one or two largest units."""
    try:
        then = datetime.datetime.fromisoformat(stamp.replace("Z", "+00:00")).timestamp()
    except ValueError:
        return "<unknown>"
    left = max(0, int(now - then))
    for size, unit, smaller, small_unit in ((86400, "d", 3600, "h"), (3600, "h", 60, "m"), (60, "m", 1, "s")):
        if left >= size:
            rest = left % size // smaller
            return f"{left // size}{unit}" + (f"{rest}{small_unit}" if rest and left < size * 10 else "")
    return f"{left}s"
