"""Services that start in order, stop in reverse and take the owner down when one fails.

Twisted's MultiService waits for nobody and an endpoint service only logs a failed listen; a server that says "ready"
needs to know. Model: groups with declared readiness, where the first failure ends the process.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

from twisted.application.service import Service
from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from orchd.txkit.coroutines import start


class Member(Protocol):
    """Something that a group runs."""

    name: str

    async def start(self, failed: Callable[[Failure], None]) -> None:
        """Return when ready; raise when it cannot be. `failed` reports a failure that comes later, once."""

    async def stop(self) -> None:
        """Return when everything that `start` began has ended. Also called when `start` was cancelled or raised."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Callables:
    """A member made of two functions: for things whose start and stop are one line each."""

    name: str
    starting: Callable[[], Awaitable[object]]
    stopping: Callable[[], Awaitable[object]]

    async def start(self, failed: Callable[[Failure], None]) -> None:
        await self.starting()

    async def stop(self) -> None:
        await self.stopping()


class ServiceGroup(Service):
    """Members in the order in which they start.

    `ready` fires when the last member is ready, or fails with the first failure. `failed(failure)` is told of the
    first failure of any member, at start or later, and decides what becomes of the process (`tap` ends it); without it
    the failure is only in `ready` and the log. After a failed start those that were started are stopped again.

    `plain` are the errors at start whose message says all that an operator can use: they are logged without a traceback.
    """

    _log = Logger()

    def __init__(
        self,
        members: Sequence[Member],
        failed: Callable[[Failure], object] | None = None,
        *,
        plain: tuple[type[Exception], ...] = (OSError,),
    ) -> None:
        self.members = tuple(members)
        self._plain = plain
        self.ready: Deferred[None] = Deferred()
        # `ready` is for whoever asks; that nobody does must not turn a reported failure into an unhandled one.
        self.ready.addErrback(self._unasked)
        self._failed = failed
        self._told = False
        self._started: list[Member] = []
        self._starting: Deferred[None] | None = None
        self._stopping: Deferred[None] | None = None
        self._waiting: list[Deferred[None]] = []
        self._outcome: Failure | None = None

    def _unasked(self, failure: Failure) -> None:
        self._outcome = failure

    async def wait_ready(self) -> None:
        """Wait for all members; raises what the first failing one raised."""
        if not self.ready.called:
            waiter: Deferred[None] = Deferred()
            self._waiting.append(waiter)
            await waiter
        if self._outcome is not None:
            self._outcome.raiseException()

    def startService(self) -> None:
        """Begin to start; see `ready` for the end of it."""
        Service.startService(self)
        self._starting = start(self._start())

    async def _start(self) -> None:
        for member in self.members:
            self._started.append(member)
            try:
                await member.start(self._fail)
            except Exception:
                failure = Failure()
                if not self.running:
                    return
                if failure.check(*self._plain):
                    self._log.critical("{name} did not start: {why}", name=member.name, why=failure.getErrorMessage())
                else:
                    self._log.failure("{name} did not start", failure=failure, name=member.name)
                await self._stop_members()
                self._end_start(failure)
                self._tell(failure)
                return
        self._end_start(None)

    def _end_start(self, outcome: Failure | None) -> None:
        if outcome is None:
            self.ready.callback(None)
        else:
            self.ready.errback(outcome)
        waiting, self._waiting = self._waiting, []
        for waiter in waiting:
            waiter.callback(None)

    def _fail(self, failure: Failure) -> None:
        if self.running:
            self._log.failure("a running service failed", failure=failure)
            self._tell(failure)

    def _tell(self, failure: Failure) -> None:
        if not self._told:
            self._told = True
            if self._failed is not None:
                self._failed(failure)

    def stopService(self) -> Deferred[None]:
        """Stop the members in reverse order, each after the one before it has ended. A second call waits as well."""
        Service.stopService(self)
        if self._stopping is None:
            self._stopping = start(self._stop())
        waiter: Deferred[None] = Deferred()

        def release(result: Any) -> Any:
            waiter.callback(None)
            return result

        self._stopping.addBoth(release)
        return waiter

    async def _stop(self) -> None:
        if self._starting is not None and not self._starting.called:
            self._starting.cancel()
        await self._stop_members()
        if not self.ready.called:
            self._end_start(Failure(RuntimeError("stopped before it was ready")))

    async def _stop_members(self) -> None:
        while self._started:
            member = self._started.pop()
            try:
                await member.stop()
            except Exception:
                # The others still have to be stopped: a store is flushed even when a listener did not close.
                self._log.failure("{name} did not stop cleanly", name=member.name)


def as_member(
    name: str, starting: Callable[[], Awaitable[object]], stopping: Callable[[], Awaitable[object]]
) -> Member:
    """A `Member` from two functions."""
    return cast(Member, Callables(name=name, starting=starting, stopping=stopping))
