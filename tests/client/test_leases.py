"""Leader election over a server in memory: one leads, another takes over when it is silent, and at once when it leaves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from twisted.internet.defer import Deferred

from orchd.client.leases import LeaderElection
from orchd.errors import unavailable
from orchd.testing.server import InProcessServer, make_server
from orchd.txkit.coroutines import start


@pytest.fixture
def server(tmp_path: Path) -> Iterator[InProcessServer]:
    running = make_server(tmp_path)
    yield running
    running.stop()


class Candidate:
    """A process that wants to lead; `cut` makes its requests fail."""

    def __init__(self, server: InProcessServer, identity: str) -> None:
        self.server = server
        self.news: list[str] = []
        self.cut = False
        self._client: Any = server.client()
        self.election = LeaderElection(
            self,  # type: ignore[arg-type]  # as much of a client as an election uses
            server.dialect,
            server.clock,
            Random(1),
            namespace=server.dialect.system_namespace,
            name="work",
            identity=identity,
            wall=server.clock.seconds,
            started=self._started,
            lost=lambda: self.news.append("lost"),
        )
        self.election.start()

    async def _started(self) -> None:
        self.news.append("leads")
        await Deferred()

    def __getattr__(self, verb: str) -> Any:
        async def call(*arguments: Any, **named: Any) -> Any:
            if self.cut:
                raise unavailable("cut")
            return await getattr(self._client, verb)(*arguments, **named)

        return call


def later(server: InProcessServer, seconds: int) -> None:
    for _ in range(seconds):
        server.clock.advance(1)


def test_one_leads(server: InProcessServer) -> None:
    """As long as the first renews, the second waits."""
    first, second = Candidate(server, "one"), Candidate(server, "two")
    later(server, 60)
    assert (first.news, second.news) == (["leads"], [])
    for each in (first, second):
        start(each.election.stop())


def test_taking_over(server: InProcessServer) -> None:
    """A leader that cannot renew stops before another begins."""
    first, second = Candidate(server, "one"), Candidate(server, "two")
    later(server, 5)
    first.cut = True
    while not second.news:
        later(server, 1)
        assert not (first.election.leading and second.election.leading)
    assert (first.news, second.news) == (["leads", "lost"], ["leads"])
    start(second.election.stop())


def test_letting_go(server: InProcessServer) -> None:
    """A leader that stops lets go, and the next one need not wait for the lease to run out."""
    first, second = Candidate(server, "one"), Candidate(server, "two")
    later(server, 5)
    start(first.election.stop())
    later(server, 3)
    assert second.news == ["leads"]
    start(second.election.stop())
