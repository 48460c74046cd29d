"""Leader election: one of several candidates is the leader for as long as it renews a lock.

Whether the lock has expired is decided by changes observed on this process's monotonic clock, not by the times in the
lock: clocks of different machines differ.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from math import inf
from random import Random

from twisted.internet.defer import CancelledError, TimeoutError
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater
from twisted.python.failure import Failure

from orchd.client.interfaces import IEventRecorder
from orchd.client.leader_locks import ILeaderLock, LeaderRecord
from orchd.errors import ApiError
from orchd.kinds.times import microtime
from orchd.txkit.background import Background
from orchd.txkit.coroutines import start
from orchd.txkit.log import Logger
from orchd.txkit.timeouts import within

#: Maximum jitter of the pauses between attempts, as a fraction.
JITTER = 0.2
#: Seconds beyond the lease after which a leader that has not renewed counts as unhealthy.
_UNHEALTHY_AFTER = 20.0
#: Attempts to release the lock after conflicts.
_RELEASE_ATTEMPTS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectionTimes:
    """Seconds. A candidate takes over after `lease` without a change of the lock; a leader that could not renew for
    `renew` stops leading; `retry` is the pause between attempts. Raises ValueError for inconsistent values."""

    lease: float = 15.0
    renew: float = 10.0
    retry: float = 2.0

    def __post_init__(self) -> None:
        if self.lease < 1 or self.retry <= 0:
            raise ValueError("the lease duration must be at least 1s and the retry period above 0")
        if self.lease <= self.renew:
            raise ValueError("the lease duration must be greater than the renew deadline")
        if self.renew <= self.retry * (1 + JITTER):
            raise ValueError(f"the renew deadline must be greater than {1 + JITTER:g} times the retry period")


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A process that competes for a lock under a unique `identity`. Its `recorder` records events about the lock. With
    `once` it does not compete again after it has lost the lock."""

    identity: str
    recorder: IEventRecorder | None = None
    once: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderCallbacks:
    """`lead()` is awaited when this process becomes the leader. `cease()` is awaited when it lost the lock, before it
    becomes a candidate again, and must stop what `lead` started. `lost()` is called after that for a candidate that
    competes only once. `failed` is called with the Failure of `lead`."""

    lead: Callable[[], Awaitable[object]]
    cease: Callable[[], Awaitable[object]]
    lost: Callable[[], object] = lambda: None
    failed: Callable[[Failure], object] = lambda failure: None


class LeaderElection:
    """Acquires and renews the lock for a candidate. `wall` is seconds since the epoch."""

    log = Logger()

    def __init__(
        self,
        lock: ILeaderLock,
        candidate: Candidate,
        callbacks: LeaderCallbacks,
        *,
        clock: IReactorTime,
        random: Random,
        wall: Callable[[], float],
        times: ElectionTimes = ElectionTimes(),
    ) -> None:
        self.name = lock.name
        self.identity = candidate.identity
        self.leading = False
        self._lock = lock
        self._candidate = candidate
        self._callbacks = callbacks
        self._clock = clock
        self._random = random
        self._wall = wall
        self._times = times
        self._background = Background()
        self._work = Background(lambda name, failure: callbacks.failed(failure))
        #: True from the call of `lead` until `cease` has returned.
        self._working = False
        self._seen: object = None
        self._seen_at = 0.0
        self._holder = ""
        self._renewed = 0.0

    async def start(self) -> None:
        """Make the first attempt, and continue in the background. Returns when `lead` has returned or another candidate
        is the leader."""
        if await self._attempt(self._times.renew):
            self._start_leading()
        self._background.add(self._run(), f"election for {self.name}")
        await self._work.idle()

    async def stop(self) -> None:
        """Await `cease`, then release the lock, so that another candidate can take over at once."""
        await self._background.stop()
        leading = self.leading
        if self._working:
            # The last writes of the work are allowed for as long as the lease lasts.
            await self._stop_leading(lost=False)
        if leading:
            try:
                await within(start(self._release()), self._times.retry, self._clock)
            except CancelledError:
                raise
            except TimeoutError:
                self._report_unreleased(f"no response within {self._times.retry} s")
            except ApiError as error:
                self._report_unreleased(error.message)
            except Exception:  # stopping must not fail because of the lock
                self.log.failure("lock {name} was not released", name=self.name)

    def _report_unreleased(self, reason: str) -> None:
        text = "lock {name} was not released: {reason}; it expires within {seconds} s"
        self.log.warn(text, name=self.name, reason=reason, seconds=self._times.lease)

    @property
    def secure(self) -> bool:
        """True if no other candidate can have acquired the lock: the lease has not expired on the monotonic clock."""
        return self.leading and self._clock.seconds() - self._renewed < self._times.lease

    def check(self) -> str:
        """Health check: an error for a leader that could neither renew nor stop in time, "" otherwise."""
        late = self._times.lease + _UNHEALTHY_AFTER
        if self.leading and self._clock.seconds() - self._renewed > late:
            return f"failed election to renew leadership on lease {self.name}"
        return ""

    # -- the loop of a candidate

    async def _run(self) -> None:
        while True:
            while not self.leading:
                await self._pause()
                if await self._attempt(self._times.renew):
                    self._start_leading()
            await self._renew()
            self.log.error("{identity} no longer leads {name}", identity=self.identity, name=self.name)
            await self._stop_leading(lost=True)
            if self._candidate.once:
                self._callbacks.lost()
                return

    async def _renew(self) -> None:
        """Renew until the renew deadline is exceeded or another candidate holds the lock."""
        while (left := self._left()) > 0:
            await self._pause(left)
            left = self._left()
            if left > 0 and not await self._attempt(left) and self._holder not in ("", self.identity):
                return

    def _left(self) -> float:
        """Remaining seconds until the renew deadline."""
        return self._times.renew - (self._clock.seconds() - self._renewed)

    def _start_leading(self) -> None:
        self.leading = self._working = True
        self.log.info("{identity} leads {name}", identity=self.identity, name=self.name)
        self._record("became leader")
        self._work.add(self._begin(), f"work of the leader of {self.name}")

    async def _begin(self) -> None:
        await self._callbacks.lead()

    async def _stop_leading(self, *, lost: bool) -> None:
        if self.leading:
            self.leading = not lost
            self._record("stopped leading")
        # A new owner of work takes the place of one that has been stopped.
        work, self._work = self._work, Background(lambda name, failure: self._callbacks.failed(failure))
        try:
            await work.stop()
            await self._callbacks.cease()
        finally:
            self.leading = False
        self._working = False

    def _record(self, what: str) -> None:
        recorder = self._candidate.recorder
        if recorder is not None:
            for obj in self._lock.objects():
                recorder.event(obj, "Normal", "LeaderElection", f"{self.identity} {what}")

    async def _pause(self, most: float = inf) -> None:
        await deferLater(self._clock, min(most, self._times.retry * (1 + JITTER * self._random.random())))

    # -- the lock

    async def _attempt(self, seconds: float) -> bool:
        """Acquire or renew the lock within `seconds`. True on success; failures are logged."""
        began = self._clock.seconds()
        try:
            taken = await within(start(self._take()), seconds, self._clock)
        except CancelledError:
            raise
        except TimeoutError:
            self.log.warn("lock {name}: no response within {seconds} s", name=self.name, seconds=seconds)
            return False
        except ApiError as error:
            # A conflict: another candidate wrote at the same time.
            say = self.log.debug if error.code == 409 else self.log.warn
            say("lock {name}: {error}", name=self.name, error=error.message)
            return False
        except Exception:  # the election loop must survive any failure
            self.log.failure("lock {name}", name=self.name)
            return False
        if taken:
            self._renewed = began
        return taken

    async def _take(self) -> bool:
        now = microtime(self._wall())
        try:
            record, raw = await self._lock.get()
        except ApiError as error:
            if error.code != 404:
                raise
            await self._lock.create(self._own(acquired=now, renewed=now, transitions=0))
            self._see(self.identity, None)
            return True
        if raw != self._seen:
            self._see(record.holder, raw)
        mine = record.holder == self.identity
        if record.holder and not mine and self._clock.seconds() - self._seen_at < self._times.lease:
            return False
        await self._lock.update(
            self._own(
                acquired=record.acquired if mine and record.acquired else now,
                renewed=now,
                transitions=record.transitions + (not mine),
            )
        )
        self._holder = self.identity
        return True

    def _own(self, *, acquired: str, renewed: str, transitions: int) -> LeaderRecord:
        return LeaderRecord(
            holder=self.identity,
            duration=int(self._times.lease),
            acquired=acquired,
            renewed=renewed,
            transitions=transitions,
        )

    def _see(self, holder: str, raw: object) -> None:
        if holder not in (self._holder, self.identity):
            self.log.info("{name} is led by {holder}", name=self.name, holder=holder or "no one")
        self._holder = holder
        self._seen = raw
        self._seen_at = self._clock.seconds()

    async def _release(self) -> None:
        """Clear the holder, if it is this process. Repeats on a conflict: the server completes a renewal whose request
        was cancelled, and that write may come between reading and writing here."""
        for left in reversed(range(_RELEASE_ATTEMPTS)):
            record, _ = await self._lock.get()
            if record.holder != self.identity:
                return
            now = microtime(self._wall())
            free = LeaderRecord(holder="", duration=1, acquired=now, renewed=now, transitions=record.transitions)
            try:
                await self._lock.update(free)
                return
            except ApiError as error:
                if error.code != 409 or not left:
                    raise
