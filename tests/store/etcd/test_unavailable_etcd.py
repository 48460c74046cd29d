"""An etcd that is restarted, suspended or unreachable for a while."""

from __future__ import annotations

from typing import Any

import pytest
import pytest_twisted
from twisted.internet import reactor
from twisted.internet.defer import ensureDeferred
from twisted.internet.endpoints import TCP4ServerEndpoint
from twisted.internet.task import deferLater
from twisted.protocols.portforward import ProxyFactory, ProxyServer

from orchd.store.interfaces import CompactedError, RevisionConflictError, StoreError, UnavailableError
from orchd.testing.contracts.store import Seen, outcomes, present, raises
from orchd.testing.processes.etcd import Etcd
from tests.store.etcd.etcd_support import Open, impatient, until


class Relay:
    """A relay in front of etcd that can be closed."""

    def __init__(self, url: str) -> None:
        host, port = url.partition("://")[2].split(":")
        self._open: list[Any] = []
        relays = self._open

        class Relayed(ProxyServer):
            def connectionMade(self) -> None:
                relays.append(self)
                ProxyServer.connectionMade(self)

        self._factory: Any = ProxyFactory(host, int(port))
        self._factory.protocol = Relayed
        self._port: Any = None
        self._number = 0

    async def open(self) -> str:
        endpoint = TCP4ServerEndpoint(reactor, self._number, interface="127.0.0.1")
        self._port = await endpoint.listen(self._factory)
        self._number = self._port.getHost().port
        return f"http://127.0.0.1:{self._number}"

    async def close(self) -> None:
        """Cut all connections and accept no more."""
        await self._port.stopListening()
        for relay in self._open:
            relay.transport.abortConnection()
            if relay.peer is not None:
                relay.peer.transport.abortConnection()
        self._open.clear()
        await deferLater(reactor, 0.05)


@pytest.fixture(autouse=True)
def frequent_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Health is checked frequently, since these tests wait for its result."""
    monkeypatch.setattr("orchd.store.etcd.store._CHECK", 0.5)


@pytest_twisted.ensureDeferred
async def test_watches_continue_after_an_etcd_restart(own_etcd: Etcd, opened: Open) -> None:
    """After a restart of etcd watches continue; meanwhile health reports it and writes time out."""
    async with opened(own_etcd.url, recent_events=5) as store:
        seen = Seen()
        begin = store.revision
        seen.watch(store, "/", begin)
        revisions = [await store.create(f"/a/{i}", b"x") for i in range(10)]
        async with impatient(store):
            own_etcd.kill()
            await until(lambda: bool(store.healthy()))
            await raises(UnavailableError, store.create("/away", b""))
            await raises(UnavailableError, store.current_revision())
            await raises(UnavailableError, store.range("/"))
        own_etcd.start()
        await until(lambda: not store.healthy())
        revisions += [await store.create(f"/b/{i}", b"x") for i in range(10)]
        assert seen.revisions() == revisions
        assert not seen.ends
        late = Seen()
        late.watch(store, "/", begin)
        await until(lambda: bool(late.progress))
        assert late.revisions() == revisions


@pytest_twisted.ensureDeferred
async def test_paused_member_is_noticed(own_etcd: Etcd, opened: Open) -> None:
    """A suspended member is detected although its connection is open; no event is lost when it resumes."""
    async with opened(own_etcd.url) as store:
        seen = Seen()
        seen.watch(store, "/", store.revision)
        revisions = [await store.create("/a", b"x")]
        async with impatient(store):
            own_etcd.pause()
            error = await raises(UnavailableError, store.create("/b", b"x"))
            assert "may have been applied" in str(error)
            await until(lambda: bool(store.healthy()))
        own_etcd.resume()
        await until(lambda: not store.healthy())
        revisions.append(await store.create("/c", b"x"))
        page = await store.range("/")
        # Pending calls may have been applied, and then watches have received them too.
        await until(lambda: seen.revisions() == sorted(item.revision for item in page.items))
        assert set(revisions) <= set(seen.revisions())


@pytest_twisted.ensureDeferred
async def test_writes_during_a_partition_arrive_in_order(etcd: Etcd, opened: Open) -> None:
    """Writes of others during a partition arrive afterwards, in order, once."""
    relay = Relay(etcd.url)
    async with opened(etcd.url) as other, opened(await relay.open()) as store:
        seen = Seen()
        revisions = [await other.create("/0", b"")]
        await until(lambda: store.revision >= revisions[0])
        seen.watch(store, "/", revisions[0] - 1)

        def caught_up() -> bool:
            return seen.revisions() == revisions

        for turn in range(3):
            await relay.close()
            assert store.healthy()
            revisions += [await other.create(f"/{turn}/{i}", b"") for i in range(20)]
            await relay.open()
            await until(caught_up)
        assert not seen.ends
        assert store.connects == 4
        await until(lambda: not store.healthy())
    await relay.close()


@pytest_twisted.ensureDeferred
async def test_watch_ends_after_a_missed_compaction(own_etcd: Etcd, opened: Open) -> None:
    """A watch that missed compacted events ends with an error; the store continues at the current revision."""
    relay = Relay(own_etcd.url)
    async with opened(own_etcd.url) as other, opened(await relay.open()) as store:
        seen = Seen()
        first = await other.create("/a", b"0")
        await until(lambda: store.revision >= first)
        seen.watch(store, "/", first)
        await relay.close()
        last = first
        for i in range(10):
            last = await other.update("/a", b"%d" % i, expected=last)
        await other.compact(last)
        await relay.open()
        await until(lambda: bool(seen.ends))
        assert isinstance(seen.ends[0], CompactedError)
        assert seen.events == []
        await until(lambda: not store.healthy())
        assert (store.compacted, store.revision, store.restarts) == (last, last, 1)
        again = Seen()
        again.watch(store, "/", last)
        assert await store.update("/a", b"x", expected=last) in again.revisions()
    await relay.close()


@pytest_twisted.ensureDeferred
async def test_guarded_updates_survive_failures(own_etcd: Etcd, opened: Open) -> None:
    """Guarded updates of a counter through a suspension and a restart: every acknowledged one counts once, in order."""
    keys = ["/n/a", "/n/b"]
    async with opened(own_etcd.url) as store, opened(own_etcd.url) as two:
        seen = Seen()
        begin = store.revision
        for key in keys:
            await store.create(key, b"0")
        seen.watch(store, "/n/", begin)
        acknowledged: list[int] = []
        unknown: list[str] = []
        over = False

        async def count(via: Any, key: str) -> None:
            while not over:
                try:
                    there = await present(via, key)
                    acknowledged.append(await via.update(key, b"%d" % (int(there.value) + 1), expected=there.revision))
                except RevisionConflictError:
                    await deferLater(reactor, 0)
                except UnavailableError:
                    unknown.append(key)
                    await deferLater(reactor, 0.02)

        counting = [ensureDeferred(count(via, key)) for via in (store, two) for key in keys for _ in range(2)]
        await until(lambda: len(acknowledged) > 50)
        async with impatient(store, two):
            # Calls that begin now will time out.
            done = len(acknowledged)
            await until(lambda: len(acknowledged) > done + 10)
            own_etcd.pause()
            await until(lambda: len(unknown) > 5)
        own_etcd.resume()
        done = len(acknowledged)
        await until(lambda: len(acknowledged) > done + 50)
        own_etcd.kill()
        await deferLater(reactor, 0.3)
        own_etcd.start()
        done = len(acknowledged)
        await until(lambda: len(acknowledged) > done + 50)
        over = True
        for each in counting:
            await each
        assert unknown
        end = await store.current_revision()
        await until(lambda: store.revision >= end)
        assert not seen.ends
        assert seen.revisions() == sorted(set(seen.revisions()))
        for key in keys:
            steps = [int(event.value) for event in seen.events if event.key == key]
            assert steps == list(range(len(steps)))
        assert len(set(acknowledged)) == len(acknowledged)
        assert set(acknowledged) <= set(seen.revisions())


@pytest_twisted.ensureDeferred
async def test_store_stops_while_etcd_is_away(own_etcd: Etcd, opened: Open) -> None:
    """A store stops while etcd is unavailable; pending calls fail."""
    async with opened(own_etcd.url) as store:
        seen = Seen()
        seen.watch(store, "/", store.revision)
        own_etcd.kill()
        writes = [store.create("/a", b""), store.range("/"), store.current_revision()]
        ended = ensureDeferred(_all(writes))
        await store.stop()
        assert {type(each) for each in await ended} == {UnavailableError}
        assert [type(each) for each in seen.ends] == [UnavailableError]


async def _all(work: list[Any]) -> list[Any]:
    results: list[StoreError | Any] = await outcomes(work)
    return results


@pytest_twisted.ensureDeferred
async def test_exhausted_stream_numbers_open_a_new_connection(
    etcd: Etcd, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When a connection has used up its stream numbers another one replaces it, and no call fails."""
    monkeypatch.setattr("orchd.store.grpc.http2._LAST_STREAM", 61)
    async with opened(etcd.url) as store:
        seen = Seen()
        seen.watch(store, "/", store.revision)
        results = await outcomes([store.create(f"/{i}", b"x") for i in range(200)])
        assert {type(each) for each in results} == {int}
        assert seen.revisions() == sorted(results)
        assert store.connects > 3
        assert not seen.ends
