"""Leases of simulated nodes, without a server."""

from __future__ import annotations

from typing import Any, cast

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from orchd.client.interfaces import IClient
from orchd.dialect import ORCH
from orchd.simulation.leases import TICK, LeaseKeeper
from orchd.txkit.coroutines import start


class SlowClient:
    """A client whose reads never end."""

    def __init__(self) -> None:
        self.reading: list[Deferred[Any]] = []

    async def get(self, *arguments: object) -> Any:
        self.reading.append(Deferred())
        return await self.reading[-1]


def test_stop_ends_renewals() -> None:
    """A stop ends renewals in progress and prevents new ones."""
    clock, client = Clock(), SlowClient()
    keeper = LeaseKeeper(cast(IClient, client), ORCH, clock, clock.seconds)
    for name in ("a", "b"):
        keeper.keep(name, "uid")
    keeper.start()
    clock.advance(TICK)
    assert len(client.reading) == 2
    stopped = start(keeper.stop())
    assert stopped.called
    assert clock.getDelayedCalls() == []
