"""Concurrent work on several items."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred

from orchd.txkit.coroutines import start
from orchd.txkit.for_each import for_each, side_by_side


class Work:
    """Work that ends when the test asks it to."""

    def __init__(self) -> None:
        self.begun: dict[int, Deferred[None]] = {}

    async def __call__(self, item: int) -> None:
        waiting: Deferred[None] = Deferred()
        self.begun[item] = waiting
        await waiting


def outcome(work: Work, items: int, at_once: int) -> tuple[list[Any], Deferred[None]]:
    out: list[Any] = []
    running = start(for_each(range(items), work, at_once=at_once))
    running.addBoth(out.append)
    return out, running


@pytest.mark.parametrize("at_once", [1, 2, 5])
def test_concurrency_is_limited(at_once: int) -> None:
    """The next item starts when one ends; the call returns when all are done."""
    work = Work()
    out, _ = outcome(work, 7, at_once)
    for done in range(7):
        assert list(work.begun) == list(range(min(7, done + at_once))) and not out
        work.begun[done].callback(None)
    assert out == [None]


@pytest.mark.parametrize("at_once", [1, 3])
def test_first_failure_stops_further_work(at_once: int) -> None:
    """After a failure no item is started, running ones are awaited, and the first failure is raised."""
    work = Work()
    out, _ = outcome(work, 7, at_once)
    work.begun[0].errback(ValueError("first"))
    begun = sorted(work.begun)
    for each in begun[1:]:
        assert not out
        work.begun[each].callback(None)
    assert out[0].check(ValueError) and sorted(work.begun) == begun


@pytest.mark.parametrize("at_once", [1, 3])
def test_cancelling_cancels_running_work(at_once: int) -> None:
    """Cancelling cancels the running items and raises CancelledError."""
    work = Work()
    out, running = outcome(work, 7, at_once)
    running.cancel()
    assert out[0].check(CancelledError) and len(work.begun) == at_once


@pytest.mark.parametrize("ended", [0, 1])
def test_gather_starts_all_and_keeps_order(ended: int) -> None:
    """All start at once; results are in the order of the arguments, with a Failure for each failure."""
    waiting: list[Deferred[str]] = [Deferred(), Deferred()]
    out: list[Any] = []
    start(side_by_side(waiting)).addBoth(out.append)
    failed = 1 - ended
    waiting[ended].callback("ok")
    assert not out
    waiting[failed].errback(ValueError("no"))
    (results,) = out
    assert results[ended] == "ok" and results[failed].check(ValueError)


@pytest.mark.parametrize("done", [False, True])
def test_gather_is_cancelled_as_a_whole(done: bool) -> None:
    """Cancelling cancels all items that have not ended, and raises CancelledError instead of returning failures."""
    cancelled: list[Any] = []
    waiting: list[Deferred[str]] = [Deferred(cancelled.append), Deferred(cancelled.append)]
    if done:
        waiting[0].callback("ok")
    out: list[Any] = []
    running = start(side_by_side(waiting))
    running.addBoth(out.append)
    running.cancel()
    assert out[0].check(CancelledError)
    assert cancelled == waiting[done:]


def test_gather_reports_a_cancelled_element() -> None:
    """An element that is cancelled from outside is a failure like any other."""
    waiting: list[Deferred[str]] = [Deferred(), Deferred()]
    out: list[Any] = []
    start(side_by_side(waiting)).addBoth(out.append)
    waiting[0].cancel()
    waiting[1].callback("ok")
    (results,) = out
    assert results[0].check(CancelledError) and results[1] == "ok"
