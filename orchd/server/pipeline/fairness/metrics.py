"""Metrics per flow schema and priority level."""

from __future__ import annotations

from orchd.txkit.histogram import Histogram

#: Histogram bucket upper bounds in seconds, as in the reference.
BOUNDS = (0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)


#: Histogram bucket upper bounds in requests, as in the reference.
QUEUE_LENGTHS = (0, 10, 25, 50, 100, 250, 500, 1000)
#: Histogram bucket upper bounds in watches, as in the reference.
WATCHERS = (0, 1, 10, 100, 1000, 10000)


class FairnessMetrics:
    """Counters of one flow schema: currently waiting and executing, and the seats of the executing ones; total dispatched,
    and rejected by reason."""

    __slots__ = (
        "dispatched", "executing", "execution", "queue_lengths", "refused", "rejected", "seats", "waited", "waiting",
        "watchers",
    )  # fmt: skip

    def __init__(self) -> None:
        self.waiting = self.executing = self.seats = self.dispatched = 0
        self.rejected: dict[str, int] = {}
        #: Queue wait of dispatched requests, of rejected requests, and execution time.
        self.waited, self.refused, self.execution = Histogram(BOUNDS), Histogram(BOUNDS), Histogram(BOUNDS)

        #: Length of a request's queue when it was added, itself included.
        self.queue_lengths = Histogram(QUEUE_LENGTHS)

        #: Watches of the resource of a mutating request.
        self.watchers = Histogram(WATCHERS)

    def reject(self, reason: str) -> None:
        self.rejected[reason] = self.rejected.get(reason, 0) + 1
