"""What the processes of the controllers and of the scheduler share: clients, events, leader election and their port."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import SystemRandom
from socket import gethostname
from typing import Any

from twisted.python.failure import Failure

from orchd.assembly.component import Connections, SecurePort, ServedByComponent, health_checks
from orchd.assembly.leadership import Leadership, MakeTerm, candidate_identity, leadership_instrument
from orchd.assembly.runtime import ProcessRuntime
from orchd.client.events import EventBroadcaster, event_instrument
from orchd.client.leader_election import Candidate
from orchd.config.component import ComponentSettings
from orchd.config.sections.leader_election import ElectionSettings
from orchd.errors import ApiError
from orchd.kinds import gates
from orchd.kinds.openapi.discovery import version_info
from orchd.server.pipeline.endpoints.routes import Endpoint
from orchd.server.pipeline.endpoints.simple import build_info, enabled_features
from orchd.txkit.metrics.instruments import instruments_of
from orchd.txkit.services import ServiceGroup, as_member


class ComponentProcess:
    """`environment` is the process environment. Raises OSError and ValueError for unusable files and configurations."""

    def __init__(
        self, settings: ComponentSettings, reactor: Any, *, wall: Callable[[], float], environment: Mapping[str, str]
    ) -> None:
        dialect = settings.dialect
        self.settings = settings
        self.runtime = ProcessRuntime(dialect=dialect, reactor=reactor, wall=wall, random=SystemRandom())
        agent = f"{dialect('{short}-')}{settings.name}/{settings.release.version}"
        self.connections = Connections(settings, self.runtime, agent=agent, environment=environment)
        self.events = EventBroadcaster(
            self.connections.client(),
            wall,
            clock=reactor,
            random=self.runtime.random,
            dialect=dialect,
            host=gethostname(),
        )

    def compete(self, name: str, election: ElectionSettings, make: MakeTerm, source: str) -> Leadership:
        """The leadership for the terms that `make` makes. Losing the lock ends the process. `source` is the component
        that events about the lock name."""
        identity = candidate_identity(b"", self.runtime.random)
        client = self.connections.client("leader-election", timeout=max(1.0, election.renew_deadline / 2))
        candidate = Candidate(identity=identity, recorder=self.events.recorder(source), once=True)
        return Leadership(name, election, make, candidate, client, self.runtime)

    def service(
        self,
        leadership: Leadership,
        failed: Callable[[Failure], object] | None,
        *,
        measured: object,
        configuration: Callable[[], Any],
        endpoints: Mapping[str, Endpoint] = {},
        resettable: bool = False,
    ) -> ServiceGroup:
        """The members of the process in start order. `failed` is called when it cannot start or continue. `measured`
        has metrics, `configuration` returns the body of /configz, and `endpoints` are served beside the usual ones.
        If `resettable`, DELETE of /metrics resets the instruments."""
        connections, events = self.connections, self.events
        settings = self.settings
        off = gates.disabled(settings.features, settings.release)
        shared = (
            leadership_instrument([leadership]),
            event_instrument({settings.name: events}),
            *build_info(settings.dialect, version_info(settings.release)),
            *enabled_features(settings.dialect, settings.release, lambda name: name not in off),
        )
        served = ServedByComponent(
            checks=health_checks(leadership.check),
            instruments=lambda: (*instruments_of((measured,)), *shared, *connections.metrics.instruments),
            configuration=configuration,
            endpoints=endpoints,
            resettable=resettable,
        )
        return ServiceGroup(
            [
                as_member("connections", stop=connections.close),
                SecurePort(self.settings, connections, self.runtime, served),
                as_member("events", stop=events.stop),
                leadership,
            ],
            failed,
            clock=self.runtime.reactor,
            plain=(OSError, ValueError, ApiError),
        )
