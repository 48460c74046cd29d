"""Estimates of the work of a request, from the sizes of caches."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from math import ceil
from typing import Final, Protocol

from orchd.kinds.catalog import Catalog
from orchd.kinds.digits import integer
from orchd.server.pipeline.interfaces import Request, RequestInfo

#: Seats of a list by its objects: one per this number, and the maximum.
_OBJECTS_A_SEAT, _MOST_BY_OBJECTS = 100, 10
#: Seats of a list by their size: one per this number of bytes, the maximum, and the bytes of one that are held at a
#: time, since lists are sent in pieces.
_BYTES_A_SEAT, _MOST_BY_SIZE, _HELD_BYTES = 100_000, 100, 1_000_000
#: A syntactically valid limit. Others are rejected later, with the proper error.
_NUMBER = re.compile(r"0*[1-9][0-9]{0,18}")


class CacheSize(Protocol):
    """The cache of one resource: its number of objects and their bytes, and the number of watches that it serves."""

    @property
    def subscribers(self) -> int: ...

    @property
    def entry_bytes(self) -> int: ...

    def __len__(self) -> int: ...


class WorkEstimates:
    """Seats of lists by the number of objects that they read. `caches` are those of the server by the keys of their
    resources."""

    def __init__(self, catalog: Callable[[], Catalog], caches: Mapping[str, CacheSize]) -> None:
        self._catalog = catalog
        self._caches = caches

    def seats(self, request: Request, info: RequestInfo, most: int | None) -> int:
        """Number of seats of a request, at most those of its level."""
        if info.verb != "list" or info.name:
            return 1
        cache = self.cache(info)
        objects = 0 if cache is None else len(cache)
        if not (request.param("labelSelector") or request.param("fieldSelector")):
            objects = _limited(objects, request)
        return min(max(1, ceil(objects / _OBJECTS_A_SEAT)), _MOST_BY_OBJECTS)

    def watches(self, info: RequestInfo) -> int:
        """Number of watches of the resource, each of which receives an event for a write."""
        cache = self.cache(info)
        return 0 if cache is None else cache.subscribers

    def cache(self, info: RequestInfo) -> CacheSize | None:
        """The cache of the resource of a request; None without one."""
        resource = self._catalog().resource(info.group, info.version, info.resource)
        return None if resource is None else self._caches.get(resource.key)


class SizeEstimates(WorkEstimates):
    """Seats of lists, and of watches that begin with the current objects, by the bytes that are held for them."""

    def seats(self, request: Request, info: RequestInfo, most: int | None) -> int:
        verb = info.verb
        if verb != "list" and not (verb == "watch" and _sends_objects(request)):
            return 1
        cache = self.cache(info)
        objects = 0 if cache is None else len(cache)
        if not objects:
            return 1
        assert cache is not None
        read = 1 if info.name else _limited(objects, request)
        held = min(read * ceil(cache.entry_bytes / objects), _HELD_BYTES)
        return min(max(1, ceil(held / _BYTES_A_SEAT)), most or _MOST_BY_SIZE, _MOST_BY_SIZE)


def _limited(objects: int, request: Request) -> int:
    limit = request.param("limit")
    return min(objects, integer(limit)) if _NUMBER.fullmatch(limit) else objects


def _sends_objects(request: Request) -> bool:
    return request.param("sendInitialEvents") == "true" or request.param("resourceVersion") in ("", "0")


#: The estimates by the release that begins them.
ESTIMATES: Final[tuple[tuple[str, type[WorkEstimates]], ...]] = (("", WorkEstimates), ("1.34", SizeEstimates))
