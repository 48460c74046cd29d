"""The stream of audit events."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from twisted.internet.defer import Deferred
from zope.interface import implementer

from orchd.errors import ApiError
from orchd.kinds.users import User
from orchd.server.pipeline import requestinfo
from orchd.server.pipeline.audit.policy import METADATA, NONE
from orchd.server.pipeline.audit.tail import AuditTail, TailRules
from orchd.server.pipeline.interfaces import ISink
from orchd.testing.doubles.server import run
from tests.server.pipeline.test_headers import ask

ALICE = User(name="alice")
INFO = requestinfo.parse("GET", "/api/v1/secrets", {})


@implementer(ISink)
class Sink:
    """A client that accepts everything, or nothing while `stuck`."""

    def __init__(self) -> None:
        self.data = b""
        self.buffered = 0
        self.stuck = False
        self.finished = False

    def write(self, data: bytes) -> None:
        self.data += data
        if self.stuck:
            self.buffered += len(data)

    def writable(self) -> Deferred[None]:
        raise AssertionError("the tail never waits for a client")

    def abort(self) -> None:
        raise AssertionError("the tail ends streams, and cuts none")

    def finish(self) -> None:
        self.finished = True

    @property
    def events(self) -> list[dict[str, Any]]:
        return [orjson.loads(line) for line in self.data.splitlines() if line]


def followed(tail: AuditTail) -> tuple[Any, Sink]:
    stream, sink = run(tail.respond(ask("GET", "/debug/audit"))).stream, Sink()
    assert stream is not None
    stream.start(sink)
    return stream, sink


def take(tail: AuditTail, number: int = 0, **more: Any) -> None:
    assert run(tail.take({"auditID": str(number), **more}))


def test_kept_events_are_sent_before_new_ones() -> None:
    """Kept events are sent first; request and response objects are left out."""
    tail = AuditTail()
    take(tail, 1)
    _, sink = followed(tail)
    take(tail, 2, requestObject={"data": "secret"}, responseObject={"data": "secret"})
    assert [event["auditID"] for event in sink.events] == ["1", "2"]
    assert b"secret" not in sink.data


def test_kept_events_are_bounded() -> None:
    """Kept events are bounded by number and by bytes."""
    tail = AuditTail()
    for at in range(1000):
        take(tail, at)
    assert len(tail.history().splitlines()) == 200
    for at in range(100):
        take(tail, at, requestURI="x" * 100_000)
    assert len(tail.history()) <= 1 << 20


def test_slow_client_gets_the_number_of_dropped_events() -> None:
    """The server buffers a bounded number of bytes for a client."""
    tail = AuditTail()
    _, sink = followed(tail)
    sink.stuck = True
    for at in range(100):
        take(tail, at, requestURI="x" * 10_000)
    assert sink.buffered <= 256 << 10
    sink.stuck, sink.buffered = False, 0
    before = len(sink.events)
    take(tail, 100)
    lost, last = sink.events[before:]
    assert lost["lost"] + before == 100 and last["auditID"] == "100"


def test_the_number_of_clients_is_bounded() -> None:
    """The seventeenth client gets 429; when a client leaves, another may connect."""
    tail = AuditTail()
    streams = [followed(tail)[0] for _ in range(16)]
    with pytest.raises(ApiError) as caught:
        followed(tail)
    assert caught.value.code == 429
    streams[0].stop()
    followed(tail)


def test_stop_ends_the_streams() -> None:
    """Streams end, and no new ones begin."""
    tail = AuditTail()
    _, sink = followed(tail)
    tail.end()
    assert sink.finished and not tail.followed
    with pytest.raises(ApiError) as caught:
        followed(tail)
    assert caught.value.code == 503


def test_without_a_policy_events_exist_only_for_followers() -> None:
    """Events are then created at level Metadata, and only while a client follows them."""
    tail = AuditTail()
    rules = TailRules(tail)
    assert rules.rule(ALICE, INFO).level == NONE
    stream, _ = followed(tail)
    assert rules.rule(ALICE, INFO).level == METADATA
    stream.stop()
    assert rules.rule(ALICE, INFO).level == NONE
