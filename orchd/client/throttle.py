"""Client-side rate limit of requests."""

from __future__ import annotations

from twisted.internet.defer import CancelledError
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater

from orchd.txkit.token_bucket import TokenBucket


class Throttle:
    """Allows `burst` requests at once and `qps` per second after that. There is no limit if `qps` is 0 or negative."""

    def __init__(self, clock: IReactorTime, *, qps: float, burst: int) -> None:
        self._clock = clock
        self._bucket = TokenBucket(qps, max(1, burst), clock.seconds()) if qps > 0 else None

    async def wait(self) -> float:
        """Wait until one request may be sent. Returns the seconds waited. Cancelling returns the token."""
        if self._bucket is None:
            return 0.0
        pause = self._bucket.reserve(self._clock.seconds())
        if pause > 0:
            try:
                await deferLater(self._clock, pause)
            except CancelledError:
                self._bucket.put_back()
                raise
        return pause
