"""Streams and connections that report their end, for stages that record how a long-running request ended."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.internet.interfaces import IProtocol
from twisted.internet.protocol import connectionDone
from twisted.python.failure import Failure
from zope.interface import implementer

from orchd.server.pipeline.interfaces import ISink, IStream


@implementer(IStream)
class ObservedStream:
    """Delegates to `stream`; calls `ended` once, when the stream finishes, is aborted or is stopped."""

    def __init__(self, stream: Any, ended: Callable[[], None]) -> None:
        self._stream = stream
        self._ended: Callable[[], None] | None = ended

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def start(self, sink: Any) -> None:
        self._stream.start(_ObservedSink(sink, self._report))

    def stop(self) -> None:
        self._stream.stop()
        self._report()

    def _report(self) -> None:
        ended, self._ended = self._ended, None
        if ended is not None:
            ended()


@implementer(ISink)
class _ObservedSink:
    """Reports the end of its stream and otherwise delegates."""

    def __init__(self, sink: ISink, report: Callable[[], None]) -> None:
        self._sink = sink
        self._report = report
        #: A bound method without a wrapper: watch frames pass here.
        self.write = sink.write

    @property
    def buffered(self) -> int:
        return self._sink.buffered

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sink, name)

    def finish(self) -> None:
        self._sink.finish()
        self._report()

    def abort(self) -> None:
        self._sink.abort()
        self._report()


class ObservedTakeover:
    """A connection that `hijack` took over; calls `ended` when it ends. `begun` is called when another protocol gets
    it."""

    def __init__(self, taken: Any, begun: Callable[[], None], ended: Callable[[], None]) -> None:
        self._taken, self._begun, self._ended = taken, begun, ended
        self.transport = taken.transport

    def to(self, protocol: IProtocol) -> None:
        self._begun()
        self._taken.to(_ObservedProtocol(protocol, self._ended))


@implementer(IProtocol)
class _ObservedProtocol:
    """Reports the end of its connection and otherwise delegates."""

    def __init__(self, protocol: Any, ended: Callable[[], None]) -> None:
        self._protocol, self._ended = protocol, ended
        #: A bound method without a wrapper: all data passes here.
        self.dataReceived = protocol.dataReceived

    def __getattr__(self, name: str) -> Any:
        return getattr(self._protocol, name)

    def makeConnection(self, transport: Any) -> None:
        self._protocol.makeConnection(transport)

    def connectionMade(self) -> None:
        self._protocol.connectionMade()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self._ended()
        self._protocol.connectionLost(reason)
