"""Watches of kinds whose versions a webhook converts: entries and changes as the watched version has them.

A webhook takes time, and changes come when they come. So the changes of a watch wait in a bounded queue while those
before them are away, go out in batches, and come back in order. Watchers of one version share what is converted: the
first one asks, the others wait for its answer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Sequence

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from orchd import errors
from orchd.cache.interfaces import Change, Entry
from orchd.kinds.catalog import Resource
from orchd.server.pipeline.verbs.context import VerbContext
from orchd.txkit.coroutines import start

#: Entries that are converted with one call.
BATCH = 100
#: Changes of one watch that may wait; a watch with more is over.
MOST_WAITING = 1000

#: What a change becomes is kept in its frames, under the resource that it is seen as and whether its past matters.
_Mark = tuple[str, Resource, bool]


class SharedConversions:
    """What is being converted now, for all watches of a server."""

    def __init__(self) -> None:
        self._away: dict[tuple[_Mark, Change], list[Deferred[Exception | None]]] = {}

    async def changes(
        self, changes: Sequence[Change], mark: _Mark, convert: Callable[[list[Entry]], Awaitable[Sequence[Entry]]]
    ) -> list[Change]:
        """`changes` as `convert` has them, in their order. Raises what `convert` raises, whoever called it."""
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
            found = iter(await convert(entries))
            after = [next(found) for _ in changes]
            for change, entry in zip(changes, after, strict=True):
                before = next(found) if mark[2] and change.previous is not None else change.previous
                same = entry is change.entry and before is change.previous
                change.versions[mark] = change if same else Change(change.type, entry, before, change.budget)
        except Exception as error:
            # Also a cancelled call is an answer for those who wait for it.
            failed = error
            raise
        finally:
            for waiting in [w for change in changes for w in self._away.pop((mark, change))]:
                waiting.callback(failed)


class ConvertedFeed:
    """What one watch sees. `past` says that selectors look at what objects were before as well."""

    def __init__(self, tools: VerbContext, shared: SharedConversions, resource: Resource, *, past: bool) -> None:
        self._tools = tools
        self._shared = shared
        self._resource = resource
        self._past = past
        self._waiting: deque[Change] = deque()
        self._working = False

    @property
    def idle(self) -> bool:
        """Has every change been told?"""
        return not self._working

    def _served(self) -> Resource:
        """The resource under the definition in force. Raises ApiError 410 when the version is served no more."""
        old = self._resource
        found = self._tools.catalog().resource(old.group, old.version, old.plural)
        if found is None:
            raise errors.expired(f"{old.api_version} {old.kind} is served no more")
        return found

    async def entries(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Entries of the initial state. Raises ApiError."""
        return await self._converted(self._served(), entries)

    async def _converted(self, resource: Resource, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Entries in the version of `resource`. What an entry became is kept beside it until the definition changes: a
        thousand clients that come back at once ask the webhook about an object once, not a thousand times."""
        mark = ("converted", resource)
        found: dict[Entry, Entry] = {entry: made for entry in entries if (made := entry.derived.get(mark)) is not None}
        missing = [entry for entry in entries if entry not in found]
        if missing:
            for entry, made in zip(missing, await self._tools.registry.converted(resource, missing), strict=True):
                found[entry] = made
                if made is not entry:
                    entry.keep(mark, made, len(made.json))
        return [found[entry] for entry in entries]

    async def changes(self, changes: Sequence[Change]) -> Sequence[Change]:
        """Changes in their order. Raises ApiError."""
        resource = self._served()

        async def convert(entries: list[Entry]) -> Sequence[Entry]:
            return await self._converted(resource, entries)

        return await self._shared.changes(changes, ("converted", resource, self._past), convert)

    def follower(
        self, wanted: Callable[[Change], bool], tell: Callable[[Change], None], failed: Callable[[Failure], None]
    ) -> Callable[[Change], None]:
        """A function that takes changes as they come; `tell` gets those that are `wanted`, converted and in order.
        `failed` is told of the end."""

        def take(change: Change) -> None:
            if not wanted(change):
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
        """Forget what waits."""
        self._waiting.clear()
