"""Ranges and records of cluster IPs as objects, where they are on: ServiceCIDR and IPAddress."""

from __future__ import annotations

from functools import partial
from socket import gethostname

from orchd.assembly.runtime import Runtime
from orchd.client.events import EventBroadcaster
from orchd.client.interfaces import IClient, IInformers
from orchd.kinds.catalog import Catalog
from orchd.server.reconcilers.cluster_ips import AddressRecords, AddressRepair, group_ref
from orchd.server.reconcilers.service_range import CONTROLLER, DefaultRange
from orchd.txkit.services import Member, as_member

_PLURALS = ("servicecidrs", "ipaddresses")


class ClusterIps:
    """The default range and the repair of the records of a server."""

    def __init__(self, runtime: Runtime, client: IClient, informers: IInformers) -> None:
        dialect, clock, wall = runtime.dialect, runtime.reactor, runtime.wall
        self._events = EventBroadcaster(
            client, wall, clock=clock, random=runtime.random, dialect=dialect, host=gethostname()
        )
        self.records = AddressRecords(client, dialect)
        ranges = [str(network) for network in runtime.objects.service_cidrs]
        self._default = DefaultRange(client, self._events.recorder(dialect(CONTROLLER)), dialect, ranges, clock, wall)
        # Made with the first event: it has timers.
        recorder = partial(self._events.series_recorder, "ipallocator-repair-controller")
        self._repair = AddressRepair(self.records, informers, recorder, dialect, clock, wall)
        self.instruments = self._repair.instruments

    async def make_range(self) -> None:
        """Make the default range, which services need. Raises ApiError."""
        await self._default.ensure()

    async def repair(self) -> None:
        """Record what services have, as after an upgrade. Raises ApiError."""
        await self._repair.run_once()

    def members(self) -> list[Member]:
        return [
            as_member("events of cluster IPs", stop=self._events.stop),
            as_member("default range of cluster IPs", self._default.start, self._default.stop),
            as_member("records of cluster IPs", self._repair.start, self._repair.stop),
        ]


def cluster_ips(runtime: Runtime, client: IClient, informers: IInformers, catalog: Catalog) -> ClusterIps | None:
    """None if ranges are those of the flag alone: the gate is off, or a kind is not served."""
    refs = [group_ref(runtime.dialect, plural) for plural in _PLURALS]
    served = all(catalog.resource(ref.group, ref.version, ref.plural) for ref in refs)
    if not served or not runtime.objects.feature("MultiCIDRServiceAllocator"):
        return None
    return ClusterIps(runtime, client, informers)
