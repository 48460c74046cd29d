"""How many of the HTTP/2 frames that have arrived are processed at once, and how many without content a peer may
send."""

from __future__ import annotations

from typing import Final

from twisted.internet.interfaces import IReactorTime

_PREFACE: Final = 24
_HEADER: Final = 9
_DATA, _HEADERS, _WINDOW = 0, 1, 8
#: Frames that are handed on in one turn of the reactor.
_AT_ONCE: Final = 100


class FramePacer:
    """Divides the bytes of a client's connection into portions of whole frames.

    A portion has up to a hundred frames, and `requests` requests at most. Frames that carry neither a request nor
    content (PING, SETTINGS, PRIORITY, RST_STREAM, empty DATA ...) are counted: `burst` at once, and `rate` in each
    second. Window updates are not, as they follow content. Every reset counts, whether its request was served before
    it or not.
    """

    def __init__(self, clock: IReactorTime, *, requests: int, burst: int, rate: int) -> None:
        self._clock = clock
        self._request_cost = _AT_ONCE // requests
        self._burst, self._rate = float(burst), rate
        #: Bytes of the current frame (or the preface) that belong to it without a look.
        self._missing = _PREFACE
        self._allowed = self._burst
        self._counted = clock.seconds()

    @property
    def exceeded(self) -> bool:
        """True after too many frames without content."""
        return self._allowed < 0

    def more(self, size: int) -> bool:
        """True if `size` bytes that were left hold something that can be handed on."""
        return size >= (1 if self._missing else _HEADER)

    def take(self, data: bytes) -> int:
        """How much of what has arrived is the next portion."""
        at, frames = 0, 0
        size = len(data)
        while at < size and frames < _AT_ONCE:
            if self._missing:
                step = min(self._missing, size - at)
                self._missing -= step
                at += step
                continue
            if size - at < _HEADER:
                break
            length, kind = int.from_bytes(data[at : at + 3], "big"), data[at + 3]
            frames += self._request_cost if kind == _HEADERS else 1
            if kind not in (_HEADERS, _WINDOW) and not (kind == _DATA and length):
                self._count(1 + length // 64)
            self._missing = length
            at += _HEADER
        # The available content goes with the last frame.
        step = min(self._missing, size - at)
        self._missing -= step
        return at + step

    def _count(self, cost: int) -> None:
        now = self._clock.seconds()
        self._allowed = min(self._burst, self._allowed + (now - self._counted) * self._rate) - cost
        self._counted = now
