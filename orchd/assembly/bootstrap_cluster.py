"""Creates or restores, before the server listens, the objects that every cluster has."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from socket import gethostname
from typing import Final

from orchd.assembly.access import Access
from orchd.assembly.cluster_ips import ClusterIps
from orchd.assembly.files import advertised_address, api_service_address
from orchd.assembly.runtime import Runtime
from orchd.assembly.storage import Storage
from orchd.client.interfaces import IClient
from orchd.kinds.catalog import Catalog, group_version
from orchd.kinds.times import timestamp
from orchd.server.authz import bootstrap_policy as rbac
from orchd.server.bootstrap import ensure_objects, objects
from orchd.server.reconcilers import token_tracking
from orchd.server.reconcilers.api_endpoints import CountedEndpointReconciler, EndpointReconciler
from orchd.server.reconcilers.server_identity import IDENTITIES, IdentitySettings, ServerIdentity
from orchd.server.state import ServerState
from orchd.txkit.services import Member, as_member

#: Resources without which no cluster starts; with RBAC, `_ROLES` too. Group, version and plural name.
_REQUIRED: Final = (
    ("", "v1", "namespaces"),
    ("", "v1", "configmaps"),
    ("apiregistration.{abbr}.io", "v1", "apiservices"),
)
_ROLES: Final = tuple(
    ("rbac.authorization.{abbr}.io", "v1", plural)
    for plural in ("clusterroles", "clusterrolebindings", "roles", "rolebindings")
)


class ClusterBootstrap:
    """Bootstraps namespaces, RBAC roles, the API service, priority classes, flow control, APIServices and CA bundles,
    as far as their kinds are served. Raises ValueError for a catalog without a kind that every cluster needs.

    `catalog` holds the built-in resources. On a store that other servers share, `reconcilers` maintains the endpoints
    of the API service; on an exclusive store they are written once.
    """

    def __init__(
        self,
        runtime: Runtime,
        state: ServerState,
        client: IClient,
        catalog: Catalog,
        access: Access,
        storage: Storage,
        ips: ClusterIps | None,
    ) -> None:
        self._ips = ips
        settings = runtime.settings
        self._runtime, self._state, self._client, self._catalog = runtime, state, client, catalog
        self._publisher = access.publisher
        self._roles = access.authorization.rbac is not None
        for group, version, plural in (*_REQUIRED, *(_ROLES if self._roles else ())):
            if catalog.resource(runtime.dialect(group), version, plural) is None:
                name = group_version(runtime.dialect(group), version)
                raise ValueError(f"--runtime-config: API group/version {name} must be enabled, for {plural}")
        self._shared = not storage.store.exclusive
        self._server = objects.ServerEndpoint(ip=advertised_address(settings), port=settings.serving.port)
        self._kind = settings.api.endpoint_reconciler_type
        parts = storage.store, client, runtime.dialect, runtime.reactor, runtime.wall, self._server
        self.endpoints = (
            CountedEndpointReconciler(*parts, settings.api.apiserver_count)
            if self._kind == "master-count"
            else EndpointReconciler(*parts)
        )

        self.identity = self._server_identity() if runtime.objects.feature("APIServerIdentity") else None

    def _server_identity(self) -> ServerIdentity:
        runtime, dialect = self._runtime, self._runtime.dialect
        duration, interval = runtime.settings.api.identity_lease
        identify = runtime.settings.release.choose(IDENTITIES)
        settings = IdentitySettings(
            identity=identify(dialect, runtime.random, gethostname()),
            duration=duration,
            interval=interval,
            records_versions=runtime.objects.feature("StorageVersionAPI"),
        )
        return ServerIdentity(settings, self._client, dialect, lambda: self._catalog, runtime.reactor, runtime.wall)

    def member(self, drained: Callable[[], Awaitable[object]]) -> Member:
        """The service group member. On stop it awaits `drained`: writes that outlive their clients finish before
        informers stop."""
        return as_member("bootstrap", self.run, drained)

    def reconcilers(self) -> list[Member]:
        members = []
        if self._shared:
            members.append(as_member("endpoints of the API service", self.endpoints.start, self.endpoints.stop))
        if self.identity is not None:
            members.append(as_member("identity of this server", self.identity.start, self.identity.stop))
        if self._runtime.settings.release.includes(token_tracking.SINCE):
            parts = self._client, self._runtime.dialect, self._runtime.reactor, self._runtime.wall
            tracking = token_tracking.TokenTracking(*parts)
            members.append(as_member("date of token tracking", tracking.start, tracking.stop))
        return members

    async def run(self) -> None:
        """Create missing objects and restore changed ones; health checks report each step. Raises ApiError."""
        runtime, client, state = self._runtime, self._client, self._state
        dialect, now = runtime.dialect, timestamp(runtime.wall())
        await ensure_objects.ensure(client, objects.namespaces(dialect), now=now)
        if self._roles:
            await rbac.ensure(client, dialect, runtime.objects.features, runtime.settings.release)
        state.done("roles")
        if self._ips is not None:
            await self._ips.make_range()
        for step, kinds_of_step in (
            ("own service", self._own_service()),
            ("priority classes", objects.priority_classes(dialect)),
            ("flow control", objects.flow_control(dialect, self._catalog.release)),
            ("api services", objects.api_services(dialect, self._catalog)),
        ):
            served = [
                each
                for each in kinds_of_step
                if self._catalog.resource(each.ref.group, each.ref.version, each.ref.plural)
            ]
            await ensure_objects.ensure(client, served, now=now)
            state.done(step)
        if self._ips is not None:
            await self._ips.repair()
        await self._publisher.publish()
        state.done("authentication info")
        state.done("custom kinds")

    def _own_service(self) -> tuple[objects.BootstrapObject, ...]:
        dialect, api = self._runtime.dialect, self._runtime.settings.api
        address = objects.ServiceAddress(
            port=self._server.port,
            service_ip=api_service_address(self._runtime.settings),
            service_node_port=api.service_node_port,
        )
        endpoints = () if self._shared or self._kind == "none" else objects.own_endpoints(dialect, [self._server])
        return (*objects.own_service(dialect, address), *endpoints)
