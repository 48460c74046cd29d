"""Addresses of simulated pods and nodes: free ones of a range, given until they are released."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Final

Network = IPv4Network | IPv6Network

#: Pods of nodes without a pod range, and nodes.
POD_RANGE: Final = ip_network("10.128.0.0/10")
NODE_RANGE: Final = ip_network("100.64.0.0/16")


class AddressPool:
    """Which holder (a uid) has which addresses. Searches begin behind the last address given of a range, so that giving
    one costs the same however many are in use."""

    def __init__(self) -> None:
        self._holders: dict[str, str] = {}
        self._held: dict[str, list[str]] = {}
        self._next: dict[Network, int] = {}

    def learn(self, holder: str, addresses: Iterable[str]) -> None:
        """Take note of addresses that a holder has already."""
        for address in addresses:
            if address not in self._holders:
                self._holders[address] = holder
                self._held.setdefault(holder, []).append(address)

    def take(self, holder: str, networks: Iterable[Network]) -> list[str]:
        """The holder's addresses: those that it has, else one of each network. A full network gives none."""
        held = self._held.get(holder)
        if not held:
            for network in networks:
                address = self._free(network)
                if address is not None:
                    self.learn(holder, [address])
            held = self._held.get(holder, [])
        return list(held)

    def release(self, holder: str) -> None:
        """Give back what a holder has."""
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
