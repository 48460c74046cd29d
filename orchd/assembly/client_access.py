"""Clients inside the server's process: the entrance to its pipeline, and the server's own client."""

from __future__ import annotations

from orchd.assembly.runtime import RELEASE, Runtime
from orchd.client.interfaces import IClient
from orchd.kinds.identity import MASTERS_GROUP, User
from orchd.server.authn.loopback import LOOPBACK_USER
from orchd.server.local import LocalClient, PipelineEntrance


class ClientAccess:
    """`system` acts as the server itself, a member of the masters group. Clients can be made before the pipeline exists
    and used once `entrance.connect` was called."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self.entrance = PipelineEntrance()
        self.user = User(name=LOOPBACK_USER, groups=(MASTERS_GROUP,))
        # Field managers are named after what stands before the release.
        agent = runtime.dialect("{short}-apiserver/") + RELEASE
        self.system: IClient = self.client(self.user, agent)

    def client(self, user: User, agent: str) -> IClient:
        """A client that acts as `user`."""
        made: IClient = LocalClient(self.entrance, user, agent=agent, clock=self._runtime.reactor.seconds)
        return made
