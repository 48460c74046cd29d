"""Ranges of one size out of a larger one, each given once. Pure."""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Any

Network = IPv4Network | IPv6Network

#: Ranges that one cluster range is divided into, at most (as the reference: 16 bits).
MOST_BITS = 16


class RangeError(ValueError):
    """A range does not fit; the text says why."""


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

    def take(self) -> Network | None:
        """A free range, None when all are in use."""
        for step in range(self._count):
            at = (self._next + step) % self._count
            if at not in self._used:
                self._used.add(at)
                self._next = (at + 1) % self._count
                return self._range(at)
        return None

    def occupy(self, network: Network) -> None:
        """Give none of the ranges that overlap `network`."""
        self._used.update(self._touched(network))

    def release(self, network: Network) -> None:
        """Take a range back."""
        self._used.difference_update(self._touched(network))

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
        made: Any = (int(self.whole.network_address) + (at << shift), self._mask)
        # A number below 2^32 would be taken for an IPv4 address.
        return IPv4Network(made) if self.whole.version == 4 else IPv6Network(made)


def overlap(one: Network, other: Network) -> bool:
    """True if two networks of one family overlap."""
    low, high = int(one.network_address), int(one.broadcast_address)
    return low <= int(other.broadcast_address) and int(other.network_address) <= high


def network_of(text: str) -> Network | None:
    """A network by its text, None for one that is malformed."""
    try:
        return ip_network(text, strict=False)
    except ValueError:
        return None
