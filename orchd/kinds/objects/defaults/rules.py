"""Building blocks of default rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.settings import ObjectSettings

#: A rule returns a new value with defaults, or the value itself if nothing was missing. It must not modify the value.
Rule = Callable[[Any, ObjectSettings], Any]


def fill_members(value: Object, **members: Any) -> Object:
    """`value` with the `members` that are absent, None or "" in it."""
    missing = {name: item for name, item in members.items() if value.get(name) in (None, "")}
    return {**value, **missing} if missing else value


def fill_unset(value: Object, **members: Any) -> Object:
    """`value` with the `members` that are absent or None in it: an empty text of an optional member is a value."""
    missing = {name: item for name, item in members.items() if value.get(name) is None}
    return {**value, **missing} if missing else value


def within(value: Object, name: str, change: Callable[[Object], Object]) -> Object:
    """`value` with `change` applied to its struct member `name`, which is created if absent."""
    old = value.get(name)
    new = change({} if old is None else old)
    return value if new is old else {**value, name: new}
