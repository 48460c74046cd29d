"""The recent changes of one resource, for watches and lists at past revisions."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from operator import attrgetter

from orchd.cache.entries import Change, ChangeType, Entry
from orchd.txkit.lru_cache import LruCache

_revision = attrgetter("revision")
#: Number of past revisions whose difference from the current state is cached, for clients that page through them.
_PASTS = 4


def _weight(change: Change) -> int:
    """Bytes that a change keeps in memory. Only the change of a deletion still references the previous entry."""
    size = len(change.entry.json)
    if change.type is ChangeType.DELETED and change.previous is not None:
        size += len(change.previous.json)
    return size


def _forget_derived(changes: Iterable[Change]) -> None:
    """Drop the representations of changes that leave the window: their budget would keep the changes, and both of their
    entries."""
    for change in changes:
        for each in (change, *change.versions.values()):
            if each.derived and each.budget is not None:
                each.budget.forget(each)


class _Past:
    """Difference of a past revision from the state at `upto`: path -> entry at that revision (None: did not exist)."""

    __slots__ = ("differs", "upto")

    def __init__(self, revision: int) -> None:
        self.differs: dict[str, Entry | None] = {}
        self.upto = revision


class Window:
    """All changes above revision `oldest`, in order, bounded by number, bytes and (through `expire`) age."""

    def __init__(self, *, limit: int, limit_bytes: int) -> None:
        self.oldest = 0
        #: Total bytes of all dropped changes.
        self.forgotten_bytes = 0
        self.limit = limit
        self._limit_bytes = limit_bytes
        self._changes: list[Change] = []
        self._times: list[float] = []
        self._bytes = 0
        self._pasts: LruCache[int, _Past] = LruCache(_PASTS)

    def __len__(self) -> int:
        return len(self._changes)

    @property
    def bytes(self) -> int:
        return self._bytes

    def restart(self, oldest: int) -> None:
        """Drop all changes; revisions below `oldest` can no longer be served."""
        self.oldest = oldest
        self.forgotten_bytes += self._bytes
        _forget_derived(self._changes)
        self._changes.clear()
        self._times.clear()
        self._pasts.clear()
        self._bytes = 0

    def add(self, change: Change, now: float) -> None:
        """Append a change that arrived at the monotonic time `now`."""
        self._changes.append(change)
        self._times.append(now)
        self._bytes += _weight(change)
        # Drops a quarter at once, because every drop moves the rest of the list.
        if len(self._changes) > self.limit or self._bytes > self._limit_bytes:
            self._drop(max(1, len(self._changes) // 4))

    def expire(self, before: float) -> None:
        """Drop the changes that arrived before a monotonic time."""
        self._drop(bisect_right(self._times, before))

    def _drop(self, count: int) -> None:
        if not count:
            return
        dropped = self._changes[:count]
        size = sum(map(_weight, dropped))
        self._bytes -= size
        self.forgotten_bytes += size
        self.oldest = dropped[-1].revision
        _forget_derived(dropped)
        del self._changes[:count]
        del self._times[:count]
        # They hold entries that the window has dropped.
        self._pasts.clear()

    def since(self, after: int, most: int | None = None) -> list[Change]:
        """The changes above a revision, at most `most`. The revision must not be older than `oldest`."""
        first = bisect_right(self._changes, after, key=_revision)
        return self._changes[first : None if most is None else first + most]

    def at(self, revision: int) -> Change | None:
        """The change with exactly this revision."""
        position = bisect_right(self._changes, revision, key=_revision)
        if position and self._changes[position - 1].entry.revision == revision:
            return self._changes[position - 1]
        return None

    def past(self, revision: int) -> dict[str, Entry | None]:
        """The difference of a past revision from now: path -> entry then (None: did not exist).

        The revision must not be older than `oldest`. Do not modify the result; it is valid in this reactor turn only.
        """
        past = self._pasts.obtain(revision, lambda: _Past(revision))
        differs = past.differs
        for change in self.since(past.upto):
            # The first change after the revision has the entry at the revision as its previous one.
            differs.setdefault(change.entry.path, change.previous)
            past.upto = change.entry.revision
        return differs
