"""When a connection sends its frames: those of one turn of the reactor together, and at once as far as its socket takes
them.

A transport of Twisted waits until the reactor has asked the system whether its socket takes anything: two system calls
and a pass of the reactor for each message.
"""

from __future__ import annotations

import socket
from typing import Any, Final

from twisted.internet.interfaces import IReactorTime
from twisted.internet.tcp import Connection

from orchd.store.grpc.http2 import Http2

#: Bytes of frames that are not kept until the end of the turn.
_LARGE: Final = 64 * 1024


class Sender:
    """Sends what `http` has for the peer."""

    def __init__(self, http: Http2, clock: IReactorTime) -> None:
        self._http = http
        self._clock = clock
        self._transport: Any = None
        #: The socket, if nothing has to be done with the bytes before it gets them.
        self._socket: socket.socket | None = None
        self._planned = False

    def connected(self, transport: Any) -> None:
        self._transport = transport
        if isinstance(transport, Connection) and not transport.TLS:
            self._socket = transport.getHandle()

    def soon(self) -> None:
        """Send at the end of this turn of the reactor what has been queued until then."""
        if self._socket is None or self._http.unsent > _LARGE:
            self.now()
        elif not self._planned:
            self._planned = True
            self._clock.callLater(0, self._turn_ended)

    def _turn_ended(self) -> None:
        self._planned = False
        self.now()

    def now(self) -> None:
        transport = self._transport
        data = self._http.take()
        if not data or transport is None:
            return
        # What the transport still has goes first.
        if self._socket is not None and not transport.dataBuffer and not transport._tempDataBuffer:
            try:
                sent = self._socket.send(data)
            except OSError:
                # Full, or broken: the reactor finds out which.
                sent = 0
            if sent == len(data):
                return
            data = data[sent:]
        transport.write(data)
