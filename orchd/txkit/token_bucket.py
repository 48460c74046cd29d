"""A token bucket: a burst, and a rate per second after it."""

from __future__ import annotations


class TokenBucket:
    """Starts full with `burst` tokens and gains `rate` per second. Times are seconds of one clock of the caller."""

    def __init__(self, rate: float, burst: float, now: float) -> None:
        self._rate = rate
        self._burst = burst
        self._tokens = burst
        self._at = now

    def take(self, now: float) -> bool:
        """Take a token if there is one."""
        self._gain(now)
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True

    def reserve(self, now: float, tokens: float = 1) -> float:
        """Take tokens, also ones that are not available yet. Returns the seconds until they are available, 0 for
        available ones."""
        self._gain(now)
        self._tokens -= tokens
        return 0.0 if self._tokens >= 0 else -self._tokens / self._rate

    def put_back(self) -> None:
        """Return a token that was reserved and not used."""
        self._tokens = min(self._burst, self._tokens + 1)

    def _gain(self, now: float) -> None:
        passed = max(0.0, now - self._at)
        self._at = max(self._at, now)
        self._tokens = min(self._burst, self._tokens + passed * self._rate)
