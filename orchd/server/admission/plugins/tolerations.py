"""Merges tolerations without redundant ones. Pure functions over Toleration objects."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

Toleration = dict[str, Any]


def covers(wide: Toleration, narrow: Toleration) -> bool:
    """True if `wide` tolerates everything that `narrow` does."""
    if wide == narrow:
        return True
    exists = wide.get("operator") == "Exists"
    if narrow.get("key", "") != wide.get("key", "") and (wide.get("key") or not exists):
        return False
    if narrow.get("effect", "") != wide.get("effect", "") and wide.get("effect"):
        return False
    if wide.get("effect") == "NoExecute":
        limit, seconds = wide.get("tolerationSeconds"), narrow.get("tolerationSeconds")
        if limit is not None and (seconds is None or seconds > limit):
            return False
    if exists:
        return True
    return narrow.get("operator") in (None, "", "Equal") and narrow.get("value", "") == wide.get("value", "")


def merge(first: Sequence[Toleration], second: Sequence[Toleration]) -> list[Toleration]:
    """Both lists without tolerations covered by others; of equal ones the first stays."""
    every = [*first, *second]
    # One is covered only by those with its key, or without a key: there may be thousands.
    places: dict[str, list[int]] = {}
    for i, one in enumerate(every):
        places.setdefault(one.get("key", ""), []).append(i)
    kept: dict[int, Toleration] = {}
    for i, one in enumerate(every):
        near = [places[key] for key in {one.get("key", ""), ""} if key in places]
        if any(j in kept and covers(kept[j], one) for j in chain(*near)):
            continue
        if any(j > i and one != every[j] and covers(every[j], one) for j in chain(*near)):
            continue
        kept[i] = one
    return list(kept.values())


def covers_all(allowed: Sequence[Toleration], tolerations: Sequence[Toleration]) -> bool:
    """True if every one of `wanted` is covered by one of `allowed`. An empty `allowed` means no limit."""
    return not allowed or all(any(covers(a, w) for a in allowed) for w in tolerations)
