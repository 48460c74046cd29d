"""The simulated nodes of one server, which run on the elected server: a client of the server's own pipeline."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import cast

from orchd.assembly.api import Subsystems
from orchd.assembly.client_access import ClientAccess
from orchd.assembly.leadership import Leadership, candidate_identity
from orchd.assembly.runtime import Runtime
from orchd.client.fenced import FencedClient
from orchd.client.interfaces import IClient, IEventRecorder
from orchd.client.leader_election import Candidate
from orchd.client.scoped_informers import ScopedInformers
from orchd.controllers.metrics import ControllerMetrics
from orchd.controllers.objects import PODS
from orchd.kinds.users import AUTHENTICATED_GROUP, MASTERS_GROUP, User
from orchd.simulation.pod_events import COMPONENT, PodEvents
from orchd.simulation.settings import SimulationSettings, simulation_settings
from orchd.simulation.simulator import Simulator
from orchd.txkit.compute_thread import ComputeThread
from orchd.txkit.metrics.instruments import Instrument, ObservedCounter, ObservedGauge
from orchd.txkit.services import Member

#: Name of the lock, of the user and of the agent.
NAME = "orchd-simulated-nodes"


class SimulationTerm:
    """The simulation for as long as this process leads."""

    def __init__(self, simulator: Simulator, scope: ScopedInformers, events: PodEvents) -> None:
        self.simulator = simulator
        self._events = events
        self._scope = scope

    async def start(self) -> None:
        await self.simulator.start()
        self._scope.informer(PODS).add_listener(self._events.change)

    async def stop(self) -> None:
        try:
            await self.simulator.stop()
        finally:
            self._scope.close()


class Simulation:
    """Simulated nodes as the flags want them. It acts for every node as one user, a member of the masters group."""

    def __init__(
        self, runtime: Runtime, access: ClientAccess, subsystems: Subsystems, recorder: Callable[[str], IEventRecorder]
    ) -> None:
        """`recorder(component)` records Events. Raises ValueError naming the flag at fault."""
        self._recorder = recorder
        self._settings: SimulationSettings = simulation_settings(runtime.settings.flags)
        self._runtime = runtime
        self._informers = subsystems.objects.informers
        user = User(name=f"system:{NAME}", groups=(MASTERS_GROUP, AUTHENTICATED_GROUP))
        agent = f"{NAME}/{runtime.settings.release.version}"
        self._client: IClient = access.client(user, agent)
        self.leadership: Leadership | None = None
        self.instruments: tuple[Instrument, ...] = ()
        if self._settings.enabled:
            self.instruments = self._instruments()
            self.leadership = Leadership(
                "simulated nodes",
                replace(runtime.settings.controllers.election, name=NAME),
                self._make,
                Candidate(
                    identity=candidate_identity(subsystems.candidate_secret, runtime.random), recorder=recorder(NAME)
                ),
                access.client(user, agent, urgent=True),
                runtime,
            )

    def members(self) -> list[Member]:
        return [] if self.leadership is None else [cast(Member, self.leadership)]

    @property
    def simulator(self) -> Simulator | None:
        """The simulation that runs; None while another process leads."""
        term = None if self.leadership is None else self.leadership.term
        return term.simulator if isinstance(term, SimulationTerm) else None

    def _instruments(self) -> tuple[Instrument, ...]:
        return (
            ObservedGauge("orchd_simulated_nodes", "Simulated nodes of this process.", self._nodes),
            ObservedCounter(
                "orchd_simulated_lease_renewals_total", "Lease renewals of simulated nodes.", self._renewals
            ),
            ObservedGauge(
                "orchd_simulation_keys",
                "Simulated nodes and pods that were processed.",
                lambda: {(name,): float(each.worked) for name, each in self._counts()},
                ("kind",),
            ),
        )

    def _nodes(self) -> float:
        return 0.0 if self.simulator is None else float(self.simulator.nodes)

    def _renewals(self) -> float:
        return 0.0 if self.simulator is None else float(self.simulator.renewals)

    def _counts(self) -> Iterator[tuple[str, ControllerMetrics]]:
        return iter(()) if self.simulator is None else self.simulator.counts()

    def _make(self, may_write: Callable[[], bool]) -> SimulationTerm:
        scope = ScopedInformers(self._informers)
        simulator = Simulator(
            self._settings,
            client=cast(IClient, FencedClient(self._client, may_write)),
            informers=scope,
            dialect=self._runtime.dialect,
            clock=self._runtime.reactor,
            wall=self._runtime.wall,
            random=self._runtime.random,
        )
        simulator.compute = ComputeThread(self._runtime.in_thread)
        return SimulationTerm(simulator, scope, PodEvents(self._recorder(COMPONENT), simulator.is_simulated))
