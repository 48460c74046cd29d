"""A bounded cache whose entries expire."""

from __future__ import annotations

from twisted.internet.task import Clock

from orchd.txkit.expiring_cache import ExpiringCache


def test_entries_expire() -> None:
    """An entry exists until it expires; one with a lifetime of 0 is not stored."""
    clock = Clock()
    cache: ExpiringCache[str, int] = ExpiringCache(4, clock.seconds)
    cache.put("a", 1, 10)
    cache.put("b", 2, 0)
    assert (cache.get("a"), cache.get("b"), cache.get("c")) == (1, None, None)
    clock.advance(10)
    assert cache.get("a") is None and len(cache) == 0


def test_least_recently_used_entry_is_evicted() -> None:
    """A full cache evicts the entry that was used least recently."""
    cache: ExpiringCache[int, int] = ExpiringCache(2, Clock().seconds)
    cache.put(1, 1, 9)
    cache.put(2, 2, 9)
    assert cache.get(1) == 1
    cache.put(3, 3, 9)
    assert (cache.get(1), cache.get(2), cache.get(3)) == (1, None, 3)
    cache.put(1, 1, 0)
    assert cache.get(1) is None
    cache.clear()
    assert len(cache) == 0
