"""The embedded store and its cache against the same model, with restarts."""

from __future__ import annotations

import queue
import shutil
import tempfile
from collections.abc import Callable
from typing import Any

from hypothesis import settings
from hypothesis.stateful import rule
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from orchd.cache.caches import Caches
from orchd.cache.resource import CacheLimits, ResourceCache
from orchd.store.compaction import HistoryLimits
from orchd.store.sqlite import SqliteStore
from orchd.testing.processes.daemon import PATIENCE
from tests.cache.cache_support import Bench, index, stored
from tests.cache.test_model import StoreAndCache


class PumpedReactor(Clock):
    """A reactor whose clock does not advance, and whose threads complete when a result is awaited."""

    def __init__(self) -> None:
        super().__init__()
        self._calls: queue.Queue[Callable[[], object]] = queue.Queue()

    def callFromThread(self, function: Callable[..., object], *arguments: Any, **named: Any) -> None:
        self._calls.put(lambda: function(*arguments, **named))

    def wait(self, deferred: Deferred[Any]) -> Any:
        """The result of a Deferred."""
        results: list[Any] = []
        deferred.addBoth(results.append)
        while not results:
            self.advance(0)
            if not results:
                self._calls.get(timeout=PATIENCE)()
        if hasattr(results[0], "raiseException"):
            results[0].raiseException()
        return results[0]


class DiskBench(Bench):
    """A bench that keeps little history in memory, so that reads of the past use the file."""

    def __init__(self, **more: Any) -> None:
        self.clock: PumpedReactor = PumpedReactor()
        self.clock.advance(1_000_000)
        self.folder = tempfile.mkdtemp()
        self._more = more
        self._open()

    def _open(self) -> None:
        self.store: Any = SqliteStore(
            self.clock,
            f"{self.folder}/store",
            dialect_name="any",
            history=HistoryLimits(compaction_interval=0, recent_events=4),
            switch_interval=0,
        )
        self.clock.wait(self.store.start())
        self.caches = Caches(self.store, clock=self.clock, limits=CacheLimits(**self._more))

    def run(self, work: Any) -> Any:
        return self.clock.wait(Deferred.fromCoroutine(work))

    def cache(self) -> ResourceCache:
        pods = self.caches.cache("pods", index)
        self.run(pods.ready())
        return pods

    def compact(self) -> None:
        self.run(self.store.compact(self.store.revision))

    def put(self, path: str, node: str = "", *, key: str = "pods", **labels: str) -> int:
        there = self.run(self.store.get(f"/{key}/{path}"))
        value = stored(path, node, **labels)
        if there is None:
            return int(self.run(self.store.create(f"/{key}/{path}", value)))
        return int(self.run(self.store.update(f"/{key}/{path}", value, expected=there.revision)))

    def delete(self, path: str, *, key: str = "pods") -> int:
        there = self.run(self.store.get(f"/{key}/{path}"))
        return int(self.run(self.store.delete(f"/{key}/{path}", expected=there.revision)))

    def close(self) -> None:
        self.caches.stop()
        self.clock.wait(self.store.stop())

    def reopen(self) -> ResourceCache:
        """Stop everything and start it on the same file."""
        self.close()
        self._open()
        return self.start()


class DiskAndCache(StoreAndCache):
    """As `StoreAndCache`; after a restart only the subscribers have to subscribe again."""

    make = DiskBench
    bench: DiskBench

    @rule()
    def restart(self) -> None:
        compacted = self.bench.store.compacted
        self.cache = self.bench.reopen()
        self.subscribers.clear()
        assert self.bench.store.compacted == compacted
        # Revisions of the window or of the store's history can be read.
        assert self.cache.oldest <= max(compacted, self.cache.revision - 12)

    def teardown(self) -> None:
        self.bench.close()
        shutil.rmtree(self.bench.folder)


# Each step waits for the disk.
DiskAndCache.TestCase.settings = settings(max_examples=15, stateful_step_count=25, deadline=None)
TestDiskAndCache = DiskAndCache.TestCase
del StoreAndCache
