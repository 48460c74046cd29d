"""The server's side of HTTP connections in memory, in the hands of a test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from twisted.internet.error import ConnectionLost
from twisted.internet.testing import MemoryReactorClock, StringTransport
from twisted.python.failure import Failure
from twisted.web.http_headers import Headers

from orchd.txkit.coroutines import start


@dataclass(frozen=True)
class Sent:
    """A request as the server read it."""

    method: str
    target: str
    headers: Headers
    body: bytes

    def header(self, name: str) -> list[str]:
        return [str(value) for value in self.headers.getRawHeaders(name, [])]


class MemoryHttp:
    """The server's side of the connections that a client opens with `reactor` to 127.0.0.1, port 8001."""

    def __init__(self) -> None:
        self.reactor = MemoryReactorClock()
        self.transports: list[StringTransport] = []
        self._protocols: list[Any] = []

    def accept(self) -> None:
        """Complete the connections that the client opened."""
        for host, port, factory, *_ in self.reactor.tcpClients[len(self._protocols) :]:
            assert host == "127.0.0.1" and port == 8001
            protocol: Any = factory.buildProtocol(None)
            transport = StringTransport()
            protocol.makeConnection(transport)
            self._protocols.append(protocol)
            self.transports.append(transport)

    def request(self) -> Sent:
        """The one request that was not read before."""
        self.accept()
        (data,) = [transport.value() for transport in self.transports if transport.value()]
        for transport in self.transports:
            transport.clear()
        head, _, body = data.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        headers = Headers()
        for line in lines:
            headers.addRawHeader(*line.split(": ", 1))
        method, target, _ = first.split(" ")
        return Sent(method, target, headers, body)

    def send(self, data: bytes) -> None:
        self._protocols[-1].dataReceived(data)

    def lose(self) -> None:
        self._protocols[-1].connectionLost(Failure(ConnectionLost()))

    def respond(self, code: int = 200, body: bytes = b"{}", **headers: str) -> None:
        """Send a complete response; header names have underscores for hyphens."""
        fields = {"Content_Type": "application/json", "Content_Length": str(len(body)), **headers}
        lines = [f"{name.replace('_', '-')}: {value}" for name, value in fields.items()]
        self.send("\r\n".join([f"HTTP/1.1 {code} X", *lines, "", ""]).encode() + body)

    def begin(self, coroutine: Any) -> list[Any]:
        """Start a call of the client; the list gets its result or its exception."""
        results: list[Any] = []

        def fail(failure: Failure) -> None:
            results.append(failure.value)

        start(coroutine).addCallbacks(results.append, fail)
        return results
