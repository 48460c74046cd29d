"""List queries: a range of paths at the current or a past revision, filtered by requirements."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from heapq import merge
from itertools import count, islice
from operator import itemgetter

from sortedcontainers import SortedList

from orchd.cache.entries import Entry, Match, Page

#: If more than one in this number of entries is a candidate, scanning all is faster than sorting the candidates.
_SPARSE = 8
#: Fields that are part of the path.
NAME = "metadata.name"
NAMESPACE = "metadata.namespace"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The entries of a resource at one revision. `differs` overrides the current entries, which have the sorted
    `paths`: the entry at that revision, or None if there was none."""

    entries: Mapping[str, Entry]
    paths: SortedList
    differs: Mapping[str, Entry | None]
    revision: int


@dataclass(frozen=True, slots=True)
class Requirements:
    """Requirements on entries: labels and fields with these values, and `match` (None: anything)."""

    match: Match | None
    labels: Mapping[str, str]
    fields: Mapping[str, str]

    def __bool__(self) -> bool:
        return bool(self.match is not None or self.labels or self.fields)

    def select(self, entries: Iterable[Entry]) -> Iterator[Entry]:
        """The entries that meet them."""
        labels, fields = self.labels.items(), self.fields.items()
        if labels:
            entries = (entry for entry in entries if labels <= entry.labels.items())
        if fields:
            entries = (entry for entry in entries if all(field_value(entry, k) == v for k, v in fields))
        return iter(entries) if self.match is None else filter(self.match, entries)


class RevisionView:
    """The entries of a snapshot with paths from `low` on and before `high` (None: no bound)."""

    def __init__(self, snapshot: Snapshot, low: str, high: str | None) -> None:
        entries, paths, differs = snapshot.entries, snapshot.paths, snapshot.differs
        self._snapshot = snapshot
        self._entries = entries
        self._paths = paths
        self._low = low
        self._high = high
        self._first = paths.bisect_left(low) if low else 0
        self._end = len(paths) if high is None else max(self._first, paths.bisect_left(high))
        self._differs = {p: e for p, e in differs.items() if p >= low and (high is None or p < high)} if differs else {}
        self._revived = sorted(path for path, entry in self._differs.items() if entry is not None)

    def __len__(self) -> int:
        hidden = sum(path in self._entries for path in self._differs)
        return self._end - self._first - hidden + len(self._revived)

    def __iter__(self) -> Iterator[Entry]:
        present = self._paths.islice(self._first, self._end)
        if not self._differs:
            return map(self._entries.__getitem__, present)
        return self._merge(present)

    def _merge(self, present: Iterable[str]) -> Iterator[Entry]:
        differs, entries = self._differs, self._entries
        unchanged = (path for path in present if path not in differs)
        for path in merge(unchanged, self._revived):
            entry = differs.get(path)
            yield entries[path] if entry is None else entry

    def select(self, candidates: Collection[str]) -> Iterator[Entry]:
        """In path order, at least the entries at `candidates` (current paths), and all that differ."""
        if len(candidates) * _SPARSE > self._end - self._first:
            # The view itself is in order already.
            return iter(self)
        low, high = self._low, self._high
        return self._merge(sorted(path for path in candidates if path >= low and (high is None or path < high)))

    def after(self, path: str) -> str:
        """The path that follows `path`, "" at the end."""
        rest = RevisionView(self._snapshot, path + "\0", self._high)
        for entry in rest:
            return entry.path
        return ""


def list_page(
    snapshot: Snapshot,
    requirements: Requirements,
    *,
    prefix: str,
    start: str,
    limit: int,
    candidates: Collection[str] | None,
) -> Page:
    """A page of a list. With requirements, the page at `next_path` may be empty: the rest is not searched for matches.

    `candidates` are the current paths that can meet the requirements, None for all.
    """
    fields, revision = requirements.fields, snapshot.revision
    if NAMESPACE in fields and (not prefix or prefix == fields[NAMESPACE] + "/"):
        prefix = fields[NAMESPACE] + "/" if fields[NAMESPACE] else prefix
    if NAME in fields and prefix.endswith("/"):
        prefix += fields[NAME]
    low, high = prefix, _end(prefix)
    view = RevisionView(snapshot, max(low, start), high)
    if not requirements:
        entries = list(islice(view, limit)) if limit else list(view)
        remaining = len(view) - len(entries) if limit else 0
        return Page(entries, revision, view.after(entries[-1].path) if remaining else "", remaining, len(entries))
    considered: Iterable[Entry] = view if candidates is None else view.select(candidates)
    looked_at = count()
    if limit:
        # The rest of the view is not read.
        considered = map(itemgetter(0), zip(considered, looked_at, strict=False))
    matching = requirements.select(considered)
    chosen = list(islice(matching, limit)) if limit else list(matching)
    more = view.after(chosen[-1].path) if limit and len(chosen) == limit else ""
    fetched = next(looked_at) if limit else len(view) if candidates is None else min(len(view), len(candidates))
    return Page(chosen, revision, more, None, fetched)


def _end(prefix: str) -> str | None:
    """The first path that is not under a prefix (all, a namespace, or one path)."""
    if not prefix:
        return None
    # "0" is the character after "/", so this is the first path after all names of the namespace.
    return prefix[:-1] + "0" if prefix[-1] == "/" else prefix + "\0"


def field_value(entry: Entry, name: str) -> str:
    """The value of a selectable field; "" for one that the object does not have."""
    if name == NAME:
        return entry.path.rpartition("/")[2]
    if name == NAMESPACE:
        return entry.path.rpartition("/")[0]
    return entry.fields.get(name, "")
