"""Bytes that may be held at once, shared fairly between flows, for example users."""

from __future__ import annotations

from collections import deque
from typing import Final

from twisted.internet.defer import Deferred

#: Maximum number of waiters of a flow, and of all flows.
MOST_WAITING: Final = 256
MOST_WAITING_IN_ALL: Final = 2048


class NoRoomError(Exception):
    """As many callers as may wait do so already."""


class _Flow:
    """Bytes that a flow holds, and the sizes that its waiters need, in the order of arrival."""

    __slots__ = ("held", "waiting")

    def __init__(self) -> None:
        self.held = 0
        self.waiting: deque[tuple[int, Deferred[None]]] = deque()


class ByteBudget:
    """At most `total` bytes are held, of which one flow holds at most `share`. Flows with waiters take turns; a waiter
    for which only the total has no room keeps later ones waiting, so that small ones do not starve it."""

    def __init__(self, total: int, share: int) -> None:
        self.total = total
        self.share = share
        #: Bytes that are held, and the number of waiters.
        self.held = self.waiting = 0
        #: Flows that hold bytes or wait, in the order of their next turn.
        self._flows: dict[str, _Flow] = {}

    def has_room(self, flow: str, size: int) -> bool:
        """True if `take` would not wait."""
        state = self._flows.get(flow)
        mine = 0 if state is None else state.held + sum(waiting for waiting, _ in state.waiting)
        return mine + size <= self.share and self.held + size <= self.total

    def take(self, flow: str, size: int) -> Deferred[None]:
        """Fires when the flow holds `size` bytes more, which is at most `share`. Cancelling gives up the place. Raises
        NoRoomError."""
        state = self._flows.get(flow)
        if (state is not None and len(state.waiting) >= MOST_WAITING) or self.waiting >= MOST_WAITING_IN_ALL:
            raise NoRoomError
        if state is None:
            state = self._flows[flow] = _Flow()
        turn: Deferred[None] = Deferred(lambda turn: self._leave(flow, (size, turn)))
        state.waiting.append((size, turn))
        self.waiting += 1
        self._pass_on()
        return turn

    def give_back(self, flow: str, size: int) -> None:
        """The flow holds `size` bytes less."""
        state = self._flows[flow]
        state.held -= size
        self.held -= size
        self._forget_idle(flow, state)
        self._pass_on()

    def _pass_on(self) -> None:
        """Give room to the waiters whose turn it is."""
        fired = True
        while self.waiting and fired:
            fired = False
            for flow, state in self._flows.items():
                if not state.waiting:
                    continue
                size, turn = state.waiting[0]
                if state.held + size > self.share:
                    continue
                if self.held + size > self.total:
                    return
                state.waiting.popleft()
                self.waiting -= 1
                state.held += size
                self.held += size
                self._flows[flow] = self._flows.pop(flow)
                fired = True
                # May come back here, and changes the flows.
                turn.callback(None)
                break

    def _leave(self, flow: str, waiter: tuple[int, Deferred[None]]) -> None:
        state = self._flows[flow]
        state.waiting.remove(waiter)
        self.waiting -= 1
        self._forget_idle(flow, state)
        # It may have kept others waiting.
        self._pass_on()

    def _forget_idle(self, flow: str, state: _Flow) -> None:
        if not state.held and not state.waiting:
            del self._flows[flow]
