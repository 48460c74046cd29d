"""`CatalogBuild`: a value that is computed from the catalog or another value, in a thread, and again after each
change."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime

from orchd import errors
from orchd.txkit.background import Background

S = TypeVar("S")
T = TypeVar("T")

#: Seconds from a change of definitions until the next build: definitions are often created in groups.
SETTLE = 0.5
#: Shortest time until the next build, as a multiple of the duration of the last one: limits the share of the CPU that
#: builds take while definitions change all the time.
_REST = 4


class _Build(Generic[S]):
    """A running build. `stale` is set when the catalog has changed since its start, `succeeded` when it has
    succeeded."""

    def __init__(self, catalog: S) -> None:
        self.catalog = catalog
        self.stale = self.succeeded = self._over = False
        self._waiting: list[Deferred[None]] = []

    async def ended(self) -> bool:
        """Wait for the end of the build. True if it succeeded."""
        if not self._over:
            waiting: Deferred[None] = Deferred(self._waiting.remove)
            self._waiting.append(waiting)
            await waiting
        return self.succeeded

    def end(self) -> None:
        self._over = True
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            each.callback(None)


class CatalogBuild(Generic[S, T]):
    """Calls `make(catalog)` after each change of the catalog, one call at a time. Any value will do for a catalog that
    is the same one until it changes.

    `in_thread` runs a function off the reactor's thread; `what` names the value in logs and errors. Without
    `in_background`, set before the start, no start is eager.
    """

    def __init__(
        self,
        what: str,
        catalog: Callable[[], S],
        make: Callable[[S], T],
        *,
        in_thread: Callable[..., Awaitable[Any]],
        clock: IReactorTime,
    ) -> None:
        self._what = what
        self._catalog = catalog
        self._make = make
        self._in_thread = in_thread
        self._clock = clock
        self._background = Background()
        self._latest: tuple[S, T] | None = None
        self._build: _Build[S] | None = None
        self._due: IDelayedCall | None = None
        self._running = self._requested = False
        self.in_background = True
        #: Builds so far by reason ("add" for the first one, "update" for later ones), and the duration of the last one
        #: in seconds.
        self.builds: dict[str, int] = {}
        self.seconds: dict[str, float] = {}

    async def start(self, *, eager: bool = True) -> None:
        """Build the value for the current catalog soon, and for each later catalog. The first build is delayed, since
        the server is starting; a call of `current` starts it at once. If not `eager`, only that call starts builds."""
        self._running, self._requested = True, self._requested or (eager and self.in_background)
        if self._build is None and self._latest is None and self._due is None and self._requested:
            self._due = self._clock.callLater(SETTLE, self._begin)

    def begin(self) -> None:
        """Start a build for the current catalog, unless its value exists or is being built."""
        if self._build is None:
            self._begin()

    async def stop(self) -> None:
        """Cancel scheduled builds, and wait for a running one."""
        self._running = False
        if self._due is not None:
            self._due.cancel()
            self._due = None
        await self._background.idle()

    def changed(self) -> None:
        """The catalog has changed: start a build in `SETTLE` seconds, or later if the last one took long."""
        if self._build is not None:
            self._build.stale = True
        elif self._due is None and self._running and self._requested:
            self._due = self._clock.callLater(max(SETTLE, _REST * self.seconds.get("update", 0.0)), self._begin)

    async def current(self) -> T:
        """The value for the current catalog or a later one. Raises ApiError 500 if it cannot be built."""
        catalog, self._requested = self._catalog(), True
        if self._build is not None and self._build.catalog is not catalog:
            await self._build.ended()
        if self._latest is None or self._latest[0] is not catalog:
            # Started after the request arrived, so for `catalog` or a later catalog.
            build = self._build or self._begin()
            if build is not None and not await build.ended():
                raise errors.internal(f"the {self._what} cannot be built")
        assert self._latest is not None
        return self._latest[1]

    def _begin(self) -> _Build[S] | None:
        """Start a build for the current catalog; None if its value exists."""
        if self._due is not None and self._due.active():
            self._due.cancel()
        self._due = None
        catalog = self._catalog()
        if self._latest is not None and catalog is self._latest[0]:
            return None
        self._build = build = _Build(catalog)
        self._background.add(self._run(build), self._what)
        return build

    async def _run(self, build: _Build[S]) -> None:
        began, reason = self._clock.seconds(), "add" if self._latest is None else "update"
        try:
            self._latest = build.catalog, await self._in_thread(self._make, build.catalog)
            build.succeeded = True
            self.builds[reason] = self.builds.get(reason, 0) + 1
            self.seconds[reason] = self._clock.seconds() - began
        finally:
            self._build = None
            build.end()
            if build.stale and self._build is None:
                self.changed()
