"""Allocator of equally sized ranges from a larger one. Pure."""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Any

Network = IPv4Network | IPv6Network

#: Maximum bits of subnets in one cluster range (as the reference).
MOST_BITS = 16


class RangeError(ValueError):
    """An invalid combination of ranges; the text is the reason."""


class RangeSet:
    """`whole` divided into ranges with a mask of `mask` bits."""

    def __init__(self, whole: Network, mask: int) -> None:
        if not whole.prefixlen <= mask <= whole.max_prefixlen:
            raise RangeError(f"mask size /{mask} does not fit into {whole}")
        if mask - whole.prefixlen > MOST_BITS:
            raise RangeError(f"{whole} has more than 2^{MOST_BITS} ranges with mask size /{mask}: choose a larger mask")
        self.whole = whole
        self._mask = mask
        self._count = 1 << (mask - whole.prefixlen)
        self._used: set[int] = set()
        self._next = 0
        #: Ranges that were given or occupied, that were taken back, and the tries that the last `take` needed.
        self.allocations = self.releases = self.tries = 0

    @property
    def size(self) -> int:
        """The number of ranges."""
        return self._count

    @property
    def usage(self) -> float:
        """The part of the ranges that is in use."""
        return len(self._used) / self._count

    def take(self) -> Network | None:
        """Allocate a free range; None if all are in use."""
        for step in range(self._count):
            at = (self._next + step) % self._count
            if at not in self._used:
                self._used.add(at)
                self.allocations += 1
                self.tries = step
                self._next = (at + 1) % self._count
                return self._range(at)
        return None

    def occupy(self, network: Network) -> None:
        """Mark the ranges that overlap `network` as used."""
        touched = self._touched(network)
        self.allocations += len(touched) - len(self._used.intersection(touched))
        self._used.update(touched)

    def release(self, network: Network) -> None:
        """Release a range."""
        touched = self._touched(network)
        self.releases += len(self._used.intersection(touched))
        self._used.difference_update(touched)

    def _touched(self, network: Network) -> range:
        if network.version != self.whole.version or not overlap(self.whole, network):
            return range(0)
        shift = self.whole.max_prefixlen - self._mask
        base = int(self.whole.network_address)
        first = max(0, (int(network.network_address) - base) >> shift)
        last = min(self._count - 1, (int(network.broadcast_address) - base) >> shift)
        return range(first, last + 1)

    def _range(self, at: int) -> Network:
        shift = self.whole.max_prefixlen - self._mask
        address: Any = (int(self.whole.network_address) + (at << shift), self._mask)
        # An integer below 2^32 would become an IPv4 address.
        return IPv4Network(address) if self.whole.version == 4 else IPv6Network(address)


def overlap(one: Network, other: Network) -> bool:
    """True if two networks of one family overlap."""
    low, high = int(one.network_address), int(one.broadcast_address)
    return low <= int(other.broadcast_address) and int(other.network_address) <= high


def network_of(text: str) -> Network | None:
    """The network that a text denotes, None if it is malformed."""
    try:
        return ip_network(text, strict=False)
    except ValueError:
        return None
