"""The controllers as a separate process: clients of any API server."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from twisted.internet.defer import CancelledError
from twisted.internet.task import deferLater
from twisted.python.failure import Failure

from orchd.assembly.component import without_credentials
from orchd.assembly.component_process import ComponentProcess
from orchd.assembly.controllers import account_token_issuer, controller_settings, root_authority
from orchd.assembly.signing_authorities import signing_authorities
from orchd.client.account_tokens import AccountToken
from orchd.client.discovery import DiscoveredCatalog
from orchd.client.fenced import FencedClient
from orchd.client.informers import Informers
from orchd.client.interfaces import IClient, IRawClient, ResourceRef
from orchd.client.remote import RemoteClient
from orchd.config.component import ComponentSettings
from orchd.config.table import component_table
from orchd.controllers.group import ControllerGroup
from orchd.controllers.interfaces import Environment
from orchd.errors import ApiError
from orchd.kinds.catalog import builtin_catalog
from orchd.kinds.jsonvalues import Object
from orchd.pki.clientconfig import ClientConfigError
from orchd.txkit.compute_thread import ComputeThread
from orchd.txkit.log import Logger
from orchd.txkit.metrics.instruments import Instrument, instruments_of

#: Seconds to wait at the beginning of a term for an unreachable API server, and between attempts.
_PATIENCE, _PAUSE = 30.0, 1.0
_TOKENS = "serviceaccount-token"


class ManagerTerm:
    """The controllers of one term of leadership, with their own informers and catalog."""

    def __init__(
        self, names: tuple[str, ...], env: Environment, catalog: DiscoveredCatalog, informers: Informers
    ) -> None:
        self._names = names
        self._env = env
        self._catalog = catalog
        self._informers = informers
        self._builtin = builtin_catalog(env.dialect, env.release)
        self.group: ControllerGroup | None = None

    async def start(self) -> None:
        await self._wait_for_server()
        self._catalog.start()
        for ref in self._shaping():
            self._informers.informer(ref).add_listener(lambda event, old, new: self._catalog.look_soon())
        self.group = ControllerGroup(self._names, self._env, served=self._is_served)
        self._informers.start()
        await self.group.start()

    def _is_served(self, ref: ResourceRef) -> bool:
        """False for a built-in resource that discovery does not list. Custom resources may be defined later; a group
        version whose document could not be read is taken as served."""
        catalog = self._catalog()
        if catalog.resource(ref.group, ref.version, ref.plural) is not None:
            return True
        if self._builtin.resource(ref.group, ref.version, ref.plural) is None:
            return True
        group = catalog.group(ref.group)
        return group is not None and ref.version in group.versions and not catalog.in_version(ref.group, ref.version)

    def _shaping(self) -> list[ResourceRef]:
        """The resources whose objects determine the served API."""
        dialect = self._env.dialect
        return [
            ResourceRef(dialect("apiextensions.{abbr}.io"), "v1", "customresourcedefinitions"),
            ResourceRef(dialect("apiregistration.{abbr}.io"), "v1", "apiservices"),
        ]

    async def _wait_for_server(self) -> None:
        clock = self._env.clock
        end = clock.seconds() + _PATIENCE
        while True:
            try:
                await self._catalog.load()
                return
            except CancelledError:
                raise
            except ApiError:
                if clock.seconds() >= end:
                    raise
            await deferLater(clock, _PAUSE)

    async def stop(self) -> None:
        try:
            if self.group is not None:
                await self.group.stop()
        finally:
            await self._informers.stop()
            await self._catalog.stop()


class ControllerManager:
    """The service of the process. Raises OSError and ValueError for unusable files and configurations.

    `failed` is called when it cannot start or continue; `environment` is the process environment.
    """

    log = Logger()

    def __init__(
        self,
        settings: ComponentSettings,
        reactor: Any,
        *,
        wall: Callable[[], float],
        environment: Mapping[str, str],
        failed: Callable[[Failure], object] | None = None,
    ) -> None:
        dialect = settings.dialect
        self.settings = settings
        process = ComponentProcess(settings, reactor, wall=wall, environment=environment)
        self._runtime, self._connections, self._events = process.runtime, process.connections, process.events
        self._root = self._connections.throttled()
        self._accounts: dict[str, RemoteClient] = {}
        self._issuer = account_token_issuer(dialect, settings.flags, wall)
        #: CA bundle published to pods: that of the flag, else of the client configuration.
        self._authority = root_authority(settings.flags) or self._connections.config.authority
        self._signing = signing_authorities(settings.flags, dialect, reactor, None)
        self.names = self._runnable()
        self.leadership = process.compete(
            "controllers", settings.election, self._term, dialect("{short}-controller-manager")
        )
        self.service = process.service(self.leadership, failed, measured=self, configuration=self._configuration)

    @property
    def group(self) -> ControllerGroup | None:
        """The running controllers; None while another process leads."""
        term = self.leadership.term
        return term.group if isinstance(term, ManagerTerm) else None

    @property
    def instruments(self) -> Iterator[Instrument]:
        """The metrics of the running controllers."""
        return instruments_of((self.group,))

    # -- collaborators of the controllers

    def _term(self, may_write: Callable[[], bool]) -> ManagerTerm:
        runtime, dialect = self._runtime, self.settings.dialect
        catalog = DiscoveredCatalog(self._root.document, dialect, self.settings.release, runtime.reactor)
        reader: IRawClient = self._connections.client("informers")
        informers = Informers(reader, runtime.reactor, runtime.random)
        env = Environment(
            dialect=dialect,
            client=lambda account: FencedClient(self._client(account), may_write),
            reader=reader,
            recorder=self._events.recorder,
            informers=informers,
            clock=runtime.reactor,
            wall=runtime.wall,
            random=runtime.random,
            catalog=catalog,
            authority=self._authority.decode(),
            issue_token=_no_key if self._issuer is None else self._issuer.issue_legacy,
            signing_authority=self._signing,
            settings=controller_settings(self.settings.flags),
            several_servers=True,
            release=self.settings.release,
            features=self.settings.features,
            compute=ComputeThread(runtime.in_thread),
        )
        return ManagerTerm(self.names, env, catalog, informers)

    def _client(self, account: str) -> IClient:
        """A client as a service account, or as the controller manager itself."""
        if not account or not self.settings.flags["use-service-account-credentials"]:
            return self._root
        client = self._accounts.get(account)
        if client is None:
            dialect = self.settings.dialect
            token = AccountToken(
                self._root, dialect, namespace=dialect.system_namespace, account=account, wall=self._runtime.wall
            )
            client = self._accounts[account] = self._connections.throttled(
                bearer=token, config=without_credentials(self._connections.config)
            )
        return client

    def _runnable(self) -> tuple[str, ...]:
        """The controllers of --controllers whose prerequisites are configured."""
        names = self.settings.controllers
        if self._issuer is None and _TOKENS in names:
            self.log.warn("controller {name} is disabled: --service-account-private-key-file is not set", name=_TOKENS)
            names = tuple(name for name in names if name != _TOKENS)
        return names

    def _configuration(self) -> dict[str, Any]:
        """The body of /configz: the effective flags."""
        dialect = self.settings.dialect
        flags = component_table(self.settings.name)
        return {
            dialect("{short}controllermanager.config.{abbr}.io"): {
                flag.spelled(dialect): flag.type.show(self.settings.flags[flag.name]) for flag in flags
            }
        }


def _no_key(account: Object, secret: str) -> str:
    raise ClientConfigError("no --service-account-private-key-file was given")
