"""Priority levels with their current configuration."""

from __future__ import annotations

from dataclasses import dataclass

from orchd.kinds.jsonvalues import ObjectView
from orchd.server.pipeline.fairness.queues import Level, Queuing


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatShares:
    """What a level has of all seats, by its configuration: `shares` in proportion to those of all levels. Of these it
    lends `lendable` percent to others, and borrows up to `borrowing` percent; None for no maximum."""

    shares: int = 0
    lendable: int = 0
    borrowing: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatBounds:
    """The nominal limit of a level in seats, and the bounds of its current limit."""

    nominal: int = 0
    lower: int = 0
    upper: int = 0


class PriorityLevel:
    """A priority level: its configuration, its seats, and their bounds."""

    __slots__ = ("bounds", "name", "seats", "shares", "target", "uid", "waking", "widest")

    def __init__(self, name: str, now: float) -> None:
        self.name = name
        self.uid = ""
        self.shares = SeatShares()
        self.bounds = SeatBounds()
        self.seats = Level(1, None, now)
        #: The maximum of seats of a request that may wait; None for no maximum of the level.
        self.widest: int | None = None
        #: The seats that were asked for when limits were adjusted.
        self.target = 0.0
        #: True while requests are being started: starting one may end it, which re-enters this code.
        self.waking = False

    def configure(self, obj: ObjectView) -> None:
        """Take the values of a validated PriorityLevelConfiguration object."""
        spec = obj["spec"]
        self.uid = obj["metadata"].get("uid", "")
        self.seats.exempt = spec["type"] != "Limited"
        limited = spec.get("exempt" if self.seats.exempt else "limited") or {}
        self.shares = SeatShares(
            shares=_shares(limited),
            lendable=limited.get("lendablePercent") or 0,
            borrowing=limited.get("borrowingLimitPercent"),
        )
        response = limited.get("limitResponse") or {}
        queuing = response.get("queuing") if response.get("type") == "Queue" else None
        self.seats.queuing = queuing and Queuing(
            queues=queuing["queues"], hand=queuing["handSize"], length=queuing["queueLengthLimit"]
        )

    @property
    def least(self) -> int:
        """The limit that lending leaves the level: what it needed of its own seats in the last period."""
        return max(self.bounds.lower, min(self.bounds.nominal, self.seats.demand.peak))


def _shares(limited: ObjectView) -> int:
    """The shares of a level, whose name differs between the versions of the group."""
    nominal = limited.get("nominalConcurrencyShares")
    shares: int = limited.get("assuredConcurrencyShares", 0) if nominal is None else nominal
    return shares
