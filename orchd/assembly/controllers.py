"""The controllers of one server, from its settings: clients of its own pipeline, each with an identity of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from hashlib import sha256
from random import Random
from socket import gethostname
from uuid import UUID

from twisted.internet.interfaces import IReactorTime
from twisted.python.failure import Failure

from orchd.assembly.leadership import Leadership
from orchd.client.events import EventBroadcaster
from orchd.client.fenced import FencedClient
from orchd.client.interfaces import IClient, IInformers
from orchd.client.scoped_informers import ScopedInformers
from orchd.config.settings import Settings
from orchd.controllers.group import ControllerGroup
from orchd.controllers.interfaces import Environment
from orchd.controllers.metrics import ControllerMetrics
from orchd.controllers.settings import ControllerSettings
from orchd.kinds.catalog import Catalog
from orchd.kinds.identity import AUTHENTICATED_GROUP, User, service_account
from orchd.server.authn.serviceaccount import TokenIssuer
from orchd.server.local import LocalClient
from orchd.server.pipeline.interfaces import IPipeline


class ControllerTerm:
    """A group of controllers for as long as this process leads."""

    def __init__(self, names: Iterable[str], env: Environment) -> None:
        #: Whether it may write, decided anew for each term.
        self.may_write: Callable[[], bool] = lambda: True
        self._informers = ScopedInformers(env.informers)
        self.group = ControllerGroup(
            names,
            replace(
                env,
                client=lambda account: FencedClient(env.client(account), lambda: self.may_write()),
                informers=self._informers,
            ),
        )

    async def start(self) -> None:
        await self.group.start()

    async def stop(self) -> None:
        try:
            await self.group.stop()
        finally:
            self._informers.close()


class Controllers:
    """A member of a server: its controllers, where it is elected to run them, and the events that they record.

    The first term's controllers are made at once, so that all that they read is loaded in one go with the rest.
    """

    name = "controllers"

    def __init__(self, names: Iterable[str], env: Environment, events: EventBroadcaster) -> None:
        self.events = events
        self.leadership: Leadership | None = None
        self._names = tuple(names)
        self._env = env
        self._prepared: ControllerTerm | None = ControllerTerm(self._names, env)

    def make(self, may_write: Callable[[], bool]) -> ControllerTerm:
        """The controllers of a new term."""
        term = self._prepared or ControllerTerm(self._names, self._env)
        self._prepared = None
        term.may_write = may_write
        return term

    async def start(self, failed: Callable[[Failure], None]) -> None:
        if self.leadership is not None:
            await self.leadership.start(failed)

    async def stop(self) -> None:
        """Stop the controllers, then write the events that wait."""
        if self.leadership is not None:
            await self.leadership.stop()
        await self.events.stop()

    @property
    def group(self) -> ControllerGroup | None:
        """The controllers that run; None while another process leads."""
        term = None if self.leadership is None else self.leadership.term
        return term.group if isinstance(term, ControllerTerm) else None

    def counts(self) -> Iterator[tuple[str, ControllerMetrics]]:
        """Numbers of the controllers that run, for metrics."""
        return iter(()) if self.group is None else self.group.counts()

    def check(self) -> str:
        """See `Leadership.check`."""
        return "" if self.leadership is None else self.leadership.check()

    def status(self) -> dict[str, float]:
        """See `Leadership.status`."""
        return {} if self.leadership is None else self.leadership.status()


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
    exclusive: bool,
) -> Controllers:
    """Those that --controllers chose. What they write passes every stage of the pipeline under their own names.

    `exclusive` says that no other server can be on the same store."""
    dialect = settings.dialect
    agent = dialect("{short}-controller-manager/") + release
    manager = User(name=dialect("system:{short}-controller-manager"), groups=(AUTHENTICATED_GROUP,))

    def client(account: str) -> IClient:
        user = service_account(dialect.system_namespace, account) if account else manager
        made: IClient = LocalClient(pipeline, user, agent=agent, clock=clock.seconds)
        return made

    events = EventBroadcaster(client(""), wall, clock=clock, random=random, dialect=dialect, host=gethostname())
    made = Controllers(
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
        events,
    )
    if settings.controllers.names:
        made.leadership = Leadership(
            "controllers",
            settings.controllers.election,
            made.make,
            client=client(""),
            dialect=dialect,
            clock=clock,
            random=random,
            wall=wall,
            identity=candidate_identity(authority if exclusive else b"", random),
            recorder=events.recorder(dialect("{short}-controller-manager")),
        )
    return made


def candidate_identity(secret: bytes, random: Random) -> str:
    """How a server calls itself in elections.

    With `secret`, which must stay the same on its data folder, the name does too: a server that is alone on its store then
    leads at once after a crash, instead of waiting for a lease that it holds itself. Otherwise it is a new one each time.
    """
    if secret:
        return f"orchd_{UUID(bytes=sha256(secret).digest()[:16], version=4)}"
    return f"{gethostname()}_{UUID(int=random.getrandbits(128), version=4)}"
