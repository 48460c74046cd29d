"""Controllers that need a cloud provider: disabled, with one log line each, since no cloud provider is supported."""

from __future__ import annotations

from typing import ClassVar

from zope.interface import implementer

from orchd.controllers.interfaces import Environment, IController
from orchd.controllers.metrics import ControllerMetrics
from orchd.txkit.log import Logger


@implementer(IController)
class _CloudController:
    """Logs that it does nothing."""

    log = Logger()
    name: ClassVar[str]
    #: Effect of the missing cloud provider, for the log.
    consequence: ClassVar[str]

    def __init__(self, env: Environment) -> None:
        self.counts = ControllerMetrics()

    async def start(self) -> None:
        self.log.info(
            "controller {name} is inactive without a cloud provider: {what}", name=self.name, what=self.consequence
        )

    async def stop(self) -> None:
        """No-op: `start` starts no background work."""


class ServiceController(_CloudController):
    """Load balancers of Services."""

    name = "service"
    consequence = "services of type LoadBalancer get no load balancer"


class RouteController(_CloudController):
    """Routes between nodes."""

    name = "route"
    consequence = "no routes are configured for the pod ranges of nodes"
