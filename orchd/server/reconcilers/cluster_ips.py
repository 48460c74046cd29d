"""IPAddress objects as records of cluster IPs: written with services, and repaired.

Each address of a service has an IPAddress of its name that refers to the service. A server that stops between two
writes leaves one that has no service, and services of older releases have none: the repair finds both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from ipaddress import ip_address, ip_network
from typing import Any, Final

from twisted.internet.interfaces import IReactorTime
from zope.interface import implementer

from orchd.client.interfaces import IClient, IEventRecorder, IInformers, ResourceRef
from orchd.dialect import Dialect
from orchd.errors import ApiError
from orchd.kinds import fields
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.validate.names import parse_ip
from orchd.kinds.times import seconds_of
from orchd.server.registry.interfaces import IAddressRecords
from orchd.store.interfaces import ClaimedError
from orchd.txkit.log import Logger
from orchd.txkit.metrics.instruments import Counter
from orchd.txkit.periodic import Periodic
from orchd.txkit.queue_workers import QueueWorkers
from orchd.txkit.turns import shared_budget

_SERVICES: Final = ResourceRef("", "v1", "services")
#: Seconds between looks at everything.
_INTERVAL: Final = 180.0
#: Seconds for which an address may lack its service, and for which it may differ from it: the service is just being
#: written.
_GRACE, _WRITING = 60.0, 5.0
#: Seconds before a refused write is retried.
_PAUSE: Final = 1.0

#: Namespace and name.
Key = tuple[str, str]


def group_ref(dialect: Dialect, plural: str) -> ResourceRef:
    """A resource of the network group."""
    return ResourceRef(dialect("networking.{abbr}.io"), "v1", plural)


@implementer(IAddressRecords)
class AddressRecords:
    """Makes and removes IPAddress objects."""

    _log = Logger()

    def __init__(self, client: IClient, dialect: Dialect) -> None:
        self._client = client
        self._ref = group_ref(dialect, "ipaddresses")
        self._family_label = dialect("ipaddress.{long}.io/ip-family")
        self._manager_label = dialect("ipaddress.{long}.io/managed-by")
        self._manager = dialect("ipallocator.{abbr}.io")

    def record(self, service: Object, address: str) -> Object:
        """The IPAddress of a service."""
        return {
            "metadata": {
                "name": address,
                "labels": {self._family_label: f"IPv{ip_address(address).version}", self._manager_label: self._manager},
            },
            "spec": {
                "parentRef": {
                    "resource": "services",
                    "namespace": fields.namespace(service),
                    "name": fields.name(service),
                }
            },
        }

    def manages(self, record: Object) -> bool:
        """True for an IPAddress that was made for a service, not by a user."""
        return fields.labels(record).get(self._manager_label) == self._manager

    def is_labelled(self, record: Object) -> bool:
        """True if the labels are those of such an IPAddress."""
        family = f"IPv{ip_address(fields.name(record)).version}"
        return self.manages(record) and fields.labels(record).get(self._family_label) == family

    async def take(self, obj: Object, addresses: Iterable[str]) -> None:
        taken: list[str] = []
        for address in sorted(addresses):
            try:
                await self._client.create(self._ref, "", self.record(obj, address), need_response=False)
            except ApiError as error:
                await self.leave(taken)
                if error.reason == "AlreadyExists":
                    raise ClaimedError(address, f"/{self._ref.plural}/{address}", 0) from None
                raise
            taken.append(address)

    async def leave(self, addresses: Iterable[str]) -> None:
        for address in sorted(addresses):
            try:
                await self.remove(address)
            except ApiError as error:
                self._log.warn("the IPAddress {name} is not removed: {why}", name=address, why=error.message)

    async def remove(self, address: str) -> None:
        """Delete an IPAddress, if it exists. Raises ApiError."""
        try:
            await self._client.delete(self._ref, "", address)
        except ApiError as error:
            if error.code != 404:
                raise


class AddressRepair:
    """Makes the IPAddress objects that services lack, and removes those without a service. `recorder` gives one of the
    events group."""

    _log = Logger()

    def __init__(
        self,
        records: AddressRecords,
        informers: IInformers,
        recorder: Callable[[], IEventRecorder],
        dialect: Dialect,
        clock: IReactorTime,
        wall: Callable[[], float],
    ) -> None:
        self._records = records
        self._recorder = recorder
        self._wall = wall
        self._address_version = f"{dialect('networking.{abbr}.io')}/v1"
        self._services = informers.informer(_SERVICES)
        self._addresses = informers.informer(group_ref(dialect, "ipaddresses"))
        self._ranges = informers.informer(group_ref(dialect, "servicecidrs"))
        self._turns = shared_budget(clock)
        prefix = "apiserver_clusterip_repair_"
        self._errors = Counter(f"{prefix}ip_errors_total", "Wrong records of cluster IPs, by type.", ("type",))
        self._failed = Counter(f"{prefix}reconcile_errors_total", "Failed repairs of records of cluster IPs.")
        self.instruments = (self._errors, self._failed)
        self._work = {
            "service": QueueWorkers[Key]("service", partial(self._try, self._look_at_service), clock, at_once=5),
            "address": QueueWorkers[Key]("IPAddress", partial(self._try, self._look_at_address), clock, at_once=5),
        }
        self._loop = Periodic("repair the records of cluster IPs", self.run_once, _INTERVAL, clock, (ApiError,))

    async def run_once(self) -> None:
        """Look at every service, then at every IPAddress. Raises ApiError."""
        for informer, look in ((self._services, self._look_at_service), (self._addresses, self._look_at_address)):
            for obj in list(informer.list()):
                await self._turns.wait()
                await look((fields.namespace(obj), fields.name(obj)))

    async def start(self) -> None:
        self._services.add_listener(partial(self._changed, "service"))
        self._addresses.add_listener(partial(self._changed, "address"))
        for work in self._work.values():
            work.start()
        self._loop.start(now=False)

    async def stop(self) -> None:
        self._loop.stop()
        for work in self._work.values():
            await work.stop()

    def _changed(self, what: str, event: str, old: Object | None, new: Object | None) -> None:
        if new is not None:
            self._work[what].add((fields.namespace(new), fields.name(new)))

    async def _try(self, look: Callable[[Key], Any], key: Key) -> float | None:
        await self._turns.wait()
        try:
            seconds: float | None = await look(key)
        except ApiError as error:
            self._failed.add()
            self._log.warn("failed to repair the records of cluster IPs: {why}; retrying", why=error.message)
            return _PAUSE
        return seconds

    async def _look_at_service(self, key: Key) -> None:
        """Make or replace the records that a service lacks."""
        service = self._services.get(*key)
        for text in fields.spec(service).get("clusterIPs") or ():
            # Headless or ExternalName otherwise.
            address = parse_ip(text)
            if service is not None and address is not None:
                await self._look_at(service, str(address))

    async def _look_at(self, service: Object, address: str) -> None:
        family = f"[IPv{ip_address(address).version}]: {address}"
        if not self._is_in_range(address):
            self._errors.add("outOfRange")
            note = f"Cluster IP {family} is not within any configured Service CIDR; please recreate service"
            return self._warn(service, "ClusterIPOutOfRange", note)
        record = self._addresses.get("", address)
        if record is None:
            self._errors.add("repair")
            self._warn(service, "ClusterIPNotAllocated", f"Cluster IP {family} is not allocated; repairing")
            return await self._replace(service, address)
        parent = fields.spec(record).get("parentRef") or {}
        if not _is_service(parent):
            return await self._correct(service, address, family)
        if parent.get("namespace") != fields.namespace(service) or parent.get("name") != fields.name(service):
            other = self._services.get(parent.get("namespace") or "", parent.get("name") or "")
            if other is None:
                return await self._correct(service, address, family)
            if address in (fields.spec(other).get("clusterIPs") or ()):
                self._errors.add("duplicate")
                family_text = family.replace(": ", ":", 1)
                note = f"Cluster IP {family_text} was assigned to multiple services; please recreate service"
                self._warn(service, "ClusterIPAlreadyAllocated", note)
        if not self._records.is_labelled(record):
            await self._replace(service, address)
        return None

    async def _correct(self, service: Object, address: str, family: str) -> None:
        """Replace a record that refers to something else."""
        self._errors.add("repair")
        about = f"{fields.namespace(service)}/{fields.name(service)}"
        note = f"the ClusterIP {family} for Service {about} has a wrong reference; repairing"
        self._warn(service, "ClusterIPNotAllocated", note)
        await self._replace(service, address)

    async def _replace(self, service: Object, address: str) -> None:
        await self._records.remove(address)
        try:
            await self._records.take(service, (address,))
        except ClaimedError:
            # Another server was faster; its record is looked at like any other.
            return

    async def _look_at_address(self, key: Key) -> float | None:
        """Remove a record without a service. Returns the seconds after which it should be looked at again."""
        record = self._addresses.get(*key)
        if record is None or not self._records.manages(record):
            return None
        address, parent = fields.name(record), fields.spec(record).get("parentRef") or {}
        about = f"{parent.get('namespace', '')}/{parent.get('name', '')}"
        age = self._wall() - (seconds_of(record["metadata"]["creationTimestamp"]) or 0.0)
        if not _is_service(parent):
            reference = " ".join(parent.get(member, "") for member in ("group", "resource", "namespace", "name"))
            note = (
                f"IPAddress {address} appears to have been modified, not referencing a Service "
                f"&{{{reference}}}: cleaning up"
            )
            return await self._drop(record, "IPAddressNotAllocated", note)
        service = self._services.get(parent.get("namespace") or "", parent.get("name") or "")
        if service is None:
            if age <= _GRACE:
                return _GRACE - age
            note = f"IPAddress: {address} for Service {about} appears to have leaked: cleaning up"
            return await self._drop(record, "IPAddressNotAllocated", note)
        if address in (str(parse_ip(text)) for text in fields.spec(service).get("clusterIPs") or ()):
            return None
        is_newer = record["metadata"]["creationTimestamp"] > service["metadata"]["creationTimestamp"]
        if is_newer and age < _WRITING:
            return _WRITING
        note = f"IPAddress: {address} for Service {about} has a wrong reference; cleaning up"
        return await self._drop(record, "IPAddressWrongReference", note)

    async def _drop(self, record: Object, reason: str, note: str) -> float | None:
        about = {"apiVersion": self._address_version, "kind": "IPAddress", **record}
        self._recorder().event(about, "Warning", reason, note, action="IPAddressAllocation")
        await self._records.remove(fields.name(record))
        self._errors.add("leak")
        return None

    def _warn(self, service: Object, reason: str, note: str) -> None:
        about = {"apiVersion": "v1", "kind": "Service", **service}
        self._recorder().event(about, "Warning", reason, note, action="ClusterIPAllocation")

    def _is_in_range(self, address: str) -> bool:
        """True for a usable address of any ServiceCIDR, also of one that is not ready."""
        parsed = ip_address(address)
        for each in self._ranges.list():
            for network in map(ip_network, fields.spec(each).get("cidrs") or ()):
                unusable = {network.network_address, *([network.broadcast_address] if network.version == 4 else ())}
                if parsed in network and parsed not in unusable:
                    return True
        return False


def _is_service(parent: Object) -> bool:
    return not parent.get("group") and parent.get("resource") == "services"
