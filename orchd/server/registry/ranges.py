"""Allocators of unique values: cluster IPs and node ports.

Allocated are the values of stored services plus the reservations of running writes, so nothing needs repair after a
crash and one server never allocates a value twice. With several servers, claims in the store decide
(`claiming_writer`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from itertools import chain, filterfalse
from random import Random

#: Random candidates that are tried before the range is scanned.
_TRIES = 4
_LEAST = 16


class AllocatedError(Exception):
    """The requested value is already allocated."""


class OutOfRangeError(Exception):
    """The requested value is outside of the range; of an address, the text says which one."""


class ExhaustedError(Exception):
    """No value is free."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticPart:
    """How much of a range is left to requests for a certain value: one of `share` values, at least 16 and at most
    `most`; nothing of a range of 16 values or fewer."""

    share: int = 1
    most: int = 0

    def of(self, size: int) -> int:
        return 0 if size <= _LEAST else min(max(_LEAST, size // self.share), self.most)


class NumberRange:
    """Allocator of integers from `low` to `high`, both included. `used` returns the values of stored objects as a
    collection. The first `static` values are left to requests for a certain one as long as others are free."""

    def __init__(
        self, low: int, high: int, used: Callable[[], Collection[int]], random: Random, static: int = 0
    ) -> None:
        self.low = low
        self.high = high
        self._used = used
        self._random = random
        self._parts = [(low + static, high), (low, low + static - 1)]
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
        candidates = chain.from_iterable(
            part for low, high in self._parts for part in self._candidates(low, high - low + 1)
        )
        # Filtered without a step of Python for each value: of an exhausted part all are looked at.
        free = filterfalse(reserved.__contains__, filterfalse(used.__contains__, candidates))
        for value in free:
            reserved.add(value)
            return value
        raise ExhaustedError

    def _candidates(self, low: int, size: int) -> Iterator[Iterable[int]]:
        """Some of `size` values at random, then all of them."""
        if size <= 0:
            return
        for _ in range(_TRIES):
            yield (low + self._random.randrange(size),)
        # From anywhere: values near the low end would be looked at again by each call.
        begin = self._random.randrange(size)
        yield range(low + begin, low + size)
        yield range(low, low + begin)

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

    `used` returns the addresses of stored objects as integers; at most `most` addresses count from the network address
    on (0: all), and the first `static` ones are left to requests, as in a `NumberRange`."""

    def __init__(
        self,
        network: IPv4Network | IPv6Network,
        used: Callable[[], Collection[int]],
        random: Random,
        *,
        most: int = 0,
        static: int = 0,
    ) -> None:
        self.network = network
        first = int(network.network_address)
        last = int(network.broadcast_address)
        if network.version == 4:
            last -= 1
        elif most:
            last = min(last, first + most - 1)
        self._numbers = NumberRange(first + 1, last, used, random, static)

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
        self.check(address)
        self._numbers.take(int(ip_address(address)))

    def contains(self, address: str) -> bool:
        """True for a usable address of the network."""
        parsed = ip_address(address)
        return parsed in self.network and self._numbers.low <= int(parsed) <= self._numbers.high

    def check(self, address: str) -> None:
        """Raises OutOfRangeError."""
        if not self.contains(address):
            raise OutOfRangeError(
                f"the provided IP ({address}) is not in the valid range. The range of valid IPs is {self.network}"
            )

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
        self._allocated: set[int] = set()
        self._highest = 0

    def take(self, value: int) -> None:
        """Raises AllocatedError."""
        if self._real.holds(value) or value in self._allocated:
            raise AllocatedError(value)
        self._give(value)

    def take_any(self) -> int:
        value = (self._highest if self._allocated else self._START) + 1
        self._give(value)
        return value

    def _give(self, value: int) -> None:
        self._allocated.add(value)
        self._highest = max(self._highest, value)

    def release(self, value: int) -> None:
        """Does nothing: a dry run reserves nothing."""


class DryRunAddresses:
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
