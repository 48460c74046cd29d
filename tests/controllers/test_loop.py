"""The controller loop: retries, requested requeues, stopping."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.logger import LogLevel, globalLogPublisher

from orchd.controllers.loop import ControlLoop, RetryError
from orchd.errors import conflict, internal, unavailable
from orchd.kinds.bounds import too_large
from orchd.txkit.coroutines import start


class Reconciler:
    """Each call takes the next entry: raises it, or returns it."""

    def __init__(self, *outcomes: Any) -> None:
        self.outcomes = list(outcomes)
        self.calls: list[str] = []

    async def __call__(self, key: str) -> float | None:
        self.calls.append(key)
        outcome = self.outcomes.pop(0) if self.outcomes else None
        if isinstance(outcome, Exception):
            raise outcome
        if isinstance(outcome, Deferred):
            await outcome
            return None
        return outcome


def test_failed_keys_are_retried_after_a_pause() -> None:
    """Rejections, bugs and "not yet" requeue the key with backoff; success ends it."""
    clock = Clock()
    reconcile = Reconciler(RetryError(), conflict("", "pods", "a", "changed"), None)
    loop: ControlLoop[str] = ControlLoop("test", clock, reconcile, workers=1)
    loop.start()
    loop.queue.add("a")
    clock.pump([1, 1, 1, 1])
    assert reconcile.calls == ["a", "a", "a"]
    assert (loop.counts.worked, loop.counts.failed) == (3, 2)
    assert loop.queue.failures("a") == 0


@pytest.mark.parametrize("size", [1600 * 1024, 5_000_000])
def test_writes_refused_for_their_size_are_not_repeated(size: int) -> None:
    """An object that is too large is reconciled again when it changes, or after a quarter of an hour."""
    clock = Clock()
    reconcile = Reconciler(too_large(size), too_large(size))
    loop: ControlLoop[str] = ControlLoop("test", clock, reconcile, workers=1)
    loop.start()
    loop.queue.add("a")
    clock.pump([60] * 14)
    assert reconcile.calls == ["a"] and loop.counts.failed == 1
    loop.queue.add("a")
    clock.advance(1)
    assert reconcile.calls == ["a", "a"]
    clock.pump([60] * 16)
    assert reconcile.calls == ["a"] * 3


def test_requested_requeue_is_no_failure() -> None:
    """A key may ask to be reconciled later without a failure."""
    clock = Clock()
    reconcile = Reconciler(7.0)
    loop: ControlLoop[str] = ControlLoop("test", clock, reconcile, workers=1)
    loop.start()
    loop.queue.add("a")
    clock.advance(6)
    assert reconcile.calls == ["a"]
    clock.advance(1)
    assert reconcile.calls == ["a", "a"]
    assert loop.counts.failed == 0


def test_idle_loop_has_no_timers() -> None:
    """An idle loop has no timers."""
    clock = Clock()
    loop: ControlLoop[str] = ControlLoop("test", clock, Reconciler(), workers=20)
    loop.start()
    assert clock.getDelayedCalls() == []


def test_stop_waits_then_cancels() -> None:
    """Stopping waits for running work, and cancels it at the limit."""
    for seconds in (1, 10):
        clock = Clock()
        work: Deferred[None] = Deferred()
        loop: ControlLoop[str] = ControlLoop("test", clock, Reconciler(work), workers=2)
        loop.start()
        loop.queue.add("a")
        stopped = start(loop.stop())
        assert not stopped.called
        clock.advance(seconds)
        if seconds == 1:
            work.callback(None)
        assert stopped.called
        assert clock.getDelayedCalls() == []


def test_rejections_during_the_stop_are_not_logged() -> None:
    """Rejections while the loop stops are not logged; earlier ones are."""
    told: list[Any] = []

    def observe(event: Any) -> None:
        if event["log_level"] >= LogLevel.warn:
            told.append(event["error"])

    observer: Any = observe
    globalLogPublisher.addObserver(observer)
    try:
        for stopped in (False, True):
            work: Deferred[None] = Deferred()
            loop: ControlLoop[str] = ControlLoop("test", Clock(), Reconciler(work), workers=1)
            loop.start()
            loop.queue.add("a")
            if stopped:
                start(loop.stop())
            work.errback(unavailable("the stop" if stopped else "the work"))
        assert told == ["the work"]
    finally:
        globalLogPublisher.removeObserver(observer)


def test_failing_key_does_not_stop_others() -> None:
    """The rejection of one key does not affect other keys."""
    clock = Clock()
    reconcile = Reconciler(internal("broken"), None)
    loop: ControlLoop[str] = ControlLoop("test", clock, reconcile, workers=1)
    loop.start()
    loop.queue.add("a")
    loop.queue.add("b")
    assert reconcile.calls == ["a", "b"]


def test_keys_of_one_event_are_divided_over_turns() -> None:
    """Keys that one event queues do not all run in the same turn."""
    clock = Clock()

    async def reconcile(key: str) -> None:
        # Work uses a part of the turn's budget.
        clock.rightNow += 0.003
        done.append(key)

    done: list[str] = []
    loop: ControlLoop[str] = ControlLoop("test", clock, reconcile, workers=2)
    loop.start()
    for key in "abcdef":
        loop.queue.add(key)
    assert done == ["a", "b"]
    clock.pump([0, 0, 0])
    assert done == list("abcdef")
