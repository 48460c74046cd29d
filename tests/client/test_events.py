"""Recording of Events: their fields, rate limits, and retries while the server is unavailable."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.logger import capturedLogs, formatEvent

from orchd.client.errors import UnreachableError
from orchd.client.event_correlation import COMBINED_PREFIX
from orchd.client.event_writer import EventWriter, Write
from orchd.client.events import EventBroadcaster
from orchd.client.interfaces import ResourceRef
from orchd.dialect import ORCH
from orchd.errors import ApiError, forbidden, not_found
from orchd.txkit.coroutines import start

POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"namespace": "a", "name": "web", "uid": "1", "resourceVersion": "7"},
}


class Sink:
    """A client that keeps what it is sent; `refusals` are raised first, `gate` delays every response."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, ResourceRef, str, Any]] = []
        self.refusals: list[ApiError] = []
        self.gate: Deferred[None] | None = None

    async def create(self, ref: ResourceRef, namespace: str, obj: Any, **options: Any) -> Any:
        assert options == {"need_response": False}
        return await self._take("create", ref, obj["metadata"]["name"], obj)

    async def patch(
        self, ref: ResourceRef, namespace: str, name: str, patch: Any, *, content_type: str, **options: Any
    ) -> Any:
        assert content_type == "application/strategic-merge-patch+json" and options == {"need_response": False}
        return await self._take("patch", ref, name, patch)

    async def _take(self, verb: str, ref: ResourceRef, name: str, body: Any) -> Any:
        self.sent.append((verb, ref, name, body))
        if self.gate is not None:
            waiting: Deferred[None] = Deferred()
            self.gate.chainDeferred(waiting)
            await waiting
        if self.refusals:
            raise self.refusals.pop(0)
        return body


class World:
    def __init__(self) -> None:
        self.clock = Clock()
        self.sink = Sink()
        self.events = EventBroadcaster(
            self.sink,  # type: ignore[arg-type]  # as much of a client as a recorder uses
            lambda: 1_700_000_000.25 + self.clock.seconds(),
            clock=self.clock,
            random=Random(1),
            dialect=ORCH,
            host="here",
        )
        self.core = self.events.recorder("builder")
        self.serial = self.events.series_recorder("orch.io/builder")

    def verbs(self) -> list[str]:
        return [verb for verb, _, _, _ in self.sink.sent]


@pytest.fixture
def world() -> World:
    return World()


def test_core_event_fields(world: World) -> None:
    """An Event of core/v1 names its source, and is named after the object and the moment in nanoseconds."""
    world.core.event(POD, "Normal", "Built", "it is there")
    ((verb, ref, name, event),) = world.sink.sent
    assert (verb, ref) == ("create", ResourceRef("", "v1", "events"))
    assert name == f"web.{int(1_700_000_000.25 * 1e9):x}"
    assert event == {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": "a"},
        "involvedObject": {
            "apiVersion": "v1",
            "kind": "Pod",
            "namespace": "a",
            "name": "web",
            "uid": "1",
            "resourceVersion": "7",
        },
        "reason": "Built",
        "message": "it is there",
        "source": {"component": "builder"},
        "firstTimestamp": "2023-11-14T22:13:20Z",
        "lastTimestamp": "2023-11-14T22:13:20Z",
        "count": 1,
        "type": "Normal",
    }


def test_event_names_differ_within_a_nanosecond(world: World) -> None:
    """Two events about one object in the same nanosecond have different names."""
    world.core.event(POD, "Normal", "Built", "one")
    world.core.event(POD, "Normal", "Built", "two")
    stamp = int(1_700_000_000.25 * 1e9)
    assert [name for _, _, name, _ in world.sink.sent] == [f"web.{stamp:x}", f"web.{stamp + 1:x}"]


def test_events_about_cluster_scoped_objects_are_in_default(world: World) -> None:
    """Events about objects without a namespace are in the namespace default."""
    world.core.event({"kind": "Node", "metadata": {"name": "n"}}, "Normal", "Seen", "here")
    assert world.sink.sent[0][3]["metadata"]["namespace"] == "default"


def test_equal_events_are_counted(world: World) -> None:
    """An equal event patches the count and time of the first one, whose first timestamp stays."""
    for _ in range(3):
        world.core.event(POD, "Warning", "Failed", "again")
        world.clock.advance(1)
    assert world.verbs() == ["create", "patch", "patch"]
    first = world.sink.sent[0][2]
    assert world.sink.sent[2][1:] == (
        ResourceRef("", "v1", "events"),
        first,
        {"count": 3, "lastTimestamp": "2023-11-14T22:13:22Z", "message": "again"},
    )


def test_events_about_different_parts_are_counted_apart(world: World) -> None:
    """Equal messages about two containers of a pod are two events."""
    for part in ("spec.containers{a}", "spec.containers{b}"):
        world.core.event({**POD, "fieldPath": part}, "Warning", "Failed", "again")
    assert world.verbs() == ["create", "create"]


def test_deleted_event_is_recreated_with_its_count(world: World) -> None:
    """If the counted event was deleted it is created again with its count."""
    world.core.event(POD, "Warning", "Failed", "again")
    world.sink.refusals = [not_found("", "events", "x")]
    world.core.event(POD, "Warning", "Failed", "again")
    assert world.verbs() == ["create", "patch", "create"]
    assert world.sink.sent[2][3]["count"] == 2
    assert world.sink.sent[2][2] == world.sink.sent[0][2]


def test_similar_events_are_combined(world: World) -> None:
    """From the tenth message on, events that differ only in their message are counted in one combined event."""
    for number in range(12):
        world.core.event(POD, "Warning", "Failed", f"try {number}")
    assert world.verbs() == ["create"] * 10 + ["patch"] * 2
    assert world.sink.sent[8][3]["message"] == "try 8"
    assert world.sink.sent[9][3]["message"] == f"{COMBINED_PREFIX}try 9"
    assert world.sink.sent[11][3] == {
        "count": 3,
        "lastTimestamp": "2023-11-14T22:13:20Z",
        "message": f"{COMBINED_PREFIX}try 11",
    }


def test_aggregation_restarts_after_ten_quiet_minutes(world: World) -> None:
    """After more than ten minutes without a similar event, aggregation starts again."""
    for number in range(10):
        world.core.event(POD, "Warning", "Failed", f"try {number}")
    world.clock.advance(600)
    world.core.event(POD, "Warning", "Failed", "in time")
    assert world.sink.sent[-1][3]["message"] == f"{COMBINED_PREFIX}in time"
    world.clock.advance(600.5)
    world.core.event(POD, "Warning", "Failed", "later")
    assert world.sink.sent[-1][3]["message"] == "later"


def test_events_of_one_source_about_one_object_are_rate_limited(world: World) -> None:
    """25 events of one source about one object are sent at once, then one in five minutes; other objects are not
    affected."""
    for _ in range(40):
        world.core.event(POD, "Normal", "Ping", "same")
    assert len(world.sink.sent) == 25
    assert world.events.counts.filtered == 15
    world.core.event({**POD, "metadata": {**POD["metadata"], "uid": "2"}}, "Normal", "Ping", "same")
    assert len(world.sink.sent) == 26
    world.clock.advance(299)
    world.core.event(POD, "Normal", "Ping", "same")
    assert len(world.sink.sent) == 26
    world.clock.advance(1)
    world.core.event(POD, "Normal", "Ping", "same")
    assert len(world.sink.sent) == 27
    # Dropped events were counted all the same.
    assert world.sink.sent[-1][3]["count"] == 42


@pytest.mark.parametrize(
    ("error", "warnings"),
    [
        (forbidden("", "events", "x", "no"), 0),
        (ApiError(409, "AlreadyExists", "no"), 0),
        (ApiError(422, "Invalid", "no"), 1),
    ],
)
def test_refused_events_are_not_retried(world: World, error: ApiError, warnings: int) -> None:
    """An event that the server rejects is not sent again; what says more than that it is forbidden or there is a
    warning."""
    world.sink.refusals = [error]
    with capturedLogs() as events:
        world.core.event(POD, "Normal", "Built", "x")
    world.clock.pump([10] * 20)
    assert world.verbs() == ["create"]
    assert world.events.counts.failed == 1
    assert sum("was refused" in formatEvent(event) for event in events) == warnings


def test_defect_with_one_event_does_not_end_the_others() -> None:
    """It is logged and counted, and the next event of the queue is written."""
    clock, sink = Clock(), Sink()
    writer = EventWriter(sink, clock, Random(1))  # type: ignore[arg-type]  # as much of a client as is used

    def fail() -> None:
        raise RuntimeError

    event = {"metadata": {"name": "e", "namespace": "a"}}
    with capturedLogs() as events:
        writer.submit("x", fail)
        writer.submit("x", lambda: Write(ResourceRef("", "v1", "events"), event))
    assert [formatEvent(each).partition("\n")[0] for each in events] == ["event could not be recorded"]
    assert (writer.counts.failed, writer.counts.written, len(sink.sent)) == (1, 1, 1)


def test_unreachable_server_is_retried_twelve_times(world: World) -> None:
    """While the server is unreachable an event is sent twelve times, ten seconds apart."""
    world.sink.refusals = [UnreachableError("there", "gone")] * 11
    world.core.event(POD, "Normal", "Built", "x")
    world.clock.pump([10] * 12)
    assert world.verbs() == ["create"] * 12
    assert world.events.counts.written == 1
    world.sink.refusals = [UnreachableError("there", "gone")] * 20
    with capturedLogs() as events:
        world.core.event(POD, "Normal", "Built", "y")
        world.clock.pump([10] * 20)
    assert len(world.sink.sent) == 24
    assert sum("was not written" in formatEvent(event) for event in events) == 1
    assert world.events.counts.failed == 1


def test_the_queue_is_bounded(world: World) -> None:
    """While the server is unavailable, a thousand events are queued and further ones are dropped and counted."""
    world.sink.gate = Deferred()
    for number in range(1100):
        world.core.event({"kind": "Node", "metadata": {"name": str(number)}}, "Normal", "Seen", "here")
    assert len(world.sink.sent) == 8
    assert world.events.counts.dropped == 1100 - 1000 - 8
    gate, world.sink.gate = world.sink.gate, None
    gate.callback(None)
    assert world.events.counts.written == 1008


def test_count_is_patched_after_the_event_is_created(world: World) -> None:
    """The patch of a count is sent after the event was created."""
    world.sink.gate = Deferred()
    world.core.event(POD, "Normal", "Ping", "same")
    world.core.event(POD, "Normal", "Ping", "same")
    assert world.verbs() == ["create"]
    world.sink.gate.callback(None)
    assert world.verbs() == ["create", "patch"]


def test_stop_waits_for_events_being_written(world: World) -> None:
    """A stop waits up to two seconds for events that are being written."""
    world.sink.gate = Deferred()
    world.core.event(POD, "Normal", "Built", "x")
    world.core.event(POD, "Normal", "Built", "y")
    stopping = start(world.events.stop())
    assert not stopping.called
    world.sink.gate.callback(None)
    assert stopping.called
    assert world.verbs() == ["create", "create"]
    world.core.event(POD, "Normal", "Built", "too late")
    assert world.events.counts.dropped == 1
    assert not world.clock.getDelayedCalls()
    assert start(world.events.stop()).called


def test_stop_drops_events_after_two_seconds(world: World) -> None:
    """Events that were not written within two seconds of a stop are dropped."""
    world.sink.gate = Deferred()
    for text in "xyz":
        world.core.event(POD, "Normal", "Built", text)
    stopping = start(world.events.stop())
    world.clock.advance(1.9)
    assert not stopping.called
    world.clock.advance(0.1)
    assert stopping.called
    assert world.events.counts.dropped == 2


def test_stop_does_not_retry_while_the_server_is_unreachable(world: World) -> None:
    """After a stop a failed attempt is not repeated. The first delay between attempts is random, not the whole ten
    seconds."""
    world.sink.refusals = [UnreachableError("there", "gone")] * 20
    world.core.event(POD, "Normal", "Built", "x")
    stopping = start(world.events.stop())
    world.clock.advance(1.5)
    assert stopping.called
    assert (world.verbs(), world.events.counts.failed) == (["create", "create"], 1)


# -- the events group


def test_events_group_event_fields(world: World) -> None:
    """An Event of the events group has its controller, instance, action and a time with microseconds."""
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "uid": "9"}}
    world.serial.event(POD, "Normal", "Scheduled", "to n", action="Binding", related=node)
    ((verb, ref, name, event),) = world.sink.sent
    assert (verb, ref) == ("create", ResourceRef("events.orch.io", "v1", "events"))
    assert event == {
        "apiVersion": "events.orch.io/v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": "a"},
        "eventTime": "2023-11-14T22:13:20.250000Z",
        "reportingController": "orch.io/builder",
        "reportingInstance": "orch.io/builder-here",
        "action": "Binding",
        "reason": "Scheduled",
        "regarding": {
            "apiVersion": "v1",
            "kind": "Pod",
            "namespace": "a",
            "name": "web",
            "uid": "1",
            "resourceVersion": "7",
        },
        "related": {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "9"},
        "note": "to n",
        "type": "Normal",
    }


def test_long_notes_are_truncated(world: World) -> None:
    """A note is truncated to 1024 bytes, with a mark."""
    world.serial.event(POD, "Normal", "Told", "\u00e9" * 600, action="Telling")
    note = world.sink.sent[0][3]["note"]
    assert note == "\u00e9" * 510 + " ..."
    for length in (1024, 1025):
        world.serial.event(POD, "Normal", "Told", "x" * length, action=str(length))
    assert [sent[3]["note"] for sent in world.sink.sent[1:]] == ["x" * 1024, "x" * 1020 + " ..."]


def test_second_equal_event_starts_a_series(world: World) -> None:
    """The second equal event starts a series; its count is then written every half hour."""
    for _ in range(5):
        world.serial.event(POD, "Warning", "Failed", "no room", action="Scheduling")
        world.clock.advance(1)
    assert world.verbs() == ["create", "patch"]
    assert world.sink.sent[1][2:] == (
        world.sink.sent[0][2],
        {"series": {"count": 2, "lastObservedTime": "2023-11-14T22:13:21.250000Z"}},
    )
    for _ in range(60):
        world.clock.advance(30)
        world.serial.event(POD, "Warning", "Failed", "no room", action="Scheduling")
    assert world.verbs() == ["create", "patch", "patch"]
    assert world.sink.sent[2][3]["series"]["count"] > 60


def test_series_ends_after_six_quiet_minutes(world: World) -> None:
    """After six quiet minutes the final count is written, and the next equal event is a new one."""
    for _ in range(3):
        world.serial.event(POD, "Warning", "Failed", "no room", action="Scheduling")
    world.clock.pump([60] * 6)
    assert world.verbs() == ["create", "patch"]
    world.clock.pump([60] * 6)
    assert world.verbs() == ["create", "patch", "patch"]
    assert world.sink.sent[2][3]["series"]["count"] == 3
    world.serial.event(POD, "Warning", "Failed", "no room", action="Scheduling")
    assert world.verbs()[3:] == ["create"]


def test_counts_of_series_alone_are_written(world: World) -> None:
    """The half-hourly counts, and the final ones after more than six minutes, are those of events that recurred."""
    world.clock.advance(1700)
    for reason, times in (("Once", 1), ("Twice", 2)):
        for _ in range(times):
            world.serial.event(POD, "Warning", reason, "no room", action="Scheduling")
    assert world.verbs() == ["create", "create", "patch"]
    world.clock.advance(100)
    assert world.verbs()[3:] == ["patch"]
    assert world.sink.sent[3][3]["series"]["count"] == 2
    world.clock.pump([60] * 12)
    assert world.verbs()[4:] == ["patch"]
    assert world.sink.sent[4][3]["series"]["count"] == 2


def test_event_that_does_not_recur_is_no_series(world: World) -> None:
    """Nothing is written when it is forgotten, and an equal event of later is a new one."""
    world.serial.event(POD, "Warning", "Failed", "no room", action="Scheduling")
    world.clock.pump([60] * 12)
    assert world.verbs() == ["create"]
    world.serial.event(POD, "Warning", "Failed", "no room", action="Scheduling")
    assert world.verbs() == ["create", "create"]


def test_deleted_series_event_is_recreated(world: World) -> None:
    """A deleted event of a series is created again, with the series."""
    world.serial.event(POD, "Warning", "Failed", "no room", action="Scheduling")
    world.sink.refusals = [not_found("", "events", "x")]
    world.serial.event(POD, "Warning", "Failed", "no room", action="Scheduling")
    assert world.verbs() == ["create", "patch", "create"]
    assert world.sink.sent[2][3]["series"]["count"] == 2


def test_events_about_another_version_are_not_in_the_series(world: World) -> None:
    """Events about another version of the object belong to another series."""
    world.serial.event(POD, "Warning", "Failed", "no room", action="Scheduling")
    changed = {**POD, "metadata": {**POD["metadata"], "resourceVersion": "8"}}
    world.serial.event(changed, "Warning", "Failed", "no room", action="Scheduling")
    assert world.verbs() == ["create", "create"]


def test_rejected_event_starts_no_series(world: World) -> None:
    """An equal event after one that was rejected is a new event, not a series of it."""
    world.sink.refusals = [ApiError(403, "Forbidden", "no")]
    for _ in range(2):
        world.serial.event(POD, "Warning", "Failed", "no room", action="Scheduling")
    assert world.verbs() == ["create", "create"]
