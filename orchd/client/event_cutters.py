"""Splits the body of a watch into its events, from pieces of any size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class EventCutter(Protocol):
    """Cuts one body. `pending` is the size in bytes of the event that is not complete, as far as it is known."""

    pending: int

    def cut(self, data: bytes) -> Sequence[bytes]:
        """The events that the next piece completes."""


class LineCutter:
    """Each event is a line; empty lines are ignored."""

    def __init__(self) -> None:
        self.pending = 0
        self._rest: list[bytes] = []

    def cut(self, data: bytes) -> Sequence[bytes]:
        first, *lines = data.split(b"\n")
        self._rest.append(first)
        self.pending += len(first)
        if not lines:
            return ()
        whole = b"".join(self._rest)
        self._rest = [lines[-1]]
        self.pending = len(lines[-1])
        return [line for line in (whole, *lines[:-1]) if line.strip()]


class FrameCutter:
    """Each event follows its length in four bytes, big-endian."""

    def __init__(self) -> None:
        self.pending = 0
        self._rest = b""
        #: Pieces of an event that is not complete.
        self._parts: list[bytes] = []
        self._missing = 0

    def cut(self, data: bytes) -> Sequence[bytes]:
        if len(data) < self._missing:
            self._parts.append(data)
            self._missing -= len(data)
            return ()
        data = b"".join((self._rest, *self._parts, data))
        self._parts.clear()
        at, events = 0, []
        # What has no complete length is shorter than any event.
        while (size := int.from_bytes(data[at : at + 4], "big")) <= len(data) - at - 4:
            events.append(data[at + 4 : at + 4 + size])
            at += 4 + size
        self._rest = data[at:]
        self.pending = int.from_bytes(self._rest[:4], "big") if len(self._rest) >= 4 else 0
        self._missing = 4 + self.pending - len(self._rest)
        return events
