"""The limits of priority levels: how the seats of a server are divided among them.

Each level has a nominal limit, its share of all seats. Since release 1.26 levels lend seats that they do not use to
others: their limits are adjusted to the demand once per `PERIOD`.
"""

from __future__ import annotations

from collections.abc import Collection
from math import ceil, floor
from typing import Final, Protocol

from orchd.server.pipeline.fairness.allocation import Claim, allocate
from orchd.server.pipeline.fairness.levels import PriorityLevel, SeatBounds

#: Seconds between two adjustments of limits.
PERIOD: Final = 10.0
#: The maximum of seats of a request that may wait, as a part of the seats of its level.
_WIDEST: Final = 0.15


class Limits(Protocol):
    """A rule for the limits of all levels. `exempt`: exempt levels take seats too, and their requests are counted."""

    exempt: bool
    #: The fraction of its demand that each level got, within its bounds.
    fraction: float

    def configure(self, total: int, levels: Collection[PriorityLevel], now: float) -> None:
        """Divide `total` seats after a change of the configuration."""

    def adjust(self, levels: Collection[PriorityLevel], now: float) -> None:
        """Divide the seats again, by the demand of the period that ends `now`."""


class FixedLimits:
    """Each limited level has its nominal limit, whatever is demanded."""

    exempt = False
    fraction = 0.0

    def configure(self, total: int, levels: Collection[PriorityLevel], now: float) -> None:
        shares = sum(level.shares.shares for level in levels)
        for level in levels:
            limit = level.seats.limit = max(1, ceil(total * level.shares.shares / max(1, shares)))
            level.bounds = SeatBounds(nominal=limit, lower=limit, upper=limit)

    def adjust(self, levels: Collection[PriorityLevel], now: float) -> None:
        """Nothing depends on the demand."""


class BorrowedLimits:
    """Levels borrow seats that others lend, by their smoothed demand. Seats that an exempt level uses are taken from
    all others."""

    exempt = True

    def __init__(self) -> None:
        self.fraction = 0.0

    def configure(self, total: int, levels: Collection[PriorityLevel], now: float) -> None:
        shares = sum(level.shares.shares for level in levels)
        for level in levels:
            share = level.shares
            nominal = ceil(total * share.shares / max(1, shares))
            lendable = _rounded(nominal * share.lendable / 100)
            borrowed = total if share.borrowing is None else _rounded(nominal * share.borrowing / 100)
            if not level.bounds.upper:
                level.seats.limit = nominal - lendable // 2
            level.bounds = SeatBounds(nominal=nominal, lower=nominal - lendable, upper=nominal + borrowed)
            queuing = level.seats.queuing
            level.widest = None
            if queuing is not None:
                level.widest = max(1, min(ceil(nominal * _WIDEST), nominal // queuing.hand))
        self.adjust(levels, now)

    def adjust(self, levels: Collection[PriorityLevel], now: float) -> None:
        limited: list[PriorityLevel] = []
        nominal = taken = 0
        self.fraction = 0.0
        for level in levels:
            level.seats.demand.end_period(now)
            nominal += level.bounds.nominal
            if level.seats.exempt:
                level.seats.limit = max(level.bounds.lower, level.seats.demand.peak)
                level.target = float(level.seats.limit)
                taken += level.seats.limit
            else:
                level.target = max(float(level.least), level.seats.demand.smoothed)
                limited.append(level)
        lowest, least = sum(level.bounds.lower for level in limited), sum(level.least for level in limited)
        if nominal - taken <= least:
            part = max(0, nominal - taken - lowest) / max(1, least - lowest)
            for level in limited:
                level.seats.limit = level.bounds.lower + _rounded((level.least - level.bounds.lower) * part)
            return
        claims = [Claim(target=each.target, lower=each.least, upper=each.bounds.upper) for each in limited]
        allocated = allocate(nominal, claims)
        # Bounds that allow no division, because exempt levels have a share that others may not borrow, change nothing.
        if allocated is not None:
            for level, seats in zip(limited, allocated[0], strict=True):
                level.seats.limit = _rounded(seats)
            self.fraction = allocated[1]


def _rounded(number: float) -> int:
    """The nearest whole number; halves are rounded up."""
    return floor(number + 0.5)


#: The rule by the release that begins it.
LIMITS: Final[tuple[tuple[str, type[Limits]], ...]] = (("", FixedLimits), ("1.26", BorrowedLimits))
