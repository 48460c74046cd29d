"""The tail of the audit events: the last ones in memory, and a bounded number of clients that follow them."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any, Protocol

import orjson
from zope.interface import implementer

from orchd import errors
from orchd.kinds.users import User
from orchd.server.pipeline.audit.interfaces import IAuditSink
from orchd.server.pipeline.audit.policy import METADATA, NONE, RECEIVED, Rule
from orchd.server.pipeline.interfaces import ISink, IStream, Request, RequestInfo, Response
from orchd.server.pipeline.representation import NO_STORE

#: Path of the tail.
PATH = "/debug/audit"
#: Clients that may follow at a time.
_MOST_FOLLOWERS = 16
#: Maximum number of retained events, and of their bytes.
_KEPT, _KEPT_BYTES = 200, 1 << 20
#: Bytes that a client may leave unread; events beyond are not sent to it, and counted.
_MOST_UNREAD = 256 << 10
#: Parts of an event that are not shown: objects may hold secrets, and have any size.
_HIDDEN = frozenset(("requestObject", "responseObject"))
_SHOWN = Rule(level=METADATA, omitted=frozenset((RECEIVED,)), omits_managed_fields=True)
_NOTHING = Rule(level=NONE, omitted=frozenset(), omits_managed_fields=True)


class IRules(Protocol):
    """Selects the rule of a request."""

    def rule(self, user: User | None, info: RequestInfo) -> Rule: ...


@implementer(IAuditSink)
class AuditTail:
    """A sink that keeps the metadata of the last events, and sends it to its followers as lines of JSON."""

    name = "tail"
    strict = False

    def __init__(self) -> None:
        self.lost = 0
        self._kept: deque[bytes] = deque()
        self._size = 0
        self._followers: set[TailStream] = set()
        self._stopped = False

    @property
    def followed(self) -> bool:
        """True while any client follows."""
        return bool(self._followers)

    async def take(self, event: Mapping[str, Any]) -> bool:
        line = orjson.dumps({name: value for name, value in event.items() if name not in _HIDDEN}) + b"\n"
        self._keep(line)
        for follower in tuple(self._followers):
            follower.send(line)
        return True

    async def stop(self) -> None:
        self.end()

    def end(self) -> None:
        """End all streams, and refuse new ones: the server stops."""
        self._stopped = True
        for follower in tuple(self._followers):
            follower.finish()

    async def respond(self, request: Request) -> Response:
        """The endpoint: the retained events, then each new event as it is recorded, until the client disconnects.
        Raises ApiError 405, 429, 503."""
        if request.method != "GET":
            raise errors.method_not_allowed()
        if self._stopped:
            raise errors.unavailable("the server is shutting down")
        if len(self._followers) >= _MOST_FOLLOWERS:
            raise errors.too_many_requests(f"{_MOST_FOLLOWERS} clients follow the audit events already")
        headers = [NO_STORE, ("X-Content-Type-Options", "nosniff")]
        return Response(content_type="application/x-ndjson", headers=headers, stream=TailStream(self))

    def history(self) -> bytes:
        """The retained events, oldest first."""
        return b"".join(self._kept)

    def add(self, follower: TailStream) -> None:
        self._followers.add(follower)

    def discard(self, follower: TailStream) -> None:
        self._followers.discard(follower)

    def _keep(self, line: bytes) -> None:
        self._kept.append(line)
        self._size += len(line)
        while len(self._kept) > _KEPT or self._size > _KEPT_BYTES:
            self._size -= len(self._kept.popleft())


@implementer(IStream)
class TailStream:
    """The stream of one client. A line ``{"lost": n}`` reports n dropped events: the client reads too slowly."""

    def __init__(self, tail: AuditTail) -> None:
        self._tail = tail
        self._sink: ISink | None = None
        self._lost = 0

    def start(self, sink: ISink) -> None:
        self._sink = sink
        self._tail.add(self)
        # An empty line makes the head arrive before the first event.
        sink.write(self._tail.history() or b"\n")

    def send(self, line: bytes) -> None:
        """Send one event, or count it when the client reads too slowly."""
        sink = self._sink
        if sink is None:
            return
        if sink.buffered + len(line) > _MOST_UNREAD:
            self._lost += 1
            return
        if self._lost:
            line = b'{"lost": %d}\n' % self._lost + line
            self._lost = 0
        sink.write(line)

    def finish(self) -> None:
        """End the stream normally."""
        sink = self._sink
        self.stop()
        if sink is not None:
            sink.finish()

    def stop(self) -> None:
        self._sink = None
        self._tail.discard(self)


class TailRules:
    """Rules of a server without audit policy: level Metadata for all requests while a client is connected, else
    None."""

    def __init__(self, tail: AuditTail) -> None:
        self._tail = tail

    def rule(self, user: User | None, info: RequestInfo) -> Rule:
        return _SHOWN if self._tail.followed else _NOTHING
