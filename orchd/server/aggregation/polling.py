"""`ServerPolls`: repeated requests to the servers behind APIServices, one at a time for each server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from twisted.internet.defer import DeferredSemaphore
from twisted.internet.interfaces import IDelayedCall, IReactorTime

from orchd.server.aggregation.api_services import AggregatedService
from orchd.txkit.background import Background

#: Seconds between polls of a server; pauses after failures grow from `_FIRST_PAUSE` to it.
_EVERY = 60.0
_FIRST_PAUSE = 1.0

#: Namespace, name and port of a service.
Key = tuple[str, str, int]


def server_key(server: AggregatedService) -> Key:
    """The key of the server behind an APIService; several APIServices may share it."""
    return server.namespace, server.service, server.port


@dataclass(slots=True)
class PolledServer:
    """State of one server; subclasses add the results of a poll. A poll sets `failures`, the number of failed polls in
    a row. The other fields belong to `ServerPolls`."""

    failures: int = 0
    running: bool = False
    again: bool = False
    due: IDelayedCall | None = None


S = TypeVar("S", bound=PolledServer)


class ServerPolls(Generic[S]):
    """Calls `poll(key, server)` for each server on request, every minute, and after failures with backoff.

    Between `start` and `stop`, at most `at_once` polls run concurrently. A request during a poll of the same server causes one
    further poll. `new_server` creates the state of a server; `name` describes the polls in the log.
    """

    def __init__(
        self,
        poll: Callable[[Key, S], Awaitable[None]],
        new_server: Callable[[], S],
        clock: IReactorTime,
        *,
        at_once: int,
        name: str,
    ) -> None:
        self._poll = poll
        self._new_server = new_server
        self._clock = clock
        self._name = name
        self._servers: dict[Key, S] = {}
        self._semaphore = DeferredSemaphore(at_once)
        self._background = Background()
        self._started = False

    def get(self, key: Key) -> S | None:
        """The state of a server; None if it is not polled."""
        return self._servers.get(key)

    def add(self, key: Key) -> S:
        """The state of a server, which is polled from the first `request` on."""
        return self._servers.setdefault(key, self._new_server())

    def forget(self, key: Key) -> None:
        """Stop polling a server. A running poll continues with the dropped state."""
        server = self._servers.pop(key, None)
        if server is not None:
            _cancel(server)

    async def start(self) -> None:
        """Poll every server now."""
        self._started = True
        self._background = Background()
        for key in list(self._servers):
            self.request(key)

    async def stop(self) -> None:
        """Cancel running and delayed polls."""
        self._started = False
        for server in self._servers.values():
            _cancel(server)
        await self._background.stop()

    def request(self, key: Key) -> None:
        """Poll a server that was added, now or after its running poll."""
        server = self._servers[key]
        _cancel(server)
        if server.running:
            server.again = True
        elif self._started:
            server.running = True
            self._background.add(self._poll_and_schedule(key, server), self._name)

    async def _poll_and_schedule(self, key: Key, server: S) -> None:
        try:
            await self._semaphore.acquire()
            try:
                await self._poll(key, server)
            finally:
                self._semaphore.release()
        finally:
            server.running = False
        if self._servers.get(key) is not server or not self._started:
            return
        if server.again:
            server.again = False
            self.request(key)
            return
        pause = min(_EVERY, _FIRST_PAUSE * 2 ** min(server.failures - 1, 16)) if server.failures else _EVERY
        server.due = self._clock.callLater(pause, self.request, key)


def _cancel(server: PolledServer) -> None:
    if server.due is not None and server.due.active():
        server.due.cancel()
    server.due = None
