"""Estimates of the work of a request, from the sizes of caches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from orchd.kinds.catalog import Catalog
from orchd.server.pipeline.interfaces import RequestInfo


class CacheSize(Protocol):
    """The cache of one resource: its number of objects, and of the watches that it serves."""

    @property
    def subscribers(self) -> int: ...

    def __len__(self) -> int: ...


class WorkEstimates:
    """`caches` are those of the server by the keys of their resources."""

    def __init__(self, catalog: Callable[[], Catalog], caches: Mapping[str, CacheSize]) -> None:
        self._catalog = catalog
        self._caches = caches

    def objects(self, info: RequestInfo) -> int:
        """Number of objects that a list over all namespaces reads: it determines the seats of the request."""
        cache = self._cache(info)
        return 0 if cache is None else len(cache)

    def watches(self, info: RequestInfo) -> int:
        """Number of watches of the resource, each of which receives an event for a write."""
        cache = self._cache(info)
        return 0 if cache is None else cache.subscribers

    def _cache(self, info: RequestInfo) -> CacheSize | None:
        resource = self._catalog().resource(info.group, info.version, info.resource)
        return None if resource is None else self._caches.get(resource.key)
