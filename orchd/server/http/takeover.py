"""A connection that another protocol takes over after a request, and the transport below it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from twisted.internet.interfaces import IProtocol


class Transport(Protocol):
    """The transport methods that the channel uses."""

    def write(self, data: bytes) -> None: ...
    def writeSequence(self, data: list[bytes]) -> None: ...
    def loseConnection(self) -> None: ...
    def abortConnection(self) -> None: ...
    def registerProducer(self, producer: Any, streaming: bool) -> None: ...
    def unregisterProducer(self) -> None: ...
    def pauseProducing(self) -> None: ...
    def resumeProducing(self) -> None: ...


class Takeover:
    """A connection after its request: write the response head to `transport`, then pass it `to` another protocol."""

    def __init__(self, transport: Transport, hand_over: Callable[[IProtocol], None]) -> None:
        self.transport = transport
        self._hand_over = hand_over

    def to(self, protocol: IProtocol) -> None:
        """From now on `protocol` receives data, including buffered data, and the connection's end."""
        self._hand_over(protocol)
