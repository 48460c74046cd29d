"""The contract of the watch cache (docs/decisions.md 1, 5).

A cache serves one resource (``pods``) to requests in all of its versions. Bytes are the storage version's JSON with the
revision in place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from zope.interface import Attribute, Interface

from orchd.cache.derived import DerivedBudget, DerivedHolder
from orchd.cache.stored_encoding import at_revision
from orchd.cache.written_objects import Announced
from orchd.errors import ApiError, internal


class Entry(DerivedHolder):
    """One object at one revision. Immutable except for `derived`.

    `path` is ``namespace/name`` or ``name`` (the key below the resource's prefix), `json` the object's complete JSON,
    `labels` its labels, `fields` the values of its selectable fields. `derived` caches representations computed from `json`
    by codec key (media type and version), within `budget`; without a budget, nothing is cached.

    `fresh` is the decoded object while the change of a write of this process is delivered, and None otherwise. `own` is True if
    this process has written the object: it then has the canonical shape, the defaults and the order of members of this release.
    """

    __slots__ = ("created", "fields", "fresh", "json", "labels", "own", "path", "revision")

    def __init__(
        self,
        path: str,
        revision: int,
        created: int,
        json: bytes,
        labels: Mapping[str, str],
        fields: Mapping[str, str],
        budget: DerivedBudget | None = None,
    ) -> None:
        super().__init__(budget)
        self.path = path
        self.revision = revision
        self.created = created
        self.json = json
        self.labels = labels
        self.fields = fields
        self.fresh: dict[str, Any] | None = None
        self.own = False

    def detached(self) -> DetachedEntry:
        """A copy to compute representations from in another thread."""
        made = DetachedEntry(self.path, self.revision, self.created, self.json, self.labels, self.fields)
        made.derived = self.derived
        return made

    def at_revision(self, revision: int) -> Entry:
        """The same object with another revision, for the DELETED event of an object that stopped matching a selector."""
        body = at_revision(self.json, self.revision, revision)
        return Entry(self.path, revision, self.created, body, self.labels, self.fields)


class DetachedEntry(Entry):
    """An entry outside of the cache: `made` has the representations that were computed from it, as arguments of `keep`."""

    __slots__ = ("made",)

    def __init__(
        self,
        path: str,
        revision: int,
        created: int,
        json: bytes,
        labels: Mapping[str, str],
        fields: Mapping[str, str],
    ) -> None:
        super().__init__(path, revision, created, json, labels, fields)
        self.made: list[tuple[Any, Any, int]] = []

    def keep(self, key: Any, value: Any, size: int) -> None:
        self.made.append((key, value, size))


class ChangeType(Enum):
    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


class Change(DerivedHolder):
    """One event of one resource.

    `entry` is the object after the change; for DELETED the last state, with the revision of the deletion. `previous` is the
    entry before the change (None for ADDED). `frames` caches encoded watch frames by encoding, within the budget. `versions`
    holds the change converted to other API versions, for the lifetime of the change.
    """

    __slots__ = ("entry", "previous", "type", "versions")

    def __init__(self, type: ChangeType, entry: Entry, previous: Entry | None, budget: DerivedBudget | None = None) -> None:
        super().__init__(budget)
        self.type = type
        self.entry = entry
        self.previous = previous
        self.versions: dict[Any, Any] = {}

    @property
    def frames(self) -> Mapping[Any, Any]:
        """The derived representations of a change: encoded watch frames by encoding."""
        return self.derived

    @property
    def revision(self) -> int:
        return self.entry.revision


@dataclass(frozen=True, slots=True)
class Damaged:
    """A stored value that cannot be read: its store key, its revision, and the reason."""

    key: str
    revision: int
    why: str

    def error(self) -> ApiError:
        """ApiError 500 that names the key. The same message is logged when the value is loaded or arrives."""
        return internal(
            f"the stored value of {self.key} at revision {self.revision} cannot be read ({self.why}): delete the object, or "
            "restore a backup"
        )


@dataclass(frozen=True, slots=True)
class Page:
    """Entries of a list, the revision it is consistent with, and the position of the next page.

    `next_path` is the path at which the next page starts, "" on the last page. `remaining` is the number of entries after
    this page, None if unknown (a selector was given).
    """

    entries: Sequence[Entry]
    revision: int
    next_path: str
    remaining: int | None
    #: Number of examined entries.
    fetched: int = 0


#: True for entries that belong to a list. None means all entries.
Match = Callable[[Entry], bool]
#: Extracts labels and selectable fields from stored bytes (the only decoding in the cache, once per write), or from the
#: object that they encode.
Index = Callable[[bytes | dict[str, Any]], tuple[Mapping[str, str], Mapping[str, str]]]


def under(path: str, prefix: str) -> bool:
    """True if a path is under a prefix: everything (""), a namespace (``ns/``), or one path."""
    return not prefix or path == prefix or (prefix[-1] == "/" and path.startswith(prefix))


class WatcherDroppedError(Exception):
    """A watcher exceeded its buffer because its reader was too slow."""


class ISubscription(Interface):
    """A subscription to the changes of a resource."""

    def cancel() -> None:
        """End the subscription; its callbacks are not called after this returns. Idempotent."""


class ICache(Interface):
    """The read model of one resource. Reactor thread only."""

    revision: int = Attribute("Store revision up to which this cache is complete.")
    oldest: int = Attribute("Oldest revision that `subscribe` and `page` accept.")

    async def ready() -> None:
        """Wait until the first load has finished."""

    async def fresh() -> None:
        """Wait until the cache contains every acknowledged write (consistent reads).

        Returns without suspending if only this process writes to the store. Raises ApiError 504 after a time limit."""

    async def at_least(revision: int) -> None:
        """Wait until `self.revision >= revision`; raises ApiError 504 (too large resource version) after a time limit."""

    def get(path: str) -> Entry | None:
        """The current entry. None as well if the value cannot be read; see `damaged` and `check_readable`."""

    def damaged(path: str) -> Damaged | None:
        """The defect of the stored value at a path, None if the value is readable or does not exist."""

    def check_readable(prefix: str = "", *, start: str = "", end: str = "") -> None:
        """Raise ApiError 500 if a value under `prefix` (as in `page`) cannot be read; the error names its key.

        Checks paths from `start` on and before `end` ("": no bound). `page` and changes omit unreadable values."""

    def page(
        *, prefix: str = "", match: Match | None = None, limit: int = 0, start: str = "", revision: int = 0,
        labels: Mapping[str, str] | None = None, fields: Mapping[str, str] | None = None,
    ) -> Page:
        """Entries under `prefix`, from `start` on, in key order, as of `revision` (0: current).

        `prefix` is "" (all), ``namespace/``, or the exact path of one object.

        `labels` and `fields` are exact requirements that an index may serve; `match` is applied besides them.
        Raises ApiError 410 (expired) when `revision` is older than `oldest`."""

    def subscribe(
        *, after: int, prefix: str, on_change: Callable[[Change], None], on_end: Callable[[Exception], None]
    ) -> ISubscription:
        """Call `on_change` for every change above revision `after` under `prefix` (as in `page`), in order.

        Changes of the window are delivered before this returns, later ones in the reactor turn in which their write is
        acknowledged. `on_end` is called once if the cache has to start over (the watcher must list again). Raises ApiError
        410 when `after` is older than `oldest`. The consumer bounds its buffer and cancels the subscription when it is full."""

    def past(*, after: int, most: int) -> Sequence[Change]:
        """The first `most` changes of the window above revision `after`, of all paths; empty at the end of the window.

        For consumers that read the window in portions: they subscribe after the last change, in the reactor turn in which
        this returned an empty sequence. Raises ApiError 410 as `subscribe` does."""

    async def applied(path: str, revision: int) -> Entry | None:
        """Wait for a write of this process at `revision`; return the entry it produced (None: it was a deletion)."""


class ICaches(Interface):
    """The caches of a server by resource key. A cache is created at its first request and kept until it is dropped."""

    announced: Announced = Attribute("Objects whose bytes this process is writing: caches do not decode these.")

    def cache(key: str, index: Index) -> ICache:
        """The cache of objects under ``/{key}/``. Starts loading if the cache is new."""

    def drop(key: str) -> None:
        """Close the cache of a deleted custom kind: end its watches and free its memory. Ignores unknown keys."""
