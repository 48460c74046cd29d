"""The watch cache's contract: what reads, lists and watches see of one resource (DESIGN 1 and 5).

Everything here speaks of one resource (``pods``), whatever the version in which it is asked for. Bytes are the
storage version's JSON with the revision in place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from zope.interface import Attribute, Interface

from orchd.cache.derived import Derived, Holder
from orchd.errors import ApiError, internal


class Entry(Holder):
    """One object as of one revision. Immutable but for `forms`.

    `path` is ``namespace/name`` or ``name`` (the key below the resource's prefix), `json` the object's complete JSON,
    `labels` its labels, `fields` the values of the fields that its kind lets clients select by.
    `forms` has what was derived from `json`, once per form (a codec's key: media type and version), as long as there is
    place for it in `derived`; without that, nothing is kept.
    """

    __slots__ = ("created", "fields", "json", "labels", "path", "revision")

    def __init__(
        self,
        path: str,
        revision: int,
        created: int,
        json: bytes,
        labels: Mapping[str, str],
        fields: Mapping[str, str],
        derived: Derived | None = None,
    ) -> None:
        super().__init__(derived)
        self.path = path
        self.revision = revision
        self.created = created
        self.json = json
        self.labels = labels
        self.fields = fields

    def at_revision(self, revision: int) -> Entry:
        """The same object under another revision: the last state of one that has moved out of a watcher's sight."""
        head, mark, rest = self.json.partition(b'"resourceVersion":"')
        body = b"%b%b%d%b" % (head, mark, revision, rest[rest.index(b'"') :])
        return Entry(self.path, revision, self.created, body, self.labels, self.fields)


class ChangeType(Enum):
    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


class Change(Holder):
    """One event of one resource.

    `entry` is the object after the change; for DELETED the last state, carrying the revision of the deletion.
    `previous` is the entry before it (None for ADDED). `forms` has encoded watch frames, once per form; `frames` what
    the change is in another version, for as long as the change is known.
    """

    __slots__ = ("entry", "frames", "previous", "type")

    def __init__(self, type: ChangeType, entry: Entry, previous: Entry | None, derived: Derived | None = None) -> None:
        super().__init__(derived)
        self.type = type
        self.entry = entry
        self.previous = previous
        self.frames: dict[Any, Any] = {}

    @property
    def revision(self) -> int:
        return self.entry.revision


@dataclass(frozen=True, slots=True)
class Damaged:
    """A stored value that cannot be served: what it is stored under, as of which revision, and why not."""

    key: str
    revision: int
    why: str

    def error(self) -> ApiError:
        """500 that names the key. The log has the same words from when the value was met."""
        return internal(
            f"the stored value of {self.key} at revision {self.revision} cannot be read ({self.why}): delete the object, or "
            "restore a backup"
        )


@dataclass(frozen=True, slots=True)
class Page:
    """Entries of a list, the revision it is consistent with, and what is left.

    `next_path` is the path at which the next page starts, "" at the end. `remaining` counts entries after this page,
    None where that is not known (a selector was given).
    """

    entries: Sequence[Entry]
    revision: int
    next_path: str
    remaining: int | None


#: Does an entry belong to the answer? None stands for "all".
Match = Callable[[Entry], bool]
#: Makes labels and indexed fields from stored bytes: the only decoding that the cache does, once per write.
Index = Callable[[bytes], tuple[Mapping[str, str], Mapping[str, str]]]


def under(path: str, prefix: str) -> bool:
    """Is a path in what a prefix stands for: everything (""), a namespace (``ns/``), or one path?"""
    return not prefix or path == prefix or (prefix[-1] == "/" and path.startswith(prefix))


class WatcherDroppedError(Exception):
    """A watcher that fell behind its bound: the reader was too slow."""


class ISubscription(Interface):
    """A watcher's place in the fan-out."""

    def cancel() -> None:
        """Leave; no call comes after this returns. Idempotent."""


class ICache(Interface):
    """The read model of one resource. Reactor thread only."""

    revision: int = Attribute("Store revision up to which this cache is complete.")
    oldest: int = Attribute("Oldest revision from which `subscribe` and `page` can still go on.")

    async def ready() -> None:
        """Wait until the first load is done."""

    async def fresh() -> None:
        """Wait until the cache is as new as every acknowledged write (consistent reads).

        Returns without suspending on a store that only this process writes. Raises ApiError 504 after a limit."""

    async def at_least(revision: int) -> None:
        """Wait until `self.revision >= revision`; raises ApiError 504 (too large resource version) after a limit."""

    def get(path: str) -> Entry | None:
        """The current entry. None also where the value cannot be read: ask `damaged` or `check_readable`."""

    def damaged(path: str) -> Damaged | None:
        """What is wrong with the stored value at a path, None when nothing is."""

    def check_readable(prefix: str = "", *, start: str = "", end: str = "") -> None:
        """Raise ApiError 500 naming a key under `prefix` (as in `page`), from path `start` on and before `end` ("": no
        bound), whose value cannot be read. `page` and changes leave such values out, for those who rather go on."""

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
        """Every change with a revision above `after` under `prefix` (as in `page`), in order: those of the window before this returns,
        later ones in the reactor turn in which their write is acknowledged. `on_end` is called once if the cache must
        start over (the watcher has to list again). Raises ApiError 410 when `after` is older than `oldest`.
        The consumer bounds what it buffers and cancels itself when it falls behind."""

    def past(*, after: int, most: int) -> Sequence[Change]:
        """The first `most` changes of the window above `after`, whatever their paths; none when there are no more.

        For consumers that take the past at their own pace and subscribe after its last change, in the turn in which
        nothing more is there. Raises ApiError 410 as `subscribe` does."""

    async def applied(path: str, revision: int) -> Entry | None:
        """The entry that a write of this process made at `revision`, once the cache has it (None: it was a deletion)."""


class ICaches(Interface):
    """The caches of a server, by the `key` of a resource; made when first asked for, kept until dropped."""

    def cache(key: str, index: Index) -> ICache:
        """The cache of objects under ``/{key}/``; starts loading it when new."""

    def drop(key: str) -> None:
        """End a cache (its custom kind is gone): watches end, memory is freed."""
