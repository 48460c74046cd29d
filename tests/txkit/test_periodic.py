"""Periodic coroutines."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock

from orchd.txkit.periodic import Periodic


class Work:
    """Counts its calls, which end when the test fires their Deferred."""

    def __init__(self) -> None:
        self.calls: list[Deferred[None]] = []
        self.cancelled = 0

    async def __call__(self) -> None:
        self.calls.append(Deferred())
        try:
            await self.calls[-1]
        except CancelledError:
            self.cancelled += 1
            raise


def test_one_call_at_a_time() -> None:
    """A call begins with each period, or when the previous one has ended later."""
    clock, work = Clock(), Work()
    periodic = Periodic("work", work, 10, clock, ())
    periodic.start(now=False)
    clock.advance(9)
    assert not work.calls and periodic.running
    clock.pump([1, 10, 10])
    assert len(work.calls) == 1
    work.calls[0].callback(None)
    clock.advance(10)
    assert len(work.calls) == 2
    periodic.stop()


def test_first_call_at_once() -> None:
    """`now` makes the first call in `start`."""
    work = Work()
    periodic = Periodic("work", work, 10, Clock(), ())
    periodic.start(now=True)
    assert len(work.calls) == 1
    periodic.stop()


def test_stop_cancels_the_call() -> None:
    """`stop` cancels a running call, which is no error, and there is no other one."""
    clock, work = Clock(), Work()
    periodic = Periodic("work", work, 10, clock, ())
    periodic.start(now=True)
    periodic.stop()
    assert work.cancelled == 1 and not periodic.running
    clock.pump([10, 10])
    assert len(work.calls) == 1


def test_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    """An expected error is logged and the next period calls again; any other ends the repetition and is logged as a
    failure."""
    logged: list[tuple[str, Any]] = []

    class Recorder:
        def warn(self, text: str, **values: Any) -> None:
            logged.append(("warn", text.format(**values)))

        def failure(self, text: str, *, failure: Any, what: str) -> None:
            logged.append(("failure", type(failure.value)))

    monkeypatch.setattr(Periodic, "_log", Recorder())
    clock, work = Clock(), Work()
    periodic = Periodic("count sheep", work, 10, clock, (OSError,))
    periodic.start(now=True)
    work.calls[0].errback(OSError("no sheep"))
    clock.advance(10)
    work.calls[1].errback(ValueError("not a sheep"))
    clock.pump([10, 10])
    assert len(work.calls) == 2 and not periodic.running
    assert logged == [("warn", "failed to count sheep: no sheep; retrying"), ("failure", ValueError)]
