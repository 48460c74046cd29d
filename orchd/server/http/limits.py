"""What a connection may cost: sizes in bytes, times in seconds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds of one connection; the defaults are those of the reference where it has one."""

    #: Request line and headers together; above it the answer is 431.
    head: int = (1 << 20) + 4096
    #: Time from the first byte of a head (or from the connection) to its end.
    head_timeout: float = 32.0
    #: How long a connection may wait for its next request.
    idle_timeout: float = 90.0
    #: A client that takes nothing of what is waiting for it is cut off after this.
    stall_timeout: float = 300.0
    #: Bytes that all clients together leave unread; above it those that have been behind for `unread_patience` seconds
    #: are cut off, the longest first.
    unread_total: int = 64 << 20
    unread_patience: float = 5.0
    #: How much is read ahead of a verb that has not asked for the body, and of pipelined requests.
    read_ahead: int = 256 << 10
    #: How much of an unwanted body is read so that the connection can be used again.
    discard: int = 256 << 10
    #: How long the rest of an unwanted body is taken, so that the client gets to read our answer.
    linger: float = 5.0
    #: Bodies above it are compressed for clients that take gzip; None never does.
    gzip_above: int | None = 128 << 10
