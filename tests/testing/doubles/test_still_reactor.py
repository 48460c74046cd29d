"""The reactor of in-process servers runs delayed calls as a `Clock` does."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from twisted.internet.interfaces import IDelayedCall
from twisted.internet.task import Clock

from orchd.testing.doubles.server import StillReactor


def history(clock: Clock, seed: int) -> list[tuple[int, float]]:
    """The calls that ran, with their times, in a random sequence of additions, changes and advances."""
    random = Random(seed)
    ran: list[tuple[int, float]] = []
    calls: list[IDelayedCall] = []

    def add() -> None:
        number = len(calls)
        calls.append(clock.callLater(random.uniform(0, 5), run, number))

    def run(number: int) -> None:
        ran.append((number, clock.seconds()))
        if random.random() < 0.3:
            add()

    def change(how: Callable[[IDelayedCall], object]) -> None:
        active = [call for call in calls if call.active()]
        if active:
            how(random.choice(active))

    steps: tuple[Callable[[], object], ...] = (
        add,
        add,
        lambda: change(lambda call: call.cancel()),
        lambda: change(lambda call: call.reset(random.uniform(0, 5))),
        lambda: change(lambda call: call.delay(random.uniform(-3, 3))),
        lambda: clock.advance(random.uniform(0, 2)),
    )
    for _ in range(100):
        random.choice(steps)()
    clock.advance(20)
    return ran


def test_calls_run_as_with_a_clock() -> None:
    """For any additions, cancellations and rescheduling, the same calls run in the same order at the same times."""
    for seed in range(50):
        ran = history(StillReactor(), seed)
        assert ran == history(Clock(), seed)
        assert len(ran) > 3


def test_calls_of_one_moment_run_in_the_order_of_their_addition() -> None:
    """This includes a call that one of them adds."""
    clock, ran = StillReactor(), list[str]()

    def first() -> None:
        ran.append("first")
        clock.callLater(0, ran.append, "third")

    clock.callLater(1, first)
    clock.callLater(1, ran.append, "second")
    clock.advance(1)
    assert ran == ["first", "second", "third"] and not clock.getDelayedCalls()
