"""Virtual time, which a test advances."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from twisted.internet.task import Clock

from orchd.testing.doubles.server import run
from orchd.testing.doubles.virtual_time import InlineThreads, VirtualReactor


class RealReactor(Clock):
    """A reactor whose turns run as soon as they are requested."""

    def callLater(self, delay: float, *args: Any, **named: Any) -> Any:
        call = super().callLater(delay, *args, **named)
        if delay == 0:
            self.advance(0)
        return call

    def getThreadPool(self) -> InlineThreads:
        return InlineThreads()


def finish(coro: Coroutine[Any, Any, None]) -> None:
    run(coro)


def test_calls_run_in_the_order_of_their_times() -> None:
    """A call that is added during an advance runs in the same advance, at its own time."""
    reactor = VirtualReactor()
    began = reactor.seconds()
    seen: list[tuple[str, int]] = []

    def note(name: str) -> None:
        seen.append((name, round(reactor.seconds() - began)))
        if name == "tick" and len(seen) < 10:
            reactor.callLater(600, note, "tick")

    reactor.callLater(1000, note, "other")
    reactor.callLater(600, note, "tick")
    finish(reactor.advance(1900))
    assert seen == [("tick", 600), ("other", 1000), ("tick", 1200), ("tick", 1800)]
    assert round(reactor.seconds() - began) == 1900


def test_wall_and_monotonic_clock_advance_together() -> None:
    """`wall` and `seconds` advance by the same amount."""
    reactor = VirtualReactor()
    wall, clock = reactor.wall(), reactor.seconds()
    finish(reactor.advance(3600))
    assert round(reactor.wall() - wall) == round(reactor.seconds() - clock) == 3600


def test_negative_advance_is_refused() -> None:
    """A negative number of seconds is rejected."""
    with pytest.raises(ValueError, match="does not go back"):
        finish(VirtualReactor().advance(-1))


def test_rescheduled_calls_run_at_their_last_time() -> None:
    """A call runs once, at the time that was set last."""
    reactor = VirtualReactor()
    seen: list[str] = []
    later = reactor.callLater(100, seen.append, "later")
    sooner = reactor.callLater(100, seen.append, "sooner")
    cancelled = reactor.callLater(50, seen.append, "cancelled")
    later.reset(500)
    sooner.reset(10)
    cancelled.cancel()
    finish(reactor.advance(20))
    assert seen == ["sooner"]
    finish(reactor.advance(200))
    assert seen == ["sooner"]
    later.reset(20)
    finish(reactor.advance(30))
    assert seen == ["sooner", "later"]
    assert reactor.getDelayedCalls() == []


def test_failing_call_does_not_stop_others() -> None:
    """An exception of a delayed call is logged, and the calls after it run."""
    reactor = VirtualReactor()
    seen: list[str] = []
    reactor.callLater(1, lambda: 1 / 0)
    reactor.callLater(2, seen.append, "after")
    finish(reactor.advance(3))
    assert seen == ["after"]


def test_bound_reactor_drives_the_calls() -> None:
    """Once bound, calls run by the real reactor's time, including those from before."""
    reactor, real = VirtualReactor(), RealReactor()
    seen: list[str] = []
    reactor.callLater(0, seen.append, "before")
    assert seen == []
    reactor.bind(real)
    assert seen == ["before"]
    reactor.callLater(30, seen.append, "soon")
    assert [round(call.getTime()) for call in real.getDelayedCalls()] == [30]
    reactor.callLater(5, seen.append, "sooner")
    assert [round(call.getTime()) for call in real.getDelayedCalls()] == [5]


def test_thread_work_waits_for_threads() -> None:
    """Work for threads is kept until there are threads: it runs on request, or when the reactor is bound."""
    seen: list[object] = []

    def reactor_with_job() -> VirtualReactor:
        reactor = VirtualReactor()
        reactor.getThreadPool().callInThreadWithCallback(lambda good, result: seen.append((good, result)), lambda: 7)
        return reactor

    ways: list[Callable[[VirtualReactor], object]] = [
        lambda reactor: reactor.run_jobs(), lambda reactor: reactor.bind(RealReactor()),
    ]  # fmt: skip
    for ends in ways:
        reactor = reactor_with_job()
        assert seen == []
        ends(reactor)
        assert seen.pop() == (True, 7)


def test_socket_methods_are_the_real_reactors() -> None:
    """Methods that do not concern time are unavailable before `bind`, and the real reactor's afterwards."""
    reactor, real = VirtualReactor(), RealReactor()
    real.listenTCP = "listens"  # type: ignore[attr-defined]  # stands for any other method
    assert not hasattr(reactor, "listenTCP")
    reactor.bind(real)
    assert reactor.listenTCP == "listens"
