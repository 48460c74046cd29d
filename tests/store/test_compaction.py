"""When the history of a store is compacted, on a clock of the test."""

from __future__ import annotations

from typing import Any, cast

import pytest
from twisted.internet.task import Clock

from orchd.store.compaction import Compaction
from orchd.store.interfaces import IStore


class Compacted:
    """A store whose revision is the time in seconds; it notes the revisions to which it was compacted."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.revisions: list[int] = []

    @property
    def revision(self) -> int:
        return int(self._clock.seconds())

    @property
    def compacted(self) -> int:
        return max(self.revisions, default=-1)

    async def compact(self, revision: int) -> None:
        self.revisions.append(revision)


@pytest.mark.parametrize("late", [0.0, 0.5, 20.0])
def test_history_is_at_most_two_intervals_long(late: float) -> None:
    """A call of the loop that comes late does not keep history for another interval, when the next one comes in
    time."""
    clock = Clock()
    store = Compacted(clock)
    compaction = Compaction(cast(IStore, cast(Any, store)), clock, interval=300.0, keep=300.0)
    compaction.start()
    for at in (300.0 + late, 600.0, 900.0 + late, 1200.0, 1500.0):
        assert at - store.compacted <= 2 * 300.0 + late + 1
        clock.advance(at - clock.seconds())
    compaction.stop()
