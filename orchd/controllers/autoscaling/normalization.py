"""Normalization of proposed replica counts: stabilization windows, scaling policies, minimum and maximum."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from math import ceil
from typing import Any, Final

from orchd.kinds.fields import mapping

#: Without `spec.behavior`, a scale-up reaches twice the current size or this size, whichever is more.
_SCALE_UP_FLOOR: Final = 4
_TOO_FAST: Final = (
    "ScaleUpLimit", "the desired replica count is increasing faster than the maximum scale rate",
)  # fmt: skip
_TOO_FAST_DOWN: Final = (
    "ScaleDownLimit", "the desired replica count is decreasing faster than the maximum scale rate",
)  # fmt: skip
_TOO_MANY: Final = ("TooManyReplicas", "the desired replica count is more than the maximum replica count")
_TOO_FEW: Final = ("TooFewReplicas", "the desired replica count is less than the minimum replica count")
_IN_RANGE: Final = ("DesiredWithinRange", "the desired count is within the acceptable range")
_READY: Final = ("ReadyForNewScale", "recommended size matches current size")
_STABLE_DOWN: Final = (
    "ScaleDownStabilized",
    "recent recommendations were higher than current one, applying the highest recent recommendation",
)
_STABLE_UP: Final = (
    "ScaleUpStabilized",
    "recent recommendations were lower than current one, applying the lowest recent recommendation",
)
#: Reason and message of a condition.
Reason = tuple[str, str]


@dataclass(slots=True)
class History:
    """Recommended sizes and scale changes of one autoscaler, as (monotonic seconds, number)."""

    recommendations: list[tuple[float, int]] = field(default_factory=list)
    ups: list[tuple[float, int]] = field(default_factory=list)
    downs: list[tuple[float, int]] = field(default_factory=list)

    def store_change(self, behavior: Mapping[str, Any] | None, before: int, after: int, now: float) -> None:
        """Record a change and drop those older than every policy period."""
        if behavior is None:
            return
        kept, rules = (self.ups, behavior.get("scaleUp")) if after > before else (self.downs, behavior.get("scaleDown"))
        longest = max((int(p.get("periodSeconds") or 0) for p in (rules or {}).get("policies") or ()), default=0)
        kept[:] = [(at, number) for at, number in kept if at > now - longest]
        kept.append((now, abs(after - before)))


@dataclass(frozen=True, slots=True)
class Normalized:
    """A replica count, with the reasons of the conditions AbleToScale (`able`) and ScalingLimited (`limit`)."""

    size: int
    able: Reason
    limited: bool
    limit: Reason


@dataclass(frozen=True, slots=True)
class Bounds:
    """minReplicas and maxReplicas of an autoscaler."""

    least: int
    most: int


def normalize(
    history: History,
    behavior: Mapping[str, Any] | None,
    *,
    current: int,
    desired: int,
    bounds: Bounds,
    now: float,
    window: float,
) -> Normalized:
    """Stabilize `wanted`, then limit it by the scaling policies and by `bounds`.

    `window` is the scale-down stabilization window in seconds that applies unless `behavior` has its own. `now` is
    monotonic.
    """
    if behavior is None:
        stable, able = _stabilize_without_behavior(history, desired, now, window)
        size, limit = _limit_without_behavior(current, stable, bounds)
    else:
        stable, able = _stabilize(history, behavior, current, desired, now, window)
        size, limit = _limit(history, behavior, current, stable, bounds, now)
    return Normalized(size, able, size != stable, limit)


def _stabilize_without_behavior(history: History, desired: int, now: float, window: float) -> tuple[int, Reason]:
    recent = [(at, size) for at, size in history.recommendations if at > now - window]
    stable = max([desired, *(size for _, size in recent)])
    history.recommendations = [*recent, (now, desired)]
    return stable, _READY if stable == desired else _STABLE_DOWN


def _limit_without_behavior(current: int, desired: int, bounds: Bounds) -> tuple[int, Reason]:
    step = max(2 * current, _SCALE_UP_FLOOR)
    limit, why = (step, _TOO_FAST) if bounds.most > step else (bounds.most, _TOO_MANY)
    if desired < bounds.least:
        return bounds.least, _TOO_FEW
    return (limit, why) if desired > limit else (desired, _IN_RANGE)


def _stabilize(
    history: History, behavior: Mapping[str, Any], current: int, desired: int, now: float, window: float
) -> tuple[int, Reason]:
    up_window = float(mapping(behavior, "scaleUp").get("stabilizationWindowSeconds") or 0)
    own_window = mapping(behavior, "scaleDown").get("stabilizationWindowSeconds")
    down_window = window if own_window is None else float(own_window)
    lowest = min([desired, *(size for at, size in history.recommendations if at > now - up_window)])
    highest = max([desired, *(size for at, size in history.recommendations if at > now - down_window)])
    stable = min(max(current, lowest), highest)
    longest = max(up_window, down_window)
    history.recommendations = [(at, size) for at, size in history.recommendations if at >= now - longest]
    history.recommendations.append((now, desired))
    if stable == desired:
        return stable, _READY
    return stable, _STABLE_UP if desired >= current else _STABLE_DOWN


def _limit(
    history: History, behavior: Mapping[str, Any], current: int, desired: int, bounds: Bounds, now: float
) -> tuple[int, Reason]:
    if desired > current:
        limit = max(current, _up_limit(current, history.ups, mapping(behavior, "scaleUp"), now))
        limit, why = (limit, _TOO_FAST) if bounds.most > limit else (bounds.most, _TOO_MANY)
        if desired > limit:
            return limit, why
    elif desired < current:
        limit = min(current, _down_limit(current, history.downs, mapping(behavior, "scaleDown"), now))
        limit, why = (limit, _TOO_FAST_DOWN) if bounds.least < limit else (bounds.least, _TOO_FEW)
        if desired < limit:
            return limit, why
    return desired, _IN_RANGE


def _sum_changes(events: Iterable[tuple[float, int]], period: Any, now: float) -> int:
    return sum(number for at, number in events if at > now - float(period or 0))


def _up_limit(current: int, events: list[tuple[float, int]], rules: Mapping[str, Any], now: float) -> int:
    choice = rules.get("selectPolicy") or "Max"
    if choice == "Disabled":
        return current
    proposals = []
    for policy in rules.get("policies") or ():
        start = current - _sum_changes(events, policy.get("periodSeconds"), now)
        value = int(policy.get("value") or 0)
        # Rounded up, so that a scale-up always makes progress.
        proposals.append(start + value if policy.get("type") == "Pods" else ceil(start * (100 + value) / 100))
    choose: Callable[..., int] = min if choice == "Min" else max
    return choose(proposals, default=current)


def _down_limit(current: int, events: list[tuple[float, int]], rules: Mapping[str, Any], now: float) -> int:
    choice = rules.get("selectPolicy") or "Max"
    if choice == "Disabled":
        return current
    proposals = []
    for policy in rules.get("policies") or ():
        start = current + _sum_changes(events, policy.get("periodSeconds"), now)
        value = int(policy.get("value") or 0)
        proposals.append(start - value if policy.get("type") == "Pods" else start * (100 - value) // 100)
    # The smallest change leaves the largest size.
    choose: Callable[..., int] = max if choice == "Min" else min
    return choose(proposals, default=current)
