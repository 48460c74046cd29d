"""Index of the addresses and node ports of stored services, updated with the cache."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from ipaddress import IPv4Address, IPv6Address
from typing import Any

import orjson

from orchd.cache.entries import Change, ChangeType, Entry
from orchd.cache.interfaces import ICache, ISubscription
from orchd.kinds.objects.validate.names import parse_ip


class ServiceAllocations:
    """Reference counts of allocated values: two services may briefly hold the same one."""

    def __init__(self, cache: Callable[[], ICache]) -> None:
        self._cache = cache
        self._subscription: ISubscription | None = None
        self._addresses: dict[int, Counter[int]] = {4: Counter(), 6: Counter()}
        self._ports: Counter[int] = Counter()
        #: What is counted of each service, by its path: a large one is decoded once for each of its changes.
        self._counted: dict[str, list[tuple[Counter[int], int]]] = {}

    def addresses(self, version: int) -> Counter[int]:
        """Addresses of one IP version, as integers."""
        self._follow()
        return self._addresses[version]

    def ports(self) -> Counter[int]:
        self._follow()
        return self._ports

    def _follow(self) -> None:
        """Read all services once, and again only after the cache restarted."""
        if self._subscription is not None:
            return
        cache = self._cache()
        page = cache.page()
        for counter in (*self._addresses.values(), self._ports):
            counter.clear()
        self._counted.clear()
        for entry in page.entries:
            self._count(entry)
        self._subscription = cache.subscribe(
            after=page.revision, prefix="", on_change=self._changed, on_end=self._ended
        )

    def _changed(self, change: Change) -> None:
        for counter, value in self._counted.pop(change.entry.path, ()):
            counter[value] -= 1
            if counter[value] <= 0:
                del counter[value]
        if change.type is not ChangeType.DELETED:
            self._count(change.entry)

    def _ended(self, error: Exception) -> None:
        self._subscription = None

    def _count(self, entry: Entry) -> None:
        counted = self._counted[entry.path] = list(self._allocations(entry))
        for counter, value in counted:
            counter[value] += 1

    def _allocations(self, entry: Entry) -> Iterator[tuple[Counter[int], int]]:
        spec = orjson.loads(entry.json).get("spec") or {}
        for address in addresses_of(spec):
            yield self._addresses[address.version], int(address)
        for port in ports_of(spec):
            yield self._ports, port


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
