"""The time budget that coroutines share in one reactor turn."""

from __future__ import annotations

from collections.abc import Callable

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock

from orchd.txkit.coroutines import start
from orchd.txkit.turns import Gathering, TurnBudget, shared_budget


class WorkingClock(Clock):
    """A clock on which work takes time: `spend` moves it without running what is due."""

    def spend(self, seconds: float) -> None:
        self.rightNow += seconds

    def turn(self) -> None:
        """Run what is due now, as a reactor does in one turn, but not what that schedules."""
        due = [(call.func, call.args, call) for call in self.calls]
        for function, arguments, call in due:
            call.cancel()
            function(*arguments)


async def work(clock: WorkingClock, turns: TurnBudget, done: Callable[[], None]) -> None:
    await turns.wait()
    clock.spend(0.003)
    done()


def test_spent_budget_ends_the_turn() -> None:
    """Work within the budget continues at once; the rest is spread over later turns, in order."""
    clock = WorkingClock()
    turns, order = TurnBudget(clock, seconds=0.005), list[int]()
    for number in range(6):
        start(work(clock, turns, lambda n=number: order.append(n)))  # type: ignore[misc]  # the default binds the loop's value
    assert order == [0, 1]
    clock.turn()
    assert order == [0, 1, 2, 3]
    clock.turn()
    assert order == [0, 1, 2, 3, 4, 5]
    clock.turn()
    assert not clock.getDelayedCalls()
    # Of those that waited.
    assert round(turns.worked, 6) == 4 * 0.003


def test_long_work_begins_in_a_later_turn() -> None:
    """`wait_next` skips the rest of the turn and the next one, in which a short piece continues that waits meanwhile; what
    waits during the long piece comes after it."""
    clock = WorkingClock()
    turns, order = TurnBudget(clock, seconds=0.005), list[str]()

    async def long() -> None:
        await turns.wait_next()
        clock.spend(0.1)
        order.append("long")
        start(work(clock, turns, lambda: order.append("later")))

    start(long())
    start(work(clock, turns, lambda: order.append("short")))
    assert order == []
    clock.turn()
    assert order == ["short"]
    clock.turn()
    assert order == ["short", "long"]
    clock.turn()
    assert order == ["short", "long", "later"]
    clock.turn()
    assert not clock.getDelayedCalls()


def test_long_work_within_a_turn_begins_in_a_later_one() -> None:
    """Also if what waits for it was resumed in this turn, and has used little of it."""
    clock = WorkingClock()
    turns, order = TurnBudget(clock, seconds=0.005), list[str]()

    async def long() -> None:
        for _ in range(2):
            await turns.wait_next()
            order.append("long")

    start(long())
    clock.turn()
    clock.turn()
    assert order == ["long"]
    waiting = start(work(clock, turns, lambda: order.append("short")))
    waiting.addErrback(lambda failure: None)
    waiting.cancel()
    clock.turn()
    assert order == ["long"]
    clock.turn()
    assert order == ["long", "long"]


def test_each_turn_has_a_new_budget() -> None:
    """Time between turns does not count against the budget."""
    clock = WorkingClock()
    turns, order = TurnBudget(clock, seconds=0.005), list[int]()
    for number in range(3):
        start(work(clock, turns, lambda n=number: order.append(n)))  # type: ignore[misc]  # the default binds the loop's value
        clock.turn()
        clock.spend(1.0)
    assert order == [0, 1, 2]


def test_cancelled_wait_is_dropped() -> None:
    """A cancelled waiter does not continue, and does not delay others."""
    clock = WorkingClock()
    turns, order = TurnBudget(clock, seconds=0.001), list[int]()
    tasks = [start(work(clock, turns, lambda n=number: order.append(n))) for number in range(3)]  # type: ignore[misc]  # as above
    tasks[1].addErrback(lambda failure: None)
    tasks[1].cancel()
    clock.turn()
    assert order == [0, 2]


def test_work_on_one_clock_shares_a_budget() -> None:
    """All work on one reactor shares a budget; another reactor has its own."""
    clock, other = WorkingClock(), WorkingClock()
    assert shared_budget(clock) is shared_budget(clock)
    assert shared_budget(clock) is not shared_budget(other)


async def pass_gathering(gathering: Gathering, order: list[int], number: int) -> None:
    await gathering.wait()
    order.append(number)


def test_gathered_coroutines_continue_together() -> None:
    """Of many in a second the first continues at once; those that follow within the interval continue together at its
    end, in order."""
    clock, order = Clock(), list[int]()
    gathering = Gathering(clock, TurnBudget(clock), interval=0.01, few=1)
    clock.advance(5)
    start(pass_gathering(gathering, order, 0))
    start(pass_gathering(gathering, order, 1))
    clock.advance(0.006)
    start(pass_gathering(gathering, order, 2))
    assert order == [0]
    clock.advance(0.003)
    assert order == [0]
    clock.advance(0.002)
    assert order == [0, 1, 2]
    start(pass_gathering(gathering, order, 3))
    assert order == [0, 1, 2], "the interval begins again when they have continued"
    clock.advance(0.01)
    assert order == [0, 1, 2, 3]
    clock.advance(0.01)
    start(pass_gathering(gathering, order, 4))
    assert order == [0, 1, 2, 3, 4], "after a pause one continues at once"


def test_few_coroutines_are_not_gathered() -> None:
    """Fewer than the limit in a second continue at once; the limit counts those of the last second alone."""
    clock, order = Clock(), list[int]()
    gathering = Gathering(clock, TurnBudget(clock), interval=0.01, few=3)
    for number in range(4):
        start(pass_gathering(gathering, order, number))
    assert order == [0, 1, 2]
    clock.advance(1)
    for number in range(4, 8):
        start(pass_gathering(gathering, order, number))
    assert order == [0, 1, 2, 3, 4, 5, 6]


def test_gathered_coroutines_share_the_budget_of_a_turn() -> None:
    """Many that continue together are spread over turns as other work is."""
    clock, order = WorkingClock(), list[int]()
    gathering = Gathering(clock, TurnBudget(clock, seconds=0.005), interval=0.01, few=1)

    async def change(number: int) -> None:
        await gathering.wait()
        clock.spend(0.003)
        order.append(number)

    for number in range(5):
        start(change(number))
    clock.spend(0.01)
    clock.turn()
    assert order == [0, 1, 2]
    clock.turn()
    assert order == [0, 1, 2, 3, 4]


def test_cancelled_waiting_for_a_gathering() -> None:
    """A cancelled coroutine leaves, and the others continue."""
    clock, order = Clock(), list[int]()
    gathering = Gathering(clock, TurnBudget(clock), interval=0.01, few=1)
    for number in range(3):
        running = Deferred.fromCoroutine(pass_gathering(gathering, order, number))
        if number == 1:
            running.addErrback(lambda failure: failure.trap(CancelledError))
            running.cancel()
    clock.advance(0.01)
    assert order == [0, 2]
