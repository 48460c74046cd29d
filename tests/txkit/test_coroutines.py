"""Coroutines are started in one place."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import CancelledError, Deferred, succeed
from twisted.python.failure import Failure

from orchd.txkit.coroutines import enter, start


def test_start_gives_the_result() -> None:
    """A coroutine that does not wait leaves a fired Deferred."""

    async def work() -> int:
        return 3

    got: list[int] = []
    start(work()).addCallback(got.append)
    assert got == [3]


def test_enter_without_waiting_creates_no_deferred() -> None:
    """A coroutine that does not wait has ended before `enter` returns."""
    got: list[Any] = []

    async def work() -> int:
        return await succeed(4)

    assert enter(work(), got.append, got.append) is None
    assert got == [4]


def test_enter_raising_at_once() -> None:
    """An error before the first wait reaches `failed`."""
    got: list[Failure] = []

    async def work() -> int:
        raise KeyError("x")

    assert enter(work(), lambda _: None, got.append) is None
    assert got[0].check(KeyError)


def test_enter_waits_several_times() -> None:
    """Later steps get the results and errors of what they awaited."""
    first: Deferred[int] = Deferred()
    second: Deferred[int] = Deferred()
    got: list[Any] = []

    async def work() -> int:
        total = await first
        try:
            await second
        except ValueError:
            total += 10
        return total

    assert enter(work(), got.append, got.append) is not None
    first.callback(1)
    assert got == []
    second.errback(ValueError())
    assert got == [11]


def test_enter_error_after_waiting() -> None:
    """An error after a wait reaches `failed` and leaves nothing unhandled."""
    first: Deferred[int] = Deferred()
    got: list[Failure] = []

    async def work() -> None:
        await first
        raise KeyError("late")

    enter(work(), lambda _: None, got.append)
    first.callback(1)
    assert got[0].check(KeyError)


def test_enter_cancelled() -> None:
    """Cancelling the returned Deferred cancels what the coroutine waits for."""
    seen: list[str] = []
    first: Deferred[int] = Deferred(lambda _: seen.append("cancelled"))
    got: list[Failure] = []

    async def work() -> None:
        try:
            await first
        finally:
            seen.append("cleaned")

    rest = enter(work(), lambda _: None, got.append)
    assert rest is not None
    rest.cancel()
    assert seen == ["cancelled", "cleaned"]
    assert got[0].check(CancelledError)


def test_enter_reports_a_failing_done() -> None:
    """An error in `done` after a wait is passed to `failed`."""
    first: Deferred[int] = Deferred()
    got: list[Failure] = []

    async def work() -> int:
        return await first

    def done(_: int) -> None:
        raise ZeroDivisionError

    enter(work(), done, got.append)
    first.callback(1)
    assert got[0].check(ZeroDivisionError)
