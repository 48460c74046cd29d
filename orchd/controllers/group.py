"""The controllers of one process as one thing to start and stop."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from orchd.controllers.dropins import drop_ins
from orchd.controllers.interfaces import Environment, IController
from orchd.controllers.metrics import ControllerMetrics
from orchd.controllers.table import CONTROLLERS


class ControllerGroup:
    """The controllers of `names`: built-in ones in the order of the table, then drop-ins by name. Making the group asks the
    informers for all that is read."""

    def __init__(self, names: Iterable[str], env: Environment) -> None:
        wanted = set(names)
        self.controllers: tuple[IController, ...] = tuple(
            factory(env) for name, factory in (*CONTROLLERS, *drop_ins().items()) if name in wanted
        )
        self._started: list[IController] = []

    async def start(self) -> None:
        """Start all; raises what the first failing one raised."""
        for controller in self.controllers:
            self._started.append(controller)
            await controller.start()

    async def stop(self) -> None:
        """Stop those that were started, the last one first."""
        while self._started:
            await self._started.pop().stop()

    def counts(self) -> Iterator[tuple[str, ControllerMetrics]]:
        """Each controller's numbers, for metrics."""
        for controller in self.controllers:
            yield controller.name, controller.counts
