"""Lifecycle state of a server: bootstrap steps, ready, shutting down, draining."""

from __future__ import annotations

from collections.abc import Callable

#: The reason for being unhealthy; "" when healthy.
Probe = Callable[[], str]


class ServerState:
    """Written by the composition root and the front end; read by health checks, stages and admission.

    `clock` is monotonic; until `grace` seconds have passed, /livez assumes pending steps done (--livez-grace-period).
    """

    def __init__(self, clock: Callable[[], float], grace: float) -> None:
        self._clock = clock
        self._begin = clock()
        self._grace = grace
        self._done: set[str] = set()
        #: All requests are served: the listener accepts and all bootstrap objects exist.
        self.open = False
        #: Shutdown has begun; requests are still served.
        self.stopping = False
        #: New requests are refused with Retry-After (--shutdown-send-retry-after).
        self.draining = False

    def is_open(self) -> bool:
        return self.open

    def is_draining(self) -> bool:
        return self.draining

    def done(self, step: str) -> None:
        """Mark a bootstrap step as done; it stays done."""
        self._done.add(step)

    def probe(self, step: str) -> Probe:
        """A check that is healthy once the step is done."""
        return lambda: "" if step in self._done else f"{step}: not finished"

    def lenient(self, step: str) -> Probe:
        """As `probe`, but healthy during the grace period."""
        strict = self.probe(step)
        return lambda: "" if self._clock() < self._begin + self._grace else strict()
