"""Background components of a server: controllers, scheduler, simulated nodes, certificate renewal. All but the last are
clients of the server's own pipeline."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING

from orchd.assembly.api import Api, Subsystems
from orchd.assembly.certificates import Certificates
from orchd.assembly.client_access import ClientAccess
from orchd.assembly.controllers import Controllers
from orchd.assembly.leadership import leadership_instrument
from orchd.assembly.runtime import EXPLAIN, Runtime
from orchd.assembly.simulation import Simulation
from orchd.client.events import event_instrument
from orchd.txkit.metrics.instruments import Instrument, instruments_of
from orchd.txkit.services import Member

if TYPE_CHECKING:
    from orchd.assembly.scheduler import LocalScheduler


class BackgroundComponents:
    """`scheduler` is None with --scheduler=false."""

    def __init__(
        self,
        runtime: Runtime,
        access: ClientAccess,
        subsystems: Subsystems,
        api: Api,
        renew_files: Callable[[], Awaitable[object]],
    ) -> None:
        """`renew_files` renews the certificates that are due. Raises ValueError naming the flag at fault."""
        self._runtime = runtime
        self.controllers = Controllers(runtime, access, subsystems, api.components)
        recorder = self.controllers.broadcaster.recorder
        self.certificates = Certificates(runtime, subsystems.files.certificates, recorder("orchd"), renew_files)
        self.simulation = Simulation(runtime, access, subsystems, recorder)
        self.scheduler: LocalScheduler | None = None
        if runtime.settings.scheduler.enabled:
            self.scheduler = _scheduler_type()(runtime, access, subsystems, api.components)
            api.endpoints[EXPLAIN] = self.scheduler.explain
        self._by_component = self._component_instruments()

    def members(self) -> list[Member]:
        """Members in start order."""
        return [
            self.controllers.events(),
            self.certificates.member(),
            self.controllers.member(),
            *self.simulation.members(),
            *([] if self.scheduler is None else self.scheduler.members()),
        ]

    @property
    def instruments(self) -> Iterator[Instrument]:
        """The metrics of all components."""
        yield from instruments_of((self.controllers, self.certificates, self.simulation, self.scheduler))
        yield from self._by_component

    @property
    def ended_terms(self) -> int:
        """Number of terms that have ended because a lock was lost."""
        components = self.controllers, self.simulation, self.scheduler
        return sum(each.leadership.ended for each in components if each is not None and each.leadership is not None)

    def _component_instruments(self) -> tuple[Instrument, ...]:
        leaderships, events = [], {}
        if self._runtime.settings.controllers.names:
            leaderships.append(self.controllers.leadership)
            events["controller-manager"] = self.controllers.broadcaster
        if self.scheduler is not None:
            leaderships.append(self.scheduler.leadership)
            events["scheduler"] = self.scheduler.broadcaster
        return leadership_instrument(leaderships), event_instrument(events)


def _scheduler_type() -> type[LocalScheduler]:
    """Imported only for a server with a scheduler: others need no numpy."""
    try:
        from orchd.assembly.scheduler import LocalScheduler
    except ModuleNotFoundError as error:
        if error.name != "numpy":
            raise
        raise ValueError(
            "--scheduler needs numpy, which is not installed: install orchd[scheduler], or start with --scheduler=false"
        ) from None
    return LocalScheduler
