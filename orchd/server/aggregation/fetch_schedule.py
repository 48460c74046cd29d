"""`FetchSchedule`: when documents of other servers are fetched."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from twisted.internet.defer import DeferredSemaphore
from twisted.internet.interfaces import IDelayedCall, IReactorTime

from orchd.txkit.background import Background

#: Namespace, name and port of a service.
Key = tuple[str, str, int]


@dataclass(slots=True)
class _Fetch:
    """`again`: fetch once more at the end of the running fetch. `due` is the scheduled next one."""

    running: bool = False
    again: bool = False
    due: IDelayedCall | None = None

    def cancel(self) -> None:
        if self.due is not None and self.due.active():
            self.due.cancel()
        self.due = None


class FetchSchedule:
    """Awaits `fetch(key)` for every known server: after `fetch_soon`, then again `pause(key)` seconds after its end, between `start`
    and `stop`. Never runs twice at a time for one server, and for at most `at_once` servers. `fetch` must handle its errors.
    """

    def __init__(
        self,
        fetch: Callable[[Key], Awaitable[None]],
        pause: Callable[[Key], float],
        clock: IReactorTime,
        *,
        at_once: int,
        purpose: str,
    ) -> None:
        """`purpose` names the background tasks in the log."""
        self._fetch = fetch
        self._pause = pause
        self._clock = clock
        self._purpose = purpose
        self._fetches: dict[Key, _Fetch] = {}
        self._running = DeferredSemaphore(at_once)
        self._background = Background()
        self._started = False

    async def start(self) -> None:
        """Fetch from all known servers."""
        self._started = True
        self._background = Background()
        for key in list(self._fetches):
            self.fetch_soon(key)

    async def stop(self) -> None:
        """Cancel and await running fetches."""
        self._started = False
        for fetch in self._fetches.values():
            fetch.cancel()
        await self._background.stop()

    def fetch_soon(self, key: Key) -> None:
        """Fetch from a server, which is known from now on: immediately, or at the end of its running fetch."""
        fetch = self._fetches.setdefault(key, _Fetch())
        fetch.cancel()
        if fetch.running:
            fetch.again = True
        elif self._started:
            fetch.running = True
            self._background.add(self._run(key, fetch), self._purpose)

    def forget(self, key: Key) -> None:
        """Fetch no more from a server. A running fetch ends normally."""
        fetch = self._fetches.pop(key, None)
        if fetch is not None:
            fetch.cancel()

    async def _run(self, key: Key, fetch: _Fetch) -> None:
        try:
            await self._running.acquire()
            try:
                if self._fetches.get(key) is fetch:
                    await self._fetch(key)
            finally:
                self._running.release()
        finally:
            fetch.running = False
        if self._fetches.get(key) is not fetch or not self._started:
            return
        if fetch.again:
            fetch.again = False
            self.fetch_soon(key)
        else:
            fetch.due = self._clock.callLater(self._pause(key), self.fetch_soon, key)
