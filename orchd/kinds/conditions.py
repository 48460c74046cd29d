"""Conditions of a status."""

from __future__ import annotations

from orchd.kinds.jsonvalues import ObjectView


def find_condition(status: ObjectView, type_: str) -> ObjectView | None:
    """The condition of a type in a status, None if it is not set."""
    for each in status.get("conditions") or ():
        if each.get("type") == type_:
            found: ObjectView = each
            return found
    return None
