"""Aggregation of one server, from its settings: which groups lead elsewhere, and how requests get there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from random import Random
from typing import Any

from orchd.assembly.keypairs import KeyPair
from orchd.client.interfaces import IClient, IInformers, ResourceRef
from orchd.config.settings import Settings
from orchd.server.aggregation.availability import Availability
from orchd.server.aggregation.proxy import AggregationProxy
from orchd.server.pipeline.interfaces import Request, Response


class Aggregation:
    """Availability of the other servers, and the way to them."""

    def __init__(
        self,
        settings: Settings,
        client: IClient,
        informers: IInformers,
        *,
        reactor: Any,
        wall: Callable[[], float],
        random: Random,
    ) -> None:
        """Raises ValueError naming the flag and the file that is wrong."""
        chosen = settings.aggregation
        self.forwarding = AggregationProxy(
            reactor,
            informers.informer(ResourceRef("", "v1", "services")),
            informers.informer(ResourceRef("", "v1", "endpoints")),
            own=KeyPair("proxy-client-cert-file", chosen.cert_file, chosen.key_file, reactor),
            by_endpoints=chosen.by_endpoints,
            random=random,
        )
        self.availability = Availability(
            settings.dialect, client, informers, self.forwarding.probe, clock=reactor, wall=wall
        )
        self.groups = self.availability.registry.groups

    def elsewhere(self, group: str, version: str) -> Callable[[Request], Awaitable[Response]] | None:
        """What answers requests for a group and version of another server."""
        found = self.availability.registry.find(group, version)
        return None if found is None else partial(self.forwarding.forward, found)
