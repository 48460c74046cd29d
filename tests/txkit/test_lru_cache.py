"""A mapping that evicts the least recently used entry."""

from __future__ import annotations

from orchd.txkit.lru_cache import LruCache


def test_least_recently_used_entry_gives_way() -> None:
    """Reading and replacing an entry count as use; listing does not. Only values that give way are reported as
    evicted."""
    evicted: list[int] = []
    cache: LruCache[str, int] = LruCache(2, evicted.append)
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.get("a") == 1
    cache.put("c", 3)
    assert evicted == [2] and list(cache.items()) == [("a", 1), ("c", 3)]
    cache.put("a", 4)
    cache.put("d", 5)
    assert evicted == [2, 3] and list(cache.values()) == [4, 5]
    cache.remove("a")
    cache.clear()
    assert evicted == [2, 3] and not len(cache)


def test_obtain_makes_a_value_once() -> None:
    """`obtain` makes a missing value and adds it, which may evict another one."""
    keys: list[str] = []
    cache: LruCache[str, str] = LruCache(1)

    def make() -> str:
        keys.append("x")
        return "x"

    assert [cache.obtain("a", make), cache.obtain("a", make), cache.obtain("b", make)] == ["x"] * 3
    assert len(keys) == 2 and cache.get("a") is None
