"""Work on named objects, with retries of what the API refused."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from orchd import errors
from orchd.server.retrying_worker import retrying_worker
from orchd.testing.doubles.server import run
from orchd.txkit.queue_workers import QueueWorkers


class Looked:
    """Records names, and raises the errors that the test sets."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.errors: dict[str, Exception] = {}
        self.gate: Deferred[None] | None = None

    async def look(self, name: str) -> None:
        self.names.append(name)
        if self.gate is not None:
            await self.gate
        if name in self.errors:
            raise self.errors[name]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def looked() -> Looked:
    return Looked()


@pytest.fixture
def work(looked: Looked, clock: Clock) -> Iterator[QueueWorkers[str]]:
    work = retrying_worker("thing", looked.look, clock)
    yield work
    run(work.stop())
    assert clock.getDelayedCalls() == []


@pytest.mark.parametrize("error", [errors.internal("x"), errors.conflict("", "things", "a", "x")])
def test_failed_names_are_retried_after_a_pause(
    work: QueueWorkers[str], looked: Looked, clock: Clock, error: Exception
) -> None:
    """A failed name is retried after a pause; processing it for another reason replaces the retry."""
    looked.errors["a"] = error
    work.start()
    for _ in range(5):
        work.add("a")
    assert len(looked.names) == 5 and len(clock.getDelayedCalls()) == 1
    clock.advance(1)
    assert len(looked.names) == 6
    del looked.errors["a"]
    clock.advance(1)
    assert len(looked.names) == 7
    clock.advance(1)
    assert len(looked.names) == 7


def test_deleted_names_are_not_retried(work: QueueWorkers[str], looked: Looked, clock: Clock) -> None:
    """A deleted name is not retried."""
    looked.errors["a"] = errors.not_found("", "things", "a")
    work.start()
    work.add("a")
    assert clock.getDelayedCalls() == []


def test_stop_cancels_work_and_retries(work: QueueWorkers[str], looked: Looked, clock: Clock) -> None:
    """Names that are added after a stop wait for the next start."""
    looked.errors["a"] = errors.internal("x")
    work.start()
    work.add("a")
    looked.gate = Deferred()
    work.add("b")
    run(work.stop())
    assert clock.getDelayedCalls() == []
    work.add("c")
    assert looked.names == ["a", "b"]
    looked.gate = None
    work.start()
    assert looked.names == ["a", "b", "c"]


def test_name_added_during_its_failing_call_is_processed_once_more(clock: Clock) -> None:
    """The addition replaces the retry of the call that fails: nothing is queued twice."""
    gates: list[Deferred[None]] = []

    async def look(name: str) -> None:
        gates.append(Deferred())
        await gates[-1]

    work = retrying_worker("thing", look, clock)
    work.start()
    work.add("a")
    work.add("a")
    gates[0].errback(errors.internal("x"))
    assert len(gates) == 2 and clock.getDelayedCalls() == []
    gates[1].callback(None)
    clock.advance(60)
    assert len(gates) == 2
    run(work.stop())
