"""Derived representations are cached within a budget; the oldest are evicted first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchd.cache.derived import DerivedBudget
from orchd.cache.entries import Change, ChangeType, Entry
from orchd.cache.window import Window
from tests.cache.cache_support import Bench, now, stored


def entry(name: str, budget: DerivedBudget | None) -> Entry:
    return Entry(name, 1, 1, b"{}", {}, {}, budget)


def test_least_recent_representations_are_evicted() -> None:
    """A new representation evicts those of the entry that was used least recently."""
    budget = DerivedBudget(100)
    a, b, c = (entry(name, budget) for name in "abc")
    a.keep("row", "A", 30)
    b.keep("row", "B", 30)
    a.keep("frame", "F", 30)
    assert dict(a.derived) == {"row": "A", "frame": "F"} and (budget.bytes, len(budget)) == (90, 2)
    c.keep("row", "C", 20)
    assert not a.derived and b.derived == {"row": "B"} and c.derived == {"row": "C"} and budget.bytes == 50
    a.keep("row", "A", 30)
    assert a.derived == {"row": "A"} and budget.bytes == 80


@pytest.mark.parametrize("leave", [lambda window: window.expire(1.5), lambda window: window.restart(9)])
def test_changes_that_leave_the_window_lose_their_representations(leave: Callable[[Window], None]) -> None:
    """The budget keeps no change, nor its conversion, that the window has dropped."""
    budget, window = DerivedBudget(100), Window(limit=10, limit_bytes=1000)
    change, converted = (Change(ChangeType.ADDED, entry("a", budget), None, budget) for _ in range(2))
    change.versions["v2"] = converted
    change.keep("frame", "F", 10)
    converted.keep("frame", "F", 10)
    window.add(change, 1.0)
    leave(window)
    assert not change.derived and not converted.derived
    assert (len(budget), budget.bytes) == (0, 0)


def test_representation_larger_than_the_limit_is_not_cached() -> None:
    """A representation above the limit evicts nothing and is not cached."""
    budget = DerivedBudget(100)
    small, big = entry("a", budget), entry("b", budget)
    small.keep("row", "A", 30)
    big.keep("row", "B", 101)
    assert small.derived and not big.derived


def test_representations_of_transient_entries_are_not_cached() -> None:
    """The representation of a transient entry is not cached."""
    alone = entry("a", None)
    alone.keep("row", "A", 1)
    assert not alone.derived


@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from("xyz"), st.integers(0, 60), st.booleans()), max_size=60))
def test_cached_size_is_exact_and_bounded(steps: list[tuple[int, str, int, bool]]) -> None:
    """For any sequence of operations the size stays within the limit, and everything cached is counted."""
    budget = DerivedBudget(100)
    entries = [entry(str(number), budget) for number in range(6)]
    for number, key, size, forget in steps:
        if forget:
            budget.forget(entries[number])
        elif key not in entries[number].derived:
            entries[number].keep(key, size, size)
        kept = [sum(each.derived.values()) for each in entries]
        assert sum(kept) == budget.bytes <= 100
        assert sum(1 for each in entries if each.derived) == len(budget)


def test_change_drops_representations_of_the_old_entry() -> None:
    """A change drops the representations of the previous entry; those of the new entry count against the limit."""
    bench = Bench()
    cache = bench.start()
    revision = now(bench.store.create("/pods/a", stored("a")))
    first = cache.get("a")
    assert first is not None
    first.keep("row", "A", 30)
    told: list[Change] = []

    def hear(change: Change) -> None:
        told.append(change)
        # A subscriber may still read the previous entry while the change is delivered.
        assert change.previous is None or change.previous.derived
        change.keep("frame", "F", 40)

    ended: list[Any] = []
    cache.subscribe(after=cache.revision, prefix="", on_change=hear, on_end=ended.append)
    now(bench.store.update("/pods/a", stored("a", node="n"), expected=revision))
    assert len(told) == 1 and not first.derived and bench.caches.derived_budget.bytes == 40
    second = cache.get("a")
    assert second is not None
    second.keep("row", "A", 30)
    bench.caches.stop()
    assert not second.derived and bench.caches.derived_budget.bytes == 0
