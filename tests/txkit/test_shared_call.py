"""Concurrent callers share one call."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred

from orchd.txkit.coroutines import start
from orchd.txkit.shared_call import SharedCall


class Work:
    def __init__(self, at_once: Any = None) -> None:
        self.begun = 0
        self.ended = 0
        self.cancelled = 0
        self.at_once = at_once
        self.waits: Deferred[Any] = Deferred(self._cancel)
        self.call: SharedCall[Any] = SharedCall(self.run, self.end)

    def _cancel(self, _: Deferred[Any]) -> None:
        self.cancelled += 1

    def end(self) -> None:
        self.ended += 1

    async def run(self) -> Any:
        self.begun += 1
        if isinstance(self.at_once, Exception):
            raise self.at_once
        return self.at_once if self.at_once is not None else await self.waits


def outcomes(work: Work, count: int) -> tuple[list[Deferred[Any]], list[Any]]:
    seen: list[Any] = []
    tasks = [start(work.call.wait()) for _ in range(count)]
    for task in tasks:
        task.addBoth(seen.append)
    return tasks, seen


def test_concurrent_callers_share_the_result() -> None:
    """The call is made once, and all callers get its result at the same time."""
    work = Work()
    _, seen = outcomes(work, 3)
    assert (work.begun, work.ended, seen) == (1, 0, [])
    work.waits.callback("x")
    assert (work.begun, work.ended, seen) == (1, 1, ["x", "x", "x"])


def test_synchronous_results_are_returned_at_once() -> None:
    """Results and errors that are available at once are returned at once."""
    assert outcomes(Work("now"), 1)[1] == ["now"]
    _, (failure,) = outcomes(Work(KeyError("k")), 1)
    with pytest.raises(KeyError):
        failure.raiseException()


def test_one_cancelled_caller_does_not_end_the_call() -> None:
    """Cancelling one caller does not affect the others."""
    work = Work()
    tasks, seen = outcomes(work, 2)
    tasks[0].cancel()
    assert seen.pop().check(CancelledError) and work.cancelled == 0
    work.waits.callback("x")
    assert seen == ["x"]


def test_last_cancelled_caller_ends_the_call() -> None:
    """The call is cancelled with its last caller."""
    work = Work()
    tasks, seen = outcomes(work, 2)
    for task in tasks:
        task.cancel()
    assert len(seen) == 2 and (work.cancelled, work.ended) == (1, 1)
