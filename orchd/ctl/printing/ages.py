"""Formatting of times as ages."""

from __future__ import annotations

import datetime

from orchd.kinds.objects.tabulate.ages import UNKNOWN, human_duration


def age_text(now: float, stamp: str) -> str:
    """Time since `stamp`, as tables of the server show it."""
    try:
        then = datetime.datetime.fromisoformat(stamp).timestamp()
    except ValueError:
        return UNKNOWN
    return human_duration(max(0, int(now - then)))
