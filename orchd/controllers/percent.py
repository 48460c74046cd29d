"""IntOrString fields that hold a number or a percentage."""

from __future__ import annotations

from typing import Any, Final

from orchd.kinds.digits import integer

#: Upper limit of the number that a percentage stands for.
_MOST: Final = 2**31 - 1


def scale_percent(value: Any, whole: int, *, up: bool) -> int:
    """The absolute number for a field: a number itself, or a percentage of `whole`, rounded `up` or down. None counts
    as 0."""
    if isinstance(value, str) and value.endswith("%"):
        part = integer(value[:-1]) * whole
        return min(-(-part // 100) if up else part // 100, _MOST)
    return int(value or 0)
