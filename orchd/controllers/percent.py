"""IntOrString fields that hold a number or a percentage."""

from __future__ import annotations

from math import ceil, floor
from typing import Any


def scale_percent(value: Any, whole: int, *, up: bool) -> int:
    """The absolute number for a field: a number itself, or a percentage of `whole`, rounded `up` or down. None counts
    as 0."""
    if isinstance(value, str) and value.endswith("%"):
        part = int(value[:-1]) * whole / 100
        return ceil(part) if up else floor(part)
    return int(value or 0)
