"""Services: cluster IPs, IP families and node ports are allocated before validation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from random import Random
from typing import Any, Final

from orchd import errors
from orchd.errors import ApiError, Cause
from orchd.kinds.catalog import Catalog, Resource
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.objects.validate.cluster_addresses import parent_reference
from orchd.kinds.objects.validate.core.services import address_fields, needs_health_check
from orchd.kinds.objects.validate.later_warnings import service_status
from orchd.kinds.objects.validate.names import parse_ip
from orchd.kinds.objects.validate.report import Report
from orchd.server.registry.interfaces import Context, IAddressRecords
from orchd.server.registry.ranges import (
    AddressRange,
    AllocatedError,
    DryRunNumbers,
    ExhaustedError,
    NumberRange,
    OutOfRangeError,
    StaticPart,
)
from orchd.server.registry.strategies import servicefields as fields
from orchd.server.registry.strategies.allocation_metrics import AllocationMetrics
from orchd.server.registry.strategies.base import Strategy, nothing_taken
from orchd.server.registry.strategies.cluster_ips import IClusterIps
from orchd.server.registry.strategies.service_allocations import ServiceAllocations, addresses_of, ports_of
from orchd.txkit.compute_thread import ComputeThread

Numbers = NumberRange | DryRunNumbers
#: The node ports that are left to requests, by release.
_STATIC_PORTS: Final = (("", StaticPart()), ("1.28", StaticPart(share=32, most=128)))


def _no_warnings(obj: Object, settings: ObjectSettings) -> Sequence[str]:
    return ()


#: Warnings of a written status, from a release on.
_OF_STATUS: Final[tuple[tuple[str, Callable[[Object, ObjectSettings], Sequence[str]]], ...]] = (
    ("", _no_warnings),
    ("1.33", service_status),
)


class ServiceStrategy(Strategy):
    """Uses the address and port ranges of one server. With `records` addresses are recorded as objects, otherwise by
    claims in the store."""

    def __init__(
        self,
        resource: Resource,
        catalog: Catalog,
        settings: ObjectSettings,
        *,
        services: ServiceAllocations,
        ips: IClusterIps,
        random: Random,
        records: IAddressRecords | None = None,
    ) -> None:
        super().__init__(resource, catalog, settings)
        #: Validates large services away from the reactor.
        self.compute = ComputeThread()
        self._services = services
        self._ips = ips
        self.records = records
        self._families = [f"IPv{network.version}" for network in settings.service_cidrs]
        self._readable = settings.release.choose(fields.READABLE)
        low, high = settings.node_ports
        static = settings.release.choose(_STATIC_PORTS).of(high - low + 1)
        self.ports = NumberRange(low, high, services.ports, random, static)
        self._metrics = AllocationMetrics(settings.dialect, settings.release, self._spaces, self.ports)
        self.instruments = self._metrics.instruments

    def warnings(self, context: Context, obj: Object, old: Object | None) -> Sequence[str]:
        if context.subresource == "status":
            return self.settings.release.choose(_OF_STATUS)(obj, self.settings)
        return super().warnings(context, obj, old)

    def _spaces(self) -> Iterator[AddressRange]:
        return (space for family in self._families for space in self._ips.spaces(family))

    async def allocate(self, context: Context, obj: Object, old: Object | None) -> tuple[Object, Callable[[], None]]:
        if context.subresource:
            return obj, nothing_taken
        await self._services.fresh()
        await self._ips.fresh()
        metadata = obj.get("metadata") or {}
        name = metadata.get("name", "")
        spec = dict(obj.get("spec") or {})
        before: Mapping[str, Any] = (old or {}).get("spec") or {}
        if old is not None:
            spec = fields.carried_over(spec, before)
        spec = fields.normalize(spec, None if old is None else before)
        releases: list[Callable[[], None]] = []

        def release() -> None:
            for each in releases:
                each()

        try:
            if spec.get("type") != "ExternalName" and not (old is not None and fields.stays_preferred(spec, before)):
                spec = await self.compute(context.size, self._with_families, name, spec, before)
                owner = name or metadata.get("generateName", "")
                self._addresses(name, owner, spec, before, releases, dry_run=context.dry_run)
            ports = DryRunNumbers(self.ports) if context.dry_run else self.ports
            self._node_ports(name, spec, before, releases, ports)
            self._health_check(spec, before, releases, ports)
        except Exception:
            # Release reservations on any error: the write fails.
            release()
            raise
        return {**obj, "spec": spec}, release

    def prepare_create(self, context: Context, obj: Object) -> Object:
        obj = super().prepare_create(context, obj)
        return {**obj, "spec": self._readable(obj.get("spec") or {})}

    def prepare_update(self, context: Context, obj: Object, old: Object) -> Object:
        obj = super().prepare_update(context, obj, old)
        if context.subresource:
            return obj
        spec = self._readable(fields.without_foreign(obj.get("spec") or {}, old.get("spec") or {}))
        status = obj.get("status") or {}
        if spec.get("type") != "LoadBalancer" and status.get("loadBalancer"):
            # The load balancer may still exist, but clients must not see it any longer.
            obj = {**obj, "status": {**status, "loadBalancer": {}}}
        return {**obj, "spec": spec}

    def unique_values(self, obj: Object) -> frozenset[str]:
        addresses = () if self.records is not None else self.recorded_values(obj)
        ports = ports_of(obj.get("spec") or {})
        return frozenset((*(f"addresses/{address}" for address in addresses), *(f"node-ports/{n}" for n in ports)))

    def recorded_values(self, obj: Object) -> frozenset[str]:
        return frozenset(str(address) for address in addresses_of(obj.get("spec") or {}))

    def _with_families(self, name: str, spec: dict[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
        """Raises ApiError 422 when addresses, families and policy are inconsistent or unsupported by the cluster."""
        spec = fields.with_policy(spec, before)
        report = Report(self.settings)
        address_fields(spec, report)
        causes = report.causes
        if not causes:
            spec, causes = fields.with_families(spec, before, self._families, report.show)
        if causes:
            raise errors.invalid("", "Service", name, causes)
        return spec

    def _addresses(
        self,
        name: str,
        owner: str,
        spec: dict[str, Any],
        before: Mapping[str, Any],
        releases: list[Callable[[], None]],
        *,
        dry_run: bool,
    ) -> None:
        """Allocate addresses for a service without any, or for its second family. `owner` is the name in their records,
        without what a generated name adds to it.

        Validation rejects other changes.
        """
        families = spec["ipFamilies"]
        had = fields.needs_cluster_ip(before) if before else False
        if (before.get("clusterIP") if had else spec.get("clusterIP")) == fields.HEADLESS:
            return
        first = 0
        if had:
            if not len(before.get("ipFamilies") or ()) == 1 < len(families):
                return
            first = 1
        addresses = [*(spec.get("clusterIPs") or ())]
        addresses += [""] * (len(families) - len(addresses))
        for i, family in enumerate(families[first:], first):
            if family in self._families:
                try:
                    taken = self._one_address(family, addresses[i], releases, dry_run=dry_run)
                    if not dry_run:
                        self._check_record(owner, taken)
                    addresses[i] = taken
                except ExhaustedError:
                    raise errors.internal("failed to allocate a serviceIP: range is full") from None
                except (AllocatedError, OutOfRangeError, ApiError) as error:
                    why = "provided IP is already allocated" if isinstance(error, AllocatedError) else str(error)
                    what = f"failed to allocate IP {addresses[i]}".rstrip()
                    why = f"Invalid value: {Report(self.settings).show(addresses)}: {what}: {why}"
                    raise self._invalid(name, "spec.clusterIPs", why) from None
        spec["clusterIP"], spec["clusterIPs"] = addresses[0], addresses

    def _check_record(self, owner: str, address: str) -> None:
        """Raises ApiError 422 for a record of an address that cannot be written, because its owner has no valid
        name."""
        if self.records is not None:
            report = Report(self.settings)
            parent_reference({"resource": "services", "name": owner}, report)
            if report.causes:
                raise errors.invalid(self.settings.dialect("networking.{abbr}.io"), "IPAddress", address, report.causes)

    def _one_address(self, family: str, requested: str, releases: list[Callable[[], None]], *, dry_run: bool) -> str:
        """Raises AllocatedError, OutOfRangeError, ExhaustedError."""
        # Leading zeros are not part of the number.
        address = str(parse_ip(requested)) if requested else ""
        if dry_run:
            addresses = self._ips.dry_run(family)
            if not address:
                return str(addresses.take_any())
            addresses.take(address)
            return requested
        for space in (self._ips.holding(family, address),) if address else self._ips.spaces(family):
            try:
                taken = self._metrics.address(space, address, partial(self._take_address, space, address, releases))
            except ExhaustedError:
                continue
            return requested or taken
        raise ExhaustedError

    @staticmethod
    def _take_address(space: AddressRange, address: str, releases: list[Callable[[], None]]) -> str:
        if address:
            space.take(address)
        else:
            address = space.take_any()
        releases.append(lambda: space.release(address))
        return address

    def _node_ports(
        self,
        name: str,
        spec: dict[str, Any],
        before: Mapping[str, Any],
        releases: list[Callable[[], None]],
        numbers: Numbers,
    ) -> None:
        """Allocate requested node ports for any type, and others for types that need them."""
        if spec.get("type") not in fields.EXTERNAL:
            return
        wanting = fields.allocates_node_ports(spec, self.settings)
        ports = [dict(p) for p in spec.get("ports") or ()]
        kept = {p["nodePort"] for p in before.get("ports") or () if p.get("nodePort")}
        #: Service port -> the node port allocated for another protocol of it; only new services share.
        shared: dict[int, int] = {}
        held: set[tuple[Any, int]] = set()
        #: Service port -> the first node port that an entry requests for it.
        wishes: dict[Any, int] = {}
        for port in ports:
            if port.get("nodePort"):
                wishes.setdefault(port.get("port"), port["nodePort"])
        for i, port in enumerate(ports):
            asked = port.get("nodePort") or 0
            if not asked and not wanting:
                continue
            if not before:
                number = shared.get(port.get("port") or 0, 0)
                wish = asked or number or wishes.get(port.get("port"), 0)
                if wish != number or not wish:
                    wish = self._one_port(name, i, wish, releases, numbers)
                shared.setdefault(port.get("port") or 0, wish)
                port["nodePort"] = wish
                continue
            if not asked or asked not in kept:
                port["nodePort"] = self._one_port(name, i, asked, releases, numbers)
                kept.add(port["nodePort"])
            mine = (port.get("protocol"), port["nodePort"])
            if mine in held:
                raise ApiError(500, "", f"duplicate nodePort: {{{mine[0]} {mine[1]}}}")
            held.add(mine)
        if ports:
            spec["ports"] = ports

    def _one_port(
        self, name: str, position: int, requested: int, releases: list[Callable[[], None]], numbers: Numbers
    ) -> int:
        try:
            return self._take_port(requested, releases, numbers)
        except (AllocatedError, OutOfRangeError) as error:
            why = f"Invalid value: {requested}: {self._refusal(error)}"
            raise self._invalid(name, f"spec.ports[{position}].nodePort", why) from None
        except ExhaustedError:
            raise errors.internal("failed to allocate a nodePort: range is full") from None

    def _health_check(
        self, spec: dict[str, Any], before: Mapping[str, Any], releases: list[Callable[[], None]], numbers: Numbers
    ) -> None:
        if not needs_health_check(spec) or needs_health_check(before):
            return
        requested = spec.get("healthCheckNodePort") or 0
        try:
            spec["healthCheckNodePort"] = self._take_port(requested, releases, numbers)
        except (AllocatedError, OutOfRangeError) as error:
            why = f"failed to allocate requested HealthCheck NodePort {requested}: {self._refusal(error)}"
            raise errors.internal(why) from None
        except ExhaustedError:
            raise errors.internal("failed to allocate a HealthCheck NodePort 0: range is full") from None

    def _take_port(self, requested: int, releases: list[Callable[[], None]], numbers: Numbers) -> int:
        """Raises AllocatedError, OutOfRangeError, ExhaustedError."""
        take = partial(self._reserve_port, requested, releases, numbers)
        return take() if isinstance(numbers, DryRunNumbers) else self._metrics.port(requested, take)

    @staticmethod
    def _reserve_port(requested: int, releases: list[Callable[[], None]], numbers: Numbers) -> int:
        if requested:
            numbers.take(requested)
            taken = requested
        else:
            taken = numbers.take_any()
        releases.append(lambda: numbers.release(taken))
        return taken

    def _refusal(self, error: Exception) -> str:
        if isinstance(error, AllocatedError):
            return "provided port is already allocated"
        low, high = self.settings.node_ports
        return f"provided port is not in the valid range. The range of valid ports is {low}-{high}"

    def _invalid(self, name: str, path: str, message: str) -> ApiError:
        return errors.invalid("", "Service", name, [Cause("FieldValueInvalid", message, path)])
