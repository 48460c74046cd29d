"""Informers on a clock: list, watch, reconnect, 410, indexes and listeners."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock
from twisted.logger import capturedLogs, formatEvent

from orchd.client.informers import Informer, Informers
from orchd.client.interfaces import ResourceRef, WatchEvent
from orchd.errors import ApiError, expired
from orchd.testing.doubles.server import run
from orchd.txkit.coroutines import start

PODS = ResourceRef("", "v1", "pods")


def obj(name: str, version: int, **labels: str) -> Any:
    return {"metadata": {"name": name, "namespace": "a", "resourceVersion": str(version), "labels": labels}}


class Stream:
    def __init__(self) -> None:
        self._events: deque[Any] = deque()
        self._waiting: Deferred[None] | None = None
        self.closed = False

    def send(self, event: Any) -> None:
        self._events.append(event)
        waiting, self._waiting = self._waiting, None
        if waiting is not None and not waiting.called:
            waiting.callback(None)

    async def next(self) -> WatchEvent | None:
        if not self._events:
            self._waiting = Deferred()
            await self._waiting
        event = self._events.popleft()
        if isinstance(event, Exception):
            raise event
        following: WatchEvent | None = event
        return following

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            if not self._events:
                self.send(None)


class Server:
    """Answers lists with `items` at `version` and records the requests."""

    def __init__(self) -> None:
        self.items: list[Any] = []
        self.version = 1
        self.asked: list[str] = []
        self.streams: list[Stream] = []
        self.fails: list[ApiError] = []

    async def list(self, ref: ResourceRef, namespace: str = "", *, resource_version: str = "", **options: Any) -> Any:
        self.asked.append(f"list {resource_version}".strip())
        if self.fails:
            raise self.fails.pop()
        return {"metadata": {"resourceVersion": str(self.version)}, "items": list(self.items)}

    async def watch(
        self, ref: ResourceRef, namespace: str = "", *, resource_version: str = "", **options: Any
    ) -> Stream:
        self.asked.append(f"watch {resource_version}")
        self.streams.append(Stream())
        return self.streams[-1]


class Fixture:
    def __init__(self, random: Random | None = None) -> None:
        self.clock, self.server = Clock(), Server()
        self.informers = Informers(self.server, self.clock, random or Random(1))  # type: ignore[arg-type]  # as much of a client as is used
        self.informer: Informer = self.informers.informer(PODS)
        self.heard: list[str] = []
        self.informer.add_listener(self._listen)

    def _listen(self, kind: str, old: Any, new: Any) -> None:
        self.heard.append(f"{kind} {(new or old)['metadata']['name']}")

    def names(self) -> list[str]:
        return sorted(o["metadata"]["name"] for o in self.informer.list())

    def take(self) -> list[str]:
        heard, self.heard[:] = list(self.heard), []
        return heard


@pytest.fixture
def informing() -> Iterator[Fixture]:
    """Informers that are stopped at the end: deleting a coroutine that waits for a stream closes the stream, which
    would wake it."""
    fixture = Fixture()
    yield fixture
    run(fixture.informers.stop())


def test_watch_starts_at_the_lists_version(informing: Fixture) -> None:
    """The first list may be of any version; the watch starts at the version of the list."""
    informing.server.items, informing.server.version = [obj("p", 3)], 5
    waiting = start(informing.informer.wait_synced())
    informing.informers.start()
    assert waiting.called and informing.informers.synced
    assert informing.server.asked == ["list 0", "watch 5"] and informing.take() == ["ADDED p"]
    stream = informing.server.streams[0]
    stream.send(WatchEvent("MODIFIED", obj("p", 6)))
    stream.send(WatchEvent("ADDED", obj("q", 7)))
    stream.send(WatchEvent("DELETED", obj("p", 8)))
    stream.send(WatchEvent("BOOKMARK", {"metadata": {"resourceVersion": "9"}}))
    assert informing.take() == ["MODIFIED p", "ADDED q", "DELETED p"] and informing.names() == ["q"]
    stream.send(None)
    assert informing.server.asked[-1] == "watch 9"


def test_expired_watch_leads_to_a_consistent_list(informing: Fixture) -> None:
    """An expired watch leads to a consistent list; listeners get only the differences."""
    informing.server.items = [obj("same", 1), obj("changed", 1), obj("gone", 1)]
    informing.informers.start()
    informing.take()
    informing.server.items, informing.server.version = [obj("same", 1), obj("changed", 20), obj("new", 21)], 30
    informing.server.streams[0].send(expired("too old"))
    assert informing.server.streams[0].closed and len(informing.server.asked) == 2
    informing.clock.advance(1)
    assert informing.server.asked[2:] == ["list", "watch 30"]
    assert sorted(informing.take()) == ["ADDED new", "DELETED gone", "MODIFIED changed"]


def test_failed_lists_back_off(informing: Fixture) -> None:
    """Failed lists back off to about two attempts a minute."""
    informing.server.fails = [ApiError(503, "", "no") for _ in range(40)]
    informing.informers.start()
    for _ in range(300):
        informing.clock.advance(1)
    assert 12 < len(informing.server.asked) < 30


class Even(Random):
    """Randomness that leaves pauses as they are."""

    def random(self) -> float:
        return 0.5


def test_pauses_double_up_to_half_a_minute() -> None:
    """Pauses after failed lists, and after watches that end at once, begin with a tenth of a second; a watch that lasts
    a second ends them."""
    fixture = Fixture(Even())
    server, clock = fixture.server, fixture.clock
    server.fails = [ApiError(503, "", "no") for _ in range(11)]
    fixture.informers.start()

    def rest() -> float:
        """The seconds of the pause, which then ends."""
        (call,) = clock.getDelayedCalls()
        seconds = call.getTime() - clock.seconds()
        clock.rightNow = call.getTime()
        clock.advance(0)
        return round(seconds, 3)

    doubling = [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30, 30]
    assert [rest() for _ in doubling] == doubling
    assert server.asked == ["list 0"] * 12 + ["watch 1"]
    clock.advance(1)
    server.streams[-1].send(None)
    assert server.asked[13:] == ["watch 1"]
    pauses = []
    for _ in doubling:
        server.streams[-1].send(None)
        pauses.append(rest())
    assert pauses == doubling
    run(fixture.informers.stop())


@pytest.mark.parametrize(
    ("failure", "text"),
    [
        (ApiError(503, "", "no"), "informer of pods: no; listing again"),
        (ApiError(411, "", "no"), "informer of pods: no; listing again"),
        (expired("too old"), None),
        (RuntimeError("odd"), "informer of pods failed: listing again"),
    ],
)
def test_failures_are_logged(informing: Fixture, failure: Exception, text: str | None) -> None:
    """After any failure the resource is listed again; an expired version is nothing to report."""
    informing.informers.start()
    with capturedLogs() as events:
        informing.server.streams[0].send(failure)
    assert [formatEvent(event).partition("\n")[0] for event in events] == ([text] if text else [])
    informing.clock.advance(1)
    assert len(informing.server.streams) == 2


def test_watches_that_end_at_once_back_off(informing: Fixture) -> None:
    """Watches that end at once back off; an event resets the backoff."""
    informing.informers.start()
    for _ in range(200):
        if not informing.server.streams[-1].closed:
            informing.server.streams[-1].send(None)
        informing.clock.advance(0.5)
    assert len(informing.server.streams) < 40
    while informing.server.streams[-1].closed:
        informing.clock.advance(1)
    informing.server.streams[-1].send(WatchEvent("ADDED", obj("p", 6)))
    count = len(informing.server.streams)
    informing.server.streams[-1].send(None)
    assert len(informing.server.streams) == count + 1


def test_index_follows_changes(informing: Fixture) -> None:
    """An index finds objects by the values of its function, before and after changes; an unknown index raises
    KeyError."""
    informing.server.items = [obj("p", 1, app="x")]
    informing.informer.add_index("app", lambda o: o["metadata"]["labels"].values())
    informing.informers.start()
    informing.informer.add_index("late", lambda o: [o["metadata"]["name"]])

    def find(value: str) -> list[str]:
        return [o["metadata"]["name"] for o in informing.informer.by_index("app", value)]

    assert find("x") == ["p"] and informing.informer.by_index("late", "p")
    assert informing.informer.holds("app", "x") and not informing.informer.holds("app", "y")
    informing.server.streams[0].send(WatchEvent("MODIFIED", obj("p", 2, app="y")))
    assert find("x") == [] and find("y") == ["p"] and not informing.informer.holds("app", "x")
    informing.server.streams[0].send(WatchEvent("ADDED", obj("q", 3, app="y")))
    informing.server.streams[0].send(WatchEvent("DELETED", obj("q", 4, app="y")))
    assert find("y") == ["p"] and [o["metadata"]["name"] for o in informing.informer.list("a")] == ["p"]
    informing.server.streams[0].send(WatchEvent("DELETED", obj("p", 5, app="y")))
    assert find("y") == [] and not informing.informer.by_index("late", "p")
    with pytest.raises(KeyError):
        informing.informer.by_index("none", "x")


def test_objects_by_name_and_namespace(informing: Fixture) -> None:
    """Objects are found by name and by namespace; a late listener gets all existing objects."""
    informing.server.items = [obj("p", 1)]
    informing.informers.start()
    assert informing.informer.get("a", "p") is informing.server.items[0] and informing.informer.get("b", "p") is None
    assert list(informing.informer.list("a")) == informing.server.items and not list(informing.informer.list("b"))
    informing.server.streams[0].send(WatchEvent("ADDED", obj("q", 2, app="x", tier="y")))
    listed = [list(informing.informer.list(within, labels={"app": "x"})) for within in ("a", "b", "")]
    assert [[o["metadata"]["name"] for o in each] for each in listed] == [["q"], [], ["q"]]
    assert not list(informing.informer.list(labels={"app": "x", "tier": "z"}))
    assert len(list(informing.informer.list(labels={"app": "x", "tier": "y"}))) == 1
    late: list[str] = []

    def listen(kind: str, old: Any, new: Any) -> None:
        late.append(kind)

    informing.informer.add_listener(listen)
    assert late == ["ADDED"] * 2
    informing.informer.remove_listener(listen)
    informing.server.streams[0].send(WatchEvent("DELETED", obj("q", 3)))
    assert late == ["ADDED"] * 2 and informing.names() == ["p"]


def test_waits_for_the_first_list(informing: Fixture) -> None:
    """Waits for the objects, for an index and for the delivery to listeners end with the first list; those of all
    informers with the last of these."""
    informing.informer.add_index("name", lambda o: [o["metadata"]["name"]])
    nodes = informing.informers.informer(ResourceRef("", "v1", "nodes"))
    waits = [
        start(informing.informer.wait_synced()),
        start(informing.informer.wait_delivered()),
        start(informing.informer.wait_indexed("name")),
        start(informing.informers.wait_synced()),
    ]
    missing = start(informing.informer.wait_indexed("none"))
    errors: list[Any] = []
    missing.addErrback(lambda failure: errors.append(failure.check(KeyError)))
    assert not any(each.called for each in waits) and not informing.informers.synced
    informing.server.fails = [ApiError(503, "", "no")]
    informing.informers.start()
    assert [each.called for each in waits] == [False] * 4 and nodes.synced and not informing.informers.synced
    informing.clock.advance(1)
    assert all(each.called for each in waits) and errors == [KeyError] and informing.informers.synced


def test_one_informer_per_resource_ends_with_its_owner(informing: Fixture) -> None:
    """A resource has one informer; one that is added later starts at once; all of them, and their waiters, end with the
    owner."""
    assert informing.informers.informer(PODS) is informing.informer
    informing.informers.start()
    other = informing.informers.informer(ResourceRef("apps", "v1", "deployments"))
    assert other.synced
    informing.server.fails = [ApiError(503, "", "no")]
    third = informing.informers.informer(ResourceRef("", "v1", "nodes"))
    waiting = start(third.wait_synced())
    ends: list[Any] = []
    waiting.addErrback(lambda failure: ends.append(failure.check(CancelledError)))
    run(informing.informers.stop())
    assert ends == [CancelledError] and all(s.closed for s in informing.server.streams)
    assert not informing.clock.getDelayedCalls()
    asked = len(informing.server.asked)
    informing.informers.informer(ResourceRef("", "v1", "secrets"))
    assert len(informing.server.asked) == asked


def test_optional_resource(informing: Fixture) -> None:
    """An optional resource that is not served has no objects, and is watched once it is served."""
    server = informing.server
    informers = Informers(server, informing.clock, Random(1), may_lack=lambda ref: ref != PODS)  # type: ignore[arg-type]
    budgets = informers.informer(ResourceRef("policy", "v1", "poddisruptionbudgets"))
    server.fails = [ApiError(404, "NotFound", "the server could not find the requested resource")]
    with capturedLogs() as events:
        informers.start()
    assert [formatEvent(event) for event in events] == [
        "the server does not serve poddisruptionbudgets.v1.policy: continuing without its objects"
    ]
    assert budgets.synced and not list(budgets.list())
    server.items = [obj("one", 1)]
    informing.clock.advance(1)
    assert [each["metadata"]["name"] for each in budgets.list()] == ["one"]
    run(informers.stop())


def test_required_resource(informing: Fixture) -> None:
    """The informer of a required resource waits until it is served."""
    informing.server.fails = [ApiError(404, "NotFound", "the server could not find the requested resource")]
    informing.informers.start()
    assert not informing.informer.synced
    informing.clock.advance(1)
    assert informing.informer.synced
    run(informing.informers.stop())
