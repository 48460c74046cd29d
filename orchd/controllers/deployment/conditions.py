"""Conditions of deployments: pure functions over lists of conditions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from orchd.kinds.conditions import find_in
from orchd.kinds.times import timestamp

Conditions = list[dict[str, Any]]


def make(type_: str, value: str, reason: str, message: str, now: float) -> dict[str, Any]:
    at = timestamp(now)
    return {
        "type": type_,
        "status": value,
        "lastUpdateTime": at,
        "lastTransitionTime": at,
        "reason": reason,
        "message": message,
    }


def without(conditions: Iterable[Mapping[str, Any]], type_: str) -> Conditions:
    return [dict(c) for c in conditions if c.get("type") != type_]


def with_(conditions: Iterable[Mapping[str, Any]], fresh: Mapping[str, Any]) -> Conditions:
    """Set the condition `fresh`. Unchanged if status and reason are equal; an equal status keeps the transition
    time."""
    kept = [dict(c) for c in conditions]
    old = find_in(kept, fresh["type"])
    if old is not None and old.get("status") == fresh["status"] and old.get("reason") == fresh["reason"]:
        return kept
    added = dict(fresh)
    if old is not None and old.get("status") == fresh["status"]:
        added["lastTransitionTime"] = old.get("lastTransitionTime")
    return [*without(kept, fresh["type"]), added]
