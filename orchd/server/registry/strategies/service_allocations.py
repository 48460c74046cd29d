"""Indexes of stored objects for the allocation of cluster IPs and node ports, updated with the caches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network
from typing import Any

from orchd.cache.entries import Change, ChangeType, Entry
from orchd.cache.interfaces import ICache, ISubscription
from orchd.kinds import fields
from orchd.kinds.objects.validate.names import parse_ip


class CacheIndex(ABC):
    """An index that follows one cache."""

    def __init__(self, cache: Callable[[], ICache]) -> None:
        self._cache = cache
        self._subscription: ISubscription | None = None

    async def fresh(self) -> None:
        """Wait until the cache contains every acknowledged write."""
        await self._cache().fresh()

    def follow(self) -> None:
        """Read all objects once, and again only after the cache restarted."""
        if self._subscription is not None:
            return
        cache = self._cache()
        page = cache.page()
        self.clear()
        for entry in page.entries:
            self.add(entry)
        self._subscription = cache.subscribe(
            after=page.revision, prefix="", on_change=self._changed, on_end=self._ended
        )

    def _changed(self, change: Change) -> None:
        self.remove(change.entry.path)
        if change.type is not ChangeType.DELETED:
            self.add(change.entry)

    def _ended(self, error: Exception) -> None:
        self._subscription = None

    @abstractmethod
    def clear(self) -> None:
        """Forget all objects."""

    @abstractmethod
    def add(self, entry: Entry) -> None:
        """Index an object."""

    @abstractmethod
    def remove(self, path: str) -> None:
        """Forget the object at a path, if it was added."""


class ServiceAllocations(CacheIndex):
    """Reference counts of the values of services: two of them may briefly hold the same one."""

    def __init__(self, cache: Callable[[], ICache]) -> None:
        super().__init__(cache)
        self._addresses: dict[int, Counter[int]] = {4: Counter(), 6: Counter()}
        self._ports: Counter[int] = Counter()
        #: What is counted of each service, by its path: a large one is decoded once for each of its changes.
        self._counted: dict[str, list[tuple[Counter[int], int]]] = {}

    def addresses(self, version: int) -> Counter[int]:
        """Addresses of one IP version, as integers."""
        self.follow()
        return self._addresses[version]

    def ports(self) -> Counter[int]:
        self.follow()
        return self._ports

    def clear(self) -> None:
        for counter in (*self._addresses.values(), self._ports):
            counter.clear()
        self._counted.clear()

    def remove(self, path: str) -> None:
        for counter, value in self._counted.pop(path, ()):
            counter[value] -= 1
            if counter[value] <= 0:
                del counter[value]

    def add(self, entry: Entry) -> None:
        counted = self._counted[entry.path] = list(self._allocations(entry))
        for counter, value in counted:
            counter[value] += 1

    def _allocations(self, entry: Entry) -> Iterator[tuple[Counter[int], int]]:
        spec = fields.spec(entry.decoded())
        for address in addresses_of(spec):
            yield self._addresses[address.version], int(address)
        for port in ports_of(spec):
            yield self._ports, port


class RecordedAddresses(CacheIndex):
    """The addresses of which there is an IPAddress."""

    def __init__(self, cache: Callable[[], ICache]) -> None:
        super().__init__(cache)
        self._addresses: dict[int, set[int]] = {4: set(), 6: set()}

    def addresses(self, version: int) -> set[int]:
        """Addresses of one IP version, as integers."""
        self.follow()
        return self._addresses[version]

    def clear(self) -> None:
        for addresses in self._addresses.values():
            addresses.clear()

    def add(self, entry: Entry) -> None:
        address = parse_ip(entry.path)
        if address is not None:
            self._addresses[address.version].add(int(address))

    def remove(self, path: str) -> None:
        address = parse_ip(path)
        if address is not None:
            self._addresses[address.version].discard(int(address))


class ServiceRanges(CacheIndex):
    """The ranges of the ServiceCIDRs that are ready and not being deleted; one without a condition is taken for
    ready."""

    def __init__(self, cache: Callable[[], ICache]) -> None:
        super().__init__(cache)
        self._ranges: dict[str, list[IPv4Network | IPv6Network]] = {}

    def networks(self) -> set[IPv4Network | IPv6Network]:
        self.follow()
        return {network for networks in self._ranges.values() for network in networks}

    def clear(self) -> None:
        self._ranges.clear()

    def add(self, entry: Entry) -> None:
        obj = entry.decoded()
        conditions = fields.conditions(obj)
        if not fields.deleting(obj) and all(c.get("status") == "True" for c in conditions if c.get("type") == "Ready"):
            self._ranges[entry.path] = [ip_network(text) for text in fields.spec(obj).get("cidrs") or ()]

    def remove(self, path: str) -> None:
        self._ranges.pop(path, None)


def addresses_of(spec: Mapping[str, Any]) -> Iterator[IPv4Address | IPv6Address]:
    """The cluster IPs in a service's spec."""
    for text in spec.get("clusterIPs") or (spec.get("clusterIP"),):
        address = parse_ip(text or "")
        # Headless or ExternalName.
        if address is not None:
            yield address


def ports_of(spec: Mapping[str, Any]) -> Iterator[int]:
    """The node ports in a service's spec; one may occur twice, for two protocols."""
    for port in spec.get("ports") or ():
        if port.get("nodePort"):
            yield port["nodePort"]
    if spec.get("healthCheckNodePort"):
        yield spec["healthCheckNodePort"]
