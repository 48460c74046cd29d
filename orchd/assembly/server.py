"""`ApiServer`: one server as a service, from settings, reactor and endpoint."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from random import SystemRandom
from typing import TYPE_CHECKING, Any

from twisted.internet.interfaces import IStreamServerEndpoint
from twisted.internet.task import deferLater
from twisted.internet.threads import deferToThreadPool
from twisted.logger import Logger
from twisted.python.failure import Failure

from orchd import errors
from orchd.assembly import stages
from orchd.assembly.aggregation import Aggregation
from orchd.assembly.api_endpoints import EndpointReconciler
from orchd.assembly.audit import make_trail
from orchd.assembly.authentication_config import CaBundlePublisher
from orchd.assembly.bootstrap_cluster import bootstrap
from orchd.assembly.builtin_catalog import catalog_of
from orchd.assembly.checks import Progress, checks
from orchd.assembly.controllers import make_controllers
from orchd.assembly.files import ServerFiles, advertised_address, prepare
from orchd.assembly.flowcontrol import limiting
from orchd.assembly.identity import Authentication as AuthenticationParts
from orchd.assembly.identity import OutboundServices, authentication, authorization
from orchd.assembly.informing import own_informers
from orchd.assembly.issuer import issuer_endpoints
from orchd.assembly.metrics import ServerMetrics, controller_metrics, event_metrics, leader_metrics
from orchd.assembly.nodes import node_upstream
from orchd.assembly.plugins import admission_chain
from orchd.assembly.rbac_guard import with_escalation_check
from orchd.assembly.storage import cache_metrics, make_store, start_store, store_metrics
from orchd.assembly.verbs import VerbDependencies, subresource_verbs, virtual_verbs
from orchd.cache.caches import Caches
from orchd.config.settings import Settings, object_settings
from orchd.kinds.catalog import Catalog, Resource
from orchd.kinds.identity import MASTERS_GROUP, User
from orchd.server.authn.impersonation import ImpersonationError, parse_impersonation
from orchd.server.authn.loopback import LOOPBACK_USER
from orchd.server.authz import bootstrap_policy as roles
from orchd.server.authz.escalation import EscalationCheck
from orchd.server.authz.interfaces import Decision
from orchd.server.authz.messages import forbidden
from orchd.server.bootstrap import objects
from orchd.server.customkinds.controller import DefinitionController
from orchd.server.customkinds.conversion_webhook import ConversionWebhook
from orchd.server.customkinds.instances import Instances
from orchd.server.customkinds.schema_upgrade import UpgradingCaches
from orchd.server.customkinds.tracker import DefinitionTracker
from orchd.server.http.factory import ApiServerFactory
from orchd.server.http.http2 import Http2Factory
from orchd.server.http.limits import Limits
from orchd.server.http.listener import Binding, Listener
from orchd.server.http.tls import ServerContexts
from orchd.server.local import LocalClient
from orchd.server.outbound.webhooks import WebhookClient
from orchd.server.pipeline.endpoints import metrics
from orchd.server.pipeline.endpoints.audit_metrics import audit_metrics
from orchd.server.pipeline.endpoints.documents import Documents
from orchd.server.pipeline.endpoints.fairness_metrics import fairness_metrics
from orchd.server.pipeline.endpoints.health import Health
from orchd.server.pipeline.endpoints.profiling import profiling_endpoints
from orchd.server.pipeline.endpoints.routes import Routes
from orchd.server.pipeline.endpoints.schemas import Schemas
from orchd.server.pipeline.endpoints.simple import root_endpoint, version_endpoint
from orchd.server.pipeline.interfaces import Request, RequestInfo, Response
from orchd.server.pipeline.pipeline import Pipeline
from orchd.server.pipeline.representation import Presenter
from orchd.server.pipeline.stages import identity
from orchd.server.pipeline.stages.deadline import Deadline
from orchd.server.pipeline.stages.failure import Failure as FailureStage
from orchd.server.pipeline.stages.limits import InFlightCount
from orchd.server.pipeline.stages.request_metrics import RequestMetrics
from orchd.server.pipeline.verbs.context import VerbContext
from orchd.server.pipeline.verbs.dispatch import Dispatch, served
from orchd.server.pipeline.verbs.subresources.foreign import Foreign, unasked
from orchd.server.pipeline.verbs.subresources.upstream import IUpstream, NodePolicy, Upstream
from orchd.server.pipeline.verbs.watch import WatchVerb
from orchd.server.registry.object_store import ObjectStore
from orchd.server.registry.objectmeta import Naming
from orchd.server.registry.ranges import AddressRange
from orchd.server.registry.registry import Registry
from orchd.server.registry.strategies.table import Strategies
from orchd.store.interfaces import IStore, StoreError
from orchd.txkit.services import Member, ServiceGroup, as_member

if TYPE_CHECKING:
    from orchd.assembly.scheduler import SchedulerParts

#: The release whose API is served.
RELEASE = "v1.23.17"


#: Where the scheduler says why a pod is where it is.
EXPLAIN = "/debug/scheduler/explain"
#: Seconds between looks at whether the last requests have been served.
_DRAIN_STEP = 0.05


class _Entrance:
    """Where local clients enter: they are made before the pipeline that they will use."""

    pipeline: Pipeline

    async def handle(self, request: Request) -> Response:
        return await self.pipeline.handle(request)


def _absent() -> str:
    """The health of a component that nobody has started beside the server."""
    return "not running in this process"


class ApiServer:
    """One API server. Make it, run `service`, wait for `service.wait_ready()`.

    `reactor` is any Twisted reactor. `endpoint` replaces --bind-address and --secure-port, `store` the one
    of the flags, `upstream` the way to nodes and pods.
    `failed` is told when the server cannot start or go on, `opened` once when every request would be served.
    """

    log = Logger()

    def __init__(
        self,
        settings: Settings,
        reactor: Any,
        *,
        endpoint: IStreamServerEndpoint | None = None,
        store: IStore | None = None,
        upstream: IUpstream | None = None,
        failed: Callable[[Failure], object] | None = None,
        opened: Callable[[ApiServer], object] = lambda server: None,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self.settings = settings
        self.reactor = reactor
        self.wall = wall
        self._opened = opened
        self._to_nodes = node_upstream(settings, reactor) if upstream is None else upstream
        self._to_others: IUpstream = Upstream(reactor, NodePolicy()) if upstream is None else upstream
        #: Health probes of what runs beside the server ("scheduler", "controller-manager"): what is wrong, or "".
        self.beside: dict[str, Callable[[], str]] = {}
        self.random = SystemRandom()
        self.objects = object_settings(settings)
        self.custom = DefinitionTracker(catalog_of(settings), self.objects, reactor)
        self.progress = Progress(reactor.seconds, settings.serving.livez_grace)
        own = AddressRange(settings.api.service_ranges[0], lambda: (), self.random)
        self.service_ip = own.first
        self.files: ServerFiles = self._prepare(settings.serving.port)
        self.store: IStore = make_store(settings, reactor, self.random) if store is None else store
        self.caches = Caches(self.store, clock=reactor, window_seconds=settings.storage.history_duration)
        self._entrance = _Entrance()
        # Field owners are named after this, as the reference's are: with the minor release.
        agent = settings.dialect("{short}-apiserver-") + RELEASE[1:].rpartition(".")[0] + "/" + RELEASE
        user = User(name=LOOPBACK_USER, groups=(MASTERS_GROUP,))
        self.client = LocalClient(self._entrance, user, agent=agent, clock=reactor.seconds)  # type: ignore[arg-type]  # an IPipeline by shape
        self._at = objects.Server(ip=advertised_address(settings), port=settings.serving.port)
        self.presence = EndpointReconciler(self.store, self.client, settings.dialect, reactor, wall, self._at)
        instances = Instances(lambda: self.registry, user, wall)
        self.upkeep = DefinitionController(self.custom, self.client, instances, clock=reactor, wall=wall)
        self.webhooks = WebhookClient(reactor, settings.dialect, self.client)
        self.reviewers = WebhookClient(reactor, settings.dialect, self.client, agent="{short}-apiserver")
        self.numbers = ServerMetrics(settings.dialect)
        self._is_open = self._is_leaving = self._informed = False
        self._compose()
        self.controllers = make_controllers(
            settings,
            pipeline=self._entrance,  # type: ignore[arg-type]  # an IPipeline by shape
            reader=self.client,
            informers=self.informers,
            clock=reactor,
            wall=wall,
            random=self.random,
            catalog=lambda: self.catalog,
            authority=self.files.made.ca_certificate.read_bytes(),
            issuer=self.authentication.issuer,
            release=RELEASE,
            exclusive=self.store.exclusive,
        )
        self.scheduler = self._make_scheduler()
        if settings.controllers.names:
            self.beside["controller-manager"] = self.controllers.check
        self.listener = Listener(
            reactor,
            self.factory,
            endpoint or self._binding(),
            contexts=ServerContexts(self.files.tls),
            h2=self._http2(),
        )
        self.service = ServiceGroup(self._members(), failed, plain=(OSError, StoreError))

    def _make_scheduler(self) -> SchedulerParts | None:
        if not self.settings.scheduler.enabled:
            return None
        # Here and not above: without the scheduler nothing needs numpy.
        try:
            from orchd.assembly.scheduler import SchedulerParts
        except ModuleNotFoundError as error:
            if error.name != "numpy":
                raise
            raise ValueError(
                "--scheduler needs numpy, which is not installed: install orchd[scheduler], or start with --scheduler=false"
            ) from None

        return SchedulerParts(
            self.settings,
            pipeline=self._entrance,  # type: ignore[arg-type]  # an IPipeline by shape
            informers=self.informers,
            clock=self.reactor,
            wall=self.wall,
            random=self.random,
            release=RELEASE,
        )

    def _http2(self) -> Http2Factory | None:
        streams = self.settings.serving.http2_max_streams
        if not streams:
            return None
        return Http2Factory(self.pipeline, self.reactor, streams=streams, limits=self.factory.limits)

    def _binding(self) -> Binding:
        serving = self.settings.serving
        return Binding(
            address=str(serving.bind_address),
            port=serving.port,
            share_port=serving.share_port,
            share_address=serving.share_address,
        )

    @property
    def catalog(self) -> Catalog:
        """What is served now, custom kinds included."""
        return self.custom.catalog

    def _version_gone(self, resource: Resource) -> None:
        """A custom kind's version is served in another form, or not at all."""
        self._strategies.forget(resource)
        self.watching.gone(resource, lambda: self.catalog)

    # -- wiring

    def _compose(self) -> None:
        settings, reactor = self.settings, self.reactor
        access = ObjectStore(
            catalog=lambda: self.catalog,
            store=self.store,
            caches=UpgradingCaches(self.caches, self.custom.by_key.get, self.objects),
            settings=self.objects,
            conversion=ConversionWebhook(self.webhooks, settings.dialect, Naming(self.random).uid),
        )
        self.informers = own_informers(access, self.client, clock=reactor, random=self.random)
        self.aggregation = Aggregation(
            settings, self.client, self.informers, reactor=reactor, wall=self.wall, random=self.random
        )
        self._compose_gates()
        self._compose_registry(access)
        self._compose_pipeline()

    def _compose_registry(self, access: ObjectStore) -> None:
        """What becomes of a write, and where it goes."""
        settings, reactor = self.settings, self.reactor
        union, rbac = self.authorization.union, self.authorization.rbac
        self.admission = admission_chain(
            settings,
            self.client,
            self.informers,
            authorize=union.authorize,
            clock=self.wall,
            reactor=reactor,
            catalog=lambda: self.catalog,
            random=self.random,
            observe=self.numbers.admission.observe,
            webhooks=self.webhooks,
            observe_webhook=self.numbers.webhooks.observe,
            settle=access.settled,
            translate=access.worked_on,
            serving=lambda: self._is_open,
        )
        escalation = None if rbac is None else EscalationCheck(settings.dialect, rbac, union.authorize)
        group = settings.dialect(roles.RBAC_GROUP)
        strategies = Strategies(access, random=self.random, event_ttl=int(settings.storage.event_ttl))
        self.custom.gone, self.custom.dropped = self._version_gone, access.forget
        self._strategies = strategies
        naming = Naming(self.random)
        self.silent_registry = Registry(access, strategies, naming, mutate=unasked, validate=unasked)
        self.registry = Registry(
            access,
            strategies,
            naming,
            mutate=with_escalation_check(self.admission.admit, escalation, group),
            validate=self.admission.validate,
        )

    def _compose_pipeline(self) -> None:
        """The stages in running order, and what is behind them."""
        settings, reactor, union = self.settings, self.reactor, self.authorization.union
        self.present = Presenter(lambda: self.catalog, self.wall)
        self.measuring = RequestMetrics(reactor.seconds, lambda info: served(self.catalog, info))
        self.underway = InFlightCount()
        self.watching = WatchVerb(reactor, self.random, shortest=settings.serving.min_watch_timeout)
        self.deadline = Deadline(reactor, settings.serving.request_timeout)
        self.trail = make_trail(
            settings,
            calls=self.reviewers,
            clock=reactor,
            wall=self.wall,
            random=self.random,
            in_thread=self._in_thread,
        )
        limits, self.flow_control = limiting(
            settings,
            self.underway,
            self.client,
            self.informers,
            count=self._objects_of,
            reactor=reactor,
            wall=self.wall,
        )
        gate = identity.Authorization(union, forbidden, settings.dialect)
        self.pipeline = self._entrance.pipeline = Pipeline(
            [
                *stages.outermost(settings, reactor.seconds),
                self.measuring,
                FailureStage(self.present.failure),
                *stages.before_authentication(settings, lambda: self._is_leaving, self.trail),
                self.deadline,
                identity.Authentication(self.authentication.chain),
                *stages.after_authentication(self.trail),
                identity.Impersonating(
                    union,
                    lambda headers, user: parse_impersonation(settings.dialect, headers, user),
                    forbidden,
                    ImpersonationError,
                ),
                limits,
                gate,
            ],
            self._routes(gate),
            self.random,
        )
        packs = self.objects.feature("APIResponseCompression", True)
        self.factory = ApiServerFactory(self.pipeline, reactor, Limits() if packs else Limits(gzip_above=None))

    def _objects_of(self, info: RequestInfo) -> int:
        """How many objects a list over all namespaces would look at."""
        resource = self.catalog.resource(info.group, info.version, info.resource)
        cache = None if resource is None else self.caches.caches.get(resource.key)
        return 0 if cache is None else len(cache)

    def _compose_gates(self) -> None:
        """Who it is, and whether they may."""
        settings, reactor = self.settings, self.reactor
        numbers = self.numbers
        outside = OutboundServices(
            reactor=reactor,
            calls=self.reviewers,
            clock=self.wall,
            random=self.random,
            token_cache=numbers.token_cache,
            token_reviews=numbers.token_reviews.observe,
            access_reviews=numbers.access_reviews.observe,
        )
        self.authentication: AuthenticationParts = authentication(
            settings,
            self.files,
            self.informers,
            client=self.client,
            outside=outside,
            observe=numbers.authentication.observe,
            observe_certificate=numbers.authentication.certificate,
        )
        self.authorization = authorization(settings, self.informers, outside=outside)
        self.trust = CaBundlePublisher(settings, self.files, self.authentication, self.client, clock=reactor, wall=self.wall)

    def _routes(self, gate: identity.Authorization) -> Routes:
        settings = self.settings

        async def may(request: Request, verb: str) -> None:
            verdict = await self.authorization.union.authorize(identity.action_of(request, verb))
            if verdict.decision is not Decision.ALLOW:
                info = request.info
                assert info is not None
                if verdict.error:
                    raise errors.internal(verdict.error)
                raise errors.forbidden(info.group, info.resource, info.name, verdict.reason)

        tools = VerbContext(
            catalog=lambda: self.catalog,
            registry=self.registry,
            present=self.present,
            settings=self.objects,
            now=self.wall,
            authorize=may,
            delete_workers=settings.api.delete_collection_workers,
        )
        parts = self._verb_parts()
        dispatch = Dispatch(
            tools, watch=self.watching, subresources=subresource_verbs(parts), virtual=virtual_verbs(parts)
        )
        health = Health(
            checks(settings.dialect, self.progress, store=self.store.healthy, informers=self._informers_wrong)
        )
        address = f"{advertised_address(settings)}:{settings.serving.port}"
        self.documents = Documents(
            lambda: self.catalog,
            self.present,
            server_address=address,
            in_thread=self._in_thread,
            elsewhere=self.aggregation.groups,
        )
        return Routes(
            dispatch,
            health=health,
            documents=self.documents,
            exact={
                "/": root_endpoint(lambda: self.catalog, health),
                "/version": version_endpoint(git_version=RELEASE),
                "/metrics": metrics.endpoint(self._metric_sources()),
                "/openapi/v2": self.documents.openapi,
                **issuer_endpoints(settings, self.files, address),
                **(profiling_endpoints(self._in_thread) if settings.serving.profiling else {}),
                **({EXPLAIN: self._explain} if settings.scheduler.enabled else {}),
            },
            elsewhere=self.aggregation.elsewhere,
            schemas=(
                Schemas(lambda: self.catalog, in_thread=self._in_thread) if self.objects.feature("OpenAPIV3", False) else None
            ),
        )

    async def _explain(self, request: Request) -> Response:
        if self.scheduler is None:
            raise errors.unavailable("the scheduler does not run")
        return await self.scheduler.explain(request)

    def _verb_parts(self) -> VerbDependencies:
        admission = self.admission
        return VerbDependencies(
            catalog=self.catalog,
            foreign=Foreign(registry=self.silent_registry, mutate=admission.admit, validate=admission.validate),
            client=self.client,
            authentication=self.authentication,
            authorizer=self.authorization.union,
            components={
                "scheduler": (lambda: self.beside.get("scheduler", _absent)(), "ok"),
                "controller-manager": (lambda: self.beside.get("controller-manager", _absent)(), "ok"),
                "etcd-0": (self.store.healthy, '{"health":"true","reason":""}'),
            },
            nodes=self._to_nodes,
            others=self._to_others,
            preferred=self.settings.nodes.address_types,
            random=self.random,
            most_token_seconds=int(self.settings.authentication.service_accounts.max_expiration),
        )

    def _informers_wrong(self) -> str:
        # Informers that later terms of controllers ask for say nothing about the server.
        self._informed = self._informed or self.informers.synced
        return "" if self._informed else "informers not started yet"

    async def _in_thread(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return await deferToThreadPool(self.reactor, self.reactor.getThreadPool(), function, *arguments)

    def _metric_sources(self) -> Iterable[metrics.Source]:
        return [
            *store_metrics(self.store),
            metrics.request_metrics(self.measuring, self.underway, self.watching),
            *([] if self.trail is None else [audit_metrics(self.trail)]),
            *([] if self.flow_control is None else [fairness_metrics(self.flow_control.fairness)]),
            *self.numbers.sources(),
            *cache_metrics(self.caches),
            *controller_metrics(lambda: self.controllers.counts()),
            lambda: () if self.scheduler is None else self.scheduler.metrics(),
            leader_metrics(lambda: self.controllers.status()),
            event_metrics(lambda: self.controllers.events.counts),
        ]

    # -- life

    def _members(self) -> list[Member]:
        flow_control, availability = self.flow_control, self.aggregation.availability
        return [
            # First, so that they end last: everybody may still call somebody, and everything is written down.
            as_member("calls to others", self._nothing, self._hang_up),
            *([] if self.trail is None else [as_member("audit", self._nothing, self.trail.stop)]),
            as_member("store", lambda: start_store(self.settings, self.store), self.store.stop),
            as_member("caches", self.caches.start, self.caches.stop),
            as_member("custom kinds", self._start_custom_kinds, self.custom.stop),
            as_member("informers", self._start_informers, self.informers.stop),
            as_member("issuers", self._begin_authentication, self.authentication.background.stop),
            as_member("bootstrap", self._bootstrap, self.deadline.drained),
            as_member("authorities", self.trust.start, self.trust.stop),
            *([] if flow_control is None else [as_member("flow control", flow_control.start, flow_control.stop)]),
            as_member("upkeep of custom kinds", self.upkeep.start, self.upkeep.stop),
            as_member("availability of API services", availability.start, availability.stop),
            self.listener,
            as_member("open", self._open, self._close),
            *([] if self.store.exclusive else [as_member("presence", self.presence.start, self.presence.stop)]),
            self.controllers,
            *([] if self.scheduler is None else [as_member("scheduler", self._start_scheduler, self.scheduler.stop)]),
        ]

    async def _start_custom_kinds(self) -> None:
        definitions = self.custom.definitions
        if definitions is not None:
            await self.custom.start(self.registry.cache(definitions))

    async def _start_informers(self) -> None:
        self.informers.start()
        await self.informers.wait_synced()
        self.progress.done("informers")

    async def _bootstrap(self) -> None:
        await bootstrap(
            self.settings,
            self.client,
            self.progress,
            base=self.custom.base,
            service_ip=self.service_ip,
            # Where there may be others, `presence` says whom the service leads to.
            at=self._at if self.store.exclusive else None,
            port=self._at.port,
            roles=self.authorization.rbac is not None,
            now=self.wall(),
        )
        await self.trust.publish()
        self.progress.done("authentication info")
        self.progress.done("custom kinds")

    async def _begin_authentication(self) -> None:
        self.authentication.begin()

    async def _nothing(self) -> None:
        """For members that only have an end."""

    async def _hang_up(self) -> None:
        await self.webhooks.close()
        await self.reviewers.close()

    async def _start_scheduler(self) -> None:
        assert self.scheduler is not None
        await self.scheduler.start()
        self.beside["scheduler"] = lambda: ""

    def _prepare(self, port: int) -> ServerFiles:
        return prepare(self.settings, port=port, service_ip=self.service_ip, now=self.wall())

    async def _open(self) -> None:
        self.documents.prepare()
        port = self.listener.address[1]
        if port != self.settings.serving.port:
            # With --secure-port=0 or an endpoint it is known only now what clients must be told.
            self.files = self._prepare(port)
        self._is_open = True
        self._opened(self)

    async def _close(self) -> None:
        """The first thing to stop: say that we are going, then end what would never end by itself."""
        self.progress.stopping = True
        serving = self.settings.serving
        if serving.shutdown_delay:
            await deferLater(self.reactor, serving.shutdown_delay)
        self._is_leaving = True
        self.watching.end()
        if serving.shutdown_retry_after:
            # Whoever comes while the last requests are served is sent elsewhere, instead of meeting a closed port.
            end = self.reactor.seconds() + serving.request_timeout
            while self.underway.busy and self.reactor.seconds() < end:
                await deferLater(self.reactor, _DRAIN_STEP)

    @property
    def url(self) -> str:
        """Where the server can be reached from this machine, once it listens."""
        host, port = self.listener.address
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
        return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
