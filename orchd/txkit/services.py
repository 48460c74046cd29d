"""Services that start in order, stop in reverse order, and report the first failure to their owner.

Twisted's MultiService does not wait for the start of its members, and an endpoint service only logs a failed listen. A
ServiceGroup is ready when all members are ready.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

from twisted.application.service import Service
from twisted.internet.defer import Deferred, TimeoutError
from twisted.internet.interfaces import IReactorTime
from twisted.python.failure import Failure

from orchd.txkit.coroutines import start
from orchd.txkit.log import Logger
from orchd.txkit.timeouts import within

#: Seconds that the stop of a member may take by default: more than the members' own limits.
_PATIENCE = 20.0


class Member(Protocol):
    """A service of a group."""

    name: str

    async def start(self, failed: Callable[[Failure], None]) -> None:
        """Return when ready; raise if the start fails. Call `failed` at most once, for a failure after the start."""

    async def stop(self) -> None:
        """Return when everything that `start` began has ended. Called after a cancelled or failed `start` as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Callables:
    """A member with a start and a stop function."""

    name: str
    on_start: Callable[[], Awaitable[object]]
    on_stop: Callable[[], Awaitable[object]]

    async def start(self, failed: Callable[[Failure], None]) -> None:
        await self.on_start()

    async def stop(self) -> None:
        await self.on_stop()


class ServiceGroup(Service):
    """Runs `members` in order.

    `ready` fires when the last member is ready, or fails with the first failure. `failed(failure)` is called for the
    first failure of any member, during or after the start, and decides whether the process exits (`tap` does); without
    it, the failure is available in `ready` and the log only. After a failed start, the started members are stopped.

    A stop that takes more than `patience` seconds of `clock` is cancelled, and the next member is stopped.

    Errors of the types `plain` during the start are logged without a traceback: their message suffices for operators.
    """

    _log = Logger()

    def __init__(
        self,
        members: Sequence[Member],
        failed: Callable[[Failure], object] | None = None,
        *,
        clock: IReactorTime,
        patience: float = _PATIENCE,
        plain: tuple[type[Exception], ...] = (OSError,),
    ) -> None:
        self.members = tuple(members)
        self._clock = clock
        self._patience = patience
        self._plain = plain
        self.ready: Deferred[None] = Deferred()
        # Handles the failure: it is reported elsewhere, and must not be logged as unhandled if `ready` is not used.
        self.ready.addErrback(self._store_outcome)
        self._failed = failed
        self._reported = False
        self._started: list[Member] = []
        self._starting: Deferred[None] | None = None
        self._stopping: Deferred[None] | None = None
        self._waiting: list[Deferred[None]] = []
        self._outcome: Failure | None = None

    def _store_outcome(self, failure: Failure) -> None:
        self._outcome = failure

    async def wait_ready(self) -> None:
        """Wait until all members are ready. Raises the failure of the first member that fails."""
        if not self.ready.called:
            waiter: Deferred[None] = Deferred()
            self._waiting.append(waiter)
            await waiter
        if self._outcome is not None:
            self._outcome.raiseException()

    def startService(self) -> None:
        """Begin the start; `ready` fires at its end."""
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
                self._report(failure)
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
            self._report(failure)

    def _report(self, failure: Failure) -> None:
        if not self._reported:
            self._reported = True
            if self._failed is not None:
                self._failed(failure)

    def stopService(self) -> Deferred[None]:
        """Stop the members one after the other in reverse order. Repeated calls wait for the same stop."""
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
                await within(start(member.stop()), self._patience, self._clock)
            except TimeoutError:
                text = "{name} did not stop within {seconds} s; its remaining work is cancelled"
                self._log.warn(text, name=member.name, seconds=self._patience)
            except Exception:
                # The remaining members must be stopped as well, so that the store is flushed.
                self._log.failure("{name} did not stop cleanly", name=member.name)


def as_member(
    name: str, start: Callable[[], Awaitable[object]] | None = None, stop: Callable[[], Awaitable[object]] | None = None
) -> Member:
    """A `Member` with these functions; None for one that does nothing."""
    return cast(Member, Callables(name=name, on_start=start or _no_op, on_stop=stop or _no_op))


async def _no_op() -> None:
    """Do nothing: the default start and stop of `as_member`."""
