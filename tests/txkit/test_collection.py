"""Pauses of the cyclic garbage collector."""

from __future__ import annotations

import gc

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


def test_large_values_are_collected_in_the_turn_after_they_are_made() -> None:
    """The caller waits a turn before the value is made, one until it was examined, and nothing is examined meanwhile."""
    clock = WorkingClock()
    turns, steps = TurnBudget(clock, seconds=0.005), list[object]()
    generations: list[int] = []

    def collected(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            generations.append(info["generation"])

    def make() -> list[list[int]]:
        steps.append(gc.isenabled())
        clock.spend(0.01)
        return [[number] for number in range(200_000)]

    async def caller() -> None:
        steps.append(len(await make_large(turns, make)))

    gc.callbacks.append(collected)
    try:
        start(caller())
        assert not steps
        clock.turn()
        assert (steps, generations) == ([False], [])
        clock.turn()
        assert generations == [1]
        clock.turn()
        assert steps == [False, 200_000] and gc.isenabled()
    finally:
        gc.callbacks.remove(collected)
