"""Additional methods of a store that is served."""

from __future__ import annotations

from collections.abc import Sequence

from twisted.internet.defer import Deferred
from zope.interface import Attribute

from orchd.store.grants import Grants
from orchd.store.interfaces import IStore, IWatch, KeyValue, OnEnd, OnEvents, OnProgress, Range
from orchd.store.records import Change
from orchd.store.watching import Flush


class IServedStore(IStore):
    """A store whose only writer is this process. A caller reads with `newest`, decides, and writes with `apply` in the
    same reactor turn: together these are a transaction.

    Transactions with several changes have one revision and advance `revision` by their number, so some revisions are
    used by no write.
    """

    submitted: int = Attribute("The revision that `newest` reads at, which may not be durable yet.")
    grants: Grants = Attribute("Running leases.")

    def file_size() -> int:
        """Size on disk in bytes."""

    def watch(
        prefix: str, *, after: int, on_events: OnEvents, on_end: OnEnd, on_progress: OnProgress | None = None,
        flush: Flush | None = None,
    ) -> IWatch:  # fmt: skip
        """As that of IStore. A watch with `flush` forwards its events to another process: it gets them before the
        others, and `flush` is called when everything of the commit is known that other processes wait for."""

    def newest(key: str) -> KeyValue | None:
        """The state of a key after all submitted writes."""

    def newest_span(low: str, high: str | None) -> list[KeyValue]:
        """As `newest`, of all keys from `low` on and before `high` (None: no bound), in order."""

    async def span(low: str, high: str | None, *, limit: int = 0, revision: int = 0) -> Range:
        """As `range`, of such keys."""

    def apply(changes: Sequence[Change], *, forwarded: bool = False) -> Deferred[int]:
        """Write changes of different keys at one revision; fires with it when they are durable, and fails with
        UnavailableError if none is. Those that are `forwarded` for another process fire before the others. Raises
        ValueError for an invalid key, UnavailableError."""

    def barrier() -> Deferred[int]:
        """Fires when every submitted write is durable; fails with UnavailableError if one is not."""

    async def grant(lease: int, ttl: int) -> None:
        """Begin a lease of `ttl` seconds, which must not be running. Raises UnavailableError."""

    async def revoke(lease: int) -> None:
        """End a running lease and delete its keys, at one revision. Raises UnavailableError."""
