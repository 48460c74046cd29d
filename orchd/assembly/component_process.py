"""What the processes of the controllers and of the scheduler share: clients, events, leader election and their port."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from random import SystemRandom
from socket import gethostname
from typing import Any

from twisted.python.failure import Failure

from orchd.assembly.component import Connections, SecurePort, ServedByComponent, health_checks
from orchd.assembly.leadership import Leadership, MakeTerm, candidate_identity
from orchd.assembly.metrics import client_metrics, component_metrics
from orchd.assembly.runtime import ProcessRuntime
from orchd.client.events import EventBroadcaster
from orchd.client.leader_election import Candidate
from orchd.config.component import ComponentSettings
from orchd.config.leader_election import ElectionSettings
from orchd.errors import ApiError
from orchd.server.pipeline.endpoints.metrics import Source
from orchd.server.pipeline.endpoints.routes import Endpoint
from orchd.txkit.services import ServiceGroup, as_member


class ComponentProcess:
    """`environment` is the process environment, `release` ends the user agent. Raises OSError and ValueError for unusable files and
    configurations."""

    def __init__(
        self,
        settings: ComponentSettings,
        reactor: Any,
        *,
        wall: Callable[[], float],
        environment: Mapping[str, str],
        release: str,
    ) -> None:
        dialect = settings.dialect
        self.settings = settings
        self.runtime = ProcessRuntime(dialect=dialect, reactor=reactor, wall=wall, random=SystemRandom())
        agent = f"{dialect('{short}-')}{settings.name}/{release}"
        self.connections = Connections(settings, self.runtime, agent=agent, environment=environment)
        self.events = EventBroadcaster(
            self.connections.client(), wall, clock=reactor, random=self.runtime.random, dialect=dialect, host=gethostname()
        )

    def compete(self, name: str, election: ElectionSettings, make: MakeTerm, source: str) -> Leadership:
        """The leadership for the terms that `make` makes. Losing the lock ends the process. `source` is the component that events about the
        lock name."""
        identity = candidate_identity(b"", self.runtime.random)
        client = self.connections.client("leader-election", timeout=max(1.0, election.renew_deadline / 2))
        candidate = Candidate(identity=identity, recorder=self.events.recorder(source), once=True)
        return Leadership(name, election, make, candidate, client, self.runtime)

    def service(
        self,
        leadership: Leadership,
        failed: Callable[[Failure], object] | None,
        *,
        sources: Iterable[Source],
        configuration: Callable[[], Any],
        endpoints: Mapping[str, Endpoint] = {},
    ) -> ServiceGroup:
        """The members of the process in start order. `failed` is called when it cannot start or continue. `sources` are metrics,
        `configuration` returns the body of /configz, and `endpoints` are served beside the usual ones."""
        connections, events = self.connections, self.events
        served = ServedByComponent(
            checks=health_checks(leadership.check),
            sources=[
                *sources,
                *component_metrics([leadership], {self.settings.name: events}),
                client_metrics(connections.counts),
            ],
            configuration=configuration,
            endpoints=endpoints,
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
