"""When the history cannot be read, the caches begin at the current state, and old versions are answered with 410."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import Deferred, succeed
from twisted.internet.task import Clock
from twisted.logger import capturedLogs, formatEvent

from orchd.cache.caches import Caches
from orchd.errors import ApiError
from orchd.store.encrypted import EncryptedStore
from orchd.store.encryption import AesGcm, Rule
from orchd.store.interfaces import DamagedValue
from orchd.store.memory import MemoryStore
from tests.cache.cache_support import index, now, stored


class PersistentMemoryStore(MemoryStore):
    """A memory store whose data outlives the service around it."""

    def stop(self) -> Deferred[None]:
        return succeed(None)


def sealed(inner: PersistentMemoryStore, *keys: int) -> EncryptedStore:
    sealers = tuple(AesGcm(b"s:key%d:" % key, bytes([key]) * 16) for key in keys)
    return EncryptedStore(inner, {"/secrets/": Rule("secrets", sealers, b"s:")}, mark=b"s:")


def ignore(*_: Any) -> None:
    """A listener that does nothing."""


def test_history_under_a_removed_key_is_expired() -> None:
    """A server whose history needs a removed encryption key is ready at once; earlier versions are expired."""
    clock = Clock()
    inner = PersistentMemoryStore(clock, compaction_interval=0)
    store = sealed(inner, 1)
    now(store._start())
    first = now(store.create("/secrets/default/a", stored("default/a")))
    now(store.create("/pods/default/a", stored("default/a")))
    now(sealed(inner, 2, 1)._start())
    store = sealed(inner, 2)
    now(store._start())
    caches = Caches(store, clock=clock)
    secrets, pods = caches.cache("secrets", index), caches.cache("pods", index)
    with capturedLogs() as events:
        caches.start()
    expected = "cannot read the history of the store: caches start at its current revision"
    assert sum(formatEvent(event).startswith(expected) for event in events) == 1
    now(secrets.ready())
    now(pods.ready())
    assert [entry.path for entry in secrets.page().entries] == ["default/a"]
    for cache in (secrets, pods):
        with pytest.raises(ApiError) as refused:
            cache.subscribe(after=first, prefix="", on_change=ignore, on_end=ignore)
        assert refused.value.code == 410
    created = now(store.create("/secrets/default/b", stored("default/b")))
    assert secrets.revision == created
    caches.stop()


def test_damage_of_a_former_value_is_not_reported_as_the_objects() -> None:
    """For a damaged value that was replaced the log says that the object is not affected; for a current one, what to do
    with it."""
    clock = Clock()
    store = PersistentMemoryStore(clock, compaction_interval=0)
    store.start()
    damaged = now(store.create("/pods/default/a", DamagedValue(stored("default/a"))))
    now(store.update("/pods/default/a", stored("default/a"), expected=damaged))
    now(store.create("/pods/default/b", DamagedValue(stored("default/b"))))
    caches = Caches(store, clock=clock)
    pods = caches.cache("pods", index)
    with capturedLogs() as events:
        caches.start()
        now(pods.ready())
    texts = [text for event in events if "cannot be read" in (text := formatEvent(event))]
    assert [
        ("/default/a" in text, "the object is not affected" in text, "delete the object" in text) for text in texts
    ] == [(True, True, False), (False, False, True)]
    assert [entry.path for entry in pods.page().entries] == ["default/a"]
    caches.stop()
