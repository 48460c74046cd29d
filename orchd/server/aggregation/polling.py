"""`ServerPolls`: repeated requests to the servers behind APIServices, one at a time for each server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from twisted.internet.interfaces import IReactorTime

from orchd.server.aggregation.api_services import AggregatedService
from orchd.txkit.queue_workers import QueueWorkers

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
    a row."""

    failures: int = 0


S = TypeVar("S", bound=PolledServer)


class ServerPolls(Generic[S]):
    """Calls `poll(key, server)` for each server on request, every minute, and after failures with backoff.

    Between `start` and `stop`, at most `at_once` polls run concurrently. A request during a poll of the same server
    causes one further poll. `new_server` creates the state of a server; `name` describes the polls in the log.
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
        self._servers: dict[Key, S] = {}
        self._worker = QueueWorkers(name, self._poll_known, clock, at_once=at_once)

    def get(self, key: Key) -> S | None:
        """The state of a server; None if it is not polled."""
        return self._servers.get(key)

    def add(self, key: Key) -> S:
        """The state of a server, which is polled from the first `request` on."""
        return self._servers.setdefault(key, self._new_server())

    def request(self, key: Key) -> None:
        """Poll a server that was added, now or after its running poll."""
        self._worker.add(key)

    def forget(self, key: Key) -> None:
        """Stop polling a server. A running poll continues with the dropped state."""
        self._servers.pop(key, None)

    async def start(self) -> None:
        """Poll every server now."""
        for key in self._servers:
            self._worker.add(key)
        self._worker.start()

    async def stop(self) -> None:
        """Cancel running and delayed polls."""
        await self._worker.stop()

    async def _poll_known(self, key: Key) -> float | None:
        server = self._servers.get(key)
        if server is None:
            return None
        await self._poll(key, server)
        if self._servers.get(key) is not server:
            return None
        return min(_EVERY, _FIRST_PAUSE * 2 ** min(server.failures - 1, 16)) if server.failures else _EVERY
