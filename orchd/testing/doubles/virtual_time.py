"""`VirtualReactor`: a reactor whose time a test advances, and that needs no sockets until it is bound to a real one."""

from __future__ import annotations

import time
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from typing import Any

from twisted.internet.base import DelayedCall
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.python.failure import Failure
from zope.interface import implementer

from orchd.txkit.log import Logger

#: Turns of the real reactor after each step of `advance`, for what follows from the calls of that step.
_SETTLING_TURNS = 2


class InlineThreads:
    """A thread pool that runs work at once in the calling thread."""

    def callInThreadWithCallback(self, done: Any, function: Callable[..., Any], *arguments: Any, **named: Any) -> None:
        try:
            result = function(*arguments, **named)
        except Exception:
            done(False, Failure())
        else:
            done(True, result)


class HeldThreads:
    """A thread pool that queues its work until there are threads."""

    def __init__(self) -> None:
        self._jobs: list[tuple[Any, Callable[..., Any], tuple[Any, ...], dict[str, Any]]] = []

    def callInThreadWithCallback(self, done: Any, function: Callable[..., Any], *arguments: Any, **named: Any) -> None:
        self._jobs.append((done, function, arguments, named))

    def hand_over(self, pool: Any) -> int:
        """Give the work to another pool, which may begin at once; how many jobs."""
        jobs, self._jobs = self._jobs, []
        for done, function, arguments, named in jobs:
            pool.callInThreadWithCallback(done, function, *arguments, **named)
        return len(jobs)


@implementer(IReactorTime)
class VirtualReactor:
    """Real time plus what `advance` added, for delayed calls as for `seconds` and `wall`.

    Before `bind` nothing runs by itself: `run_due` runs the calls that are due, `run_jobs` what was meant for threads,
    and there are no sockets, so that a process may fork. Afterwards everything but time is the bound reactor's.
    """

    _log = Logger()

    def __init__(self) -> None:
        self._real: Any = None
        self._shift = 0.0
        self._calls: list[tuple[float, int, DelayedCall]] = []
        self._numbers = count()
        self._alarm: Any = None
        self._alarm_at = 0.0
        self._threads = HeldThreads()

    # -- time

    def seconds(self) -> float:
        """Monotonic, with what was added."""
        return time.monotonic() + self._shift

    def wall(self) -> float:
        """Seconds since the epoch, with what was added."""
        return time.time() + self._shift

    def callLater(self, delay: float, callable: Callable[..., Any], *args: object, **kwargs: object) -> DelayedCall:
        call = DelayedCall(
            self.seconds() + delay, callable, args, kwargs, lambda call: None, self._push, seconds=self.seconds
        )
        self._push(call)
        return call

    def getDelayedCalls(self) -> list[DelayedCall]:
        return list(dict.fromkeys(call for _, _, call in self._calls if call.active()))

    def _push(self, call: DelayedCall) -> None:
        heappush(self._calls, (call.getTime(), next(self._numbers), call))
        self._arm()

    def next_due(self) -> float | None:
        """When the next delayed call is due, in terms of `seconds`; None without any."""
        calls = self._calls
        while calls:
            when, _, call = calls[0]
            if call.active() and call.getTime() == when:
                return when
            heappop(calls)
            if call.active() and call.getTime() > when:
                # Was put off since; one that was brought forward has an entry of its own already. Its time is settled,
                # so that it tells when it is brought forward again.
                call.activate_delay()
                heappush(calls, (call.getTime(), next(self._numbers), call))
        return None

    def run_due(self) -> int:
        """Run the calls that are due now, without those that they add. Returns how many ran."""
        now, ran, last = self.seconds(), 0, next(self._numbers)
        late: list[tuple[float, int, DelayedCall]] = []
        while (due := self.next_due()) is not None and due <= now:
            entry = heappop(self._calls)
            call = entry[2]
            if entry[1] > last:
                late.append(entry)
                continue
            ran += 1
            call.called = 1
            try:
                call.func(*call.args, **call.kw)
            except Exception:
                self._log.failure("a delayed call failed")
        for entry in late:
            heappush(self._calls, entry)
        return ran

    def skip_to_next(self) -> None:
        """Let time pass until the next delayed call, and run it."""
        due = self.next_due()
        if due is not None:
            self._shift += max(0.0, due - self.seconds())
            self.run_due()

    def run_jobs(self) -> int:
        """Run the work that is queued for threads in this thread. Returns how many jobs ran."""
        return self._threads.hand_over(InlineThreads())

    # -- bound to a real reactor

    def bind(self, real: Any) -> None:
        """Run calls by the time of the reactor `real` from now on."""
        self._real = real
        self._arm()
        self._threads.hand_over(real.getThreadPool())

    def unbind(self) -> None:
        """Leave nothing in the real reactor; calls that are still to come do not happen."""
        if self._alarm is not None and self._alarm.active():
            self._alarm.cancel()
        self._real = self._alarm = None

    def _arm(self) -> None:
        """Have the real reactor wake this one for the next call."""
        if self._real is None:
            return
        due = self.next_due()
        if due is None:
            return
        if self._alarm is not None and self._alarm.active():
            if self._alarm_at <= due:
                return
            self._alarm.cancel()
        self._alarm_at = due
        self._alarm = self._real.callLater(max(0.0, due - self.seconds()), self._wake)

    def _wake(self) -> None:
        self.run_due()
        self._arm()

    async def advance(self, seconds: float) -> None:
        """Let `seconds` pass at once: calls run in the order of their times, each at its time, with those that they
        add.

        Raises ValueError for a negative number. What other threads or processes do in between takes real time."""
        if not seconds >= 0:
            raise ValueError(f"time does not go back: {seconds}")
        left = seconds
        while left > 0:
            due = self.next_due()
            step = left if due is None else min(left, max(due - self.seconds(), 0.0))
            if step > 0:
                self._shift += step
                left -= step
            if self.run_due():
                await self.settle()
        self._alarm_at = float("inf")
        self._arm()

    async def settle(self) -> None:
        """Give the real reactor a few turns."""
        for _ in range(_SETTLING_TURNS if self._real is not None else 0):
            turn: Deferred[None] = Deferred()
            self._real.callLater(0, turn.callback, None)
            await turn

    def getThreadPool(self) -> Any:
        return self._threads if self._real is None else self._real.getThreadPool()

    def callFromThread(self, callable: Callable[..., Any], *args: object, **kwargs: object) -> None:
        if self._real is None:
            callable(*args, **kwargs)
        else:
            self._real.callFromThread(callable, *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or self._real is None:
            raise AttributeError(f"{name}: not before this reactor is bound")
        return getattr(self._real, name)
