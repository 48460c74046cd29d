"""Shared by the tests of the cache: objects, an index of them, and a cache over a memory store on a Clock."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from orchd.cache.caches import Caches
from orchd.cache.entries import Change
from orchd.cache.resource import CacheLimits, ResourceCache
from orchd.cache.stored_encoding import encode
from orchd.store.memory import MemoryStore


def index(value: bytes | dict[str, Any]) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Index labels, and spec.nodeName if it is set."""
    obj = value if isinstance(value, dict) else orjson.loads(value)
    node = obj.get("spec", {}).get("nodeName")
    return obj["metadata"].get("labels", {}), {"spec.nodeName": node} if node else {}


def stored(path: str, node: str = "", **labels: str) -> bytes:
    namespace, _, name = path.rpartition("/")
    obj: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {"nodeName": node} if node else {},
    }
    return encode(obj)


def now(awaited: Any) -> Any:
    """The result of an awaitable that must not wait."""
    results: list[Any] = []
    deferred = Deferred.fromCoroutine(awaited)
    deferred.addBoth(results.append)
    assert results, "had to wait"
    if hasattr(results[0], "raiseException"):
        results[0].raiseException()
    return results[0]


class Bench:
    """A store on a Clock with caches on it; most tests use pods."""

    def __init__(self, *, one_server: bool = False, **more: Any) -> None:
        self.clock = Clock()
        self.clock.advance(1_000_000)
        self.store = MemoryStore(self.clock, compaction_interval=0)
        self.store.start()
        self.caches = Caches(self.store, clock=self.clock, limits=CacheLimits(**more), one_server=one_server)

    def start(self) -> ResourceCache:
        self.caches.start()
        return self.cache()

    def cache(self) -> ResourceCache:
        return self.caches.cache("pods", index)

    def compact(self) -> None:
        now(self.store.compact(self.store.revision))

    def put(self, path: str, node: str = "", *, key: str = "pods", **labels: str) -> int:
        """Create an object or replace it."""
        there = now(self.store.get(f"/{key}/{path}"))
        value = stored(path, node, **labels)
        if there is None:
            return int(now(self.store.create(f"/{key}/{path}", value)))
        return int(now(self.store.update(f"/{key}/{path}", value, expected=there.revision)))

    def delete(self, path: str, *, key: str = "pods") -> int:
        there = now(self.store.get(f"/{key}/{path}"))
        return int(now(self.store.delete(f"/{key}/{path}", expected=there.revision)))


class RecordingSubscriber:
    """A subscriber that records what it receives."""

    def __init__(self) -> None:
        self.changes: list[Change] = []
        self.ends: list[Exception] = []

    def subscribe(self, cache: ResourceCache, after: int, prefix: str = "") -> Any:
        return cache.subscribe(after=after, prefix=prefix, on_change=self.changes.append, on_end=self.ends.append)

    def lines(self) -> list[tuple[str, str, int]]:
        return [(change.type.value, change.entry.path, change.revision) for change in self.changes]
