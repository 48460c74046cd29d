"""Allocator of addresses for simulated pods and nodes."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Final

Network = IPv4Network | IPv6Network

#: Pods of nodes without a pod range, and nodes.
POD_RANGE: Final = ip_network("10.128.0.0/10")
NODE_RANGE: Final = ip_network("100.64.0.0/16")


class AddressPool:
    """Addresses by holder (a uid). Searches start after the last allocated address of a range, so that an allocation
    takes constant time."""

    def __init__(self) -> None:
        self._holders: dict[str, str] = {}
        self._held: dict[str, list[str]] = {}
        self._next: dict[Network, int] = {}

    def learn(self, holder: str, addresses: Iterable[str]) -> None:
        """Record addresses that a holder has already."""
        for address in addresses:
            if address not in self._holders:
                self._holders[address] = holder
                self._held.setdefault(holder, []).append(address)

    def take(self, holder: str, networks: Iterable[Network]) -> list[str]:
        """The holder's addresses: the recorded ones, else a new one of each network that is not full."""
        held = self._held.get(holder)
        if not held:
            for network in networks:
                address = self._free(network)
                if address is not None:
                    self.learn(holder, [address])
            held = self._held.get(holder, [])
        return list(held)

    def release(self, holder: str) -> None:
        """Release the addresses of a holder."""
        for address in self._held.pop(holder, ()):
            self._holders.pop(address, None)

    def _free(self, network: Network) -> str | None:
        # The first is the network, the second by custom its gateway, the last of IPv4 the broadcast address.
        first, size = 2, min(network.num_addresses, 1 << 22)
        last = size - 1 if network.version == 4 else size
        at = self._next.get(network, first)
        for step in range(last - first):
            offset = first + (at - first + step) % (last - first)
            address = str(network[offset])
            if address not in self._holders:
                self._next[network] = offset + 1
                return address
        return None
