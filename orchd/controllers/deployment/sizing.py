"""The arithmetic of rollouts, over plain objects. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import floor
from typing import Any

from orchd.controllers.percent import scale_percent
from orchd.kinds.digits import int64
from orchd.kinds.fields import annotations_of, generation, mapping, spec, status
from orchd.kinds.jsonvalues import Object

#: The int32 value for "no limit".
NO_LIMIT = 2**31 - 1


def desired_replicas(obj: Mapping[str, Any]) -> int:
    """spec.replicas."""
    return int(spec(obj).get("replicas", 1))


def count(obj: Mapping[str, Any] | None, member: str) -> int:
    """A count in the status."""
    return int(status(obj).get(member) or 0)


def total(sets: Iterable[Object]) -> int:
    return sum(desired_replicas(each) for each in sets)


def total_status(sets: Iterable[Object | None], member: str) -> int:
    return sum(count(each, member) for each in sets)


def total_terminating(sets: Iterable[Object]) -> int | None:
    """The sum of status.terminatingReplicas; None if a set that was reconciled does not report it."""
    total = 0
    for each in sets:
        number = status(each).get("terminatingReplicas")
        if number is not None:
            total += int(number)
        elif count(each, "observedGeneration"):
            return None
    return total


def rolling(deployment: Object) -> bool:
    return bool(mapping(spec(deployment), "strategy").get("type", "RollingUpdate") == "RollingUpdate")


def _fenceposts(deployment: Object) -> tuple[int, int]:
    """maxSurge and maxUnavailable as numbers; never both 0, which would block the rollout."""
    limits = mapping(spec(deployment), "strategy", "rollingUpdate")
    replicas = desired_replicas(deployment)
    surge = scale_percent(limits.get("maxSurge"), replicas, up=True)
    unavailable = scale_percent(limits.get("maxUnavailable"), replicas, up=False)
    return (surge, unavailable or 1) if not surge and not unavailable else (surge, unavailable)


def max_surge(deployment: Object) -> int:
    return _fenceposts(deployment)[0] if rolling(deployment) else 0


def max_unavailable(deployment: Object) -> int:
    if not rolling(deployment) or not desired_replicas(deployment):
        return 0
    return min(_fenceposts(deployment)[1], desired_replicas(deployment))


def new_size(deployment: Object, every: Iterable[Object], newest: Object | int) -> int:
    """The size of the new set within maxSurge."""
    current = newest if isinstance(newest, int) else desired_replicas(newest)
    if not rolling(deployment):
        return desired_replicas(deployment)
    room = desired_replicas(deployment) + max_surge(deployment) - total(every)
    if room <= 0:
        return current
    return current + min(room, desired_replicas(deployment) - current)


def _age(each: Object) -> tuple[str, str]:
    return each["metadata"].get("creationTimestamp") or "", each["metadata"]["name"]


def by_age(sets: Iterable[Object]) -> list[Object]:
    """Replica sets by creation time, oldest first."""
    return sorted(sets, key=_age)


def alive(sets: Iterable[Object | None]) -> list[Object]:
    """Sets with a size above 0."""
    return [each for each in sets if each is not None and desired_replicas(each) > 0]


def proportions(deployment: Object, sets: Sequence[Object], *, max_annotation: str) -> list[tuple[Object, int]]:
    """Sizes of one or more active sets after a change of scale, in proportion to their current sizes."""
    size = desired_replicas(deployment) + max_surge(deployment) if desired_replicas(deployment) > 0 else 0
    to_add = size - total(sets)
    if not to_add:
        return [(each, desired_replicas(each)) for each in sets]
    ordered = by_age(sets)
    if to_add > 0:
        ordered.reverse()
    ordered.sort(key=desired_replicas, reverse=True)
    added = 0
    sizes = []
    for each in ordered:
        part, left = _part(deployment, each, max_annotation), to_add - added
        part = min(part, left) if to_add > 0 else max(part, left)
        sizes.append(desired_replicas(each) + part)
        added += part
    sizes[0] = max(0, sizes[0] + to_add - added)
    return list(zip(ordered, sizes, strict=True))


def _part(deployment: Object, each: Object, max_annotation: str) -> int:
    """The change of one set's size that keeps its proportion."""
    if not desired_replicas(deployment):
        return -desired_replicas(each)
    whole = desired_replicas(deployment) + max_surge(deployment)
    before = number(annotations_of(each).get(max_annotation)) or count(deployment, "replicas")
    if not before:
        return 0
    return floor(desired_replicas(each) * whole / before + 0.5) - desired_replicas(each)


def number(text: str | None) -> int | None:
    """The integer value of an annotation; None without one."""
    return None if text is None else int64(text)


def complete(deployment: Object, fresh: Mapping[str, Any]) -> bool:
    """True if `fresh` counts only updated, available pods, in the number that the spec asks for."""
    size = desired_replicas(deployment)
    return (
        int(fresh.get("updatedReplicas") or 0) == size
        and int(fresh.get("replicas") or 0) == size
        and int(fresh.get("availableReplicas") or 0) == size
        and int(fresh.get("observedGeneration") or 0) >= generation(deployment)
    )


def progressing(deployment: Object, fresh: Mapping[str, Any]) -> bool:
    """True if `fresh` shows progress over the deployment's stored status."""

    def old(member: str) -> int:
        return count(deployment, member)

    def new(member: str) -> int:
        return int(fresh.get(member) or 0)

    return (
        new("updatedReplicas") > old("updatedReplicas")
        or new("replicas") - new("updatedReplicas") < old("replicas") - old("updatedReplicas")
        or new("readyReplicas") > old("readyReplicas")
        or new("availableReplicas") > old("availableReplicas")
    )


def has_deadline(deployment: Object) -> bool:
    return spec(deployment).get("progressDeadlineSeconds") not in (None, NO_LIMIT)
