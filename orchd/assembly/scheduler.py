"""The scheduler, in either process: one per term of leadership, with its configuration and endpoints.

Imported only where the scheduler runs, since it needs numpy.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from socket import gethostname
from typing import Any, cast

import orjson

from orchd import errors
from orchd.assembly.api import ComponentProbes, Subsystems
from orchd.assembly.client_access import ClientAccess
from orchd.assembly.leadership import Leadership, candidate_identity
from orchd.assembly.runtime import ProcessRuntime, Runtime
from orchd.client.events import EventBroadcaster
from orchd.client.fenced import FencedClient
from orchd.client.interfaces import IClient, IInformers
from orchd.client.leader_election import Candidate
from orchd.client.scoped_informers import ScopedInformers
from orchd.config.sections.leader_election import ElectionSettings
from orchd.dialect import Dialect
from orchd.kinds.release import Release
from orchd.kinds.users import AUTHENTICATED_GROUP, User
from orchd.scheduler.config.decoding import default_configuration
from orchd.scheduler.config.loading import load
from orchd.scheduler.config.model import ConfigError, SchedulerConfiguration
from orchd.scheduler.explain import dry_run, explain
from orchd.scheduler.extenders import make_extenders
from orchd.scheduler.service import DEFAULT_NAME, Environment, Scheduler, check_configuration
from orchd.server.pipeline.interfaces import Request, Response
from orchd.server.pipeline.representation import NO_STORE
from orchd.txkit.compute_thread import ComputeThread
from orchd.txkit.metrics.instruments import Instrument
from orchd.txkit.services import Member, as_member

#: Maximum size in bytes of a pod posted for a dry run.
_BODY_LIMIT = 3 * 1024 * 1024
#: Flags of leader election by the configuration field that they replace.
_ELECTION_FLAGS = {
    "leader-elect": "elect",
    "leader-elect-lease-duration": "lease_duration",
    "leader-elect-renew-deadline": "renew_deadline",
    "leader-elect-retry-period": "retry_period",
    "leader-elect-resource-lock": "resource_lock",
    "leader-elect-resource-namespace": "resource_namespace",
    "leader-elect-resource-name": "resource_name",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TermClients:
    """Clients and informers of one term's scheduler. `begin` is called before it starts, `end` after it has stopped."""

    client: IClient
    informers: IInformers
    begin: Callable[[], object]
    end: Callable[[], Awaitable[object]]


class SchedulerTerm:
    """The scheduler of one term of leadership."""

    def __init__(self, scheduler: Scheduler, clients: TermClients) -> None:
        self.scheduler = scheduler
        self._clients = clients

    async def start(self) -> None:
        self._clients.begin()
        await self.scheduler.start()

    async def stop(self) -> None:
        try:
            await self.scheduler.stop()
        finally:
            await self._clients.end()


class SchedulerTerms:
    """Makes the scheduler of each term, and serves endpoints from the running one."""

    def __init__(
        self,
        configuration: SchedulerConfiguration,
        events: EventBroadcaster,
        clients: Callable[[Callable[[], bool]], TermClients],
        runtime: ProcessRuntime,
        features: Mapping[str, bool],
        release: Release,
    ) -> None:
        """`clients(may_write)` returns those of one term. `features` are the feature gates that were given."""
        self.configuration = configuration
        self.leadership: Leadership | None = None
        self._events = events
        self._clients = clients
        self._runtime = runtime
        self._features = features
        self._release = release

    def make(self, may_write: Callable[[], bool]) -> SchedulerTerm:
        """The scheduler of a new term. Raises ConfigError."""
        clients, chosen, runtime = self._clients(may_write), self.configuration, self._runtime
        environment = Environment(
            dialect=runtime.dialect,
            client=clients.client,
            informers=clients.informers,
            recorder=self._events.series_recorder,
            clock=runtime.reactor,
            wall=runtime.wall,
            random=runtime.random,
            compute=ComputeThread(runtime.in_thread),
            release=self._release,
            features=self._features,
        )
        scheduler = Scheduler(
            environment,
            chosen,
            extenders=lambda snapshot: make_extenders(
                chosen.extenders,
                reactor=runtime.reactor,
                dialect=runtime.dialect,
                informers=clients.informers,
                snapshot=snapshot,
            ),
        )
        return SchedulerTerm(scheduler, clients)

    @property
    def scheduler(self) -> Scheduler | None:
        """The running scheduler; None while another process leads."""
        term = None if self.leadership is None else self.leadership.term
        return term.scheduler if isinstance(term, SchedulerTerm) else None

    @property
    def instruments(self) -> tuple[Instrument, ...]:
        """The metrics of the running scheduler."""
        scheduler = self.scheduler
        return () if scheduler is None else scheduler.instruments

    async def explain(self, request: Request) -> Response:
        """GET ?namespace=N&pod=P: why a pod was placed on its node. POST of a pod: where it would be placed."""
        scheduler = self.scheduler
        if scheduler is None:
            raise errors.unavailable("the scheduler does not run in this process: another one leads")
        if request.method == "POST":
            return _json(await dry_run(scheduler, await _posted_pod(request)))
        if request.method not in ("GET", "HEAD"):
            raise errors.method_not_allowed()
        namespace, name = request.param("namespace"), request.param("pod")
        if not namespace or not name:
            raise errors.bad_request("namespace and pod are needed: ?namespace=N&pod=P")
        return _json(await explain(scheduler, namespace, name))


class LocalScheduler:
    """The scheduler inside an API server, while that is elected leader: a client of the server's own pipeline. The
    first term's scheduler is created at once, so that its informers load together with the server's."""

    def __init__(
        self, runtime: Runtime, access: ClientAccess, subsystems: Subsystems, components: ComponentProbes
    ) -> None:
        """Raises ConfigError."""
        dialect, settings = runtime.dialect, runtime.settings
        component = dialect("{short}-scheduler")
        user = User(name=f"system:{component}", groups=(AUTHENTICATED_GROUP,))
        agent = f"{component}/{runtime.settings.release.version}"
        client = access.client(user, agent)
        self.broadcaster = EventBroadcaster(
            client, runtime.wall, clock=runtime.reactor, random=runtime.random, dialect=dialect, host=gethostname()
        )

        def clients(may_write: Callable[[], bool]) -> TermClients:
            scope = ScopedInformers(subsystems.objects.informers)

            async def end() -> None:
                scope.close()

            return TermClients(
                client=cast(IClient, FencedClient(client, may_write)), informers=scope, begin=lambda: None, end=end
            )

        features, release = settings.api.features, settings.release
        configuration = read_configuration(dialect, settings.scheduler.config_file, features, release)
        self._terms = SchedulerTerms(configuration, self.broadcaster, clients, runtime, features, release)
        self._may_write: Callable[[], bool] = lambda: True
        self._prepared: SchedulerTerm | None = self._terms.make(lambda: self._may_write())
        self.leadership = self._terms.leadership = Leadership(
            "scheduler",
            scheduler_election(configuration, settings.scheduler.flags, settings.scheduler.explicit),
            self._make,
            Candidate(
                identity=candidate_identity(subsystems.candidate_secret, runtime.random),
                recorder=self.broadcaster.recorder(DEFAULT_NAME),
            ),
            access.client(user, agent, urgent=True),
            runtime,
        )
        components["scheduler"] = self.leadership.check
        self.explain = self._terms.explain

    @property
    def scheduler(self) -> Scheduler | None:
        """The running scheduler; None while another process leads."""
        return self._terms.scheduler

    def members(self) -> list[Member]:
        return [as_member("events of the scheduler", stop=self.broadcaster.stop), cast(Member, self.leadership)]

    @property
    def instruments(self) -> tuple[Instrument, ...]:
        """The metrics of the running scheduler."""
        return self._terms.instruments

    def _make(self, may_write: Callable[[], bool]) -> SchedulerTerm:
        prepared, self._prepared = self._prepared, None
        if prepared is None:
            return self._terms.make(may_write)
        self._may_write = may_write
        return prepared


def read_configuration(
    dialect: Dialect, path: str, features: Mapping[str, bool], release: Release
) -> SchedulerConfiguration:
    """The configuration in the file of --config, or the defaults. Raises ConfigError."""
    if not path:
        return default_configuration(dialect, features, release)
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise ConfigError(f"--config: {error}") from None
    try:
        configuration = load(data, dialect, features, release)
        check_configuration(configuration, release)
        return configuration
    except ConfigError as error:
        raise ConfigError(f"--config={path}: {error}") from None


def scheduler_election(
    configuration: SchedulerConfiguration, flags: Mapping[str, Any], mentioned: Collection[str]
) -> ElectionSettings:
    """Leader election settings of the configuration, overridden by the flags that were given."""
    fields = {
        field: flags[flag] if flag in mentioned else getattr(configuration.leader_election, field)
        for flag, field in _ELECTION_FLAGS.items()
    }
    return ElectionSettings(
        enabled=fields["elect"],
        lease_duration=fields["lease_duration"],
        renew_deadline=fields["renew_deadline"],
        retry_period=fields["retry_period"],
        lock=fields["resource_lock"],
        namespace=fields["resource_namespace"],
        name=fields["resource_name"],
    )


async def _posted_pod(request: Request) -> dict[str, Any]:
    try:
        pod = orjson.loads(await request.body.read(_BODY_LIMIT))
    except orjson.JSONDecodeError as error:
        raise errors.bad_request(f"the body is not JSON: {error}") from None
    if not isinstance(pod, dict) or not isinstance(pod.get("spec"), dict):
        raise errors.bad_request("the body is not a pod: it has no spec")
    metadata = pod.get("metadata") if isinstance(pod.get("metadata"), dict) else {}
    return {**pod, "metadata": {"namespace": "default", "name": "", **(metadata or {})}}


def _json(value: Any) -> Response:
    return Response(content_type="application/json", headers=[NO_STORE], body=orjson.dumps(value))
