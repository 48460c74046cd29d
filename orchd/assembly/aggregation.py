"""API aggregation: API groups served by other API servers, and the proxy to them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from orchd.assembly.runtime import Runtime
from orchd.client.interfaces import IClient, IInformers, ResourceRef
from orchd.server.aggregation.addresses import ServiceAddresses
from orchd.server.aggregation.availability import Availability
from orchd.server.aggregation.discovery import ForeignDiscovery
from orchd.server.aggregation.foreign_servers import ForeignServers
from orchd.server.aggregation.proxy import AggregationProxy, ForwardingRules
from orchd.server.aggregation.specifications import ForeignSpecifications
from orchd.server.key_pairs import key_pair
from orchd.server.pipeline.interfaces import Request, Response
from orchd.txkit.proxy_tunnel import Dial
from orchd.txkit.services import Member, as_member


class Aggregation:
    """The availability controller of APIServices and the proxy to their backends."""

    def __init__(self, runtime: Runtime, client: IClient, informers: IInformers, dial: Dial | None) -> None:
        """`dial` connects to the backends, None directly. Raises ValueError naming the invalid flag and file."""
        chosen, reactor = runtime.settings.aggregation, runtime.reactor
        self.forwarding = AggregationProxy(
            reactor,
            ServiceAddresses(
                informers.informer(ResourceRef("", "v1", "services")),
                informers.informer(ResourceRef("", "v1", "endpoints")),
                runtime.random,
                by_endpoints=chosen.by_endpoints,
            ),
            own=key_pair("proxy-client-cert-file", chosen.cert_file, chosen.key_file, reactor),
            dial=dial,
            prober=runtime.dialect("system:{short}-aggregator"),
            rules=ForwardingRules.of(runtime.settings.release),
        )
        self.availability = Availability(
            runtime.dialect, client, informers, self.forwarding.probe, clock=reactor, wall=runtime.wall
        )
        self.groups = self.availability.registry.groups
        servers = ForeignServers(
            registry=self.availability.registry,
            informer=informers.informer(ResourceRef(runtime.dialect("apiregistration.{abbr}.io"), "v1", "apiservices")),
            download=self.forwarding.download,
            clock=reactor,
            in_thread=runtime.in_thread,
        )
        self.discovery = ForeignDiscovery(servers)
        self.specifications = ForeignSpecifications(servers)
        #: The group versions of other servers with their resources.
        self.discovered = self.discovery.versions

    def forwarder(self, group: str, version: str) -> Callable[[Request], Awaitable[Response]] | None:
        """The handler for a group and version that another server serves; None when this server serves it."""
        server = self.availability.registry.find(group, version)
        return None if server is None else partial(self.forwarding.forward, server)

    def members(self) -> list[Member]:
        return [
            as_member("availability of API services", self.availability.start, self.availability.stop),
            as_member("discovery of API services", self.discovery.start, self.discovery.stop),
            as_member("OpenAPI documents of API services", self.specifications.start, self.specifications.stop),
        ]
