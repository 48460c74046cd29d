"""`ApiServer`: one server as a service. Table of contents of a server: its parts in dependency order, and its members
in start order."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from random import SystemRandom
from typing import Any

from twisted.internet.interfaces import IStreamServerEndpoint
from twisted.python.failure import Failure

from orchd.assembly.access import Access
from orchd.assembly.admission import admission_chain
from orchd.assembly.aggregation import Aggregation
from orchd.assembly.api import Api, Subsystems
from orchd.assembly.background import BackgroundComponents
from orchd.assembly.bootstrap_cluster import ClusterBootstrap
from orchd.assembly.client_access import ClientAccess
from orchd.assembly.cluster_ips import cluster_ips
from orchd.assembly.custom_kinds import CustomKinds, enabled_catalog
from orchd.assembly.egress import egress_selector
from orchd.assembly.files import prepare
from orchd.assembly.frontend import Frontend, PublicPort
from orchd.assembly.objects import Objects
from orchd.assembly.outbound import Outbound
from orchd.assembly.registries import Registries
from orchd.assembly.runtime import Runtime
from orchd.assembly.storage import Storage, locked_store
from orchd.assembly.tracing import Traces
from orchd.config.settings import Settings, object_settings
from orchd.errors import ApiError
from orchd.kinds.catalog import Catalog
from orchd.server.customkinds.rule_metrics import MEASURED_SINCE as RULES_MEASURED_SINCE
from orchd.server.customkinds.rule_metrics import RuleMetrics
from orchd.server.customkinds.tracker import DefinitionTracker
from orchd.server.outbound.egress import Egress
from orchd.server.pipeline.interfaces import Stage
from orchd.server.pipeline.verbs.subresources.upstream import IUpstream
from orchd.server.state import ServerState
from orchd.store.interfaces import IStore, StoreError
from orchd.txkit.compute_thread import ComputeThread
from orchd.txkit.metrics.reactor import ReactorMetrics
from orchd.txkit.services import Member, ServiceGroup, as_member

#: Seconds that the stop of a member may take, in addition to --shutdown-delay-duration.
_PATIENCE = 60.0


def _make_runtime(
    settings: Settings, reactor: Any, wall: Callable[[], float], rule_metrics: RuleMetrics | None
) -> Runtime:
    objects = object_settings(settings)
    if rule_metrics is not None:
        objects = replace(objects, rule_times=rule_metrics.times)
    return Runtime(
        dialect=settings.dialect, reactor=reactor, wall=wall, random=SystemRandom(), settings=settings, objects=objects
    )


class ApiServer:
    """One API server. Make it, run `service`, wait for `service.wait_ready()`. Programs that embed a server replace
    parts by keyword.

    `reactor` is any Twisted reactor. `endpoint` replaces --bind-address and --secure-port; at `port` other processes
    accept connections, without an endpoint they alone. `store` replaces the configured store, `upstream` the transports
    to nodes, pods and services. `failed` is called when the server cannot start or continue, `opened` once when all
    requests are served. Without `durable_files`, generated keys and certificates are not synced to disk. Without
    `housekeeping`, another process does what is done once for several servers of one machine: controllers, scheduler,
    simulated nodes, certificates, the server's identity and the endpoints of its service. `extra_stages` run around
    authentication, for requests of clients and of the server's own parts; their errors become responses. Raises OSError
    and ValueError for missing or invalid files.
    """

    def __init__(
        self,
        settings: Settings,
        reactor: Any,
        *,
        endpoint: IStreamServerEndpoint | None = None,
        port: PublicPort | None = None,
        store: IStore | None = None,
        upstream: IUpstream | None = None,
        failed: Callable[[Failure], object] | None = None,
        opened: Callable[[ApiServer], object] = lambda server: None,
        wall: Callable[[], float] = time.time,
        extra_stages: Sequence[Stage] = (),
        durable_files: bool = True,
        housekeeping: bool = True,
    ) -> None:
        self.settings = settings
        self._durable_files = durable_files
        self._opened = opened
        rule_metrics = RuleMetrics(settings.release) if settings.release.includes(RULES_MEASURED_SINCE) else None
        runtime = self.runtime = _make_runtime(settings, reactor, wall, rule_metrics)
        self.state = ServerState(reactor.seconds, settings.serving.livez_grace_period)
        with locked_store(settings) if store is None else nullcontext():
            self.files = prepare(settings, port=settings.serving.port, now=wall(), durable=durable_files)
        access = ClientAccess(runtime)
        client = self.client = access.system
        compute = ComputeThread(runtime.in_thread)
        self.definitions = DefinitionTracker(enabled_catalog(settings), runtime.objects, reactor, compute)
        self.egress = egress_selector(runtime)
        self.storage = Storage(runtime, store, self.egress.dial(Egress.ETCD))
        self.traces = Traces(runtime)
        self.outbound = Outbound(runtime, client, upstream, self.egress)
        self.objects = Objects(runtime, self.storage, self.definitions, self.outbound, client, self.traces)
        self.access = Access(runtime, self.files, client, self.objects.informers, self.outbound)
        self.aggregation = Aggregation(runtime, client, self.objects.informers, self.egress.dial(Egress.CLUSTER))
        admission = admission_chain(runtime, client, self.objects, self.outbound, self.access, self.state)
        self.cluster_ips = cluster_ips(runtime, client, self.objects.informers, self.definitions.current())
        records = None if self.cluster_ips is None else self.cluster_ips.records
        registries = Registries(runtime, self.objects, admission, self.access, self.traces, records)
        self.registry = registries.reviewed
        self.custom_kinds = CustomKinds(runtime, self.definitions, self.registry, access)
        subsystems = Subsystems(
            files=self.files,
            storage=self.storage,
            outbound=self.outbound,
            objects=self.objects,
            definitions=self.definitions,
            access=self.access,
            admission=admission,
            registries=registries,
            aggregation=self.aggregation,
            client=client,
            traces=self.traces,
        )
        self.api = Api(runtime, self.state, subsystems, extra_stages)
        self.pipeline = self.api.pipeline
        access.entrance.connect(self.pipeline)
        self._follow_definitions()
        self.bootstrap = ClusterBootstrap(
            runtime, self.state, client, self.definitions.base, self.access, self.storage, self.cluster_ips
        )
        self.frontend = Frontend(runtime, self.state, self.api, self.files, endpoint, self._open, port)
        self._background = (
            BackgroundComponents(runtime, access, subsystems, self.api, self._renew_files) if housekeeping else None
        )
        self.reactor_metrics = ReactorMetrics(reactor)
        self.api.measured += [
            rule_metrics, self.storage, self.api, self.traces, self.egress, self.access, admission,
            self.aggregation.availability, self.cluster_ips, self.objects.conversion, registries, self.frontend,
            self._background, self.reactor_metrics,
        ]  # fmt: skip
        patience = _PATIENCE + settings.serving.shutdown_delay_duration
        self.service = ServiceGroup(
            self._members(), failed, clock=reactor, patience=patience, plain=(OSError, StoreError, ApiError)
        )

    def _follow_definitions(self) -> None:
        """Let the API and the stored objects follow changes of custom kinds."""
        self.definitions.gone, self.definitions.dropped = self.api.drop_versions, self.objects.store.forget
        self.definitions.renewed = self.api.documents.renew

    def _members(self) -> list[Member]:
        """Members in start order; they stop in reverse."""
        return [
            *self.traces.members(),
            self.outbound.member(),
            *self.api.audit(),
            *self.storage.members(),
            self.custom_kinds.tracking(),
            self.objects.member(),
            self.access.issuers(),
            self.bootstrap.member(self.api.deadline.drained),
            self.access.publishing(),
            *self.api.reconcilers(),
            self.custom_kinds.reconciling(),
            *self.aggregation.members(),
            *self.frontend.listening(),
            self.objects.loaded(self.state),
            self.frontend.opening(),
            *([] if self._background is None else self._housekeeping(self._background)),
            as_member("reactor metrics", self.reactor_metrics.start, self.reactor_metrics.stop),
            *self.api.page.members(),
        ]

    def _housekeeping(self, background: BackgroundComponents) -> list[Member]:
        """Members that run in one of several servers of a machine."""
        return [
            *self.bootstrap.reconcilers(),
            *(self.cluster_ips.members() if self.cluster_ips is not None else ()),
            *background.members(),
        ]

    @property
    def background(self) -> BackgroundComponents:
        """The controllers, the scheduler and the certificates' renewal. Raises RuntimeError without `housekeeping`."""
        if self._background is None:
            raise RuntimeError("another process does the housekeeping of this server")
        return self._background

    @property
    def catalog(self) -> Catalog:
        """The served resources, custom kinds included."""
        return self.definitions.catalog

    @property
    def url(self) -> str:
        """URL of the server for clients on this machine; known once it listens."""
        return self.frontend.url

    def _open(self) -> None:
        if self.frontend.listener.address[1] != self.settings.serving.port:
            # With --secure-port=0 or an endpoint the port of the client configuration files is known only now.
            self._prepare_files()
        self._opened(self)

    def _prepare_files(self) -> None:
        port = self.frontend.listener.address[1]
        self.files = prepare(self.settings, port=port, now=self.runtime.wall(), durable=self._durable_files)

    async def _renew_files(self) -> None:
        """Renew the certificates that are due; the listener reloads changed files."""
        await self.runtime.in_thread(self._prepare_files)
