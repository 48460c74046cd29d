"""Benchmarks of the store and the watch cache.

Run: python -m benchmarks.bench_store [DIRECTORY [SCALE]] (the store's file is created in DIRECTORY, which should be on
the disk to measure; SCALE is a factor for the number of writes)
"""

from __future__ import annotations

import gc
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any

import orjson
from twisted.internet import reactor as installed
from twisted.internet.defer import Deferred

from orchd.cache.caches import Caches
from orchd.cache.resource import CacheLimits
from orchd.cache.stored_encoding import encode, with_revision
from orchd.store.etcd.servers import make_servers
from orchd.store.etcd.store import EtcdStore
from orchd.store.memory import MemoryStore
from orchd.store.sqlite import SqliteStore
from orchd.testing.processes.etcd import Etcd, find_etcd
from orchd.testing.processes.served_store import ServedStore
from orchd.txkit.memory import release_free_memory

reactor: Any = installed


def pod(i: int, size: int = 1600) -> dict[str, Any]:
    """An object of about `size` bytes, in one of ten namespaces, with one of fifty values of a label."""
    obj: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"pod-{i:05}",
            "namespace": f"ns-{i % 10}",
            "uid": f"00000000-0000-4000-8000-{i:012}",
            "labels": {"app": f"app-{i % 50}", "tier": "web"},
        },
        "spec": {"nodeName": f"node-{i % 100}", "containers": [{"name": "main", "image": "example/image:1"}]},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    }
    obj["metadata"]["annotations"] = {"filler": "x" * max(0, size - len(orjson.dumps(obj)))}
    return obj


def index(value: bytes | dict[str, Any]) -> tuple[Mapping[str, str], Mapping[str, str]]:
    obj = value if isinstance(value, dict) else orjson.loads(value)
    return obj["metadata"].get("labels", {}), {"spec.nodeName": obj["spec"].get("nodeName", "")}


def show(what: str, figure: str) -> None:
    print(f"{what:58} {figure}", flush=True)


def timed(what: str, times: int, work: Callable[[], object]) -> None:
    work()
    began = time.perf_counter()
    for _ in range(times):
        work()
    show(what, f"{(time.perf_counter() - began) / times * 1e6:10.1f} us")


def rss() -> float:
    """Resident memory in megabytes, without what is free."""
    gc.collect()
    release_free_memory()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 1e6


async def puts(store: Any, name: str, concurrency: int, total: int, value: bytes) -> None:
    """Each of `concurrency` writers creates keys, one after the other."""
    commits = getattr(store, "commits", 0)

    async def writer(number: int) -> None:
        for i in range(total // concurrency):
            await store.create(f"/bench/{name}-{concurrency}/{number}/{i}", value)

    began, cpu = time.perf_counter(), time.process_time()
    for running in [Deferred.fromCoroutine(writer(number)) for number in range(concurrency)]:
        await running
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    commits = getattr(store, "commits", 0) - commits
    show(
        f"{name}: create, {concurrency} at a time",
        f"{total / seconds:10.0f} /s   {cpu / total * 1e6:6.0f} us CPU each"
        + (f"   {total / commits:5.1f} a commit" if commits else ""),
    )


async def guarded(store: Any, name: str, total: int, value: bytes) -> None:
    began = time.perf_counter()
    revision = await store.create(f"/guarded/{name}", value)
    for _ in range(total):
        revision = await store.update(f"/guarded/{name}", value, expected=revision)
    show(f"{name}: guarded update of one key", f"{total / (time.perf_counter() - began):10.0f} /s")


async def cache_figures(store: Any) -> None:
    before = rss()
    values = [encode(pod(i)) for i in range(5000)]
    for i, value in enumerate(values):
        await store.create(f"/pods/ns-{i % 10}/pod-{i:05}", value)
    del values, value
    stored = rss()
    caches = Caches(store, clock=reactor, limits=CacheLimits(window_events=1))
    caches.cache("pods", index)
    await store.compact(store.revision)
    began = time.perf_counter()
    caches.start()
    cache = caches.cache("pods", index)
    await cache.ready()
    show("cache: load 5,000", f"{(time.perf_counter() - began) * 1e3:10.1f} ms")
    data = sum(len(entry.json) for entry in cache.page().entries) / 1e6
    show(
        "memory: 5,000 in the store / in the cache / their JSON",
        f"{stored - before:6.1f} / {rss() - stored:.1f} / {data:.1f} MB",
    )
    timed("cache: get", 100_000, lambda: cache.get("ns-3/pod-00003"))
    timed("cache: page of 500", 500, lambda: cache.page(limit=500))
    timed("cache: page of 500 from the middle", 500, lambda: cache.page(limit=500, start="ns-5/"))
    timed("cache: all 5,000", 100, lambda: cache.page())
    timed("cache: all 5,000, and their bytes joined", 20, lambda: b",".join([e.json for e in cache.page().entries]))
    timed("cache: 100 of 5,000 by label", 500, lambda: cache.page(labels={"app": "app-7"}))
    timed("cache: 50 of 5,000 by field", 500, lambda: cache.page(fields={"spec.nodeName": "node-7"}))
    timed("cache: 500 of 5,000 by namespace", 500, lambda: cache.page(prefix="ns-7/"))
    timed(
        "cache: 100 of 5,000 by a selector without index",
        20,
        lambda: cache.page(match=lambda e: e.labels["app"] == "app-7"),
    )
    value = encode(pod(1))
    timed("stored: encode 1.6 KB", 5000, lambda: encode(pod_1))
    timed("stored: put the revision in", 50_000, lambda: with_revision(value, 123456))
    await caches.stop()

    caches = Caches(store, clock=reactor)
    cache = caches.cache("pods", index)
    caches.start()
    await cache.ready()
    await fan_out(store, cache)
    old = cache.revision - 1000
    timed("cache: page of 500, a thousand events ago", 200, lambda: cache.page(limit=500, revision=old))
    timed("cache: get, page of 500 now", 500, lambda: cache.page(limit=500))
    caches.stop()


pod_1 = pod(1)


async def fan_out(store: Any, cache: Any) -> None:
    """The cost of notifying subscribers of one write, beyond the write."""
    value = encode(pod(3))
    revision = cache.get("ns-3/pod-00003").revision

    async def updates(count: int) -> float:
        nonlocal revision
        began = time.process_time()
        for _ in range(count):
            revision = await store.update("/pods/ns-3/pod-00003", value, expected=revision)
        return (time.process_time() - began) / count * 1e6

    alone = await updates(1000)
    show("cache: update in the memory store with no subscriber", f"{alone:10.1f} us")
    heard = [0]

    def ignore_end(error: Exception) -> None:
        """Subscriptions end when the caches stop after the measurement."""

    def hear(change: Any) -> None:
        heard[0] += 1

    subscriptions = [
        cache.subscribe(after=cache.revision, prefix="", on_change=hear, on_end=ignore_end) for _ in range(500)
    ]
    show("cache: one event to 500 subscribers", f"{await updates(1000) - alone:10.1f} us")
    assert heard[0] == 500_000
    for subscription in subscriptions:
        subscription.cancel()
    for i in range(5000):
        cache.subscribe(after=cache.revision, prefix=f"ns-4/pod-{i:05}", on_change=hear, on_end=ignore_end)
    show("cache: one event, 5,000 subscribers to other objects", f"{await updates(1000) - alone:10.1f} us")


async def start_up(directory: str, count: int) -> None:
    path = f"{directory}/start-{count}"
    store = SqliteStore(reactor, path, dialect_name="any")
    await store.start()
    for begin in range(0, count, 1000):
        writes = [
            Deferred.fromCoroutine(store.create(f"/pods/ns-{i % 10}/pod-{i:05}", encode(pod(i))))
            for i in range(begin, begin + 1000)
        ]
        for write in writes:
            await write
    await store.stop()
    for what in ("with 10,000 revisions to look back on", "after compaction"):
        store = SqliteStore(reactor, path, dialect_name="any")
        began = time.perf_counter()
        await store.start()
        opened = time.perf_counter()
        caches = Caches(store, clock=reactor)
        cache = caches.cache("pods", index)
        caches.start()
        await cache.ready()
        ready = time.perf_counter()
        show(
            f"start with {count:,} objects, {what}",
            f"{(opened - began) * 1e3:6.0f} ms store, {(ready - opened) * 1e3:.0f} ms cache",
        )
        await store.compact(store.revision)
        await caches.stop()
        await store.stop()


async def shared_figures(name: str, server: Etcd, url: str) -> None:
    """Of a store that is shared, with the CPU of this process alone."""
    server.start()
    try:
        value = encode(pod(0))
        store = EtcdStore(reactor, make_servers(reactor, [url]), dialect_name="any", random=Random(1))
        await store.start()
        for concurrency, total in ((1, 2000), (50, 10_000)):
            await puts(store, name, concurrency, total, value)
        await guarded(store, name, 1000, value)
        began = time.perf_counter()
        for _ in range(1000):
            await store.current_revision()
        show(f"{name}: newest revision (a consistent read)", f"{1000 / (time.perf_counter() - began):10.0f} /s")
        began = time.perf_counter()
        found = await store.range("/bench/")
        show(f"{name}: range of {len(found.items):,}", f"{(time.perf_counter() - began) * 1e3:10.1f} ms")
        await store.stop()
    finally:
        server.kill()


async def main() -> None:
    directory = tempfile.mkdtemp(dir=sys.argv[1] if len(sys.argv) > 1 else None)
    scale = float(sys.argv[2]) if len(sys.argv) > 2 else 1.0
    try:
        value = encode(pod(0))
        show("value", f"{len(value):10} bytes")
        memory = MemoryStore(reactor, history_events=10_000)
        await memory.start()
        await puts(memory, "memory", 1, 20_000, value)
        sqlite = SqliteStore(reactor, f"{directory}/store", dialect_name="any")
        await sqlite.start()
        for concurrency, total in ((1, 2000), (16, 16_000), (100, 30_000)):
            await puts(sqlite, "sqlite", concurrency, max(concurrency, int(total * scale)), value)
        await guarded(sqlite, "sqlite", max(1, int(2000 * scale)), value)
        await sqlite.stop()
        served = ServedStore(Path(directory) / "served")
        await shared_figures("served", served, served.socket)
        program = find_etcd()
        if program is None:
            show("etcd", "not found (Debian: etcd-server)")
        else:
            etcd = Etcd(program, Path(directory) / "etcd")
            await shared_figures("etcd", etcd, etcd.url)
        await cache_figures(memory)
        await memory.stop()
        await start_up(directory, 5_000)
        await start_up(directory, 50_000)
    finally:
        shutil.rmtree(directory)


def run() -> None:
    running = Deferred.fromCoroutine(main())
    running.addErrback(lambda failure: failure.printTraceback())
    running.addBoth(lambda _: reactor.stop())


reactor.callWhenRunning(run)
reactor.run()
