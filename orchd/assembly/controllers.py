"""The controllers of one server, from its settings: clients of its own pipeline, each with an identity of its own."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from socket import gethostname

from twisted.internet.interfaces import IReactorTime

from orchd.client.events import EventBroadcaster
from orchd.client.interfaces import IClient, IInformers
from orchd.config.settings import Settings
from orchd.controllers.group import ControllerGroup
from orchd.controllers.interfaces import Environment
from orchd.controllers.settings import ControllerSettings
from orchd.kinds.catalog import Catalog
from orchd.kinds.identity import AUTHENTICATED_GROUP, User, service_account
from orchd.server.authn.serviceaccount import TokenIssuer
from orchd.server.local import LocalClient
from orchd.server.pipeline.interfaces import IPipeline


class Controllers:
    """A group of controllers, and the events that they record."""

    def __init__(self, group: ControllerGroup, events: EventBroadcaster) -> None:
        self.group = group
        self.events = events

    async def start(self) -> None:
        """Start all; raises what the first failing one raised."""
        await self.group.start()

    async def stop(self) -> None:
        """Stop the controllers, then write the events that wait."""
        await self.group.stop()
        await self.events.stop()


def make_controllers(
    settings: Settings,
    *,
    pipeline: IPipeline,
    reader: IClient,
    informers: IInformers,
    clock: IReactorTime,
    wall: Callable[[], float],
    random: Random,
    catalog: Callable[[], Catalog],
    authority: bytes,
    issuer: TokenIssuer,
    release: str,
) -> Controllers:
    """Those that --controllers chose. What they write passes every stage of the pipeline under their own names."""
    dialect = settings.dialect
    agent = dialect("{short}-controller-manager/") + release
    manager = User(name=dialect("system:{short}-controller-manager"), groups=(AUTHENTICATED_GROUP,))

    def client(account: str) -> IClient:
        user = service_account(dialect.system_namespace, account) if account else manager
        made: IClient = LocalClient(pipeline, user, agent=agent, clock=clock.seconds)
        return made

    events = EventBroadcaster(client(""), wall, clock=clock, random=random, dialect=dialect, host=gethostname())
    group = ControllerGroup(
        settings.controllers.names,
        Environment(
            dialect=dialect,
            client=client,
            reader=reader,
            recorder=events.recorder,
            informers=informers,
            clock=clock,
            wall=wall,
            random=random,
            catalog=catalog,
            authority=authority.decode(),
            issue_token=issuer.issue_legacy,
            settings=ControllerSettings(),
        ),
    )
    return Controllers(group, events)
