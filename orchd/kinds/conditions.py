"""Conditions of a status."""

from __future__ import annotations

from collections.abc import Iterable

from orchd.kinds.jsonvalues import Object, ObjectView


def find_in(conditions: Iterable[ObjectView], type_: str) -> ObjectView | None:
    """The first condition of a type, None if it is not set."""
    return next((each for each in conditions if each.get("type") == type_), None)


def find_condition(status: ObjectView, type_: str) -> ObjectView | None:
    """The condition of a type in a status, None if it is not set."""
    return find_in(status.get("conditions") or (), type_)


def is_true(status: ObjectView, type_: str) -> bool:
    """True if the condition of a type is set and has status True."""
    condition = find_condition(status, type_)
    return condition is not None and condition.get("status") == "True"


def with_condition(conditions: Iterable[ObjectView], fresh: ObjectView) -> list[Object]:
    """The conditions with `fresh` in the place of the one of its type, or at the end. Its lastTransitionTime is that of
    the old condition if the status has not changed."""
    out = [dict(each) for each in conditions]
    index = next((n for n, each in enumerate(out) if each.get("type") == fresh["type"]), None)
    if index is None:
        return [*out, dict(fresh)]
    old, merged = out[index], dict(fresh)
    if old.get("status") == merged.get("status"):
        merged["lastTransitionTime"] = old.get("lastTransitionTime") or merged.get("lastTransitionTime")
    out[index] = merged
    return out
