"""Connections of `twisted.web.client.Agent` with a limit on the size of response heads.

Twisted limits the length of a header line but not the number of lines, so that a peer could exhaust memory.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any, cast

from twisted.internet.interfaces import ITCPTransport
from twisted.python.failure import Failure
from twisted.web._newclient import HEADER, STATUS, HTTP11ClientProtocol
from twisted.web.client import HTTPConnectionPool, _HTTP11ClientFactory

#: Maximum bytes of a response head, including preceding interim responses.
MOST_HEAD = 256 * 1024


class HeadTooLargeError(Exception):
    """The head of a response exceeds `MOST_HEAD` bytes."""

    def __init__(self) -> None:
        super().__init__(f"net/http: server response headers exceeded {MOST_HEAD} bytes; aborted")


class _Protocol(HTTP11ClientProtocol):
    """Counts the bytes received while the response head is incomplete."""

    _head = 0

    def dataReceived(self, bytes: builtins.bytes) -> None:
        parse: Callable[[builtins.bytes], None] = super().dataReceived
        parse(bytes)
        parser = self._parser
        if parser is None or parser.state not in (STATUS, HEADER):
            self._head = 0
            return
        self._head += len(bytes)
        if self._head > MOST_HEAD:
            fail: Callable[[Failure], None] = self._giveUp
            fail(Failure(HeadTooLargeError()))
            cast(ITCPTransport, self.transport).abortConnection()


class _Factory(_HTTP11ClientFactory):
    # Nothing of each connection in the log.
    noisy = False

    def buildProtocol(self, addr: Any) -> _Protocol:
        make: Callable[[Any], _Protocol] = _Protocol
        return make(self._quiescentCallback)


def bounded_heads_pool(reactor: Any, *, persistent: bool) -> HTTPConnectionPool:
    """A connection pool whose requests fail with ResponseFailed around HeadTooLargeError."""
    pool = HTTPConnectionPool(reactor, persistent=persistent)
    pool._factory = _Factory
    return pool
