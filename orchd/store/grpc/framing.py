"""Messages in DATA frames: a five-byte prefix (compressed flag, length) before each ("gRPC over HTTP2")."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from orchd.store.grpc.status import INTERNAL, RESOURCE_EXHAUSTED, UNIMPLEMENTED, StatusError

#: Size from which pieces are sent by themselves, in bytes: the largest frame that every peer takes.
_FRAME: Final = 16 * 1024


def prefixed(message: bytes) -> bytes:
    """One message as it is sent."""
    return b"\0" + len(message).to_bytes(4, "big") + message


def frames_of(pieces: Sequence[bytes]) -> tuple[list[bytes], int]:
    """A message of several pieces as it is sent, in larger pieces, and its size: every piece costs a frame."""
    size = sum(map(len, pieces))
    prefix = b"\0" + size.to_bytes(4, "big")
    if size < _FRAME:
        return [b"".join((prefix, *pieces))], size + 5
    frames: list[bytes] = []
    group, length = [prefix], 5
    for piece in pieces:
        group.append(piece)
        length += len(piece)
        if length >= _FRAME:
            frames.append(b"".join(group))
            group, length = [], 0
    if group:
        frames.append(b"".join(group))
    return frames, size + 5


class Deframer:
    """Assembles messages of at most `largest` bytes (0: any). `size` is the number of bytes of an incomplete one."""

    __slots__ = ("_buffer", "_largest")

    def __init__(self, largest: int = 0) -> None:
        self._buffer = bytearray()
        self._largest = largest

    @property
    def size(self) -> int:
        return len(self._buffer)

    def first(self, data: bytes) -> bytes | None:
        """Add data; returns as `next`, without copying what is exactly one message. Raises StatusError."""
        if not self._buffer and len(data) >= 5 and not data[0]:
            length = len(data) - 5
            if int.from_bytes(data[1:5], "big") == length and (not self._largest or length <= self._largest):
                return data[5:]
        self._buffer += data
        return self.next()

    def next(self) -> bytes | None:
        """The next complete message; None without one. Raises StatusError."""
        buffer = self._buffer
        if len(buffer) < 5:
            return None
        length = int.from_bytes(buffer[1:5], "big")
        if self._largest:
            if buffer[0] > 1:
                raise StatusError(INTERNAL, f"a message begins with the invalid flag {buffer[0]}")
            if buffer[0]:
                raise StatusError(UNIMPLEMENTED, "compressed messages are not supported")
            if length > self._largest:
                raise StatusError(
                    RESOURCE_EXHAUSTED, f"grpc: received message larger than max ({length} vs. {self._largest})"
                )
        end = 5 + length
        if len(buffer) < end:
            return None
        message = bytes(buffer[5:end])
        del buffer[:end]
        return message
