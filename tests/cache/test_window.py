"""The window of recent changes: its bounds, and what of it is the past."""

from __future__ import annotations

import pytest

from orchd.cache.entries import Change, ChangeType, Entry
from orchd.cache.window import Window


def entry(path: str, revision: int, size: int = 10) -> Entry:
    return Entry(path, revision, revision, b"x" * size, {}, {})


def added(revision: int, path: str = "a", size: int = 10) -> Change:
    return Change(ChangeType.ADDED, entry(path, revision, size), None)


def window(*revisions: int, limit: int = 100, limit_bytes: int = 1000) -> Window:
    """A window with changes of ten bytes each, which arrived at the times of their revisions."""
    made = Window(limit=limit, limit_bytes=limit_bytes)
    for revision in revisions:
        made.add(added(revision), float(revision))
    return made


def revisions(made: Window) -> list[int]:
    return [change.revision for change in made.since(0)]


def test_bytes_that_changes_keep() -> None:
    """A change keeps its entry; that of a deletion also the one before, which nothing else has."""
    made = Window(limit=10, limit_bytes=1000)
    first, second = entry("a", 1, 10), entry("a", 2, 20)
    made.add(Change(ChangeType.ADDED, first, None), 1.0)
    assert made.bytes == 10
    made.add(Change(ChangeType.MODIFIED, second, first), 2.0)
    assert made.bytes == 30
    made.add(Change(ChangeType.DELETED, entry("a", 3, 21), second), 3.0)
    assert made.bytes == 71
    made.expire(1.0)
    assert (made.bytes, made.forgotten_bytes, made.oldest, len(made)) == (61, 10, 1, 2)
    made.restart(7)
    assert (made.bytes, made.forgotten_bytes, made.oldest, len(made)) == (0, 71, 7, 0)


@pytest.mark.parametrize(
    ("limit", "limit_bytes", "count", "kept"),
    [
        (4, 1000, 4, [1, 2, 3, 4]),
        (4, 1000, 5, [2, 3, 4, 5]),
        (8, 1000, 9, [3, 4, 5, 6, 7, 8, 9]),
        (2, 1000, 3, [2, 3]),
        (100, 40, 4, [1, 2, 3, 4]),
        (100, 40, 5, [2, 3, 4, 5]),
    ],
)
def test_the_oldest_quarter_gives_way(limit: int, limit_bytes: int, count: int, kept: list[int]) -> None:
    """A change beyond the limits drops a quarter of the changes, at least one."""
    made = window(*range(1, count + 1), limit=limit, limit_bytes=limit_bytes)
    assert revisions(made) == kept
    assert made.oldest == kept[0] - 1 and made.bytes == 10 * len(kept)


def test_changes_leave_by_their_time() -> None:
    """Those that arrived until a time leave; nothing changes where there are none."""
    made = window(1, 2, 3)
    made.expire(0.5)
    assert (revisions(made), made.oldest) == ([1, 2, 3], 0)
    made.expire(2.0)
    assert (revisions(made), made.oldest) == ([3], 2)
    made.expire(9.0)
    assert (revisions(made), made.oldest) == ([], 3)


def test_changes_above_a_revision() -> None:
    made = window(2, 5, 7)
    assert [[change.revision for change in made.since(after)] for after in (0, 2, 4, 7)] == [
        [2, 5, 7],
        [5, 7],
        [5, 7],
        [],
    ]
    assert [[change.revision for change in made.since(2, most)] for most in (0, 1, 2, 9)] == [[], [5], [5, 7], [5, 7]]


def test_change_of_a_revision() -> None:
    made = window(2, 5)
    found = {revision: made.at(revision) for revision in range(1, 8)}
    assert {revision: change.revision for revision, change in found.items() if change is not None} == {2: 2, 5: 5}
    assert window().at(1) is None


def test_past_differs_by_what_changed_since() -> None:
    """The entry that a path had at a revision, None if it had none; later changes are added."""
    made, first, second = Window(limit=9, limit_bytes=1000), entry("a", 1), entry("b", 2)
    made.add(Change(ChangeType.ADDED, first, None), 1.0)
    made.add(Change(ChangeType.ADDED, second, None), 2.0)
    made.add(Change(ChangeType.MODIFIED, entry("a", 3), first), 3.0)
    assert made.past(2) == {"a": first}
    made.add(Change(ChangeType.MODIFIED, entry("a", 4), entry("a", 3)), 4.0)
    made.add(Change(ChangeType.DELETED, entry("b", 5), second), 5.0)
    made.add(added(6, "c"), 6.0)
    assert made.past(2) == {"a": first, "b": second, "c": None}
    assert made.past(1) == {"a": first, "b": None, "c": None}
    assert made.past(5) == {"c": None}
    made.expire(1.0)
    assert made.past(2) == {"a": first, "b": second, "c": None}
    made.restart(6)
    assert made.past(6) == {}
