"""The recent changes of one resource: what a watch from the past is told, and what undoes the present."""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from operator import attrgetter

from orchd.cache.interfaces import Change, ChangeType, Entry

_revision = attrgetter("revision")
#: Past revisions whose difference from now is kept, for clients that page through them.
_PASTS = 4


def _weight(change: Change) -> int:
    """Bytes that remembering a change keeps alive. What a deletion replaced is kept by nothing else."""
    size = len(change.entry.json)
    if change.type is ChangeType.DELETED and change.previous is not None:
        size += len(change.previous.json)
    return size


class _Past:
    """What differs at a past revision: path -> entry then (None: was not there). Complete up to `upto`."""

    __slots__ = ("differs", "upto")

    def __init__(self, revision: int) -> None:
        self.differs: dict[str, Entry | None] = {}
        self.upto = revision


class Window:
    """Every change above `oldest`, in order, bounded by number, bytes and (through `expire`) age."""

    def __init__(self, *, limit: int, limit_bytes: int) -> None:
        self.oldest = 0
        #: Bytes of all changes that were ever forgotten.
        self.forgotten_bytes = 0
        self._limit = limit
        self._limit_bytes = limit_bytes
        self._changes: list[Change] = []
        self._times: list[float] = []
        self._bytes = 0
        self._pasts: OrderedDict[int, _Past] = OrderedDict()

    def __len__(self) -> int:
        return len(self._changes)

    @property
    def bytes(self) -> int:
        return self._bytes

    def restart(self, oldest: int) -> None:
        """Nothing before or at `oldest` is known."""
        self.oldest = oldest
        self.forgotten_bytes += self._bytes
        self._changes.clear()
        self._times.clear()
        self._pasts.clear()
        self._bytes = 0

    def add(self, change: Change, now: float) -> None:
        self._changes.append(change)
        self._times.append(now)
        self._bytes += _weight(change)
        # A quarter at once: the rest moves to the front of the list each time.
        if len(self._changes) > self._limit or self._bytes > self._limit_bytes:
            self._drop(max(1, len(self._changes) // 4))

    def expire(self, before: float) -> None:
        """Forget the changes that came before a time."""
        self._drop(bisect_right(self._times, before))

    def _drop(self, count: int) -> None:
        if not count:
            return
        dropped = self._changes[:count]
        size = sum(map(_weight, dropped))
        self._bytes -= size
        self.forgotten_bytes += size
        self.oldest = dropped[-1].revision
        del self._changes[:count]
        del self._times[:count]
        for revision in [r for r in self._pasts if r < self.oldest]:
            del self._pasts[revision]

    def since(self, after: int, most: int | None = None) -> list[Change]:
        """The (first `most`) changes above a revision that is not older than `oldest`."""
        first = bisect_right(self._changes, after, key=_revision)
        return self._changes[first : None if most is None else first + most]

    def at(self, revision: int) -> Change | None:
        """The change with exactly this revision."""
        position = bisect_right(self._changes, revision, key=_revision)
        if position and self._changes[position - 1].entry.revision == revision:
            return self._changes[position - 1]
        return None

    def past(self, revision: int) -> dict[str, Entry | None]:
        """What was different at a revision that is not older than `oldest`. Not to be edited, and only for now."""
        past = self._pasts.get(revision)
        if past is None:
            past = self._pasts[revision] = _Past(revision)
            if len(self._pasts) > _PASTS:
                self._pasts.popitem(last=False)
        else:
            self._pasts.move_to_end(revision)
        differs = past.differs
        for change in self.since(past.upto):
            # The first change after the revision is the one that knows what was there.
            differs.setdefault(change.entry.path, change.previous)
            past.upto = change.entry.revision
        return differs
