"""Many deadlines share timers."""

from __future__ import annotations

from twisted.internet.task import Clock

from orchd.txkit.deadlines import Deadline, Deadlines


def test_deadlines_are_reached_in_time() -> None:
    """Each is reached when its time has come, whatever others there are."""
    clock, reached = Clock(), list[str]()
    deadlines = Deadlines(clock)
    deadlines.after(2.0, lambda: reached.append("a"))
    clock.advance(1)
    deadlines.after(2.0, lambda: reached.append("b"))
    deadlines.after(0.5, lambda: reached.append("short"))
    clock.advance(0.5)
    assert reached == ["short"]
    clock.advance(0.5)
    assert reached == ["short", "a"]
    clock.advance(0.9)
    assert reached == ["short", "a"]
    clock.advance(0.2)
    assert reached == ["short", "a", "b"]
    assert not clock.getDelayedCalls()


def test_cancelled_deadline_is_not_reached() -> None:
    """A deadline that is cancelled is forgotten, also by another one that is reached at the same time."""
    clock, reached = Clock(), list[str]()
    deadlines = Deadlines(clock)
    started: list[Deadline] = []

    def first() -> None:
        reached.append("first")
        started[1].cancel()
        started.append(deadlines.after(1.0, lambda: reached.append("later")))

    started.append(deadlines.after(1.0, first))
    started.append(deadlines.after(1.0, lambda: reached.append("second")))
    started.append(deadlines.after(1.0, lambda: reached.append("third")))
    clock.advance(1.0)
    assert reached == ["first", "third"]
    started[0].cancel()
    clock.advance(1.0)
    assert reached == ["first", "third", "later"]
    assert not clock.getDelayedCalls()


def test_many_have_one_timer() -> None:
    """Deadlines after the same time need one timer of the reactor."""
    clock = Clock()
    deadlines = Deadlines(clock)
    for _ in range(100):
        deadlines.after(1.0, int).cancel()
    assert len(clock.getDelayedCalls()) == 1


def test_timers_of_any_numbers_of_seconds_are_bounded() -> None:
    """Deadlines after ever other times leave few timers behind, and are reached in time."""
    clock, reached = Clock(), list[int]()
    deadlines = Deadlines(clock)
    for number in range(1000):
        deadlines.after(1000.0 + number, int).cancel()
    assert len(clock.getDelayedCalls()) < 100
    deadlines.after(5000.0, lambda: reached.append(1))
    clock.advance(5000.0)
    assert reached == [1]
    assert not clock.getDelayedCalls()


def test_no_timer_is_left_after_a_stop() -> None:
    """After a stop, timers of nobody end at once, and those of deadlines with their last one."""
    clock, reached = Clock(), list[int]()
    deadlines = Deadlines(clock)
    deadlines.after(1.0, int).cancel()
    late = deadlines.after(2.0, lambda: reached.append(2))
    deadlines.after(3.0, lambda: reached.append(3))
    deadlines.stop()
    assert len(clock.getDelayedCalls()) == 2
    late.cancel()
    assert len(clock.getDelayedCalls()) == 1
    clock.advance(3.0)
    assert reached == [3]
    deadlines.after(1.0, int).cancel()
    assert not clock.getDelayedCalls()
