"""Workers that process the keys of a queue."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

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
    work: QueueWorkers[str] = QueueWorkers("thing", looked.look, clock)
    yield work
    run(work.stop())
    assert clock.getDelayedCalls() == []


def test_queued_names_are_processed_once_in_order(work: QueueWorkers[str], looked: Looked) -> None:
    """A name that is added during other work is queued once, in order."""
    looked.gate = Deferred()
    work.add("a")
    work.start()
    for name in ("b", "c", "b"):
        work.add(name)
    assert looked.names == ["a"]
    gate, looked.gate = looked.gate, None
    gate.callback(None)
    assert looked.names == ["a", "b", "c"]


def test_exception_does_not_stop_other_names(work: QueueWorkers[str], looked: Looked, clock: Clock) -> None:
    """The failed name waits for its next change; others are processed as usual."""
    looked.errors["a"] = KeyError("spec")
    work.start()
    for name in ("a", "b", "a"):
        work.add(name)
    assert looked.names == ["a", "b", "a"] and clock.getDelayedCalls() == []


def test_queued_keys_wait_for_the_next_start(work: QueueWorkers[str], looked: Looked) -> None:
    """A stop cancels the current call, whose key is dropped; queued keys, also those added after the stop, are kept."""
    looked.gate = Deferred()
    work.start()
    for name in ("a", "b"):
        work.add(name)
    run(work.stop())
    work.add("c")
    assert looked.names == ["a"]
    looked.gate = None
    work.start()
    assert looked.names == ["a", "b", "c"]


def test_key_added_during_its_call_is_processed_once_more(clock: Clock) -> None:
    """The addition replaces the delay that the call asks for: nothing is queued twice."""
    gates: list[Deferred[float | None]] = []

    async def look(name: str) -> float | None:
        gates.append(Deferred())
        return await gates[-1]

    work: QueueWorkers[str] = QueueWorkers("thing", look, clock)
    work.start()
    work.add("a")
    work.add("a")
    gates[0].callback(1)
    assert len(gates) == 2 and clock.getDelayedCalls() == []
    gates[1].callback(None)
    clock.advance(60)
    assert len(gates) == 2
    run(work.stop())


def test_calls_of_different_names_are_concurrent_up_to_the_limit(clock: Clock) -> None:
    """Names beyond `at_once` wait; a name that is being processed is not processed a second time meanwhile."""
    gates: dict[str, Deferred[None]] = {}

    async def look(name: str) -> float | None:
        await gates.setdefault(name, Deferred())
        return 5 if name == "a" else None

    work: QueueWorkers[str] = QueueWorkers("thing", look, clock, at_once=2)
    for name in ("a", "b", "c", "a"):
        work.add(name)
    work.start()
    work.add("a")
    assert list(gates) == ["a", "b"]
    gates.pop("b").callback(None)
    assert list(gates) == ["a", "c"]
    for name in ("a", "a", "c"):
        gates.pop(name).callback(None)
    assert not gates
    clock.advance(4.9)
    assert not gates
    clock.advance(0.1)
    assert list(gates) == ["a"]
    run(work.stop())
    assert clock.getDelayedCalls() == []
