"""What is counted per flow schema and priority level."""

from __future__ import annotations

from orchd.txkit.histogram import Histogram

#: Upper bounds in seconds, as the reference has them.
BOUNDS = (0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30)


class FairnessMetrics:
    """Requests of one flow schema: waiting and executing now; so far dispatched, and rejected by reason."""

    __slots__ = ("dispatched", "executing", "execution", "refused", "rejected", "waited", "waiting")

    def __init__(self) -> None:
        self.waiting = self.executing = self.dispatched = 0
        self.rejected: dict[str, int] = {}
        #: Time in a queue of those that were dispatched, of those that were not, and time from seat to answer.
        self.waited, self.refused, self.execution = Histogram(BOUNDS), Histogram(BOUNDS), Histogram(BOUNDS)

    def reject(self, reason: str) -> None:
        self.rejected[reason] = self.rejected.get(reason, 0) + 1
