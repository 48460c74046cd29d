"""Pending attachments: their timeout, and the backoff of repeated Events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

#: Seconds within which a driver has to attach.
TIMEOUT: Final = 120.0
_FIRST_PAUSE: Final = 0.5
_LONGEST_PAUSE: Final = 122.0


@dataclass(slots=True)
class _Attempt:
    deadline: float
    failures: int = 0
    quiet_until: float = 0.0


class Attempts:
    """The pending attachments by name. Times are monotonic."""

    def __init__(self) -> None:
        self._attempts: dict[str, _Attempt] = {}

    def begin(self, name: str, now: float) -> None:
        """Wait for an attachment from `now` on; no effect if it is pending already."""
        self._attempts.setdefault(name, _Attempt(now + TIMEOUT))

    def end(self, name: str) -> bool:
        """Drop an attachment that is done or no longer needed. True if it was pending."""
        return self._attempts.pop(name, None) is not None

    def check(self, name: str, error: str, now: float) -> tuple[bool, float]:
        """(True if a failure is to be reported now, seconds until the next decision). `error` is the driver's, "" while
        it has not responded, which is a failure once the deadline has passed."""
        attempt = self._attempts[name]
        if not error and now < attempt.deadline:
            return False, attempt.deadline - now
        if now < attempt.quiet_until:
            return False, attempt.quiet_until - now
        pause = min(_FIRST_PAUSE * 2.0 ** min(attempt.failures, 16), _LONGEST_PAUSE)
        attempt.failures += 1
        attempt.quiet_until = now + pause
        if not error:
            attempt.deadline = attempt.quiet_until + TIMEOUT
        return True, pause if error else pause + TIMEOUT
