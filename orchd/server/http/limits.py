"""Limits of a connection: sizes in bytes, times in seconds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of one connection; the defaults are those of the reference where it has one."""

    #: Maximum size of request line and headers; larger ones get 431.
    head: int = (1 << 20) + 4096
    #: Maximum time from the first byte of a head (or from the connection) to its end.
    head_timeout: float = 32.0
    #: Idle timeout between requests.
    idle_timeout: float = 90.0
    #: Timeout for a client that reads none of its pending data.
    stall_timeout: float = 300.0
    #: Bytes that all clients together leave unread; above it those that have been behind for `unread_patience` seconds
    #: are cut off, the longest first.
    unread_total: int = 64 << 20
    unread_patience: float = 5.0
    #: Limit of bytes that are read ahead of a verb that has not read the body, and of pipelined requests.
    read_ahead: int = 64 << 10
    #: The same for all connections together, with heads that have not ended; above it only connections with at most
    #: `read_ahead_each` bytes receive more.
    read_ahead_total: int = 32 << 20
    read_ahead_each: int = 16 << 10
    #: Maximum size of an unread body that is discarded so that the connection can be reused.
    discard: int = 256 << 10
    #: Maximum time for discarding an unread body, so that the client can read the response.
    linger: float = 5.0
    #: Larger bodies are compressed for clients that accept gzip; None disables compression.
    gzip_above: int | None = 128 << 10
