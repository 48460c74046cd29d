"""The port that serving processes share: a socket that the owner binds and each of them inherits.

All accept from one queue of the system, so that a connection is never given to a process that has ended or is busy for long.
"""

from __future__ import annotations

import socket
from typing import Any

from twisted.internet.defer import Deferred, maybeDeferred
from twisted.internet.interfaces import IListeningPort, IStreamServerEndpoint
from zope.interface import implementer

from orchd.server.http.listener import BACKLOG


@implementer(IStreamServerEndpoint)
class InheritedPort:
    """Listens at a bound socket that this process has as the file descriptor `descriptor`, of the address family `family`."""

    def __init__(self, reactor: Any, descriptor: int, family: int) -> None:
        self._reactor = reactor
        self._descriptor = descriptor
        self._family = family

    def listen(self, protocolFactory: Any) -> Deferred[IListeningPort]:
        return maybeDeferred(self._listen, protocolFactory)

    def _listen(self, factory: Any) -> IListeningPort:
        with socket.socket(fileno=self._descriptor) as bound:
            # The first process that is ready opens the port; for the others it is open already.
            bound.listen(BACKLOG)
            port: Any = self._reactor.adoptStreamPort(bound.fileno(), socket.AddressFamily(self._family), factory)
        # One connection in each turn of the reactor: what a busy process leaves, others take.
        port.numberAccepts = 1
        return port  # type: ignore[no-any-return]  # of Twisted, which declares none
