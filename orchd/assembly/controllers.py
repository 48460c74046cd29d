"""The controllers of one server, from its settings: clients of its own pipeline, each with an identity of its own."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

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


def controller_group(
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
) -> ControllerGroup:
    """Those that --controllers chose. What they write passes every stage of the pipeline under their own names."""
    dialect = settings.dialect
    agent = dialect("{short}-controller-manager/") + release
    manager = User(name=dialect("system:{short}-controller-manager"), groups=(AUTHENTICATED_GROUP,))

    def client(account: str) -> IClient:
        user = service_account(dialect.system_namespace, account) if account else manager
        made: IClient = LocalClient(pipeline, user, agent=agent, clock=clock.seconds)
        return made

    return ControllerGroup(
        settings.controllers.names,
        Environment(
            dialect=dialect,
            client=client,
            reader=reader,
            recorder=EventBroadcaster(client(""), wall).recorder,
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
