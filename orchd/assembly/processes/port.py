"""The port that serving processes share: a socket that the owner binds and each of them inherits.

All accept from one queue of the system, so that a connection is never given to a process that has ended or is busy for
long, and each leaves connections to processes that have fewer (`orchd.assembly.processes.load`).
"""

from __future__ import annotations

import socket
from typing import Any

from twisted.internet.defer import Deferred, maybeDeferred
from twisted.internet.interfaces import IListeningPort, IStreamServerEndpoint
from zope.interface import implementer

from orchd.assembly.processes.load import FairPort, Load
from orchd.server.http.listener import BACKLOG


@implementer(IStreamServerEndpoint)
class InheritedPort:
    """Listens at a bound socket that `process` has as the file descriptor `descriptor`, of the address family
    `family`."""

    def __init__(self, reactor: Any, descriptor: int, family: int, load: Load, process: int) -> None:
        self._reactor = reactor
        self._descriptor = descriptor
        self._family = family
        self._load = load
        self._process = process

    def listen(self, protocolFactory: Any) -> Deferred[IListeningPort]:
        return maybeDeferred(self._listen, protocolFactory)

    def _listen(self, factory: Any) -> IListeningPort:
        with socket.socket(fileno=self._descriptor) as bound:
            # The first process that is ready opens the port; for the others it is open already.
            bound.listen(BACKLOG)
            port: Any = self._reactor.adoptStreamPort(bound.fileno(), socket.AddressFamily(self._family), factory)
        FairPort(port, self._load, self._process, self._reactor)
        return port  # type: ignore[no-any-return]  # of Twisted, which declares none
