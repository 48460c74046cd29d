"""Division of seats among priority levels by what each could use, within its bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

#: A smaller target is taken for this one: targets are divided by.
_LEAST_TARGET: Final = 0.001
#: Sums that differ by less are equal.
_TOLERANCE: Final = 1e-7


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What a level could use, in seats, and the `lower` and `upper` bound of what it gets: 0 <= lower <= target, and
    lower <= upper."""

    target: float
    lower: float
    upper: float


def allocate(total: float, claims: Sequence[Claim]) -> tuple[list[float], float] | None:
    """Divide `total` seats: each claim gets the same fraction of its target, or the bound that this fraction is beyond.

    Returns the seats of each claim and the fraction; None if the bounds of all claims do not allow this total.
    """
    targets = [max(claim.target, _LEAST_TARGET) for claim in claims]
    lowest, highest = sum(claim.lower for claim in claims), sum(claim.upper for claim in claims)
    if not lowest - _TOLERANCE <= total <= highest + _TOLERANCE:
        return None
    if not total:
        return [0.0] * len(claims), 0.0
    begins = [claim.lower / target for claim, target in zip(claims, targets, strict=True)]
    ends = [claim.upper / target for claim, target in zip(claims, targets, strict=True)]
    if total < lowest + _TOLERANCE:
        return [claim.lower for claim in claims], min(begins)
    if total > highest - _TOLERANCE:
        return [claim.upper for claim in claims], max(ends)
    fraction = total / sum(targets)
    if not max(begins) <= fraction <= min(ends):
        fraction = _bounded_fraction(total - lowest, targets, begins, ends)
    seats = [
        max(claim.lower, min(claim.upper, fraction * target)) for claim, target in zip(claims, targets, strict=True)
    ]
    return seats, fraction


def _bounded_fraction(left: float, targets: list[float], begins: list[float], ends: list[float]) -> float:
    """The fraction at which the claims get `left` seats more than their lower bounds. A claim grows with the fraction
    between where it `begins` and where it `ends` to."""
    steps = sorted(
        [(fraction, 1, target) for fraction, target in zip(begins, targets, strict=True)]
        + [(fraction, -1, -target) for fraction, target in zip(ends, targets, strict=True)]
    )
    fraction, growing, slope = steps[0][0], 0, 0.0
    for bound, claims, change in steps:
        if growing:
            grown = (bound - fraction) * slope
            if grown >= left:
                return fraction + left / slope
            left -= grown
        fraction = bound
        growing, slope = growing + claims, slope + change
    return fraction
