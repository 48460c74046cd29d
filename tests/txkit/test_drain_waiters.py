from __future__ import annotations

from twisted.internet.defer import CancelledError, Deferred
from twisted.python.failure import Failure

from orchd.txkit.drain_waiters import DrainWaiters


class Gone(Exception):
    pass


def test_waiters_are_called_once_in_order() -> None:
    drain = DrainWaiters()
    told: list[str] = []

    def wait(name: str) -> None:
        drain.wait().addCallback(lambda _: told.append(name))

    for name in "abc":
        wait(name)
    drain.opened()
    assert told == ["a", "b", "c"]
    drain.opened()
    assert told == ["a", "b", "c"]


def test_waiter_added_during_drain_waits_for_the_next() -> None:
    drain = DrainWaiters()
    again: list[Deferred[None]] = []
    drain.wait().addCallback(lambda _: again.append(drain.wait()))
    drain.opened()
    assert len(again) == 1
    assert not again[0].called
    drain.opened()
    assert again[0].called


def test_all_waiters_learn_of_the_loss() -> None:
    drain = DrainWaiters()
    failures: list[Failure] = []
    for _ in range(2):
        drain.wait().addErrback(failures.append)
    drain.lost(Gone)
    assert [failure.type for failure in failures] == [Gone, Gone]


def test_waiter_that_removes_another_does_not_skip_a_third() -> None:
    drain, told = DrainWaiters(), []
    second: list[Deferred[None]] = []
    drain.wait().addCallback(lambda _: second[0].cancel())
    second.append(drain.wait())
    second[0].addErrback(lambda failure: told.append(failure.type))
    drain.wait().addCallback(lambda _: told.append("third"))
    drain.opened()
    assert told == [CancelledError, "third"]
