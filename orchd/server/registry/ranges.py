"""Allocators of unique values: cluster IPs and node ports.

Allocated are the values of stored services plus the reservations of running writes, so nothing needs repair after a
crash and one server never allocates a value twice. With several servers, claims in the store decide
(`claiming_writer`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from itertools import chain
from random import Random

#: Random candidates that are tried before the range is scanned.
_TRIES = 16


class AllocatedError(Exception):
    """The requested value is already allocated."""


class OutOfRangeError(Exception):
    """The requested value is outside of the range."""


class ExhaustedError(Exception):
    """No value is free."""


class NumberRange:
    """Allocator of integers from `low` to `high`, both included. `used` returns the values of stored objects as a
    collection."""

    def __init__(self, low: int, high: int, used: Callable[[], Collection[int]], random: Random) -> None:
        self.low = low
        self.high = high
        self._used = used
        self._random = random
        self._reserved: set[int] = set()

    def take(self, value: int) -> None:
        """Reserve one value. Raises AllocatedError, OutOfRangeError."""
        if not self.low <= value <= self.high:
            raise OutOfRangeError(value)
        if self.holds(value):
            raise AllocatedError(value)
        self._reserved.add(value)

    def holds(self, value: int) -> bool:
        """True if the value is allocated or reserved."""
        return value in self._reserved or value in self._used()

    def take_any(self) -> int:
        """Reserve any free value. Raises ExhaustedError."""
        used, reserved = self._used(), self._reserved
        size = self.high - self.low + 1
        if size <= 0:
            raise ExhaustedError
        for _ in range(_TRIES):
            value = self.low + self._random.randrange(size)
            if value not in used and value not in reserved:
                reserved.add(value)
                return value
        # From anywhere: values near the low end would be looked at again by each call.
        begin = self.low + self._random.randrange(size)
        for value in chain(range(begin, self.high + 1), range(self.low, begin)):
            if value not in used and value not in reserved:
                reserved.add(value)
                return value
        raise ExhaustedError

    def count(self) -> int:
        """Number of allocated values; linear in the reserved ones alone."""
        used = self._used()
        return len(used) + sum(value not in used for value in self._reserved)

    def release(self, value: int) -> None:
        """Release the reservation after the write: stored objects then determine whether the value is allocated."""
        self._reserved.discard(value)


def first_address(network: IPv4Network | IPv6Network) -> str:
    """The first usable address of a network, which is that of the API service."""
    return str(network.network_address + 1)


class AddressRange:
    """Allocator of the usable addresses of a network: without the network address, and without the IPv4 broadcast
    address.

    `used` returns the addresses of stored objects as integers."""

    def __init__(self, network: IPv4Network | IPv6Network, used: Callable[[], Collection[int]], random: Random) -> None:
        self.network = network
        first = int(network.network_address)
        last = int(network.broadcast_address)
        # The reference limits the size of its bitmap, and so the usable part of an IPv6 range.
        last = last - 1 if network.version == 4 else min(last, first + (1 << 16) - 1)
        self._numbers = NumberRange(first + 1, last, used, random)

    def _address(self, number: int) -> IPv4Address | IPv6Address:
        return IPv4Address(number) if self.network.version == 4 else IPv6Address(number)

    @property
    def size(self) -> int:
        """Number of usable addresses."""
        return self._numbers.high - self._numbers.low + 1

    def count(self) -> int:
        """Number of allocated addresses."""
        return self._numbers.count()

    def take(self, address: str) -> None:
        """Reserve one address. Raises AllocatedError, OutOfRangeError."""
        parsed = ip_address(address)
        if parsed not in self.network:
            raise OutOfRangeError(address)
        self._numbers.take(int(parsed))

    def check(self, address: str) -> None:
        """Raises OutOfRangeError."""
        parsed = ip_address(address)
        if parsed not in self.network or not self._numbers.low <= int(parsed) <= self._numbers.high:
            raise OutOfRangeError(address)

    def take_any(self) -> str:
        """Reserve any free address. Raises ExhaustedError."""
        return str(self._address(self._numbers.take_any()))

    def release(self, address: str) -> None:
        self._numbers.release(int(ip_address(address)))


class DryRunNumbers:
    """Dry-run allocator of ports: accepts any free value, also out of range; allocates consecutive values from the
    reference's start value."""

    _START = 32768

    def __init__(self, real: NumberRange) -> None:
        self._real = real
        self._given: set[int] = set()
        self._highest = 0

    def take(self, value: int) -> None:
        """Raises AllocatedError."""
        if self._real.holds(value) or value in self._given:
            raise AllocatedError(value)
        self._give(value)

    def take_any(self) -> int:
        value = (self._highest if self._given else self._START) + 1
        self._give(value)
        return value

    def _give(self, value: int) -> None:
        self._given.add(value)
        self._highest = max(self._highest, value)

    def release(self, value: int) -> None:
        """Does nothing: a dry run reserves nothing."""


class PretendedAddresses:
    """Dry-run allocator of addresses: accepts any address of the network; allocates the network's own address."""

    def __init__(self, real: AddressRange) -> None:
        self._real = real
        self.network = real.network

    def take(self, address: str) -> None:
        """Raises OutOfRangeError."""
        self._real.check(address)

    def take_any(self) -> str:
        return str(self.network.network_address)

    def release(self, address: str) -> None:
        """Does nothing: a dry run reserves nothing."""
