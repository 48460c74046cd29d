"""What a server has reached in its life: steps of its start, open, stopping, draining."""

from __future__ import annotations

from collections.abc import Callable

#: What is wrong, "" when nothing is.
Probe = Callable[[], str]


class ServerState:
    """Written by the composition root and the front end, read by health checks, stages and admission.

    `clock` gives seconds; before `grace` seconds have passed, /livez takes steps that are still to come for granted
    (--livez-grace-period).
    """

    def __init__(self, clock: Callable[[], float], grace: float) -> None:
        self._clock = clock
        self._begin = clock()
        self._grace = grace
        self._done: set[str] = set()
        #: Every request is served: the listener accepts and all objects of a fresh cluster exist.
        self.open = False
        #: The stop has begun; requests are still served.
        self.stopping = False
        #: New requests are answered with Retry-After (--shutdown-send-retry-after).
        self.draining = False

    def is_open(self) -> bool:
        return self.open

    def is_draining(self) -> bool:
        return self.draining

    def done(self, step: str) -> None:
        """Mark a step of the start as done, once and for all."""
        self._done.add(step)

    def probe(self, step: str) -> Probe:
        """Ready only once the step is done."""
        return lambda: "" if step in self._done else f"{step}: not finished"

    def lenient(self, step: str) -> Probe:
        """As `probe`, but good for as long as the grace period lasts."""
        strict = self.probe(step)
        return lambda: "" if self._clock() < self._begin + self._grace else strict()
