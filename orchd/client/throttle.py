"""A limit on how many requests a client sends."""

from __future__ import annotations

from twisted.internet.defer import CancelledError
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater

from orchd.txkit.token_bucket import TokenBucket


class Throttle:
    """`burst` requests at once and `qps` per second after that; no limit with a `qps` that is not above 0."""

    def __init__(self, clock: IReactorTime, *, qps: float, burst: int) -> None:
        self._clock = clock
        self._bucket = TokenBucket(qps, max(1, burst), clock.seconds()) if qps > 0 else None

    async def wait(self) -> float:
        """Wait for the turn of one request; the seconds that it took."""
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
