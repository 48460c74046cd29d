"""Serial work on named objects, with retries of what the API refused."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from twisted.internet.interfaces import IReactorTime

from orchd.errors import ApiError
from orchd.txkit.log import Logger
from orchd.txkit.queue_workers import QueueWorkers

#: Seconds before a failed name is retried.
_PAUSE = 1.0
_log = Logger()


def retrying_worker(what: str, look: Callable[[str], Awaitable[object]], clock: IReactorTime) -> QueueWorkers[str]:
    """A worker that calls `look` with one name at a time. After an ApiError a name is retried, unless its object does
    not exist (404)."""

    async def try_(name: str) -> float | None:
        try:
            await look(name)
        except ApiError as error:
            if error.code not in (404, 409):
                _log.warn("{what} {name}: {error}", what=what, name=name, error=error.message)
            return None if error.code == 404 else _PAUSE
        return None

    return QueueWorkers(what, try_, clock)
