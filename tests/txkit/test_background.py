"""Background work has an owner."""

from __future__ import annotations

from typing import cast

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.defer import TimeoutError as DeferredTimeout
from twisted.internet.task import Clock
from twisted.logger import ILogObserver, LogEvent, globalLogPublisher
from twisted.python.failure import Failure

from orchd.txkit.background import Background
from orchd.txkit.coroutines import start
from orchd.txkit.timeouts import within


def test_failure_is_reported_to_the_owner() -> None:
    """The owner is called with the name of the task and the failure, which is also logged."""
    told: list[tuple[str, Failure]] = []
    events: list[LogEvent] = []
    observer = cast(ILogObserver, events.append)
    globalLogPublisher.addObserver(observer)

    async def work() -> None:
        raise KeyError("x")

    Background(lambda name, failure: told.append((name, failure))).add(work(), "worker")
    globalLogPublisher.removeObserver(observer)
    assert told[0][0] == "worker"
    assert told[0][1].check(KeyError)
    assert events


def test_stop_cancels_and_waits() -> None:
    """A stop waits until the last task has ended; no task starts after it."""
    gate: Deferred[None] = Deferred(lambda _: None)
    release: Deferred[None] = Deferred()
    ran: list[str] = []

    async def work() -> None:
        try:
            await gate
        finally:
            await release
            ran.append("first")

    async def late() -> None:
        ran.append("late")

    owner = Background()
    owner.add(work())
    stopped: list[None] = []
    start(owner.stop()).addCallback(stopped.append)
    assert not stopped
    owner.add(late())
    release.callback(None)
    assert stopped == [None]
    assert ran == ["first"]


def test_within_cancels_late_deferreds() -> None:
    """A Deferred that exceeds the limit is cancelled with an error; one that does not leaves no delayed call."""
    clock = Clock()
    slow: Deferred[None] = within(Deferred(), 5, clock)
    clock.advance(6)
    with pytest.raises(DeferredTimeout):
        raise _error_of(slow)
    quick: Deferred[int] = Deferred()
    got: list[int] = []
    within(quick, 5, clock).addCallback(got.append)
    quick.callback(1)
    assert got == [1]
    assert not clock.getDelayedCalls()


def _error_of(deferred: Deferred[None]) -> BaseException:
    seen: list[Failure] = []
    deferred.addErrback(seen.append)
    assert seen[0].value is not None
    return seen[0].value


def test_finish_waits_then_cancels() -> None:
    """Tasks that end within the limit are not cancelled; the others are cancelled and counted."""
    clock, background = Clock(), Background()
    ended: list[str] = []

    async def work(name: str, gate: Deferred[None]) -> None:
        await gate
        ended.append(name)

    quick: Deferred[None] = Deferred()
    background.add(work("quick", quick))
    background.add(work("slow", Deferred()))
    out: list[int] = []
    start(background.finish(5, clock)).addCallback(out.append)
    quick.callback(None)
    assert ended == ["quick"] and not out
    clock.advance(5)
    assert (ended, out) == (["quick"], [1])
    assert not clock.getDelayedCalls()
