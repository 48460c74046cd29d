"""Pauses of the cyclic garbage collector."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from orchd.txkit.collection import collection_paused, make_large
from orchd.txkit.coroutines import start
from orchd.txkit.turns import TurnBudget
from tests.txkit.test_turns import WorkingClock


def test_collection_continues_after_a_pause() -> None:
    """The collector is off within the block only, and stays off where it was."""
    with collection_paused():
        assert not gc.isenabled()
        with collection_paused():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()


@pytest.fixture
def generations() -> Iterator[list[int]]:
    """The collected generations, in order."""
    collected: list[int] = []

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            collected.append(info["generation"])

    gc.callbacks.append(note)
    yield collected
    gc.callbacks.remove(note)


def test_large_values_are_examined_once(generations: list[int]) -> None:
    """The caller waits a turn before the value is made, which is examined after that, and a turn for the time that this
    took. The collector is on between turns, for what other threads make."""
    clock = WorkingClock()
    turns, steps = TurnBudget(clock, seconds=0.005), list[object]()

    def make() -> list[list[int]]:
        steps.append(gc.isenabled())
        clock.spend(0.01)
        return [[number] for number in range(200_000)]

    async def caller() -> None:
        steps.append(len(await make_large(turns, make)))

    start(caller())
    clock.turn()
    assert not steps
    clock.turn()
    assert (steps, generations, gc.isenabled()) == ([False], [1], True)
    clock.turn()
    assert (steps, generations) == ([False, 200_000], [1])


def test_small_rests_of_large_values_are_not_collected(generations: list[int]) -> None:
    """Nothing is examined after a call that drops most of what it makes."""
    clock = WorkingClock()
    turns, sizes = TurnBudget(clock, seconds=0.005), list[int]()

    async def caller() -> None:
        sizes.append(await make_large(turns, lambda: len([[number] for number in range(200_000)]), small=True))

    start(caller())
    clock.turn()
    clock.turn()
    assert gc.isenabled()
    clock.turn()
    assert (sizes, generations) == ([200_000], [])
