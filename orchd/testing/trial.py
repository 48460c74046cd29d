"""A server in the test's own process, on the running reactor, whose time the test advances: for Twisted's trial.

class Tests(TrialClusterMixin, TestCase):
    async def test_it(self):
        cluster = await self.start_cluster(reactor)
        agent.request(b"GET", cluster.url.encode() + b"/version")
        await cluster.advance(3600)
"""

from __future__ import annotations

import socket
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred

from orchd.client.interfaces import IClient
from orchd.dialect import DIALECTS, KUBERNETES
from orchd.kinds.users import AUTHENTICATED_GROUP, MASTERS_GROUP, User
from orchd.pki.clientconfig import ClientConfig
from orchd.server.local import LocalClient
from orchd.testing.cluster.flags import command_line, release_of
from orchd.testing.cluster.server import ClusterServer, ServerSpec


class InProcessCluster:
    """A server that listens on a free port of the loopback address; memory store.

    The arguments are those of `orchd.testing.Cluster`. `start` before anything else; `stop` leaves nothing in the
    reactor. `clock` is what the server's time is: an IReactorTime that only follows real time and `advance`.
    """

    def __init__(
        self,
        reactor: Any,
        *,
        dialect: str = KUBERNETES.name,
        release: str | None = None,
        nodes: int = 0,
        controllers: bool | Iterable[str] = True,
        scheduler: bool | None = None,
        gates: Mapping[str, bool] | None = None,
        flags: Mapping[str, object] | None = None,
    ) -> None:
        self._real = reactor
        if dialect not in DIALECTS:
            raise ValueError(f"dialect {dialect!r}: one of {', '.join(DIALECTS)}")
        named = {} if gates is None else gates, {} if flags is None else flags
        arguments = command_line(release_of(DIALECTS[dialect], release), nodes, controllers, scheduler, *named)
        self._folder = tempfile.TemporaryDirectory(prefix="orchd-test-")
        spec = ServerSpec(dialect=dialect, flags=tuple(arguments), folder="")
        self._inner = ClusterServer(spec, Path(self._folder.name))
        self.clock = self._inner.reactor
        self.url = ""

    async def start(self) -> None:
        """Serve. Raises what keeps the server from starting."""
        self._inner.start_unbound()
        bound = socket.socket()
        try:
            bound.bind(("127.0.0.1", 0))
            bound.listen(1024)
            bound.setblocking(False)
            self.url = f"https://127.0.0.1:{bound.getsockname()[1]}"
            # The reactor makes its own duplicate.
            await self._inner.open(self._real, bound)
        finally:
            bound.close()

    @property
    def config(self) -> ClientConfig:
        """The administrator's client configuration, for `orchd.client.remote` and, rendered, for any client."""
        return self._inner.config(self.url)

    @property
    def token(self) -> str:
        """A bearer token of the administrator."""
        return self._inner.token

    @property
    def server(self) -> ClusterServer:
        """Faults, the record of requests, and the server itself."""
        return self._inner

    def client(self, user: str = "", *groups: str) -> IClient:
        """A client without a socket, of `user` in `groups`, or of the administrator if `user` is "" and there are no
        groups."""
        own = groups if user or groups else (MASTERS_GROUP,)
        who = User(name=user or self._inner.dialect("{long}-admin"), groups=(*own, AUTHENTICATED_GROUP))
        client: IClient = LocalClient(self._inner.server.pipeline, who, agent="test", clock=self.clock.seconds)
        return client

    async def advance(self, seconds: float) -> None:
        """Let time pass in the server, as `orchd.testing.Cluster.advance` does."""
        await self.clock.advance(seconds)
        await self.clock.settle()

    async def stop(self) -> None:
        """Stop the server and remove its files."""
        await self._inner.server.service.stopService()
        self.clock.unbind()
        self._folder.cleanup()


class TrialClusterMixin:
    """Put before trial's TestCase."""

    async def start_cluster(self, reactor: Any, **arguments: Any) -> InProcessCluster:
        """A running `InProcessCluster`, stopped after the test."""
        cluster = InProcessCluster(reactor, **arguments)
        await cluster.start()
        test: Any = self
        test.addCleanup(lambda: Deferred.fromCoroutine(cluster.stop()))
        return cluster
