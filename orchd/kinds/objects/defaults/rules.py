"""What default rules are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from orchd.kinds.objects.settings import ObjectSettings

Object = dict[str, Any]

#: Gives back the value with members filled in, the value itself when nothing was missing. Must not edit it.
Rule = Callable[[Any, ObjectSettings], Any]


def filled(value: Object, **members: Any) -> Object:
    """`value` with those `members` added that are absent, None or ""."""
    missing = {name: item for name, item in members.items() if value.get(name) in (None, "")}
    return {**value, **missing} if missing else value


def within(value: Object, name: str, change: Callable[[Object], Object]) -> Object:
    """`value` with the struct member `name` (made when absent) replaced by what `change` makes of it."""
    old = value.get(name)
    new = change({} if old is None else old)
    return value if new is old else {**value, name: new}
