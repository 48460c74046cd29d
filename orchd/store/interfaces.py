"""Contracts of stores: ordered keys, one global revision, guarded writes, watches (docs/decisions.md 4).

Keys are text such as ``/pods/default/a`` and are ordered by their UTF-8 bytes; values are bytes that the store never
reads. A revision is a positive integer that every write raises by exactly one; a fresh store is at revision 1.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from twisted.internet.defer import Deferred
from zope.interface import Attribute, Interface

from orchd.values import value_class


class StoreError(Exception):
    """Base class of the errors that a store raises."""


class KeyExistsError(StoreError):
    """`create` found an existing key."""

    def __init__(self, key: str) -> None:
        super().__init__(f"key exists: {key}")
        self.key = key


class RevisionConflictError(StoreError):
    """A guarded write found another revision. `current` is the present item, None when the key does not exist."""

    def __init__(self, key: str, current: KeyValue | None) -> None:
        super().__init__(f"revision conflict at {key}: " + ("gone" if current is None else str(current.revision)))
        self.key = key
        self.current = current


class ClaimedError(StoreError):
    """A write tried to take a claim that another key (`holder`) has held since `revision`."""

    def __init__(self, claim: str, holder: str, revision: int) -> None:
        super().__init__(f"{claim} is held by {holder}")
        self.claim = claim
        self.holder = holder
        self.revision = revision


class CompactedError(StoreError):
    """A revision that history no longer covers. `compacted` is the oldest revision that can still be read."""

    def __init__(self, revision: int, compacted: int) -> None:
        super().__init__(f"revision {revision} is compacted, oldest is {compacted}")
        self.revision = revision
        self.compacted = compacted


class FutureRevisionError(StoreError):
    """A revision that the store has not reached."""

    def __init__(self, revision: int, current: int) -> None:
        super().__init__(f"revision {revision} is ahead of {current}")
        self.revision = revision
        self.current = current


class UnavailableError(StoreError):
    """The store cannot serve writes or reads now (disk full, read-only, disconnected); the message is the reason."""


class DamagedValue(bytes):
    """A value that is known to be damaged. It must not be served; the key can be deleted or overwritten."""

    __slots__ = ()


@value_class()
class KeyValue:
    """A key's value as of `revision` (the revision of its last write); `created` is that of its creation."""

    key: str
    value: bytes
    revision: int
    created: int


class Lent(NamedTuple):
    """Where the value of a key can be read besides the store: `text` with `former` in the place of its bytes from
    `start` to `stop`."""

    text: bytes
    start: int
    stop: int
    former: bytes


class EventType(Enum):
    PUT = "PUT"
    DELETE = "DELETE"


@value_class()
class Event:
    """One write. `value` is the new value (b"" for a deletion), `previous` what it replaced (None for a creation)."""

    type: EventType
    key: str
    value: bytes
    revision: int
    created: int
    previous: KeyValue | None


@dataclass(frozen=True, slots=True)
class Range:
    """Items of a range, the store revision they are consistent with, and the number of remaining items."""

    items: tuple[KeyValue, ...]
    revision: int
    remaining: int


#: Receives events in revision order, each batch as it became durable. Must not raise and must not block.
OnEvents = Callable[[Sequence[Event]], None]
#: Called once when the store ends a watch: CompactedError, or UnavailableError, after which the caller opens a new
#: watch.
OnEnd = Callable[[StoreError], None]
#: Reports the revision up to which a watch is complete, with or without events.
OnProgress = Callable[[int], None]


class IWatch(Interface):
    """A running watch."""

    def cancel() -> None:
        """Stop; no callback is called afterwards. Idempotent."""


class IStore(Interface):
    """Revisions and bytes. Every method may be called from the reactor's thread only and never blocks it.

    A write's Deferred fires when the write is durable and after every watch on this store has received its event, in
    the same reactor turn. Cancelling a write's Deferred does not undo or stop the write. Coroutine methods may finish
    without suspending.
    """

    revision: int = Attribute("Revision of the last durable write that this process knows of.")
    compacted: int = Attribute("Oldest revision that `range` and `watch` still serve.")
    exclusive: bool = Attribute("Only this process writes, so that `revision` is always the newest one there is.")

    def healthy() -> str:
        """ "" while reads and writes are served, else the reason, for readiness checks."""

    def start() -> Deferred[None]:
        """Open. Fires when reads and writes are served; fails with a StoreError that names the remedy."""

    def stop() -> Deferred[None]:
        """Complete pending writes, end watches, close. Later calls fail with UnavailableError."""

    async def create(key: str, value: bytes, *, ttl: int | None = None) -> int:
        """Write a key that must not exist; `ttl` seconds until it is deleted by the store. Returns the revision.

        Raises KeyExistsError, UnavailableError."""

    async def update(key: str, value: bytes, *, expected: int, ttl: int | None = None) -> int:
        """Replace the value of a key that must be at revision `expected`. Returns the new revision.

        Raises RevisionConflictError, UnavailableError."""

    async def delete(key: str, *, expected: int) -> int:
        """Delete a key that must be at revision `expected`. Returns the revision of the deletion.

        Raises RevisionConflictError, UnavailableError."""

    async def get(key: str, *, revision: int = 0) -> KeyValue | None:
        """The value as of `revision` (0: the latest durable one)."""

    async def range(prefix: str, *, start: str = "", limit: int = 0, revision: int = 0) -> Range:
        """Keys that begin with `prefix`, from `start` on (a full key, inclusive), in key order, at one revision.

        `limit` 0 means all. Raises CompactedError, FutureRevisionError."""

    def lend(key: str, revision: int, lent: Lent) -> None:
        """Offer another place of the value of `key` at `revision`. A store that holds current values in memory keeps a
        reference to it from then on, and no value of its own. Does nothing if the key is at another revision."""

    async def current_revision() -> int:
        """A revision at least as new as every write acknowledged anywhere before the call (a consistent read)."""

    def watch(
        prefix: str, *, after: int, on_events: OnEvents, on_end: OnEnd, on_progress: OnProgress | None = None
    ) -> IWatch:
        """Every event with a revision above `after` whose key begins with `prefix`, in order, exactly once.

        Past events may be delivered before the call returns or in later turns. `on_progress` is called once when all
        events up to the time of the call are delivered (in the turn in which the watch becomes live, so possibly before
        the call returns), and again whenever the store learns that a watch without events is complete up to a newer
        revision. `on_end(CompactedError)`, in a later turn, when `after` is older than `compacted`."""

    async def compact(revision: int) -> None:
        """Discard history before `revision`; current values stay. A revision at or below `compacted` does nothing."""


class ISharedStore(IStore):
    """A store with several writing processes. Claims are cluster-wide unique names (an address, a port), each held by
    one key; they are taken and released in the same transaction as the write that they belong to."""

    async def write(
        key: str,
        value: bytes | None,
        *,
        expected: int,
        take: Collection[str],
        leave: Collection[str],
        ttl: int | None = None,
    ) -> int:
        """As `create` (`expected` 0), `update` or `delete` (`value` None). In the same transaction the key takes the
        claims in `take`, which must be unclaimed, and releases those in `leave`; if the write fails, claims do not
        change.

        Raises ClaimedError besides what these raise."""

    async def free(claimed: ClaimedError) -> None:
        """Release a claim that its holder does not need, unless it changed since."""
