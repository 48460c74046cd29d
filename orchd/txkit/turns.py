"""A limit on how long the work of many coroutines may take within one reactor turn.

When one event completes what many coroutines wait for, all of them continue in the same turn, and nothing else of the
process runs before the last has. Each of them awaits `TurnBudget.wait` where it may be interrupted: within the budget
it continues at once, else in one of the next turns, between which the reactor serves its connections.
"""

from __future__ import annotations

from collections import deque
from math import inf
from typing import Final
from weakref import WeakValueDictionary

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime

#: Seconds of one turn after which the rest continues in the next.
_BUDGET: Final = 0.004


class TurnBudget:
    """Shared by the coroutines that compete. They continue in the order in which they waited."""

    def __init__(self, clock: IReactorTime, *, seconds: float = _BUDGET) -> None:
        self._clock = clock
        self._seconds = seconds
        #: Seconds that continued coroutines have taken in all.
        self.worked = 0.0
        #: When this turn's first work began; None before it.
        self._began: float | None = None
        self._scheduled = False
        self._waiting: deque[Deferred[None]] = deque()
        #: From the first on that waits for a later turn even if the budget is not used up.
        self._later: deque[Deferred[None]] = deque()

    async def wait(self) -> None:
        """Continue at once if this turn's budget is not used up and no earlier caller waits, else in a later turn."""
        if self._began is None:
            self._began = self._clock.seconds()
            self._schedule()
        if not self._waiting and not self._later and not self._spent():
            return
        waiting: Deferred[None] = Deferred(self._forget)
        (self._later or self._waiting).append(waiting)
        await waiting

    async def wait_next(self) -> None:
        """Continue in a later turn, for work that would be long by itself: not in the next one, as calls that a thread's
        result schedules may come later in its turn."""
        if self._began is None:
            self._began = self._clock.seconds()
        self._schedule()
        for _ in range(2):
            waiting: Deferred[None] = Deferred(self._forget)
            self._later.append(waiting)
            await waiting

    def _forget(self, waiting: Deferred[None]) -> None:
        (self._later if waiting in self._later else self._waiting).remove(waiting)

    def _spent(self) -> bool:
        return self._began is not None and self._clock.seconds() - self._began >= self._seconds

    def _schedule(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            self._clock.callLater(0, self._resume)

    def _resume(self) -> None:
        """A new turn: resume waiters until its budget is spent."""
        self._scheduled = False
        self._waiting += self._later
        self._later.clear()
        self._began = self._clock.seconds() if self._waiting else None
        if not self._waiting:
            return
        self._schedule()
        began = self._clock.seconds()
        while self._waiting and not self._spent():
            self._waiting.popleft().callback(None)
        self.worked += self._clock.seconds() - began


class Gathering:
    """Lets coroutines continue together, so that they share what a reactor turn and a commit cost.

    They continue at most every `interval` seconds, within `turns`; while fewer than `few` come in a second, each of
    them continues at once.
    """

    def __init__(self, clock: IReactorTime, turns: TurnBudget, *, interval: float, few: int) -> None:
        self._clock = clock
        self._turns = turns
        self._interval = interval
        #: When the last ones came.
        self._came = deque([-inf] * few, maxlen=few)
        self._due = 0.0
        self._waiting: deque[Deferred[None]] = deque()

    async def wait(self) -> None:
        """Continue when the next ones continue."""
        now = self._clock.seconds()
        are_few = now - self._came[0] >= 1
        self._came.append(now)
        if not self._waiting and (are_few or now >= self._due):
            self._due = now + self._interval
            return
        if not self._waiting:
            self._clock.callLater(max(0.0, self._due - now), self._resume)
        waiting: Deferred[None] = Deferred(self._waiting.remove)
        self._waiting.append(waiting)
        await waiting
        await self._turns.wait()

    def _resume(self) -> None:
        self._due = self._clock.seconds() + self._interval
        waiting, self._waiting = self._waiting, deque()
        while waiting:
            waiting.popleft().callback(None)


#: By the identity of the clock, which a budget keeps alive.
_SHARED: Final[WeakValueDictionary[int, TurnBudget]] = WeakValueDictionary()


def shared_budget(clock: IReactorTime) -> TurnBudget:
    """The budget of everything that competes for the turns of one reactor: separate budgets would add up."""
    budget = _SHARED.get(id(clock))
    if budget is None:
        budget = _SHARED[id(clock)] = TurnBudget(clock)
    return budget
