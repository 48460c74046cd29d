"""Large request bodies take room in memory before they are read."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock

from orchd.errors import ApiError
from orchd.kinds.users import User
from orchd.server.authn.interfaces import Credentials
from orchd.server.http.request_body import IncomingBody, NoBody
from orchd.server.http.request_head import CHUNKED
from orchd.server.pipeline import requestinfo
from orchd.server.pipeline.interfaces import Request, Response
from orchd.server.pipeline.query import Query
from orchd.server.pipeline.stages.body_room import ARRIVAL, SMALL, BodyRoom
from orchd.txkit.byte_budget import ByteBudget
from orchd.txkit.coroutines import enter

LARGEST = 100_000
PATIENCE = 30.0


class Server:
    """The stage, with room for two large bodies, one of each user; requests read their bodies until they are
    released."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.stage = BodyRoom(self.clock, largest=LARGEST, patience=PATIENCE, budget=ByteBudget(2 * LARGEST, LARGEST))
        #: The codes of responses and the names of other outcomes by user.
        self.outcomes: dict[str, list[str]] = {}
        self.begun: list[str] = []
        #: Requests that have read their bodies.
        self.reading: list[Deferred[None]] = []

    @property
    def room(self) -> tuple[int, int]:
        """Bytes that are held, and the number of waiters."""
        return self.stage.budget.held, self.stage.budget.waiting

    def post(self, user: str, length: int = LARGEST, *, path: str = "/api/v1/namespaces/a/pods") -> tuple[Any, Any]:
        """A request and its body, which has to be fed."""
        body = NoBody() if not length else IncomingBody(length, lambda: None)
        request = Request(
            method="POST", path=path, raw_path=path, query=Query.of({}), headers={}, body=body,
            credentials=Credentials(headers={}), received=0.0, user=User(name=user),
            info=requestinfo.parse("POST", path, {}),
        )  # fmt: skip
        outcomes = self.outcomes.setdefault(user, [])

        async def serve(request: Request) -> Response:
            self.begun.append(user)
            await request.body.read(LARGEST)
            self.reading.append(Deferred())
            await self.reading[-1]
            return Response()

        async def handle() -> None:
            try:
                outcomes.append(str((await self.stage(request, serve)).code))
            except ApiError as error:
                outcomes.append(f"{error.code} {error.headers.get('Retry-After')}")
            except CancelledError:
                outcomes.append("cancelled")

        return enter(handle(), lambda _: None, lambda failure: failure.raiseException()), body

    def respond(self) -> None:
        """Serve the requests that have read their bodies."""
        reading, self.reading = self.reading, []
        for each in reading:
            each.callback(None)


def test_large_body_waits_for_room_of_its_user() -> None:
    """A second large body of a user begins after the first one's response; other users do not wait for it."""
    server = Server()
    (_, first), _, _ = server.post("a"), server.post("a"), server.post("b")
    assert server.begun == ["a", "b"] and server.room == (2 * LARGEST, 1)
    first.feed(b"x" * LARGEST)
    server.respond()
    assert server.begun == ["a", "b", "a"] and server.outcomes["a"] == ["200"] and server.room == (2 * LARGEST, 0)


@pytest.mark.parametrize("length", [0, 1, SMALL, LARGEST + 1])
def test_other_bodies_need_no_room(length: int) -> None:
    """Small bodies, and those that are refused for their size, do not wait for large ones."""
    server = Server()
    server.post("a"), server.post("a")
    server.post("a", length)
    assert server.begun == ["a", "a"] and server.room == (LARGEST, 1)


def test_forwarded_bodies_need_no_room() -> None:
    """What is passed on to pods is not held."""
    server = Server()
    server.post("a", path="/api/v1/namespaces/a/pods/b/proxy")
    assert server.begun == ["a"] and server.room == (0, 0)


def test_small_body_without_length_does_not_wait() -> None:
    """A body of unknown length counts as the largest one; without room for that it waits only if it is large."""
    server = Server()
    server.post("a")
    (_, small), (_, large) = server.post("a", CHUNKED), server.post("a", CHUNKED)
    small.feed(b"2\r\nab\r\n")
    assert server.begun == ["a"] and server.room == (LARGEST, 0)
    small.feed(b"0\r\n\r\n")
    assert server.begun == ["a", "a"] and server.room == (LARGEST, 0)
    large.feed(b"%x\r\n%b\r\n" % (SMALL + 1, b"x" * (SMALL + 1)))
    assert server.begun == ["a", "a"] and server.room == (LARGEST, 1)


def test_no_room_in_time_is_429() -> None:
    """A request whose turn does not come is refused with Retry-After; one that arrived meanwhile keeps its room."""
    server = Server()
    (_, first), _ = server.post("a"), server.post("a")
    first.feed(b"x" * LARGEST)
    server.clock.advance(PATIENCE)
    assert server.outcomes["a"] == ["429 1"] and server.room == (LARGEST, 0)
    assert not server.clock.getDelayedCalls()


def test_slow_senders_are_refused_while_others_wait() -> None:
    """A body that takes too long to arrive gives its room to one that waits, and is left alone if none does."""
    server = Server()
    _, slow = server.post("a")
    slow.feed(b"x")
    server.clock.advance(2 * ARRIVAL)
    assert server.outcomes["a"] == []
    server.post("a")
    server.clock.advance(1)
    assert server.outcomes["a"] == ["429 1"] and server.begun == ["a", "a"] and slow.broken
    assert server.room == (LARGEST, 0)
    assert not server.clock.getDelayedCalls()


def test_aborted_requests_return_their_room() -> None:
    """Disconnected clients hold nothing, whether they had room or waited for it."""
    server = Server()
    (first, body), (second, _) = server.post("a"), server.post("a")
    second.cancel()
    assert server.room == (LARGEST, 0)
    body.lost()
    assert server.room == (0, 0) and server.outcomes["a"] == ["cancelled", "cancelled"]
    assert not server.clock.getDelayedCalls()
    assert first.called
