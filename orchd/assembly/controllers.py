"""The controllers of one server, from its settings: clients of its own pipeline, each with an identity of its own."""

from __future__ import annotations

from collections.abc import Iterable

from orchd.assembly.api import ComponentProbes
from orchd.assembly.client_access import ClientAccess
from orchd.assembly.metrics import controller_metrics
from orchd.assembly.runtime import RELEASE, Runtime
from orchd.client.events import EventBroadcaster
from orchd.client.interfaces import IClient, IInformers
from orchd.controllers.group import ControllerGroup
from orchd.controllers.interfaces import Environment
from orchd.controllers.settings import ControllerSettings
from orchd.kinds.identity import AUTHENTICATED_GROUP, User, service_account
from orchd.server.authn.serviceaccount import TokenIssuer
from orchd.server.customkinds.tracker import DefinitionTracker
from orchd.server.pipeline.endpoints.metrics import Source
from orchd.txkit.services import Member, as_member


class Controllers:
    """Those that --controllers names. Their writes pass every stage of the pipeline under their own names."""

    def __init__(
        self,
        runtime: Runtime,
        access: ClientAccess,
        informers: IInformers,
        definitions: DefinitionTracker,
        issuer: TokenIssuer,
        authority: bytes,
        components: ComponentProbes,
    ) -> None:
        """`authority` is the PEM of the server's certificate authority."""
        dialect, names = runtime.dialect, runtime.settings.controllers.names
        agent = dialect("{short}-controller-manager/") + RELEASE
        manager = User(name=dialect("system:{short}-controller-manager"), groups=(AUTHENTICATED_GROUP,))

        def client(account: str) -> IClient:
            user = service_account(dialect.system_namespace, account) if account else manager
            return access.client(user, agent)

        self._components = components
        self._enabled = bool(names)
        self.broadcaster = EventBroadcaster(client(""), runtime.wall)
        self.group = ControllerGroup(
            names,
            Environment(
                dialect=dialect,
                client=client,
                reader=access.system,
                recorder=self.broadcaster.recorder,
                informers=informers,
                clock=runtime.reactor,
                wall=runtime.wall,
                random=runtime.random,
                catalog=definitions.current,
                authority=authority.decode(),
                issue_token=issuer.issue_legacy,
                settings=ControllerSettings(),
            ),
        )

    def member(self) -> Member:
        return as_member("controllers", self._start, self._stop)

    def metrics(self) -> Iterable[Source]:
        return controller_metrics(self.group.counts)

    async def _start(self) -> None:
        await self.group.start()
        if self._enabled:
            self._components["controller-manager"] = lambda: ""

    async def _stop(self) -> None:
        await self.group.stop()
        await self.broadcaster.stop()
