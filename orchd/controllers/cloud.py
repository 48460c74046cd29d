"""Controllers that need a cloud: there is none, which is said once."""

from __future__ import annotations

from typing import ClassVar

from zope.interface import implementer

from orchd.controllers.interfaces import Environment, IController
from orchd.controllers.metrics import ControllerMetrics
from orchd.txkit.log import Logger


@implementer(IController)
class _WithoutCloud:
    log = Logger()
    name: ClassVar[str]
    #: What follows from there being no cloud.
    consequence: ClassVar[str]

    def __init__(self, env: Environment) -> None:
        self.counts = ControllerMetrics()

    async def start(self) -> None:
        self.log.info("controller {name} has no cloud to work with: {what}", name=self.name, what=self.consequence)

    async def stop(self) -> None:
        """Nothing was begun."""


class ServiceController(_WithoutCloud):
    """Load balancers of Services."""

    name = "service"
    consequence = "services of type LoadBalancer get no load balancer"


class RouteController(_WithoutCloud):
    """Routes between nodes."""

    name = "route"
    consequence = "no routes are configured for the pod ranges of nodes"
