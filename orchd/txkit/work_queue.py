"""A work queue of unique keys with retries: a key is processed by one worker at a time.

The queue holds keys, not objects: workers read the current state. Adding a queued key has no effect; adding a key that
is being processed queues it again after that.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from heapq import heappop, heappush
from typing import Generic, TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime

from orchd.txkit.metrics.histogram import Histogram, exponential

#: Bounds of the histograms of a queue, in seconds.
BOUNDS = exponential(10e-9, 10, 10)

#: Backoff in seconds after the first failure, doubled with each further one, and its maximum.
FIRST_PAUSE, LONGEST_PAUSE = 0.005, 1000.0

K = TypeVar("K", bound=Hashable)


class WorkQueue(Generic[K]):
    """A queue of at most `limit` keys.

    Further keys are dropped and counted in `dropped`; when the queue is empty again, `refill` is called, which must add
    all keys that may need work.
    """

    def __init__(
        self,
        clock: IReactorTime,
        *,
        limit: int = 100_000,
        refill: Callable[[], object] | None = None,
        first_pause: float = FIRST_PAUSE,
        longest_pause: float = LONGEST_PAUSE,
    ) -> None:
        self._clock = clock
        self._limit = limit
        self._refill = refill
        self._first, self._longest = first_pause, longest_pause
        self._ready: deque[K] = deque()
        self._dirty: set[K] = set()
        self._working: set[K] = set()
        self._failures: dict[K, int] = {}
        self._due: dict[K, float] = {}
        self._heap: list[tuple[float, int, K]] = []
        self._count = 0
        self._timer: IDelayedCall | None = None
        self._hold: IDelayedCall | None = None
        self._getters: deque[Deferred[None]] = deque()
        self._missed = False
        self.closed = False
        #: When keys were added, and when work on them began, for the two histograms.
        self._added_at: dict[K, float] = {}
        self._began_at: dict[K, float] = {}
        self.waits = Histogram(BOUNDS)
        self.works = Histogram(BOUNDS)
        self.added = 0
        self.dropped = 0
        self.retries = 0

    def __len__(self) -> int:
        return len(self._ready)

    def __contains__(self, key: object) -> bool:
        """True if `key` will be given out without a further `add`; delayed keys do not count."""
        return key in self._dirty

    @property
    def waiting(self) -> int:
        """Number of delayed keys."""
        return len(self._due)

    @property
    def unfinished(self) -> tuple[float, float]:
        """Seconds spent so far on keys that are being worked on: of all together, and of the longest."""
        now = self._clock.seconds()
        spent = [now - began for began in self._began_at.values()]
        return sum(spent), max(spent, default=0.0)

    # -- adding

    def add(self, key: K) -> None:
        """Queue `key` immediately."""
        if self.closed or key in self._dirty:
            return
        if len(self._dirty) >= self._limit:
            self._miss()
            return
        self.added += 1
        self._due.pop(key, None)
        self._dirty.add(key)
        self._added_at[key] = self._clock.seconds()
        if key not in self._working:
            self._ready.append(key)
            self._wake()

    def add_after(self, key: K, seconds: float) -> None:
        """Queue `key` after `seconds`, unless it is due earlier already."""
        if seconds <= 0:
            self.add(key)
            return
        if self.closed:
            return
        due = self._clock.seconds() + seconds
        if key in self._due:
            if self._due[key] <= due:
                return
        elif len(self._due) >= self._limit:
            self._miss()
            return
        self._due[key] = due
        self._count += 1
        heappush(self._heap, (due, self._count, key))
        self._schedule()

    def add_limited(self, key: K) -> None:
        """Queue `key` after the backoff for its consecutive failures, and count a failure."""
        failures = self._failures.get(key, 0)
        if failures or len(self._failures) < self._limit:
            self._failures[key] = failures + 1
        self.retries += 1
        self.add_after(key, min(self._first * 2 ** min(failures, 60), self._longest))

    def forget(self, key: K) -> None:
        """Reset the failure count of `key` after a success."""
        self._failures.pop(key, None)

    def failures(self, key: K) -> int:
        """Number of consecutive failures of `key`."""
        return self._failures.get(key, 0)

    # -- taking

    async def get(self) -> K | None:
        """Wait for the next key; None when the queue is closed. Call `done` with it after processing, also after a
        failure."""
        while not self._ready or self._hold is not None:
            if self.closed:
                return None
            waiter: Deferred[None] = Deferred(self._left)
            self._getters.append(waiter)
            await waiter
        key = self._ready.popleft()
        self._dirty.discard(key)
        self._working.add(key)
        now = self._began_at[key] = self._clock.seconds()
        self.waits.observe(BOUNDS, now - self._added_at.pop(key, now))
        return key

    def done(self, key: K) -> None:
        """Report that the processing of `key` has ended."""
        self._working.discard(key)
        began = self._began_at.pop(key, None)
        if began is not None:
            self.works.observe(BOUNDS, self._clock.seconds() - began)
        if key in self._dirty:
            self._ready.append(key)
            self._wake()
        elif self._missed and not self._dirty and not self._working and not self.closed:
            self._missed = False
            if self._refill is not None:
                self._refill()

    def hold(self, seconds: float) -> None:
        """Give out no key for the next `seconds`, nor before the end of an earlier hold."""
        if seconds <= 0 or self.closed:
            return
        if self._hold is None:
            self._hold = self._clock.callLater(seconds, self._resume)
        elif self._hold.getTime() < self._clock.seconds() + seconds:
            self._hold.reset(seconds)

    def _resume(self) -> None:
        self._hold = None
        for _ in range(len(self._ready)):
            self._wake()

    def drop_delayed(self) -> None:
        """Drop the keys that are not due yet."""
        self._due.clear()
        self._heap.clear()
        self._schedule()

    def close(self) -> None:
        """Drop all keys, end all waits, and ignore further keys. Idempotent."""
        self.closed = True
        self._ready.clear()
        self._dirty.clear()
        self._added_at.clear()
        self.drop_delayed()
        if self._hold is not None:
            self._hold.cancel()
            self._hold = None
        getters, self._getters = self._getters, deque()
        for getter in getters:
            getter.callback(None)

    # -- inside

    def _left(self, waiter: Deferred[None]) -> None:
        """Handle a cancelled getter. If a key has woken it already, wake another getter."""
        if waiter in self._getters:
            self._getters.remove(waiter)
        if self._ready:
            self._wake()

    def _miss(self) -> None:
        self.dropped += 1
        self._missed = True

    def _wake(self) -> None:
        if self._getters and self._hold is None:
            self._getters.popleft().callback(None)

    def _schedule(self) -> None:
        """Keep one delayed call, for the earliest delayed key."""
        while self._heap and self._due.get(self._heap[0][2]) != self._heap[0][0]:
            heappop(self._heap)
        if self._timer is not None:
            if self._heap and self._timer.getTime() <= self._heap[0][0]:
                return
            self._timer.cancel()
            self._timer = None
        if self._heap:
            self._timer = self._clock.callLater(max(0.0, self._heap[0][0] - self._clock.seconds()), self._mature)

    def _mature(self) -> None:
        self._timer = None
        now = self._clock.seconds()
        while self._heap and self._heap[0][0] <= now:
            due, _, key = heappop(self._heap)
            if self._due.get(key) == due:
                del self._due[key]
                self.add(key)
        self._schedule()
