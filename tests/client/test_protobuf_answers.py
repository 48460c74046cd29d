"""Protobuf responses of an API server: objects, lists, errors and watch events, as the client reads them."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from orchd.client.bodies import BodyCodec, JsonBodies
from orchd.client.event_cutters import FrameCutter, LineCutter
from orchd.client.interfaces import WatchEvent
from orchd.client.protobuf_bodies import ProtobufBodies
from orchd.client.requests import Call
from orchd.client.streams import EventStream
from orchd.dialect import KUBERNETES, ORCH, Dialect
from orchd.errors import ApiError
from orchd.kinds.catalog import builtin_catalog
from orchd.kinds.codec import protobuf
from orchd.kinds.jsonvalues import Object
from orchd.kinds.release import NEWEST, SPECIFICATION, Release
from orchd.txkit.coroutines import start

DIALECTS = pytest.mark.parametrize("dialect", [ORCH, KUBERNETES], ids=["orch", "kubernetes"])
POD: Object = {
    "metadata": {"name": "p", "namespace": "a", "labels": {"a": "b"}, "creationTimestamp": "2024-01-02T03:04:05Z"},
    "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "10m"}}}]},
    "status": {"phase": "Running"},
}


def message(dialect: Dialect, type_name: str, obj: Object) -> bytes:
    return protobuf.encode_message(obj, builtin_catalog(dialect).types.get(type_name))


def body(dialect: Dialect, kind: str, obj: Object, api_version: str = "v1", type_name: str = "") -> bytes:
    return protobuf.envelope(api_version, kind, message(dialect, type_name or f"core/v1.{kind}", obj))


def codec(dialect: Dialect) -> BodyCodec:
    return ProtobufBodies(dialect, SPECIFICATION, responses=True)


def selection(found: Object) -> tuple[Any, ...]:
    """The members of a pod that the tests compare: others exist in one of the encodings only."""
    container = found["spec"]["containers"][0]
    return (
        found["metadata"]["name"], found["metadata"]["labels"], found["metadata"]["creationTimestamp"],
        container["image"], container["resources"], found["status"]["phase"],
    )  # fmt: skip


@DIALECTS
def test_objects_of_built_in_kinds_are_decoded(dialect: Dialect) -> None:
    """Decoded objects have their kind and the members that JSON has."""
    decoded = codec(dialect).decode(body(dialect, "Pod", POD), dialect.protobuf)
    assert (decoded["kind"], decoded["apiVersion"]) == ("Pod", "v1")
    assert selection(decoded) == selection(POD)


@DIALECTS
def test_lists_are_decoded(dialect: Dialect) -> None:
    """Lists have their metadata and their items, which have no kind of their own."""
    types = builtin_catalog(dialect).types
    items = [message(dialect, "core/v1.Pod", POD)] * 3
    data = protobuf.encode_list("v1", "PodList", {"resourceVersion": "7"}, items, types.get("meta/v1.ListMeta"))
    decoded = codec(dialect).decode(data, dialect.protobuf)
    assert (decoded["kind"], decoded["metadata"]["resourceVersion"]) == ("PodList", "7")
    assert [selection(item) for item in decoded["items"]] == [selection(POD)] * 3
    assert "kind" not in decoded["items"][0]


@DIALECTS
@pytest.mark.parametrize(
    ("api_version", "kind", "type_name"),
    [("v1", "Status", "meta/v1.Status"), ("autoscaling/v1", "Scale", "autoscaling/v1.Scale")],
)
def test_kinds_without_a_resource_are_decoded(dialect: Dialect, api_version: str, kind: str, type_name: str) -> None:
    """Responses of subresources, and errors, are decoded."""
    data = body(dialect, kind, {}, api_version, type_name)
    assert codec(dialect).decode(data, dialect.protobuf)["kind"] == kind


@pytest.mark.parametrize(
    "data",
    [b"", b"{}", b"k8s\x00\xff\xff", body(ORCH, "Pod", POD)[:-30], protobuf.envelope("v1", "Unheard", b"")],
    ids=["empty", "json", "garbage", "cut", "unknown kind"],
)
def test_a_malformed_answer_is_an_error(data: bytes) -> None:
    """A response that is not protobuf, or of an unknown kind, is an ApiError."""
    with pytest.raises(ApiError, match="the server's response is not protobuf"):
        codec(ORCH).decode(data, ORCH.protobuf)


def test_the_answer_decides_its_form() -> None:
    """The content type decides how a response is decoded: custom kinds come as JSON whichever type was preferred."""
    chosen = codec(ORCH)
    assert chosen.accept == f"{ORCH.protobuf}, application/json"
    assert chosen.decode(b'{"kind": "Own"}', "application/json") == {"kind": "Own"}
    assert isinstance(chosen.cutter("application/json;stream=watch"), LineCutter)
    assert isinstance(chosen.cutter(f"{ORCH.protobuf};stream=watch"), FrameCutter)
    assert ProtobufBodies(ORCH, SPECIFICATION, responses=False).accept == JsonBodies().accept == "application/json"


class Response:
    """A response whose body a test delivers."""

    def __init__(self) -> None:
        self.paused = self.aborted = False

    def deliverBody(self, protocol: Any) -> None:
        self.protocol = protocol
        protocol.makeConnection(self)

    def pauseProducing(self) -> None:
        self.paused = True

    def resumeProducing(self) -> None:
        self.paused = False

    def abortConnection(self) -> None:
        self.aborted = True


class Watch:
    """A stream of frames."""

    def __init__(self, dialect: Dialect) -> None:
        self.response = Response()
        response: Any = self.response
        content_type = f"{dialect.protobuf};stream=watch"
        self.stream = EventStream(response, Clock(), "https://x", 10.0, codec(dialect), content_type)

    def receive(self, data: bytes) -> None:
        self.response.protocol.dataReceived(data)

    def next(self) -> Any:
        """The next event or the error; None if there is none yet."""
        events: list[Any] = []
        waiting: Deferred[WatchEvent | None] = start(self.stream.next())
        waiting.addCallbacks(events.append, lambda failure: events.append(failure.value))
        if not events:
            waiting.cancel()
            return None
        return events[0]


@DIALECTS
@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 64, 10_000])
def test_events_are_read_from_pieces_of_any_size(dialect: Dialect, size: int) -> None:
    """Events are decoded however the frames are split or joined."""
    watch = Watch(dialect)
    kinds = ("ADDED", "MODIFIED", "BOOKMARK", "DELETED")
    data = b"".join(protobuf.watch_frame(kind, body(dialect, "Pod", POD)) for kind in kinds)
    for start_ in range(0, len(data), size):
        watch.receive(data[start_ : start_ + size])
    events = [watch.next() for _ in kinds]
    assert [event.type for event in events] == list(kinds)
    assert all(selection(event.object) == selection(POD) for event in events)
    assert watch.next() is None


@DIALECTS
def test_an_error_event_ends_the_watch(dialect: Dialect) -> None:
    """The error is raised with the code of its Status."""
    watch = Watch(dialect)
    status = body(dialect, "Status", {"code": 410, "reason": "Expired", "message": "too old"}, "v1", "meta/v1.Status")
    watch.receive(protobuf.watch_frame("ERROR", status))
    error = watch.next()
    assert isinstance(error, ApiError)
    assert (error.code, error.reason, error.message) == (410, "Expired", "too old")
    assert watch.response.aborted


def test_a_malformed_event_ends_the_watch() -> None:
    """A malformed frame is an ApiError, and the connection is aborted."""
    watch = Watch(ORCH)
    watch.receive(b"\x00\x00\x00\x02\xff\xff")
    error = watch.next()
    assert isinstance(error, ApiError) and "malformed watch event" in error.message
    assert watch.response.aborted


def test_the_size_of_events_is_bounded() -> None:
    """A length above the limit ends the watch before its bytes are collected."""
    watch = Watch(ORCH)
    watch.receive((16 * 1024 * 1024 + 1).to_bytes(4, "big"))
    error = watch.next()
    assert isinstance(error, ApiError) and "exceeds" in error.message
    assert watch.response.aborted


@pytest.mark.parametrize(("release", "kept"), [(SPECIFICATION, False), (NEWEST, True)], ids=str)
def test_bodies_have_the_fields_of_their_release(release: Release, kept: bool) -> None:
    """Fields that the release does not have are neither sent nor read."""
    bodies = ProtobufBodies(ORCH, release, responses=True)
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j"},
        "status": {"failedIndexes": "0", "failed": 1},
    }
    data, content_type = bodies.encode(Call(method="PUT", path="/", body=job))
    status = bodies.decode(data, content_type)["status"]
    assert status["failed"] == 1
    assert status.get("failedIndexes") == ("0" if kept else None)
