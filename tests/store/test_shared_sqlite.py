"""The embedded store of a process that has others as clients of its socket."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

import pytest
import pytest_twisted
from twisted.internet import reactor
from twisted.internet.task import deferLater
from zope.interface.verify import verifyObject

from orchd.assembly.store_ports import StorePorts, socket_file
from orchd.config.options import Options, from_options
from orchd.store.etcd.servers import make_servers
from orchd.store.etcd.store import EtcdOptions, EtcdStore
from orchd.store.interfaces import ClaimedError, ISharedStore, KeyExistsError, RevisionConflictError
from orchd.store.serving.interfaces import IServedStore
from orchd.store.shared_sqlite import SharedSqliteStore
from orchd.testing.processes.daemon import PATIENCE


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[tuple[SharedSqliteStore, EtcdStore]]:
    """The store of a process, and that of another one on its socket."""
    options = Options()
    options.parseOptions([f"--data-dir={folder}"])
    settings = from_options(options)
    path = str(folder / "store.sqlite")
    own = SharedSqliteStore(reactor, path, dialect_name=settings.dialect.name, random=Random(1))
    await own.start()
    ports = StorePorts(own, settings, reactor, Random(2))
    await ports.start()
    other = EtcdStore(
        reactor,
        make_servers(reactor, [f"unix://{socket_file(settings)}"]),
        dialect_name=settings.dialect.name,
        options=EtcdOptions(prefix="/", timeout=PATIENCE, start_timeout=PATIENCE),
        random=Random(3),
    )
    try:
        await other.start()
        yield own, other
    finally:
        await other.stop()
        await ports.stop()
        await own.stop()
        ports.close()


@pytest_twisted.ensureDeferred
async def test_claims_are_those_of_the_other_process(tmp_path: Path) -> None:
    """What one process has claimed the other cannot claim, in either direction; a refused write changes nothing."""
    async with opened(tmp_path) as (own, other):
        verifyObject(ISharedStore, own)
        verifyObject(IServedStore, own)
        revision = await own.write("/services/a", b"a", expected=0, take=["ip/1", "port/1"], leave=[])
        with pytest.raises(ClaimedError) as refused:
            await other.write("/services/b", b"b", expected=0, take=["ip/2", "port/1"], leave=[])
        assert (refused.value.claim, refused.value.holder, refused.value.revision) == (
            "port/1",
            "/services/a",
            revision,
        )
        await other.write("/services/b", b"b", expected=0, take=["ip/2"], leave=[])
        with pytest.raises(ClaimedError) as back:
            await own.write("/services/c", b"c", expected=0, take=["ip/3", "ip/2"], leave=[])
        assert (back.value.claim, back.value.holder) == ("ip/2", "/services/b")
        assert await own.get("/services/c") is None
        changed = await own.write("/services/a", b"A", expected=revision, take=["ip/3"], leave=["ip/1", "ip/none"])
        await other.write("/services/d", b"d", expected=0, take=["ip/1"], leave=[])
        await own.write("/services/a", None, expected=changed, take=[], leave=["ip/3", "port/1"])
        await other.write("/services/e", b"e", expected=0, take=["ip/3", "port/1"], leave=[])


@pytest_twisted.ensureDeferred
async def test_guard_comes_before_claims(tmp_path: Path) -> None:
    """A write of a key that is not as expected is refused for that, also while the write in its way is not durable."""
    async with opened(tmp_path) as (own, _):
        revision = await own.write("/a", b"1", expected=0, take=["x"], leave=[])
        with pytest.raises(KeyExistsError):
            await own.write("/a", b"2", expected=0, take=["x"], leave=[])
        with pytest.raises(RevisionConflictError) as stale:
            await own.write("/a", b"2", expected=revision - 1, take=["x"], leave=[])
        assert stale.value.current == await own.get("/a")
        pending = own.create("/b", b"1").__await__()
        next(pending, None)
        with pytest.raises(KeyExistsError):
            await own.write("/b", b"2", expected=0, take=["y"], leave=[])
        assert await own.get("/b") is not None


@pytest_twisted.ensureDeferred
async def test_claim_is_freed_if_unchanged(tmp_path: Path) -> None:
    """A claim whose holder does not need it is released, but not one that was made anew meanwhile."""
    async with opened(tmp_path) as (own, other):
        revision = await other.write("/a", b"a", expected=0, take=["x"], leave=[])
        with pytest.raises(ClaimedError) as held:
            await own.write("/b", b"b", expected=0, take=["x"], leave=[])
        await own.free(held.value)
        revision = await other.write("/a", b"a", expected=revision, take=["x"], leave=[])
        await own.free(held.value)
        with pytest.raises(ClaimedError):
            await own.write("/b", b"b", expected=0, take=["x"], leave=[])


@pytest_twisted.ensureDeferred
async def test_written_key_expires(tmp_path: Path) -> None:
    """A key that was written with claims and a time to live is deleted in the end, for both processes."""
    async with opened(tmp_path) as (own, other):
        await own.write("/a", b"a", expected=0, take=["x"], leave=[], ttl=1)
        while await other.get("/a") is not None:
            await deferLater(reactor, 0.05)
        assert await own.get("/a") is None


@pytest_twisted.ensureDeferred
async def test_acknowledged_write_is_in_the_others_consistent_revision(tmp_path: Path) -> None:
    """A process reads at least the revision of every acknowledged write of the other one."""
    async with opened(tmp_path) as (own, other):
        for number in range(20):
            revision = await own.create(f"/own/{number}", b"")
            assert await other.current_revision() >= revision
            revision = await other.create(f"/other/{number}", b"")
            assert await own.current_revision() >= revision
