"""Watches of kinds with a conversion webhook: converts entries and changes to the watched version.

Conversion is asynchronous. The changes of a watch wait in a bounded queue, are converted in batches, and are delivered
in order. Watchers of the same version share conversions: the first one calls the webhook, the others await the result.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Sequence

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from orchd import errors
from orchd.cache.entries import Change, Entry
from orchd.kinds.catalog import Resource
from orchd.server.pipeline.verbs.context import VerbContext
from orchd.txkit.coroutines import start

#: Maximum number of entries per webhook call.
BATCH = 100
#: Maximum number of pending changes of one watch; a watch with more is ended.
MOST_WAITING = 1000

#: Conversion results are cached in a change's frames, by target resource and whether the previous object matters.
_Mark = tuple[str, Resource, bool]


class SharedConversions:
    """Running conversions, shared by all watches of a server."""

    def __init__(self) -> None:
        self._away: dict[tuple[_Mark, Change], list[Deferred[Exception | None]]] = {}

    async def changes(
        self, changes: Sequence[Change], mark: _Mark, convert: Callable[[list[Entry]], Awaitable[Sequence[Entry]]]
    ) -> list[Change]:
        """`changes` converted by `convert`, in order. Raises the errors of `convert` to every waiter."""
        while True:
            open_ = [c for c in changes if mark not in c.versions]
            if not open_:
                return [c.versions[mark] for c in changes]
            mine = [c for c in open_ if (mark, c) not in self._away]
            if mine:
                await self._ask(mine, mark, convert)
                continue
            waiting: Deferred[Exception | None] = Deferred()
            self._away[mark, open_[0]].append(waiting)
            failed = await waiting
            if failed is not None:
                raise failed

    async def _ask(
        self, changes: list[Change], mark: _Mark, convert: Callable[[list[Entry]], Awaitable[Sequence[Entry]]]
    ) -> None:
        for change in changes:
            self._away[mark, change] = []
        failed: Exception | None = None
        try:
            entries = [change.entry for change in changes]
            if mark[2]:
                entries += [change.previous for change in changes if change.previous is not None]
            converted = iter(await convert(entries))
            after = [next(converted) for _ in changes]
            for change, entry in zip(changes, after, strict=True):
                before = next(converted) if mark[2] and change.previous is not None else change.previous
                same = entry is change.entry and before is change.previous
                change.versions[mark] = change if same else Change(change.type, entry, before, change.budget)
        except Exception as error:
            # Waiters must get a result also when the call is cancelled.
            failed = error
            raise
        finally:
            for waiting in [w for change in changes for w in self._away.pop((mark, change))]:
                waiting.callback(failed)


class ConvertedFeed:
    """The converted feed of one watch. `past` is True if selectors need the previous objects too."""

    def __init__(self, context: VerbContext, shared: SharedConversions, resource: Resource, *, past: bool) -> None:
        self._context = context
        self._shared = shared
        self._resource = resource
        self._past = past
        self._waiting: deque[Change] = deque()
        self._working = False

    @property
    def idle(self) -> bool:
        """True if every change has been delivered."""
        return not self._working

    def _served_resource(self) -> Resource:
        """The resource in the current catalog. Raises ApiError 410 when the version is no longer served."""
        old = self._resource
        resource = self._context.catalog().resource(old.group, old.version, old.plural)
        if resource is None:
            raise errors.expired(f"{old.api_version} {old.kind} is served no more")
        return resource

    async def entries(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Entries of the initial state. Raises ApiError."""
        return await self._convert(self._served_resource(), entries)

    async def _convert(self, resource: Resource, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Entries in the version of `resource`. Results are cached with the entry until the definition changes: a
        thousand clients that reconnect at once cause one conversion per object."""
        mark = ("converted", resource)
        converted: dict[Entry, Entry] = {
            entry: kept for entry in entries if (kept := entry.derived.get(mark)) is not None
        }
        missing = [entry for entry in entries if entry not in converted]
        if missing:
            for entry, kept in zip(
                missing, await self._context.registry.to_requested_version(resource, missing), strict=True
            ):
                converted[entry] = kept
                if kept is not entry:
                    entry.keep(mark, kept, len(kept.json))
        return [converted[entry] for entry in entries]

    async def changes(self, changes: Sequence[Change]) -> Sequence[Change]:
        """Changes in their order. Raises ApiError."""
        resource = self._served_resource()

        async def convert(entries: list[Entry]) -> Sequence[Entry]:
            return await self._convert(resource, entries)

        return await self._shared.changes(changes, ("converted", resource, self._past), convert)

    def follower(
        self, selects: Callable[[Change], bool], tell: Callable[[Change], None], failed: Callable[[Failure], None]
    ) -> Callable[[Change], None]:
        """A callback for changes; `tell` receives those that `selects` accepts, converted and in order. `failed` is
        called at the end of the feed."""

        def take(change: Change) -> None:
            if not selects(change):
                return
            if len(self._waiting) >= MOST_WAITING:
                self._waiting.clear()
                failed(Failure(errors.expired("too many changes wait for the conversion webhook")))
                return
            self._waiting.append(change)
            if not self._working:
                self._working = True
                start(self._work(tell)).addErrback(failed)

        return take

    async def _work(self, tell: Callable[[Change], None]) -> None:
        while self._waiting:
            batch = [self._waiting.popleft() for _ in range(min(BATCH, len(self._waiting)))]
            for change in await self.changes(batch):
                tell(change)
        self._working = False

    def stop(self) -> None:
        """Discard pending changes."""
        self._waiting.clear()
