"""Progress requests of watches, with etcd releases that answer in order and those that do not."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
import pytest_twisted
from hypothesis import example, given
from hypothesis import strategies as st
from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.task import Clock

from orchd.store.etcd import messages
from orchd.store.etcd.feed import Feed
from orchd.store.etcd.space import Space
from orchd.store.interfaces import Event, StoreError
from orchd.store.watching import Watch
from orchd.testing.processes.etcd import Etcd
from tests.store.etcd.etcd_support import Open, until

SPACE = Space("/ours")


class Stream:
    """One watch on the double: what was sent to it, and what is in transit."""

    def __init__(self, double: Double, on_message: Callable[[bytes], object]) -> None:
        self.double = double
        self.low = self.high = b""
        self.next = 0
        self.over = False
        self._on_message = on_message

    def send(self, data: bytes) -> None:
        request = messages.WatchRequest.FromString(data)
        if request.HasField("create"):
            create = request.create
            self.low, self.high, self.next = create.key, create.range_end, create.start_revision
            self._tell(created=True)
            self.double.later(self.catch_up)
        else:
            assert request.HasField("progress")
            self.double.later(self.progress)

    def cancel(self) -> None:
        self.over = True

    def catch_up(self) -> None:
        """Send events that happened since: whole revisions, possibly not all at once."""
        double = self.double
        events = []
        upto = double.random.choice(
            (double.revision, double.random.randint(min(self.next, double.revision), double.revision))
        )
        for each in double.log:
            revision = each.kv.mod_revision
            if (
                self.next <= revision <= upto
                and self.low <= each.kv.key
                and (self.high == b"\0" or each.kv.key < self.high)
            ):
                events.append(each)
        if upto >= self.next:
            self.next = upto + 1
        if events:
            self._tell(events)
        if self.next <= double.revision:
            double.later(self.catch_up)

    def progress(self) -> None:
        """A strict etcd answers once the watch has all events; others answer at once."""
        if not self.double.strict or self.next > self.double.revision:
            self._tell()

    def _tell(self, events: list[Any] | None = None, **fields: Any) -> None:
        if not self.over:
            response = messages.WatchResponse(events=events or [], **fields)
            response.header.revision = self.double.revision
            self._on_message(response.SerializeToString())


class Double:
    """A double of etcd's watches. `strict` as releases from 3.4.25 and 3.5.8 on, otherwise as earlier ones (etcd issue
    15220)."""

    def __init__(self, clock: Clock, random: Random, *, strict: bool) -> None:
        self.revision = 1
        self.log: list[Any] = []
        self.random = random
        self.strict = strict
        self._clock = clock
        self._current: dict[bytes, Any] = {}
        self.streams: list[Stream] = []

    # The interface of `Channel`.
    failure = ""

    def stream(self, path: str, on_message: Callable[[bytes], object], on_end: object) -> Stream:
        assert path == messages.WATCH
        self.streams.append(Stream(self, on_message))
        return self.streams[-1]

    def abandon(self, reason: str) -> None:
        raise AssertionError(reason)

    def later(self, call: Callable[[], object]) -> None:
        """Deliver after a random delay, and so not in the order of requests."""
        self._clock.callLater(self.random.uniform(0, 0.3), call)

    def put(self, key: bytes) -> int:
        self.revision += 1
        before = self._current.get(key)
        made = messages.RangeResponse().kvs.add()
        made.key, made.value, made.mod_revision = key, b"%d" % self.revision, self.revision
        made.create_revision = before.create_revision if before else self.revision
        event = messages.WatchResponse().events.add()
        event.kv.CopyFrom(made)
        if before:
            event.prev_kv.CopyFrom(before)
        self._current[key] = made
        self.log.append(event)
        for stream in self.streams:
            self.later(stream.catch_up)
        return self.revision


class Consumer:
    """A watch that checks progress against the events that it received."""

    def __init__(self, feed: Feed, prefix: str, after: int) -> None:
        self.events: list[Event] = []
        self.upto = after
        self.broken = ""
        self.watch = Watch(feed.watches, prefix, after, self.on_events, self.on_end, self.on_progress)
        feed.watches.add(self.watch)

    def on_events(self, events: Any) -> None:
        if events[0].revision <= self.upto:
            self.broken = f"{events[0].revision} comes after all up to {self.upto} was said to be there"
        self.events += events
        self.upto = events[-1].revision

    def on_progress(self, revision: int) -> None:
        self.upto = max(self.upto, revision)

    def on_end(self, error: StoreError) -> None:
        raise AssertionError(error)


def run(seed: int, *, strict: bool, trusted: bool, steps: int = 150) -> tuple[Double, list[Consumer], list[int]]:
    """Random local and foreign writes, progress requests and new watches, until nothing happens.

    Also returns the revisions that are awaited in vain.
    """
    random, clock = Random(seed), Clock()
    double = Double(clock, random, strict=strict)
    channel: Any = double
    feed = Feed(clock, channel, SPACE, lost=lambda error: None, recent_events=10_000, recent_bytes=1 << 30)
    feed.trusted = trusted
    feed.start(1)
    consumers = [Consumer(feed, "/", 1), Consumer(feed, "/a/", 1)]
    waiting: dict[int, Deferred[None]] = {}
    for step in range(steps):
        choice = random.random()
        if choice < 0.3:
            double.put(b"/ours/%s/%d" % (random.choice((b"a", b"b")), random.randrange(5)))
        elif choice < 0.6:
            double.put(b"/others/%d" % random.randrange(5))
        elif choice < 0.8:
            waiting[step] = feed.wait_for(double.revision)
        elif choice < 0.83:
            consumers.append(Consumer(feed, "/", feed.revision))
        clock.advance(random.uniform(0, 0.1))
    for _ in range(200):
        clock.advance(0.1)
    feed.want(double.revision)
    for _ in range(50):
        clock.advance(0.1)
    assert feed.revision == double.revision
    return double, consumers, [step for step, deferred in waiting.items() if not deferred.called]


def check(double: Double, consumers: list[Consumer]) -> None:
    ours = [each.kv.mod_revision for each in double.log if each.kv.key.startswith(b"/ours/")]
    for consumer in consumers:
        assert not consumer.broken
    assert [event.revision for event in consumers[0].events] == ours


@given(seed=st.integers(0, 1 << 32), release=st.sampled_from(((True, True), (True, False), (False, False))))
@example(seed=0, release=(True, True))
@example(seed=0, release=(False, False))
def test_progress_follows_events_in_any_order(seed: int, release: tuple[bool, bool]) -> None:
    """In any order of answers, progress is never reported before the events up to it, and all waiters for a revision
    are called, whoever wrote it. Releases that answer too early are not asked."""
    double, consumers, in_vain = run(seed, strict=release[0], trusted=release[1])
    check(double, consumers)
    assert not in_vain


def test_early_progress_of_old_releases_loses_events() -> None:
    """Asking a release that answers too early loses events: that is why the release decides."""
    with pytest.raises(AssertionError):
        for seed in range(50):
            check(*run(seed, strict=False, trusted=True)[:2])


@pytest_twisted.ensureDeferred
async def test_progress_with_a_real_etcd_under_load(etcd: Etcd, opened: Open) -> None:
    """With the installed etcd, while two stores and a foreign client write, reads and watches are never told progress
    ahead of their events."""
    async with opened(etcd.url) as one, opened(etcd.url) as two, opened(etcd.url, prefix="/stranger") as stranger:
        stop: list[bool] = []
        ours: list[int] = []
        reads: list[int] = []

        async def write(store: Any, name: str, made: list[int]) -> None:
            number = 0
            while not stop:
                number += 1
                made.append(await store.create(f"/{name}/{number}", b"x" * 200))

        feed: Any = one._feed
        consumers = [Consumer(feed, "/", one.revision), Consumer(feed, "/two/", one.revision)]

        async def catch_up(revision: int) -> None:
            await until(lambda: consumers[0].upto >= revision)

        async def read() -> None:
            while not stop:
                await catch_up(await one.current_revision())
                reads.append(consumers[0].upto)

        running = [
            Deferred.fromCoroutine(each)
            for each in (
                write(one, "one", ours),
                write(two, "two", ours),
                *(write(stranger, f"s{n}", []) for n in range(4)),
            )
        ]
        reading = [Deferred.fromCoroutine(read()) for _ in range(4)]
        await until(lambda: len(reads) > 100 and len(ours) > 100)
        stop.append(True)
        await gatherResults(running)
        await gatherResults(reading)
        await until(lambda: len(consumers[0].events) == len(ours))
        assert [event.revision for event in consumers[0].events] == sorted(ours)
        for consumer in consumers:
            assert not consumer.broken
            consumer.watch.cancel()


def test_waiters_are_called_once_when_one_of_them_stops_the_feed() -> None:
    """If a waiter stops the feed while others are pending, each of them is called once."""
    clock = Clock()
    channel: Any = Double(clock, Random(1), strict=True)
    feed = Feed(clock, channel, SPACE, lost=lambda error: None, recent_events=10, recent_bytes=1000)
    feed.start(1)
    called: list[int] = []

    def note(_: None, number: int) -> None:
        called.append(number)

    for number in range(4):
        feed.wait_for(2 + number % 3).addCallback(note, number)
        if number == 0:
            feed.wait_for(2).addCallback(lambda _: feed.stop(StoreError("stopped")))
    feed.start(4)
    assert sorted(called) == [0, 1, 2, 3]
