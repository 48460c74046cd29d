"""Numbers and addresses that are handed out once: cluster IPs and node ports.

What is taken is what the stored services say, plus what is reserved by writes under way, so nothing has to be repaired
after a crash and nothing is handed out twice by one server. Where there are several, the store has the last word
(`keeping`).
"""

from __future__ import annotations

from collections.abc import Callable, Container
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from random import Random

#: Random places that are tried before the range is walked through.
_TRIES = 16


class Allocated(Exception):
    """The value that was asked for belongs to somebody else."""


class OutOfRange(Exception):
    """The value that was asked for is not one of the range."""


class Exhausted(Exception):
    """Nothing is left."""


class NumberRange:
    """Integers from `low` to `high`, both included. `used` gives those that stored objects hold, to be asked about
    single ones."""

    def __init__(self, low: int, high: int, used: Callable[[], Container[int]], random: Random) -> None:
        self.low = low
        self.high = high
        self._used = used
        self._random = random
        self._reserved: set[int] = set()

    def take(self, value: int) -> None:
        """Reserve one value. Raises Taken, OutOfRange."""
        if not self.low <= value <= self.high:
            raise OutOfRange(value)
        if self.holds(value):
            raise Allocated(value)
        self._reserved.add(value)

    def holds(self, value: int) -> bool:
        """Whether somebody has the value, or will have it when a write is through."""
        return value in self._reserved or value in self._used()

    def take_any(self) -> int:
        """Reserve some free value. Raises Exhausted."""
        used, reserved = self._used(), self._reserved
        size = self.high - self.low + 1
        if size <= 0:
            raise Exhausted
        for _ in range(_TRIES):
            value = self.low + self._random.randrange(size)
            if value not in used and value not in reserved:
                reserved.add(value)
                return value
        for value in range(self.low, self.high + 1):
            if value not in used and value not in reserved:
                reserved.add(value)
                return value
        raise Exhausted

    def settle(self, value: int) -> None:
        """The write is over: from now on the stored objects alone say whether the value is taken."""
        self._reserved.discard(value)


class AddressRange:
    """The usable addresses of a network: without the network's own, and without the broadcast address of IPv4.

    `used` gives the addresses that stored objects hold, as integers."""

    def __init__(
        self, network: IPv4Network | IPv6Network, used: Callable[[], Container[int]], random: Random
    ) -> None:
        self.network = network
        first = int(network.network_address)
        last = int(network.broadcast_address)
        # The reference keeps a bitmap of an IPv6 range, and no more of the range than it cares to keep.
        last = last - 1 if network.version == 4 else min(last, first + (1 << 16) - 1)
        self._numbers = NumberRange(first + 1, last, used, random)

    @property
    def first(self) -> str:
        """The first usable address: the API's own service has it."""
        return str(self._address(self._numbers.low))

    def _address(self, number: int) -> IPv4Address | IPv6Address:
        return IPv4Address(number) if self.network.version == 4 else IPv6Address(number)

    def take(self, address: str) -> None:
        """Reserve one address. Raises Taken, OutOfRange."""
        parsed = ip_address(address)
        if parsed not in self.network:
            raise OutOfRange(address)
        self._numbers.take(int(parsed))

    def check(self, address: str) -> None:
        """Raises OutOfRange."""
        parsed = ip_address(address)
        if parsed not in self.network or not self._numbers.low <= int(parsed) <= self._numbers.high:
            raise OutOfRange(address)

    def take_any(self) -> str:
        """Reserve some free address. Raises Exhausted."""
        return str(self._address(self._numbers.take_any()))

    def settle(self, address: str) -> None:
        self._numbers.settle(int(ip_address(address)))


class PretendedNumbers:
    """What one dry run gets of a range: whatever is free, also out of range; when it asks for any, the next number after
    those it has, starting where the reference starts."""

    _START = 32768

    def __init__(self, real: NumberRange) -> None:
        self._real = real
        self._given: set[int] = set()

    def take(self, value: int) -> None:
        """Raises Taken."""
        if self._real.holds(value) or value in self._given:
            raise Allocated(value)
        self._given.add(value)

    def take_any(self) -> int:
        value = max(self._given, default=self._START) + 1
        self._given.add(value)
        return value

    def settle(self, value: int) -> None:
        """Nothing was reserved."""


class PretendedAddresses:
    """What a dry run gets of a network: any of its addresses; when it asks for none, the network's own."""

    def __init__(self, real: AddressRange) -> None:
        self._real = real
        self.network = real.network

    def take(self, address: str) -> None:
        """Raises OutOfRange."""
        self._real.check(address)

    def take_any(self) -> str:
        return str(self.network.network_address)

    def settle(self, address: str) -> None:
        """Nothing was reserved."""
