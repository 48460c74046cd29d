"""Connections of `twisted.web.client.Agent` on which the head of an answer has a limit.

Twisted bounds the length of a line and not their number, so that a peer could send header lines until memory is full.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any, cast

from twisted.internet.interfaces import ITCPTransport
from twisted.python.failure import Failure
from twisted.web._newclient import HEADER, STATUS, HTTP11ClientProtocol
from twisted.web.client import HTTPConnectionPool, _HTTP11ClientFactory

#: Bytes of an answer's head, with those of interim answers before it.
MOST_HEAD = 256 * 1024


class HeadTooLargeError(Exception):
    """The head of an answer is longer than is taken."""

    def __init__(self) -> None:
        super().__init__(f"net/http: server response headers exceeded {MOST_HEAD} bytes; aborted")


class _Protocol(HTTP11ClientProtocol):
    """Counts what arrives while no head is complete."""

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
