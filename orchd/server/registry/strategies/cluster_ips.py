"""The ranges of cluster IPs of a server: those of its flag, or those of ServiceCIDR objects."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from ipaddress import IPv4Network, IPv6Network
from random import Random
from typing import Final

from zope.interface import Interface, implementer

from orchd.server.registry.ranges import AddressRange, DryRunAddresses, OutOfRangeError, StaticPart
from orchd.server.registry.strategies.service_allocations import RecordedAddresses, ServiceAllocations, ServiceRanges

#: Addresses of a range of the flag that are used: the reference limits the size of its bitmap.
_MOST: Final = 1 << 16
#: Addresses of a range of an object that are left to services that request a certain one.
_STATIC: Final = StaticPart(share=16, most=256)


class IClusterIps(Interface):
    """Ranges of addresses by IP family (``IPv4``, ``IPv6``)."""

    async def fresh() -> None:
        """Wait until all acknowledged writes are known."""

    def spaces(family: str) -> Sequence[AddressRange]:
        """The ranges from which any address may be taken, in the order in which they are tried."""

    def holding(family: str, address: str) -> AddressRange:
        """The range from which a certain address is to be taken. Raises OutOfRangeError."""

    def dry_run(family: str) -> DryRunAddresses:
        """The allocator for dry runs. Raises OutOfRangeError if there is no range."""


@implementer(IClusterIps)
class FlagRanges:
    """The ranges of a flag, one for each family. What services have is taken."""

    def __init__(
        self, networks: Sequence[IPv4Network | IPv6Network], services: ServiceAllocations, random: Random
    ) -> None:
        self._services = services
        self._spaces = {
            f"IPv{network.version}": AddressRange(
                network, partial(services.addresses, network.version), random, most=_MOST
            )
            for network in networks
        }

    async def fresh(self) -> None:
        await self._services.fresh()

    def spaces(self, family: str) -> Sequence[AddressRange]:
        return (self._spaces[family],)

    def holding(self, family: str, address: str) -> AddressRange:
        return self._spaces[family]

    def dry_run(self, family: str) -> DryRunAddresses:
        return DryRunAddresses(self._spaces[family])


@implementer(IClusterIps)
class ObjectRanges:
    """The ranges of ServiceCIDR objects. What IPAddress objects name is taken."""

    def __init__(self, ranges: ServiceRanges, addresses: RecordedAddresses, random: Random) -> None:
        self._ranges = ranges
        self._addresses = addresses
        self._random = random
        self._spaces: dict[IPv4Network | IPv6Network, AddressRange] = {}

    async def fresh(self) -> None:
        await self._ranges.fresh()
        await self._addresses.fresh()

    def spaces(self, family: str) -> Sequence[AddressRange]:
        networks = self._ranges.networks()
        for gone in self._spaces.keys() - networks:
            del self._spaces[gone]
        for network in networks:
            if network not in self._spaces:
                self._spaces[network] = self._space(network)
        return [space for network, space in self._spaces.items() if f"IPv{network.version}" == family]

    def _space(self, network: IPv4Network | IPv6Network) -> AddressRange:
        return AddressRange(
            network,
            partial(self._addresses.addresses, network.version),
            self._random,
            static=_STATIC.of(network.num_addresses),
        )

    def holding(self, family: str, address: str) -> AddressRange:
        for space in self.spaces(family):
            if space.contains(address):
                return space
        raise OutOfRangeError("the provided network does not match the current range")

    def dry_run(self, family: str) -> DryRunAddresses:
        for space in self.spaces(family):
            return DryRunAddresses(space)
        raise OutOfRangeError("allocator not ready")
