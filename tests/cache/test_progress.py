"""Waits for a revision of the store."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock

from orchd.cache.progress import Progress
from orchd.errors import ApiError


class Waits:
    """A progress at revision 1, and what became of the waits: their revision, or the error."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.progress = Progress(self.clock, patience=3)
        self.progress.advance(1)
        self.ended: list[Any] = []

    def begin(self, revision: int) -> Deferred[Any]:
        waiting: Deferred[Any] = Deferred.fromCoroutine(self.progress.wait_for(revision))
        waiting.addCallbacks(lambda _: self.ended.append(revision), lambda failure: self.ended.append(failure.value))
        return waiting


def test_waits_end_in_the_order_of_their_revisions() -> None:
    """A wait ends when its revision is reached, at once for one that is; progress never goes back."""
    waits = Waits()
    for revision in (5, 3, 4, 1):
        waits.begin(revision)
    assert waits.ended == [1] and len(waits.progress) == 3
    waits.progress.advance(2)
    assert waits.ended == [1]
    waits.progress.advance(4)
    assert waits.ended == [1, 3, 4]
    waits.progress.advance(2)
    assert (waits.progress.revision, waits.ended) == (4, [1, 3, 4])
    waits.progress.advance(6)
    assert waits.ended == [1, 3, 4, 5]
    assert len(waits.progress) == 0 and waits.clock.getDelayedCalls() == []


def test_patience_ends() -> None:
    """After its time a wait fails with the revision that was reached; others go on."""
    waits = Waits()
    waits.begin(5)
    waits.clock.advance(2)
    waits.begin(6)
    waits.clock.advance(0.9)
    assert waits.ended == []
    waits.clock.advance(0.1)
    (error,) = waits.ended
    assert isinstance(error, ApiError) and error.message == "Timeout: Too large resource version: 5, current: 1"
    assert len(waits.progress) == 1
    waits.progress.advance(6)
    assert waits.ended[1:] == [6] and waits.clock.getDelayedCalls() == []


def test_cancelled_wait_is_forgotten() -> None:
    waits = Waits()
    cancelled, _ = waits.begin(5), waits.begin(6)
    cancelled.cancel()
    assert [type(error) for error in waits.ended] == [CancelledError] and len(waits.progress) == 1
    waits.progress.advance(9)
    assert waits.ended[1:] == [6] and waits.clock.getDelayedCalls() == []


def test_resumed_code_cancels_and_begins_waits() -> None:
    """Code that a wait resumes may cancel another one that would end too, and wait again."""
    waits = Waits()

    async def resume() -> None:
        await waits.progress.wait_for(2)
        other.cancel()
        waits.begin(9)

    Deferred.fromCoroutine(resume())
    other = waits.begin(3)
    waits.begin(4)
    waits.progress.advance(4)
    assert [each for each in waits.ended if isinstance(each, int)] == [4]
    assert len(waits.progress) == 1
    waits.progress.advance(9)
    assert waits.ended[-1] == 9
