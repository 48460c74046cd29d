"""Addresses of the services of aggregated API servers."""

from __future__ import annotations

from typing import Any, Protocol

from orchd.client.interfaces import IInformer
from orchd.kinds import fields
from orchd.kinds.jsonvalues import Object
from orchd.server.aggregation.api_services import AggregatedService
from orchd.server.pipeline.verbs.subresources.upstream import UnreachableError


class Chooser(Protocol):
    """Chooses a random element."""

    def choice(self, options: list[Any]) -> Any: ...


class ServiceAddresses:
    """Resolves services: with `by_endpoints` to one of their endpoints, chosen by `random`, else to their cluster
    IP."""

    def __init__(self, services: IInformer, endpoints: IInformer, random: Chooser, *, by_endpoints: bool) -> None:
        self._services = services
        self._endpoints = endpoints
        self._random = random
        self._by_endpoints = by_endpoints

    def find(self, server: AggregatedService) -> tuple[str, int]:
        """Host and port. Raises UnreachableError."""
        service = self._services.get(server.namespace, server.service)
        if service is None:
            raise UnreachableError(f'service "{server.service}" not found')
        spec = fields.spec(service)
        if spec.get("type") == "ExternalName":
            return spec.get("externalName", ""), server.port
        port = next((p for p in spec.get("ports") or () if p.get("port") == server.port), None)
        if port is None:
            raise UnreachableError(f'no service port {server.port} found for service "{server.service}"')
        if not self._by_endpoints:
            if spec.get("clusterIP") in (None, "", "None"):
                raise UnreachableError(f'cannot route to service with ClusterIP "{spec.get("clusterIP", "")}"')
            return spec["clusterIP"], server.port
        addresses = list(_ready(self._endpoints.get(server.namespace, server.service), port.get("name") or ""))
        if not addresses:
            raise UnreachableError(f'no endpoints available for service "{server.service}"')
        chosen: tuple[str, int] = self._random.choice(addresses)
        return chosen


def _ready(endpoints: Object | None, port_name: str) -> list[tuple[str, int]]:
    return [
        (address["ip"], port["port"])
        for subset in (endpoints or {}).get("subsets") or ()
        for port in subset.get("ports") or ()
        if (port.get("name") or "") == port_name
        for address in subset.get("addresses") or ()
    ]
