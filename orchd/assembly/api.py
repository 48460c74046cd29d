"""The request pipeline of one server: stages in running order, then endpoints and verbs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from orchd.assembly import stages
from orchd.assembly.access import Access
from orchd.assembly.aggregation import Aggregation
from orchd.assembly.audit import make_trail
from orchd.assembly.checks import checks
from orchd.assembly.documents import ApiDocuments
from orchd.assembly.files import ServerFiles, advertised_address
from orchd.assembly.flow_control import flow_control
from orchd.assembly.issuer import issuer_endpoints
from orchd.assembly.objects import Objects
from orchd.assembly.outbound import Outbound
from orchd.assembly.registries import Registries
from orchd.assembly.runtime import Runtime
from orchd.assembly.storage import Storage
from orchd.assembly.tracing import Traces
from orchd.assembly.ui import Page
from orchd.assembly.verbs import VerbDependencies, named_verbs
from orchd.client.interfaces import IClient
from orchd.kinds.catalog import Resource
from orchd.kinds.openapi.discovery import version_info
from orchd.server.admission.chain import AdmissionChain
from orchd.server.authn.impersonation import ImpersonationError, parse_impersonation, parse_or_refuse
from orchd.server.authn.loopback import LOOPBACK_USER
from orchd.server.authz.messages import forbidden, forbidden_with_reason
from orchd.server.authz.metrics import MEASURED_SINCE, AuthorizationMetrics
from orchd.server.customkinds.tracker import DefinitionTracker
from orchd.server.pipeline.audit.metrics import AuditMetrics
from orchd.server.pipeline.endpoints.debug_flags import CurrentVerbosity, debug_flag_endpoints
from orchd.server.pipeline.endpoints.health import Health, Probe
from orchd.server.pipeline.endpoints.health_metrics import HealthMetrics
from orchd.server.pipeline.endpoints.metric_selection import flag_selection
from orchd.server.pipeline.endpoints.metrics import metrics_endpoint
from orchd.server.pipeline.endpoints.profiling import profiling_endpoints
from orchd.server.pipeline.endpoints.routes import Endpoint, Routes
from orchd.server.pipeline.endpoints.simple import build_info, enabled_features, root_endpoint, version_endpoint
from orchd.server.pipeline.fairness.estimates import ESTIMATES
from orchd.server.pipeline.fairness.samples import SAMPLES, FairnessSamples
from orchd.server.pipeline.interfaces import Stage
from orchd.server.pipeline.pipeline import FILTER_SECONDS, Pipeline
from orchd.server.pipeline.representation import Presenter
from orchd.server.pipeline.running import RunningStreams, Stream
from orchd.server.pipeline.self_links import LinkingPresenter
from orchd.server.pipeline.stages import access as access_stages
from orchd.server.pipeline.stages.body_room import BodyRoom
from orchd.server.pipeline.stages.deadline import Deadline
from orchd.server.pipeline.stages.failure import Failure
from orchd.server.pipeline.stages.limits import InFlightCount
from orchd.server.pipeline.stages.request_instruments import request_instruments
from orchd.server.pipeline.stages.request_metrics import CONNECTED, DURATIONS, RequestMetrics
from orchd.server.pipeline.verbs.context import BODY_LIMIT, VerbContext
from orchd.server.pipeline.verbs.dispatch import Dispatch, is_served
from orchd.server.pipeline.verbs.subresources.foreign import ForeignBodyContext, preparation
from orchd.server.pipeline.verbs.watch.metrics import RESOURCES_NAMED
from orchd.server.pipeline.verbs.watch.verb import WatchVerb
from orchd.server.state import ServerState
from orchd.txkit.compute_thread import ComputeThread
from orchd.txkit.metrics.instruments import Instrument, instruments_of, reset
from orchd.txkit.services import Member, as_member
from orchd.txkit.turns import shared_budget


class ComponentProbes(dict[str, Probe]):
    """Health probes of the components in this process, by their name in componentstatuses."""

    def probe(self, component: str) -> Probe:
        """The health probe of a component; a component that was not registered is unhealthy."""
        return lambda: self.get(component, _not_running)()


def _not_running() -> str:
    return "not running in this process"


@dataclass(frozen=True, slots=True, kw_only=True)
class Subsystems:
    """The collaborators behind the pipeline's stages. `client` acts as the server itself."""

    files: ServerFiles
    storage: Storage
    outbound: Outbound
    objects: Objects
    definitions: DefinitionTracker
    access: Access
    admission: AdmissionChain
    registries: Registries
    aggregation: Aggregation
    client: IClient
    traces: Traces

    @property
    def authority(self) -> bytes:
        """The PEM of the server's certificate authority."""
        return self.files.certificates.ca_certificate.read_bytes()

    @property
    def candidate_secret(self) -> bytes:
        """The secret of the server's identity in elections (`leadership.candidate_identity`): b"" if another server may
        be on the same store."""
        return self.authority if self.storage.is_owned else b""


class Api:
    """The request pipeline. `pipeline` is its entry point; shutdown calls `end_streams` and waits for `in_flight`."""

    def __init__(
        self, runtime: Runtime, state: ServerState, subsystems: Subsystems, extra_stages: Sequence[Stage] = ()
    ) -> None:
        """`extra_stages` run around authentication; their errors become responses. Raises ValueError naming the flag
        and the file that is wrong."""
        self._runtime, self._state, self._subsystems = runtime, state, subsystems
        definitions, access = subsystems.definitions, subsystems.access
        settings, reactor = runtime.settings, runtime.reactor
        self.components = ComponentProbes()
        self._verbosity = CurrentVerbosity(settings.verbosity.of, settings.verbosity.with_default)
        self._health_metrics = HealthMetrics(settings.dialect)
        #: Objects with metrics; further components may add theirs.
        self.measured: list[object] = []
        #: Endpoints by exact path; further components may add theirs.
        self.endpoints: dict[str, Endpoint] = {}
        self.in_flight = InFlightCount()
        self.watches = WatchVerb(
            RunningStreams(reactor, access.authorization.union, forbidden),
            reactor,
            runtime.random,
            shortest=settings.serving.min_request_timeout,
            resumes_efficiently=runtime.objects.feature("EfficientWatchResumption"),
            resources_named=settings.release.choose(RESOURCES_NAMED),
        )
        self.passed_on: RunningStreams[Stream] = RunningStreams(reactor, access.authorization.union, forbidden)
        self.deadline = Deadline(reactor, settings.serving.request_timeout)
        self._body_room = BodyRoom(reactor, largest=BODY_LIMIT, patience=settings.serving.request_timeout / 2)
        self.request_metrics = RequestMetrics(
            reactor.seconds,
            lambda info: is_served(definitions.current(), info),
            own_user=LOOPBACK_USER,
            bounds=settings.release.choose(DURATIONS),
            connected=settings.release.choose(CONNECTED),
        )
        self._own_instruments = (
            *request_instruments(self.request_metrics, definitions.current, settings.release),
            *build_info(runtime.dialect, version_info(settings.release)),
            *enabled_features(runtime.dialect, settings.release, runtime.objects.feature),
        )
        self.page = Page(runtime, lambda: instruments_of(self.measured))
        self._compute = ComputeThread(runtime.in_thread)
        self.trail = make_trail(runtime, subsystems.outbound.reviews, self.page.tail)
        limits, self.flow_control = flow_control(
            runtime,
            self.in_flight,
            subsystems.client,
            subsystems.objects.informers,
            settings.release.choose(ESTIMATES)(definitions.current, subsystems.storage.caches.caches),
        )
        self._samples: FairnessSamples | None = None
        if self.flow_control is not None:
            self._samples = settings.release.choose(SAMPLES)(self.flow_control.fairness, self.in_flight, reactor)
        presenter = Presenter if runtime.objects.feature("RemoveSelfLink") else LinkingPresenter
        self._presenter = presenter(definitions.current, runtime.wall)
        self.documents = ApiDocuments(runtime, definitions, subsystems.aggregation, self._presenter, self._address())
        self.pipeline = self._pipeline(limits, extra_stages)

    def _pipeline(self, limits: Stage, extra_stages: Sequence[Stage]) -> Pipeline:
        """The stages in the order in which a request passes them. `limits` admits requests in flight."""
        runtime, settings = self._runtime, self._runtime.settings
        access, traces = self._subsystems.access, self._subsystems.traces
        authorizer = access.authorization.union
        measured = AuthorizationMetrics() if settings.release.includes(MEASURED_SINCE) else None
        if measured is not None:
            self._own_instruments += measured.instruments
        authorization = access_stages.Authorization(
            traces.authorizer(authorizer),
            forbidden,
            runtime.dialect,
            running=self.passed_on,
            compute=self._compute,
            selecting=settings.release.choose((("", access_stages.no_selectors), ("1.32", access_stages.selectors_of))),
            observe=None if measured is None else measured.observe,
        )
        authentication = access_stages.Authentication(
            traces.chain(access.authentication.chain),
            settings.release.choose((("", access_stages.no_warning), ("1.32", access_stages.warn_of_spaces))),
        )
        audit = stages.after_authentication(self.trail)
        impersonation = access_stages.Impersonating(
            authorizer,
            partial(settings.release.choose((("", parse_impersonation), ("1.35", parse_or_refuse))), runtime.dialect),
            forbidden,
            ImpersonationError,
        )
        return Pipeline(
            [
                *traces.outermost(),
                *stages.outermost(settings, runtime.reactor.seconds, self._verbosity.of),
                self.request_metrics,
                Failure(self._presenter.failure),
                *extra_stages,
                *stages.before_authentication(settings, self._state.is_draining, self.trail),
                *self.page.before_authentication(),
                self.deadline,
                authentication,
                *traces.after_authentication(),
                *audit,
                impersonation,
                *self.page.before_authorization(),
                self._body_room,
                limits,
                *self.page.after_limits(self._compute),
                authorization,
                *traces.innermost(),
            ],
            self._routes(self._dispatch()),
            runtime.random,
            {
                authentication: "authentication",
                **dict.fromkeys(audit, "audit"),
                impersonation: "impersonation",
                limits: "maxinflight" if self.flow_control is None else "priorityandfairness",
                authorization: "authorization",
            },
            settings.release.choose(FILTER_SECONDS),
        )

    @property
    def instruments(self) -> Iterator[Instrument]:
        """Metrics of the stages, of watches, of the documents, and of audit."""
        yield from self._own_instruments
        yield from instruments_of(
            (
                self.deadline,
                self._body_room,
                self.in_flight,
                self.watches.metrics,
                self.documents.specification,
                self.pipeline,
                self._samples,
            )
        )
        yield from AuditMetrics().instruments if self.trail is None else self.trail.metrics.instruments
        if self.flow_control is not None:
            yield from self.flow_control.fairness.instruments

    def audit(self) -> list[Member]:
        """The audit backend; stops after every audited component."""
        return [] if self.trail is None else [as_member("audit", stop=self.trail.stop)]

    def reconcilers(self) -> list[Member]:
        """The flow control reconciler, if priority and fairness is enabled."""
        control, samples = self.flow_control, self._samples
        if control is None or samples is None:
            return []
        return [
            as_member("flow control", control.start, control.stop),
            as_member("flow control samples", samples.start, samples.stop),
        ]

    async def end_streams(self) -> None:
        """End the responses that last until their clients leave: the server stops."""
        self.watches.end()
        self.page.end()
        await self.watches.running.stop()
        await self.passed_on.stop()

    def drop_versions(self, resources: Sequence[Resource]) -> None:
        """End the watches of versions of a custom kind that changed their schema or are no longer served."""
        for resource in resources:
            self._subsystems.registries.strategies.forget(resource)
        self.watches.end_unserved(resources, self._subsystems.definitions.current)
        catalog = self._subsystems.definitions.current()
        for resource in resources:
            group, version, plural = resource.group, resource.version, resource.plural
            if catalog.resource(group, version, plural) is None:
                self.request_metrics.forget(group, version, plural)
                self.watches.metrics.forget(resource)

    def _address(self) -> str:
        settings = self._runtime.settings
        return f"{advertised_address(settings)}:{settings.serving.port}"

    def _dispatch(self) -> Dispatch:
        settings, parts = self._runtime.settings, self._subsystems
        context = VerbContext(
            catalog=parts.definitions.current,
            registry=parts.registries.reviewed,
            present=self._presenter,
            settings=self._runtime.objects,
            wall=self._runtime.wall,
            authorize=partial(
                access_stages.require,
                parts.access.authorization.union,
                settings.release.choose((("", forbidden_with_reason), ("1.25", forbidden))),
            ),
            delete_workers=settings.api.delete_collection_workers,
            compute=self._compute,
        )
        dependencies = VerbDependencies(
            runtime=self._runtime,
            catalog=parts.definitions.current(),
            foreign=ForeignBodyContext(
                registry=parts.registries.unreviewed, admission=parts.admission, prepare=preparation(settings.release)
            ),
            client=parts.client,
            access=parts.access,
            outbound=parts.outbound,
            components={
                "scheduler": (self.components.probe("scheduler"), "ok"),
                "controller-manager": (self.components.probe("controller-manager"), "ok"),
                "etcd-0": (
                    parts.storage.store.healthy,
                    settings.release.choose((("", '{"health":"true","reason":""}'), ("1.24", "ok"))),
                ),
            },
        )
        return Dispatch(
            context,
            newest_catalog=parts.definitions.newest,
            is_late=parts.definitions.is_late,
            watch=self.watches,
            named=named_verbs(dependencies),
        )

    def _reset_metrics(self) -> None:
        self.request_metrics.reset()
        reset(instruments_of(self.measured))

    def _routes(self, dispatch: Dispatch) -> Routes:
        runtime, parts = self._runtime, self._subsystems
        catalog = parts.definitions.current
        health = Health(
            checks(
                runtime.objects,
                self._state,
                store=parts.storage.store.healthy,
                informers=parts.objects.informers_problem,
            ),
            parts.storage.notes,
            self._health_metrics.observe,
        )
        profiling = runtime.settings.serving.profiling
        root = root_endpoint(catalog, health)
        self.endpoints |= {
            "/": root,
            "/index.html": root,
            "/version": version_endpoint(runtime.settings.release),
            "/metrics": metrics_endpoint(
                lambda: instruments_of(self.measured),
                shared_budget(runtime.reactor),
                flag_selection(runtime.settings.flags),
                reset=self._reset_metrics if profiling else None,
            ),
            "/openapi/v2": self.documents.specification.respond,
            **issuer_endpoints(runtime.settings, parts.files, self._address()),
            **(profiling_endpoints(runtime.in_thread, runtime.objects.release) if profiling else {}),
            **(debug_flag_endpoints(self._verbosity) if profiling else {}),
            **self._health_metrics.endpoints(runtime.objects.release, resettable=profiling),
            **self.page.endpoints(),
        }
        return Routes(
            dispatch,
            health=health,
            documents=self.documents.discovery,
            exact=self.endpoints,
            forwarder=parts.aggregation.forwarder,
            schemas=self.documents.schemas,
        )
