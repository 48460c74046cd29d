"""`Availability`: sets the Available condition of APIServices from their services, endpoints and probes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import LoopingCall

from orchd.client.interfaces import IClient, IInformers, ResourceRef
from orchd.dialect import Dialect
from orchd.kinds import fields
from orchd.kinds.conditions import find_condition, with_condition
from orchd.kinds.jsonvalues import Object
from orchd.kinds.times import timestamp
from orchd.server.aggregation.api_services import AggregatedService, AggregatedServices, registered_of
from orchd.server.retrying_worker import retrying_worker
from orchd.txkit.metrics.instruments import Counter, Instrument, ObservedGauge

#: Seconds between probes of available servers.
_EVERY = 30.0
_AVAILABLE: Final = "Available"
#: (status, reason, message)
Finding = tuple[str, str, str]
#: Probes a server: the reason why it is unavailable, "" when it is available.
Probe = Callable[[AggregatedService], Awaitable[str]]
_PASSED: Final = ("True", "Passed", "all checks passed")


def finding(server: AggregatedService | None, service: Object | None, endpoints: Object | None) -> Finding | None:
    """The condition of an APIService as far as it is known without a probe; None if a probe is needed. `server` is None
    for a local one. `service` is the referenced Service, `endpoints` are its Endpoints."""
    if server is None:
        return "True", "Local", "Local APIServices are always available"
    quoted = f'service/{server.service} in "{server.namespace}"'
    if service is None:
        return "False", "ServiceNotFound", f"{quoted} is not present"
    described = fields.spec(service)
    if described.get("type") == "ClusterIP":
        listening = next((p for p in described.get("ports") or () if p.get("port") == server.port), None)
        if listening is None:
            return "False", "ServicePortError", f"{quoted} is not listening on port {server.port}"
        if endpoints is None:
            return "False", "EndpointsNotFound", f"cannot find endpoints for {quoted}"
        port_name = listening.get("name") or ""
        if not _ready(endpoints, port_name):
            why = f'endpoints for {quoted} have no addresses with port name "{port_name}"'
            return "False", "MissingEndpoints", why
    return None


def _ready(endpoints: Object, port_name: str) -> bool:
    return any(
        subset.get("addresses") and any((port.get("name") or "") == port_name for port in subset.get("ports") or ())
        for subset in endpoints.get("subsets") or ()
    )


def with_availability(status: Object, finding: Finding, *, now: str) -> Object:
    """`status` with the condition; lastTransitionTime changes only with its status."""
    state, reason, message = finding
    before = find_condition(status, _AVAILABLE) or {}
    fresh = {
        **before, "type": _AVAILABLE, "status": state, "lastTransitionTime": now, "reason": reason, "message": message,
    }  # fmt: skip
    return {**status, "conditions": with_condition(status.get("conditions") or (), fresh)}


def _state(status: Object) -> str:
    """The status of the condition, "" without one."""
    return next((c.get("status", "") for c in status.get("conditions") or () if c.get("type") == _AVAILABLE), "")


class Availability:
    """Availability controller: processes changed APIServices, services and endpoints one at a time, and periodically
    probes servers (`probe`). `wall` returns epoch seconds."""

    def __init__(
        self,
        dialect: Dialect,
        client: IClient,
        informers: IInformers,
        probe: Probe,
        *,
        clock: IReactorTime,
        wall: Callable[[], float],
    ) -> None:
        self._ref = ResourceRef(dialect("apiregistration.{abbr}.io"), "v1", "apiservices")
        self._client = client
        self._probe = probe
        self._wall = wall
        self._objects = informers.informer(self._ref)
        self._services = informers.informer(ResourceRef("", "v1", "services"))
        self._endpoints = informers.informer(ResourceRef("", "v1", "endpoints"))
        #: (namespace, name) of a service -> names of the APIServices that reference it.
        self._behind: dict[tuple[str, str], set[str]] = {}
        self._unavailable = Counter(
            "aggregator_unavailable_apiservice_total",
            "Transitions of APIServices to unavailable, by reason.",
            ("name", "reason"),
        )
        #: 1 for each APIService that is unavailable, 0 for others, by name. Kept: metrics are read every second.
        self._down: dict[tuple[str, ...], float] = {}
        #: The reasons in the counter, by name.
        self._reasons: dict[str, set[str]] = {}
        down = "1 for each APIService that is unavailable, 0 for others."
        #: Metrics.
        self.instruments: Sequence[Instrument] = (
            ObservedGauge("aggregator_unavailable_apiservice", down, lambda: self._down, ("name",)),
            self._unavailable,
        )
        self._work = retrying_worker("APIService", self._reconcile, clock)
        self._polling = LoopingCall(self._add_all)
        self._polling.clock = clock
        #: Names of aggregated APIServices.
        self.registry = AggregatedServices(self._objects, self._changed)
        for informer in (self._services, self._endpoints):
            informer.add_listener(self._behind_changed)

    async def start(self) -> None:
        self._work.start()
        self._polling.start(_EVERY, now=False)

    async def stop(self) -> None:
        if self._polling.running:
            self._polling.stop()
        await self._work.stop()

    # -- events

    def _changed(self, old: Object | None, new: Object | None) -> None:
        for obj, keep in ((old, False), (new, True)):
            server = None if obj is None else registered_of(obj)
            if server is None:
                continue
            names = self._behind.setdefault((server.namespace, server.service), set())
            names.discard(server.name)
            if keep:
                names.add(server.name)
            if not names:
                del self._behind[server.namespace, server.service]
        if new is not None:
            name = new["metadata"]["name"]
            self._down[name,] = float(_state(fields.status(new)) == "False")
            self._work.add(name)
        elif old is not None:
            name = old["metadata"]["name"]
            self._down.pop((name,), None)
            # Names of deleted APIServices are forgotten: clients choose them.
            for reason in self._reasons.pop(name, ()):
                self._unavailable.values.pop((name, reason), None)

    def _behind_changed(self, kind: str, old: Object | None, new: Object | None) -> None:
        metadata = (new or old or {})["metadata"]
        for name in self._behind.get((metadata.get("namespace", ""), metadata["name"]), ()):
            self._work.add(name)

    def _add_all(self) -> None:
        """Queue every aggregated APIService."""
        for server in self.registry:
            self._work.add(server.name)

    # -- processing

    async def _reconcile(self, name: str) -> None:
        """Write the condition of an APIService if it changed."""
        obj = self._objects.get("", name)
        if obj is None:
            return
        server = registered_of(obj)
        availability = finding(server, *self._service_and_endpoints(server))
        if availability is None:
            assert server is not None
            why = await self._probe(server)
            availability = ("False", "FailedDiscoveryCheck", why) if why else _PASSED
        status = fields.status(obj)
        updated = with_availability(status, availability, now=timestamp(self._wall()))
        if updated != status:
            if availability[0] == "False" and _state(status) != "False":
                self._unavailable.add(name, availability[1])
                self._reasons.setdefault(name, set()).add(availability[1])
            changed: dict[str, Any] = {**obj, "status": updated}
            await self._client.update(self._ref, "", name, changed, subresource="status", need_response=False)

    def _service_and_endpoints(self, server: AggregatedService | None) -> tuple[Object | None, Object | None]:
        if server is None:
            return None, None
        key = server.namespace, server.service
        return self._services.get(*key), self._endpoints.get(*key)
