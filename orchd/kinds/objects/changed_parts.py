"""The rule that recursions over an object share to look only at what has changed: shape, defaults and order of members.

Each takes the object together with an earlier one that went through the same recursion, or None. Objects are never
edited, so a part that is the same Python object as the part of the earlier one at its place has not changed: it is used
as it is. Members are compared by name. Items of lists are compared by position if the lists are equally long. Entries
of maps are not compared: they are small.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import is_not
from typing import Any, Final

#: Converts a changed value; takes the value of the earlier object at its place, None without one.
Convert = Callable[[Any, Any], Any]

_NOTHING: Final[Mapping[str, Any]] = {}


def earlier_members(earlier: Any) -> Mapping[str, Any]:
    """The members of the earlier value of a struct; none if it is no struct."""
    members: Mapping[str, Any] = earlier if earlier.__class__ is dict else _NOTHING
    return members


def convert_items(items: list[Any], earlier: Any, convert: Convert) -> list[Any]:
    """A list after the conversion of its changed items; the list itself if that changes none."""
    if earlier.__class__ is list and len(earlier) == len(items):
        out = [item if item is was else convert(item, was) for item, was in zip(items, earlier, strict=True)]
    else:
        out = [convert(item, None) for item in items]
    return out if any(map(is_not, out, items)) else items


def convert_entries(entries: dict[str, Any], convert: Convert) -> dict[str, Any]:
    """A map after the conversion of its values; the map itself if that changes none."""
    out = {key: convert(item, None) for key, item in entries.items()}
    return out if any(map(is_not, out.values(), entries.values())) else entries
