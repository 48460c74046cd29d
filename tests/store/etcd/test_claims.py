"""Claims: values that only one key may hold, claimed together with a write, on any server."""

from __future__ import annotations

from typing import Any

import pytest
import pytest_twisted
from twisted.internet.defer import Deferred, DeferredList
from zope.interface.verify import verifyObject

from orchd.store.encrypted import SharedEncryptedStore
from orchd.store.encryption import AesGcm, Rule
from orchd.store.interfaces import ClaimedError, ISharedStore, KeyExistsError, RevisionConflictError, UnavailableError
from orchd.testing.contracts.store import Seen
from orchd.testing.processes.etcd import Etcd
from tests.store.etcd.etcd_support import Open


@pytest_twisted.ensureDeferred
async def test_claim_lasts_from_write_to_write(etcd: Etcd, opened: Open) -> None:
    """A claim belongs to its key from the write that makes it to the write that drops it; a rejected write changes
    nothing."""
    async with opened(etcd.url) as one, opened(etcd.url) as two:
        verifyObject(ISharedStore, one)
        revision = await one.write("/services/a", b"a", expected=0, take=["ip/1", "port/1"], leave=[])
        with pytest.raises(ClaimedError) as refused:
            await two.write("/services/b", b"b", expected=0, take=["ip/2", "port/1"], leave=[])
        assert (refused.value.claim, refused.value.holder, refused.value.revision) == (
            "port/1",
            "/services/a",
            revision,
        )
        assert await one.get("/services/b") is None
        # Its other claims are free.
        other = await two.write("/services/b", b"b", expected=0, take=["ip/2"], leave=[])
        changed = await one.write("/services/a", b"A", expected=revision, take=["ip/3"], leave=["ip/1", "ip/none"])
        await two.write("/services/b", b"B", expected=other, take=["ip/1"], leave=["ip/2"])
        # The guard on the key is checked before the claims.
        with pytest.raises(RevisionConflictError) as stale:
            await two.write("/services/a", b"x", expected=revision, take=["ip/1"], leave=[])
        assert stale.value.current == await one.get("/services/a")
        with pytest.raises(KeyExistsError):
            await two.write("/services/a", b"x", expected=0, take=["ip/1"], leave=[])
        await one.write("/services/a", None, expected=changed, take=[], leave=["ip/3", "port/1"])
        await two.write("/services/c", b"c", expected=0, take=["ip/2", "ip/3", "port/1"], leave=[])
        page = await two.range("/")
        assert [(item.key, item.value) for item in page.items] == [("/services/b", b"B"), ("/services/c", b"c")]


@pytest.mark.parametrize("trusted", [True, False])
@pytest_twisted.ensureDeferred
async def test_claims_cause_no_watch_events(etcd: Etcd, opened: Open, trusted: bool) -> None:
    """Watches show the write but not its claims; each write has one revision."""
    async with opened(etcd.url, trust_progress=trusted) as store:
        seen = Seen()
        seen.watch(store, "", store.revision)
        revision = await store.write("/a", b"1", expected=0, take=["x", "y"], leave=[])
        changed = await store.write("/a", b"2", expected=revision, take=["z"], leave=["x", "y"])
        gone = await store.write("/a", None, expected=changed, take=[], leave=["z"])
        assert seen.revisions() == [revision, changed, gone]
        assert revision < changed < gone


@pytest_twisted.ensureDeferred
async def test_one_of_concurrent_claims_wins(etcd: Etcd, opened: Open) -> None:
    """Of any number of concurrent writes on two servers with the same claim, one succeeds."""
    async with opened(etcd.url) as one, opened(etcd.url) as two:
        writes = [
            Deferred.fromCoroutine((one, two)[n % 2].write(f"/{n}", b"", expected=0, take=[f"ip/{n // 10}"], leave=[]))
            for n in range(100)
        ]
        results: list[tuple[bool, Any]] = await DeferredList(writes, consumeErrors=True)
        won = [n for n, (ok, _) in enumerate(results) if ok]
        assert sorted(n // 10 for n in won) == list(range(10))
        assert all(ok or failure.check(ClaimedError) for ok, failure in results)
        assert (await two.range("/")).remaining == 0
        assert len((await one.range("/")).items) == 10


@pytest_twisted.ensureDeferred
async def test_claim_is_freed_only_unchanged(etcd: Etcd, opened: Open) -> None:
    """An unused claim can be freed, unless it was claimed again."""
    async with opened(etcd.url) as store:
        await store.write("/a", b"", expected=0, take=["x"], leave=[])
        with pytest.raises(ClaimedError) as first:
            await store.write("/b", b"", expected=0, take=["x"], leave=[])
        await store.free(first.value)
        await store.write("/b", b"", expected=0, take=["x"], leave=[])
        # A stale result: /b holds it now.
        await store.free(first.value)
        with pytest.raises(ClaimedError) as second:
            await store.write("/c", b"", expected=0, take=["x"], leave=[])
        assert second.value.holder == "/b"
    with pytest.raises(UnavailableError):
        await store.free(second.value)


@pytest_twisted.ensureDeferred
async def test_claims_work_with_encrypted_values(etcd: Etcd, opened: Open) -> None:
    """Claims work with encrypted values, and conflicts have the decrypted value."""
    rule = Rule("services", (AesGcm(b"sealed:", b"k" * 16),), b"sealed:")
    async with opened(etcd.url) as inner:
        store = SharedEncryptedStore(inner, {"/services/": rule}, mark=b"sealed:")
        verifyObject(ISharedStore, store)
        revision = await store.write("/services/a", b"clear", expected=0, take=["x"], leave=[])
        kept = await inner.get("/services/a")
        assert kept is not None and b"clear" not in kept.value
        with pytest.raises(RevisionConflictError) as conflict:
            await store.write("/services/a", b"x", expected=revision - 1, take=[], leave=["x"])
        assert conflict.value.current is not None
        assert conflict.value.current.value == b"clear"
        with pytest.raises(ClaimedError) as refused:
            await store.write("/services/b", b"x", expected=0, take=["x"], leave=[])
        await store.free(refused.value)
        await store.write("/services/b", b"x", expected=0, take=["x"], leave=[])
