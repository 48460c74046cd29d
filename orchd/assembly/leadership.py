"""Work that one process of several does at a time: terms of work, each from winning an election to losing the lock."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Protocol

from twisted.internet.interfaces import IReactorTime
from twisted.python.failure import Failure

from orchd.client.interfaces import IClient, IEventRecorder
from orchd.client.leader_election import ElectionTimes, LeaderElection
from orchd.client.leader_locks import make_lock
from orchd.config.leader_election import ElectionSettings
from orchd.dialect import Dialect


class Term(Protocol):
    """The work of one term: made for it, started once, stopped once."""

    async def start(self) -> None:
        """Begin; raises when that is not possible."""

    async def stop(self) -> None:
        """End everything that `start` began. Also called when that raised or was cancelled."""


#: Makes the work of a term. The argument says whether it may write (`orchd.client.fenced`).
MakeTerm = Callable[[Callable[[], bool]], Term]


class LostLeadershipError(Exception):
    """A process that leads at most once has lost its lock."""


class Leadership:
    """A member of a service group that runs terms of `make`. Without election there is one term, which lasts.

    `client` writes the lock; `recorder` records events about it. With `once` the loss of the lock is a failure of the
    process, as the reference's components have it; otherwise it may be elected again.
    """

    def __init__(
        self,
        name: str,
        settings: ElectionSettings,
        make: MakeTerm,
        *,
        client: IClient,
        dialect: Dialect,
        clock: IReactorTime,
        random: Random,
        wall: Callable[[], float],
        identity: str,
        recorder: IEventRecorder,
        once: bool = False,
    ) -> None:
        self.name = name
        self.term: Term | None = None
        self._make = make
        self._failed: Callable[[Failure], object] = lambda failure: None
        self.election: LeaderElection | None = None
        if settings.enabled:
            self.election = LeaderElection(
                make_lock(settings.lock, client, dialect, namespace=settings.namespace, name=settings.name),
                clock,
                random,
                name=settings.name,
                identity=identity,
                wall=wall,
                lead=self._begin,
                cease=self._end,
                lost=self._lost,
                failed=lambda failure: self._failed(failure),
                once=once,
                times=ElectionTimes(
                    lease=settings.lease_duration, renew=settings.renew_deadline, retry=settings.retry_period
                ),
                recorder=recorder,
            )

    async def start(self, failed: Callable[[Failure], None]) -> None:
        """Returns when the work has begun, or another process does it. `failed` is told when it cannot go on."""
        self._failed = failed
        if self.election is None:
            await self._begin()
        else:
            await self.election.start()

    async def stop(self) -> None:
        """End the work and let go of the lock."""
        if self.election is not None:
            await self.election.stop()
        else:
            await self._end()

    @property
    def leading(self) -> bool:
        """Does this process do the work?"""
        return self.term is not None

    def check(self) -> str:
        """What is wrong with the election, "" when nothing is."""
        return "" if self.election is None else self.election.check()

    def status(self) -> dict[str, float]:
        """1 for a leader and 0 for others, by the name of the lock; empty without election."""
        return {} if self.election is None else {self.election.name: float(self.election.leading)}

    def _may_write(self) -> bool:
        return self.election is None or self.election.secure

    async def _begin(self) -> None:
        self.term = self._make(self._may_write)
        await self.term.start()

    async def _end(self) -> None:
        if self.term is not None:
            await self.term.stop()
            self.term = None

    def _lost(self) -> None:
        self._failed(Failure(LostLeadershipError("leader election lost")))
