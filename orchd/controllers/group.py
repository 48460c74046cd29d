"""The controllers of one process, started and stopped together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from twisted.internet.task import deferLater

from orchd.controllers.dropins import drop_ins
from orchd.controllers.interfaces import Environment, IController
from orchd.controllers.metrics import ControllerMetrics
from orchd.controllers.table import CONTROLLERS
from orchd.txkit.background import Background


class ControllerGroup:
    """The controllers of `names`: built-in ones in the order of the table, then drop-ins by name. The constructor requests
    the informers of all controllers."""

    def __init__(self, names: Iterable[str], env: Environment) -> None:
        wanted = set(names)
        self._env = env
        self._interval = env.settings.controller_start_interval
        self._late = Background()
        self.controllers: tuple[IController, ...] = tuple(
            factory(env) for name, factory in (*CONTROLLERS, *drop_ins().items()) if name in wanted
        )
        self._started: list[IController] = []

    async def start(self) -> None:
        """Start all controllers; raises the error of the first that fails. With a start interval, returns when the first one
        has started: the others follow, and one that fails to start is logged."""
        first = 1 if self._interval else len(self.controllers)
        for controller in self.controllers[:first]:
            await self._begin(controller)
        self._late.add(self._follow(self.controllers[first:]), "start of the controllers")

    async def _follow(self, controllers: Iterable[IController]) -> None:
        for controller in controllers:
            await deferLater(self._env.clock, self._interval * (1 + self._env.random.random()))
            await self._begin(controller)

    async def _begin(self, controller: IController) -> None:
        self._started.append(controller)
        await controller.start()

    async def stop(self) -> None:
        """Stop the started controllers in reverse order."""
        await self._late.stop()
        while self._started:
            await self._started.pop().stop()

    def counts(self) -> Iterator[tuple[str, ControllerMetrics]]:
        """Counters of each controller, for metrics."""
        for controller in self.controllers:
            yield controller.name, controller.counts
