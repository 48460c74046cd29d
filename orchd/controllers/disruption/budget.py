"""The arithmetic of disruption budgets, over plain objects. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from orchd.controllers.objects import condition
from orchd.controllers.percent import scale_percent
from orchd.controllers.pods import is_ready
from orchd.kinds import fields
from orchd.kinds.conditions import with_condition
from orchd.kinds.fields import deleting, mapping, name, spec, status
from orchd.kinds.jsonvalues import Object
from orchd.kinds.times import seconds_of, timestamp

#: Seconds after which an eviction without a deletion of its pod is dropped.
DELETION_TIMEOUT: Final = 120.0
ALLOWED: Final = "DisruptionAllowed"


def needs_scale(budget: Object) -> bool:
    """True if the budget is relative to the desired size of the pods' owners."""
    return spec(budget).get("maxUnavailable") is not None or isinstance(spec(budget).get("minAvailable"), str)


def compute_desired(budget: Object, pods: int, scale: int) -> tuple[int, int]:
    """Expected and required healthy pods. `scale` is the total size of the owners."""
    most = spec(budget).get("maxUnavailable")
    least = spec(budget).get("minAvailable")
    if most is not None:
        return scale, max(0, scale - scale_percent(most, scale, up=True))
    if isinstance(least, str):
        return scale, scale_percent(least, scale, up=True)
    return (pods, int(least)) if least is not None else (0, 0)


def sort_evictions(
    budget: Object, pods: Iterable[Object], now: float
) -> tuple[dict[str, str], list[Object], float | None]:
    """Pending evictions, pods whose eviction timed out, and seconds until the next timeout."""
    disrupted = mapping(status(budget), "disruptedPods")
    pending: dict[str, str] = {}
    failed: list[Object] = []
    left: float | None = None
    for pod in pods:
        at = disrupted.get(name(pod))
        if at is None or deleting(pod):
            continue
        remaining = (seconds_of(at) or 0.0) + DELETION_TIMEOUT - now
        if remaining < 0:
            failed.append(pod)
        else:
            pending[name(pod)] = at
            left = remaining if left is None else min(left, remaining)
    return pending, failed, left


def count_healthy(pods: Iterable[Object], pending: Mapping[str, str]) -> int:
    """Pods that are ready and not being deleted or evicted."""
    return sum(1 for pod in pods if not deleting(pod) and name(pod) not in pending and is_ready(pod))


def next_status(
    budget: Object, *, expected: int, desired: int, current: int, pending: Mapping[str, str], now: float
) -> dict[str, Any]:
    """The status after a successful sync."""
    allowed = max(0, current - desired) if expected > 0 else 0
    generation = fields.generation(budget)
    fresh: dict[str, Any] = {
        "disruptionsAllowed": allowed,
        "currentHealthy": current,
        "desiredHealthy": desired,
        "expectedPods": expected,
    }
    if generation:
        fresh["observedGeneration"] = generation
    if pending:
        fresh["disruptedPods"] = dict(pending)
    value, reason = ("True", "SufficientPods") if allowed else ("False", "InsufficientPods")
    fresh["conditions"] = _conditions(budget, value, reason, "", generation, now)
    return fresh


def make_failed_status(budget: Object, message: str, now: float) -> dict[str, Any]:
    """The status after a failed sync: no disruption is allowed."""
    generation = int(status(budget).get("observedGeneration") or 0)
    failed_conditions = _conditions(budget, "False", "SyncFailed", message, generation, now)
    return {
        "currentHealthy": 0,
        "desiredHealthy": 0,
        "expectedPods": 0,
        **status(budget),
        "disruptionsAllowed": 0,
        "conditions": failed_conditions,
    }


def has_failed(budget: Object) -> bool:
    """True if the last sync failed."""
    allowed = condition(status(budget), ALLOWED)
    return allowed is not None and allowed.get("reason") == "SyncFailed"


def _conditions(
    budget: Object, value: str, reason: str, message: str, generation: int, now: float
) -> list[dict[str, Any]]:
    at = timestamp(now)
    fresh: dict[str, Any] = {
        "type": ALLOWED,
        "status": value,
        "lastTransitionTime": at,
        "reason": reason,
        "message": message,
    }
    if generation:
        fresh["observedGeneration"] = generation
    return with_condition(fields.conditions(budget), fresh)
