"""Which values of a list repeat an earlier one, in time linear in the list: bodies may have tens of thousands."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import orjson


def repeats(values: Iterable[Any]) -> set[int]:
    """The indexes of the values that are equal to an earlier one. Values are JSON."""
    seen: set[Hashable] = set()
    indexes = set()
    for i, value in enumerate(values):
        key = orjson.dumps(value, option=orjson.OPT_SORT_KEYS) if isinstance(value, dict | list) else value
        if key in seen:
            indexes.add(i)
        seen.add(key)
    return indexes
