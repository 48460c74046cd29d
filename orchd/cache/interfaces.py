"""The contract of the watch cache (docs/decisions.md 1, 5).

A cache serves one resource (``pods``) to requests in all of its versions. Bytes are the storage version's JSON with the
revision in place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from zope.interface import Attribute, Interface

from orchd.cache.entries import Change, Damaged, Entry, Index, Match, Page
from orchd.cache.written_objects import Announced
from orchd.kinds.objects.list_query import EVERYTHING, Selection


class ISubscription(Interface):
    """A subscription to the changes of a resource."""

    def cancel() -> None:
        """End the subscription; its callbacks are not called after this returns. Idempotent."""


class ICache(Interface):
    """The read model of one resource. Reactor thread only."""

    revision: int = Attribute("Store revision up to which this cache is complete.")
    oldest: int = Attribute("Oldest revision that `subscribe` and `page` accept.")
    alone: bool = Attribute("Only this process writes to the store, so that the cache is always `fresh`.")

    async def ready() -> None:
        """Wait until the first load has finished."""

    async def fresh() -> None:
        """Wait until the cache contains every acknowledged write (consistent reads).

        Returns without suspending if only this process writes to the store. Raises ApiError 504 after a time limit."""

    async def at_least(revision: int) -> None:
        """Wait until `self.revision >= revision`; raises ApiError 504 (too large resource version) after a time
        limit."""

    def get(path: str) -> Entry | None:
        """The current entry. None as well if the value cannot be read; see `damaged` and `check_readable`."""

    def damaged(path: str) -> Damaged | None:
        """The defect of the stored value at a path, None if the value is readable or does not exist."""

    def check_readable(prefix: str = "", *, start: str = "", end: str = "") -> None:
        """Raise ApiError 500 if a value under `prefix` (as in `page`) cannot be read; the error names its key.

        Checks paths from `start` on and before `end` ("": no bound). `page` and changes omit unreadable values."""

    def page(
        *,
        prefix: str = "",
        match: Match | None = None,
        limit: int = 0,
        start: str = "",
        revision: int = 0,
        labels: Mapping[str, str] | None = None,
        fields: Mapping[str, str] | None = None,
    ) -> Page:
        """Entries under `prefix`, from `start` on, in key order, as of `revision` (0: current).

        `prefix` is "" (all), ``namespace/``, or the exact path of one object.

        `labels` and `fields` are exact requirements that an index may serve; `match` is applied besides them.
        Raises ApiError 410 (expired) when `revision` is older than `oldest`, or than the history of the store."""

    def subscribe(
        *,
        after: int,
        prefix: str,
        on_change: Callable[[Change], None],
        on_end: Callable[[Exception], None],
        selection: Selection = EVERYTHING,
    ) -> ISubscription:
        """Call `on_change` for every change above revision `after` under `prefix` (as in `page`), in order.

        Changes of objects that `selection` accepts neither before nor after the change may be omitted.

        Changes of the window are delivered before this returns, later ones in the reactor turn in which their write is
        acknowledged. `on_end` is called once if the cache has to start over (the watcher must list again). Raises
        ApiError 410 when `after` is older than `oldest`. The consumer bounds its buffer and cancels the subscription
        when it is full."""

    def past(*, after: int, most: int) -> Sequence[Change]:
        """The first `most` changes of the window above revision `after`, of all paths; empty at the end of the window.

        For consumers that read the window in portions: they subscribe after the last change, in the reactor turn in
        which this returned an empty sequence. Raises ApiError 410 as `subscribe` does."""

    async def applied(path: str, revision: int) -> Entry | None:
        """Wait for a write of this process at `revision`; return the entry it produced (None: it was a deletion)."""


class ICaches(Interface):
    """The caches of a server by resource key. A cache is created at its first request and kept until it is dropped."""

    announced: Announced = Attribute("Objects whose bytes this process is writing: caches do not decode these.")

    def cache(key: str, index: Index) -> ICache:
        """The cache of objects under ``/{key}/``. Starts loading if the cache is new."""

    def drop(key: str) -> None:
        """Close the cache of a deleted custom kind: end its watches and free its memory. Ignores unknown keys."""
