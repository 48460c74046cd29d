"""Protocol upgrades: joins a client's connection with one to a backend after the backend has switched protocols.

Until the backend responds 101, with a protocol that the client offered, no byte after the client's request head is
forwarded: the backend would parse it as a request of this server, with this server's permissions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IPushProducer, IReactorTime
from twisted.internet.protocol import Protocol as Wire
from twisted.internet.protocol import connectionDone
from twisted.python.failure import Failure
from zope.interface import implementer

from orchd.errors import ApiError
from orchd.server.authz.interfaces import Action
from orchd.server.pipeline.interfaces import Request
from orchd.server.pipeline.running import RunningStreams, Stream
from orchd.txkit.chunked import BadChunk, ChunkDecoder
from orchd.txkit.log import Logger

#: Maximum size in bytes of a backend's response head, and of the body of a refusal.
MOST_HEAD = 64 * 1024
MOST_REFUSAL = 1024 * 1024

#: Seconds of a pause that is worth a timer.
_SHORTEST_PAUSE = 0.05
_END = b"\r\n\r\n"
_STATUS = re.compile(rb"HTTP/1\.[01] ([1-9][0-9]{2})(?: [^\x00-\x08\x0a-\x1f\x7f]*)?")
_FIELD = re.compile(rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*([^\x00-\x08\x0a-\x1f\x7f]*?)[ \t]*")
_PROTOCOL = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+(?:/[!#$%&'*+\-.^_`|~0-9A-Za-z]+)?")
#: Protocols that carry HTTP requests: a client could use them to send requests with the server's credentials.
_OF_REQUESTS = re.compile(r"(?:h2c?|h3|http|tls)(?:/.*)?")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f]")

Pairs = Sequence[tuple[str, str]]


class UpgradeError(Exception):
    """The backend's response to an upgrade cannot be forwarded; the text is the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpgradeResponse:
    """The head of a backend's response. `block` is the raw head including the empty line."""

    code: int
    headers: Pairs
    block: bytes

    def values(self, name: str) -> list[str]:
        """The values of a header, split at commas, in lower case."""
        return [word.strip().lower() for key, value in self.headers if key.lower() == name for word in value.split(",")]

    def agrees(self, offered: Sequence[str]) -> bool:
        """True for 101 with one of the offered protocols."""
        if self.code != 101 or "upgrade" not in self.values("connection"):
            return False
        chosen = self.values("upgrade")
        return len(chosen) == 1 and chosen[0] in [protocol.lower() for protocol in offered]


def offered_protocols(request: Request) -> list[str]:
    """The protocols that a client offers to upgrade to, without those that carry requests."""
    named = [word.strip() for value in request.headers.get("upgrade", ()) for word in value.split(",")]
    return [word for word in named if _PROTOCOL.fullmatch(word) and not _OF_REQUESTS.fullmatch(word.lower())]


def wants_upgrade(request: Request) -> bool:
    """True if the client requests an upgrade (RFC 9110, 7.8). A client that offers only protocols that carry requests
    is served over the current one."""
    if not any("upgrade" in value.lower() for value in request.headers.get("connection", ())):
        return False
    return not request.headers.get("upgrade") or bool(offered_protocols(request))


def upgrade_request(request: Request, host: str, path: str, headers: Pairs, body: bytes) -> bytes:
    """The request head and body for an upgrade at the backend. Line breaks in header values become spaces."""
    lines = [f"{request.method} {path} HTTP/1.1", f"Host: {host}"]
    lines += [f"{name}: {value}" for name, value in headers]
    lines += [f"Upgrade: {value}" for value in offered_protocols(request)]
    lines.append("Connection: Upgrade")
    if body:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*(_CONTROLS.sub(" ", line) for line in lines), "", ""]).encode("utf-8", "replace") + body


def parse_head(block: bytes) -> UpgradeResponse:
    """Parse a response head that ends with an empty line. Raises UpgradeError."""
    status, *lines = block.removesuffix(_END).split(b"\r\n")
    match = _STATUS.fullmatch(status)
    if match is None:
        raise UpgradeError("malformed HTTP response")
    headers: list[tuple[str, str]] = []
    for line in lines:
        field = _FIELD.fullmatch(line)
        if field is None:
            raise UpgradeError("malformed MIME header line")
        headers.append((field.group(1).decode("ascii"), field.group(2).decode("utf-8", "replace")))
    return UpgradeResponse(code=int(match.group(1)), headers=headers, block=block)


class IdleLimit:
    """Calls `expired` once when `touch` has not been called for `seconds`; `is_over` is True then."""

    def __init__(self, clock: IReactorTime, seconds: float, expired: Callable[[], object] = lambda: None) -> None:
        self._clock, self._seconds, self.expired = clock, seconds, expired
        self.is_over = False
        self._last = clock.seconds()
        self._call: IDelayedCall | None = clock.callLater(seconds, self._check_idle)

    def touch(self) -> None:
        self._last = self._clock.seconds()

    def _check_idle(self) -> None:
        left = self._last + self._seconds - self._clock.seconds()
        self._call = self._clock.callLater(left, self._check_idle) if left > 0 else None
        if self._call is None:
            self.is_over = True
            self.expired()

    def stop(self) -> None:
        call, self._call = self._call, None
        if call is not None:
            call.cancel()


@implementer(IPushProducer)
class PacedReading:
    """Reads a transport no faster than `rate` bytes per second. It is a producer in place of the transport: reading
    continues when neither the rate nor the consumer stops it."""

    def __init__(self, clock: IReactorTime, rate: int, transport: Any) -> None:
        self._clock, self._rate, self._transport = clock, rate, transport
        #: Time at which what has been read would have been read at the rate.
        self._due = clock.seconds()
        self._pause: IDelayedCall | None = None
        self._full = False

    def count(self, size: int) -> None:
        """Count bytes that were read."""
        now = self._clock.seconds()
        self._due = max(self._due, now) + size / self._rate
        if self._due - now > _SHORTEST_PAUSE and self._pause is None:
            self._transport.pauseProducing()
            self._pause = self._clock.callLater(self._due - now, self._go_on)

    def _go_on(self) -> None:
        self._pause = None
        if not self._full:
            self._transport.resumeProducing()

    def pauseProducing(self) -> None:
        self._full = True
        self._transport.pauseProducing()

    def resumeProducing(self) -> None:
        self._full = False
        if self._pause is None:
            self._transport.resumeProducing()

    def stopProducing(self) -> None:
        self.stop()
        self._transport.stopProducing()

    def stop(self) -> None:
        pause, self._pause = self._pause, None
        if pause is not None:
            pause.cancel()


class Side(Wire):
    """One of two joined connections; each is read as fast as the other is written."""

    _peer: Side | None = None
    _idle: IdleLimit | None = None
    _pace: PacedReading | None = None
    _running: RunningStreams[Stream] | None = None
    #: What the client must be allowed to do as long as the connections are joined.
    permitted: tuple[Action, ...] = ()
    log = Logger()
    transport: Any

    def join(self, peer: Side) -> None:
        self._peer, peer._peer = peer, self

    def limit(self, clock: IReactorTime, seconds: float) -> None:
        """Cut the connections when neither has sent anything for `seconds`: also the one that is left when the other
        has ended, if its far side does not read what remains."""
        if self._peer is not None:
            self._idle = self._peer._idle = IdleLimit(clock, seconds, self._expired)

    def hold(self, running: RunningStreams[Stream], permitted: tuple[Action, ...]) -> None:
        """Have the client's permission reviewed in `running` until the end of the connection."""
        if self._peer is not None and permitted:
            self._running, self.permitted = running, permitted
            running.add(self)

    def fail(self, error: ApiError) -> None:
        """Cut both connections: their protocols are those of client and backend, so that nothing can be said in
        them."""
        self.log.info("an upgraded connection was cut: {why}", why=error.message)
        self._expired()

    def slow_down(self, clock: IReactorTime, rate: int) -> None:
        """Read both connections no faster than `rate` bytes per second each."""
        for side in (self, self._peer):
            if side is not None and side._peer is not None:
                side._pace = PacedReading(clock, rate, side.transport)
                side._peer.transport.unregisterProducer()
                side._peer.transport.registerProducer(side._pace, True)

    def _expired(self) -> None:
        for side in (self, self._peer):
            if side is not None:
                side.transport.abortConnection()

    def registered(self) -> None:
        """Register the peer's transport as producer, for flow control."""
        if self._peer is not None:
            self.transport.registerProducer(self._peer.transport, True)

    def dataReceived(self, data: bytes) -> None:
        if self._idle is not None:
            self._idle.touch()
        if self._peer is not None:
            self._peer.transport.write(data)
        if self._pace is not None:
            self._pace.count(len(data))

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        if self._pace is not None:
            self._pace.stop()
        if self._running is not None:
            self._running.discard(self)
        peer, self._peer = self._peer, None
        if peer is None:
            if self._idle is not None:
                self._idle.stop()
        else:
            if self._idle is not None:
                self._idle.expired = peer._expired
            peer._peer = None
            peer.transport.unregisterProducer()
            peer.transport.loseConnection()


class BackendSide(Side):
    """The connection to a backend. States: waiting for the head, then for the body of a refusal, or joined."""

    def __init__(self) -> None:
        self._buffer = b""
        self._waiting: Deferred[bytes] | None = None
        self._lost = False
        self.is_joined = False

    async def respond(self) -> UpgradeResponse:
        """The head of the final response; interim responses are skipped. Raises UpgradeError."""
        left = MOST_HEAD
        while True:
            block = await self._until(lambda data, most=left: _head_of(data, most))
            response = parse_head(block)
            if response.code >= 200 or response.code == 101:
                return response
            left -= len(block)

    async def refusal(self, response: UpgradeResponse) -> bytes:
        """The body of a refusal. Raises UpgradeError."""
        if response.code in (204, 304):
            return b""
        codings, lengths = response.values("transfer-encoding"), set(response.values("content-length"))
        if codings:
            if codings != ["chunked"]:
                raise UpgradeError("unsupported transfer encoding")
            return await self._chunks()
        if not lengths:
            # The end of the connection delimits the body.
            return await self._until(lambda data: _check_size(data, len(data) if self._lost else -1))
        text = lengths.pop()
        if lengths or not (text.isascii() and text.isdigit()) or len(text) > 18:
            raise UpgradeError("bad Content-Length")
        size = int(text)
        return await self._until(lambda data: _check_size(data, size if len(data) >= size else -1, size))

    async def _chunks(self) -> bytes:
        decoder, pieces, size = ChunkDecoder(), [], 0
        while not decoder.ended:
            data = await self._until(lambda data: len(data) or -1)
            try:
                chunks = decoder.feed(data)
            except BadChunk as error:
                raise UpgradeError(str(error)) from None
            pieces += chunks
            size += sum(map(len, chunks))
            if size > MOST_REFUSAL:
                raise UpgradeError("the response to an upgrade is too large")
        return b"".join(pieces)

    async def _until(self, enough: Any) -> bytes:
        """The next bytes, up to the number that `enough` returns for the buffer (-1: more must arrive). Raises
        UpgradeError."""
        size = enough(self._buffer)
        while size < 0:
            if self._lost:
                raise UpgradeError("unexpected EOF")
            self._waiting = Deferred()
            await self._waiting
            size = enough(self._buffer)
        taken, self._buffer = self._buffer[:size], self._buffer[size:]
        return taken

    def join_client(self, near: Side) -> None:
        """Forward the bytes after the head, and everything from now on."""
        self.join(near)
        data, self._buffer = self._buffer, b""
        if data:
            near.transport.write(data)

    def _woken(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None and not waiting.called:
            waiting.callback(b"")

    def dataReceived(self, data: bytes) -> None:
        if self._peer is not None:
            super().dataReceived(data)
        else:
            self._buffer += data
            self._woken()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self._lost = True
        super().connectionLost(reason)
        self._woken()


def _head_of(data: bytes, most: int) -> int:
    """The size of the head at the beginning of `data`, -1 while it is incomplete. Raises UpgradeError."""
    end = data.find(_END, 0, most)
    if end >= 0:
        return end + len(_END)
    if len(data) >= most:
        raise UpgradeError("the head of the response to an upgrade is too large")
    return -1


def _check_size(data: bytes, size: int, expected: int = 0) -> int:
    """`size`, if received and expected bytes stay within the limit. Raises UpgradeError otherwise."""
    if max(len(data), expected) > MOST_REFUSAL:
        raise UpgradeError("the response to an upgrade is too large")
    return size
