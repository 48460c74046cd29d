"""A lock that is passed on fairly: between flows, for example users, in turn, and within a flow in the order of
arrival."""

from __future__ import annotations

from collections import deque
from typing import Final

from twisted.internet.defer import Deferred

#: Maximum number of waiters of a flow.
MOST_WAITING: Final = 256


class TooManyWaitingError(Exception):
    """`MOST_WAITING` callers of the flow wait already."""


class FairLock:
    """A flow with many waiters delays another flow's first one by at most one holder for each flow that waits."""

    def __init__(self) -> None:
        self._held = False
        #: Waiters by flow; flows in the order of their next turn, none of them empty.
        self._waiting: dict[str, deque[Deferred[None]]] = {}

    async def acquire(self, flow: str) -> None:
        """Wait for the lock. Cancelling gives up the place. Raises TooManyWaitingError."""
        if not self._held:
            self._held = True
            return
        waiters = self._waiting.setdefault(flow, deque())
        if len(waiters) >= MOST_WAITING:
            raise TooManyWaitingError
        turn: Deferred[None] = Deferred(lambda waiting: self._leave(flow, waiting))
        waiters.append(turn)
        await turn

    def release(self) -> None:
        """Pass the lock to the first waiter of the next flow."""
        flow = next(iter(self._waiting), None)
        if flow is None:
            self._held = False
            return
        waiters = self._waiting.pop(flow)
        turn = waiters.popleft()
        if waiters:
            self._waiting[flow] = waiters
        turn.callback(None)

    def _leave(self, flow: str, waiting: Deferred[None]) -> None:
        waiters = self._waiting[flow]
        waiters.remove(waiting)
        if not waiters:
            del self._waiting[flow]
