"""The controllers of one process, started and stopped together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Final

from twisted.internet.defer import FirstError, gatherResults
from twisted.internet.task import deferLater

from orchd.client.interfaces import ResourceRef
from orchd.controllers.dropins import drop_ins
from orchd.controllers.interfaces import ControllerRow, Environment, IController
from orchd.controllers.metrics import ControllerMetrics, controller_instruments
from orchd.controllers.table import CONTROLLERS
from orchd.txkit.background import Background
from orchd.txkit.coroutines import start
from orchd.txkit.log import Logger
from orchd.txkit.metrics.instruments import Instrument, ObservedGauge, instruments_of

#: The first release that counts running controllers.
_RUNNING_SINCE: Final = "1.26"


class ControllerGroup:
    """The controllers of `names`: built-in ones in the order of the table, then drop-ins by name. The constructor makes
    them, so that all informers are requested. A controller of a resource that is not `served` is left out; the log
    names both."""

    log = Logger()

    def __init__(
        self, names: Iterable[str], env: Environment, *, served: Callable[[ResourceRef], bool] = lambda ref: True
    ) -> None:
        enabled = set(names)
        self._env = env
        self._served = served
        self._interval = env.settings.controller_start_interval
        self._late = Background()
        rows = [
            row
            for row in (*CONTROLLERS, *drop_ins())
            if row.name in enabled and env.release.includes(row.since, row.until)
        ]
        self.controllers: tuple[IController, ...] = tuple(row.make(env) for row in rows if self._can_run(row))
        self._started: list[IController] = []
        self._by_controller = controller_instruments(self.counts)

    def _can_run(self, row: ControllerRow) -> bool:
        """True if all resources of a controller are served; logs the first that is not."""
        for each in row.resources:
            ref = replace(each, group=self._env.dialect(each.group))
            if not self._served(ref):
                resource = f"{ref.plural} in {ref.group}/{ref.version}".replace(" in /", " in ")
                self.log.error(
                    "controller {name} is disabled: the server does not serve {resource}",
                    name=row.name,
                    resource=resource,
                )
                return False
        return True

    async def start(self) -> None:
        """Start all controllers at once, so that one that waits for its informers delays no other; raises the first
        error. With a start interval, returns when the first one has started: the others follow, and one that fails to
        start is logged."""
        first = 1 if self._interval else len(self.controllers)
        starting = [start(self._begin(controller)) for controller in self.controllers[:first]]
        try:
            await gatherResults(starting, consumeErrors=True)
        except FirstError as error:
            for each in starting:
                each.cancel()
            error.subFailure.raiseException()
        self._late.add(self._follow(self.controllers[first:]), "start of the controllers")

    async def _follow(self, controllers: Iterable[IController]) -> None:
        for controller in controllers:
            await deferLater(self._env.clock, self._interval * (1 + self._env.random.random()))
            self._late.add(self._begin(controller), f"start of controller {controller.name}")

    async def _begin(self, controller: IController) -> None:
        self._started.append(controller)
        await controller.start()

    async def stop(self) -> None:
        """Stop the started controllers in reverse order."""
        await self._late.stop()
        while self._started:
            await self._started.pop().stop()

    @property
    def instruments(self) -> Iterator[Instrument]:
        """Metrics of each controller, and by controller."""
        yield from instruments_of(self.controllers)
        yield from self._by_controller
        if self._env.release.includes(_RUNNING_SINCE):
            manager = self._env.dialect("{short}-controller-manager")
            yield ObservedGauge(
                "running_managed_controllers",
                "1 for each controller that runs.",
                lambda: {(manager, each.name): 1.0 for each in self._started},
                ("manager", "name"),
            )

    def counts(self) -> Iterator[tuple[str, ControllerMetrics]]:
        """Counters of each controller."""
        for controller in self.controllers:
            yield controller.name, controller.counts
