"""In-process clients: the entry point of the server's pipeline, and the server's own client."""

from __future__ import annotations

from orchd.assembly.runtime import Runtime
from orchd.client.interfaces import IRawClient
from orchd.kinds.users import MASTERS_GROUP, User
from orchd.server.authn.loopback import LOOPBACK_USER
from orchd.server.local import LocalClient, PipelineEntrance
from orchd.txkit.turns import shared_budget


class ClientAccess:
    """`system` acts as the server itself, a member of the masters group. Clients can be made before the pipeline exists
    and used after `entrance.connect` was called."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self.entrance = PipelineEntrance()
        self._turns = shared_budget(runtime.reactor)
        self.user = User(name=LOOPBACK_USER, groups=(MASTERS_GROUP,))
        # The default field manager is the part of the user agent before "/".
        agent = runtime.dialect("{short}-apiserver/") + runtime.settings.release.version
        self.system: IRawClient = self.client(self.user, agent)

    def client(self, user: User, agent: str, *, urgent: bool = False) -> IRawClient:
        """A client that acts as `user`. The requests of an `urgent` one do not wait behind those of all others: for few
        small ones with a deadline, as renewals of a leader's lease are."""
        clock = self._runtime.reactor.seconds
        turns = None if urgent else self._turns
        client: IRawClient = LocalClient(self.entrance, user, agent=agent, clock=clock, turns=turns)
        return client
