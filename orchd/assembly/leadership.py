"""Leader election: a term of work lasts from winning the election to losing the lock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from random import Random
from socket import gethostname
from typing import Protocol
from uuid import UUID

from twisted.python.failure import Failure

from orchd.assembly.runtime import ProcessRuntime
from orchd.client.interfaces import IClient
from orchd.client.leader_election import Candidate, ElectionTimes, LeaderCallbacks, LeaderElection
from orchd.client.leader_locks import make_lock
from orchd.config.sections.leader_election import ElectionSettings
from orchd.txkit.metrics.instruments import Instrument, ObservedGauge


class Term(Protocol):
    """The work of one term: made for it, started once, stopped once."""

    async def start(self) -> None:
        """Begin; raises when that fails."""

    async def stop(self) -> None:
        """End everything that `start` began. Also called when that raised or was cancelled."""


#: Makes the work of a term. The argument returns True while the term may write (`orchd.client.fenced`).
MakeTerm = Callable[[Callable[[], bool]], Term]


class LostLeadershipError(Exception):
    """A process that may lead only once has lost its lock."""


def candidate_identity(secret: bytes, random: Random) -> str:
    """The identity of a server in leader elections.

    With `secret`, which must stay the same for one data folder, the identity is stable: a server with an exclusive
    store then leads immediately after a crash, instead of waiting for its own lease to expire. Without it, each call
    returns a new identity.
    """
    if secret:
        return f"orchd_{UUID(bytes=sha256(secret).digest()[:16], version=4)}"
    return f"{gethostname()}_{UUID(int=random.getrandbits(128), version=4)}"


class Leadership:
    """A service group member that runs terms of `make`. Without election there is one term, which lasts until stop.

    `client` writes the lock. For a candidate that competes only once, losing the lock fails the process, as in the
    reference's components.
    """

    def __init__(
        self,
        name: str,
        settings: ElectionSettings,
        make: MakeTerm,
        candidate: Candidate,
        client: IClient,
        runtime: ProcessRuntime,
    ) -> None:
        self.name = name
        self.term: Term | None = None
        self._make = make
        #: Number of terms that have ended because the lock was lost.
        self.ended = 0
        self._failed: Callable[[Failure], object] = lambda failure: None
        self.election: LeaderElection | None = None
        if settings.enabled:
            self.election = LeaderElection(
                make_lock(settings.lock, client, runtime.dialect, namespace=settings.namespace, name=settings.name),
                candidate,
                LeaderCallbacks(
                    lead=self._begin, cease=self._cease, lost=self._lost, failed=lambda failure: self._failed(failure)
                ),
                clock=runtime.reactor,
                random=runtime.random,
                wall=runtime.wall,
                times=ElectionTimes(
                    lease=settings.lease_duration, renew=settings.renew_deadline, retry=settings.retry_period
                ),
            )

    async def start(self, failed: Callable[[Failure], None]) -> None:
        """Returns when the work has begun or another process leads. `failed` is called when it cannot continue."""
        self._failed = failed
        if self.election is None:
            await self._begin()
        else:
            await self.election.start()

    async def stop(self) -> None:
        """End the work and release the lock."""
        if self.election is not None:
            await self.election.stop()
        else:
            await self._end()

    @property
    def leading(self) -> bool:
        """True if this process runs the work."""
        return self.term is not None

    def check(self) -> str:
        """Why the election is unhealthy, "" when it is healthy."""
        return "" if self.election is None else self.election.check()

    def status(self) -> dict[tuple[str, ...], float]:
        """1 for a leader and 0 otherwise, by lock name; empty without election."""
        return {} if self.election is None else {(self.election.name,): float(self.election.leading)}

    def _may_write(self) -> bool:
        return self.election is None or self.election.secure

    async def _begin(self) -> None:
        self.term = self._make(self._may_write)
        await self.term.start()

    async def _end(self) -> None:
        if self.term is not None:
            await self.term.stop()
            self.term = None

    async def _cease(self) -> None:
        await self._end()
        self.ended += 1

    def _lost(self) -> None:
        self._failed(Failure(LostLeadershipError("leader election lost")))


def leadership_instrument(leaderships: Sequence[Leadership]) -> Instrument:
    """Which of `leaderships` this process has."""
    return ObservedGauge(
        "leader_election_master_status",
        "Whether this process leads, by the name of the lock: 1 for a leader, 0 for others.",
        lambda: {name: value for each in leaderships for name, value in each.status().items()},
        ("name",),
    )
