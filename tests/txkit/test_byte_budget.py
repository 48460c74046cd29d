"""Bytes are shared among flows in turn."""

from __future__ import annotations

import pytest
from twisted.internet.defer import CancelledError, Deferred

from orchd.txkit import byte_budget
from orchd.txkit.byte_budget import ByteBudget, NoRoomError


class Takers:
    """Callers of a budget, and the order in which they got room."""

    def __init__(self, total: int, share: int) -> None:
        self.budget = ByteBudget(total, share)
        self.served: list[str] = []

    def take(self, flow: str, size: int) -> Deferred[None]:
        return self.budget.take(flow, size).addCallback(lambda _: self.served.append(f"{flow}{size}"))


def test_a_flow_has_at_most_its_share() -> None:
    """What exceeds the share waits, while another flow gets room at once."""
    takers = Takers(10, 6)
    for flow, size in (("a", 4), ("a", 3), ("b", 4)):
        takers.take(flow, size)
    assert takers.served == ["a4", "b4"]
    assert (takers.budget.held, takers.budget.waiting) == (8, 1)
    takers.budget.give_back("a", 4)
    assert takers.served[2:] == ["a3"]


def test_flows_take_turns() -> None:
    """A flow with many waiters delays the first one of another flow by one of its own."""
    takers = Takers(4, 4)
    for flow in ("a", "a", "a", "b"):
        takers.take(flow, 4)
    for flow in ("a", "a", "b"):
        takers.budget.give_back(flow, 4)
    assert takers.served == ["a4", "a4", "b4", "a4"]


def test_large_waiters_do_not_starve() -> None:
    """Smaller ones of other flows do not overtake a waiter that only the total keeps waiting."""
    takers = Takers(10, 8)
    for flow, size in (("a", 5), ("b", 8), ("c", 3)):
        takers.take(flow, size)
    assert takers.served == ["a5"] and not takers.budget.has_room("c", 6)
    takers.budget.give_back("a", 5)
    assert takers.served == ["a5", "b8"]


def test_cancelled_waiter_leaves_its_place() -> None:
    """Those that waited for it go on, and nothing is held for it."""
    takers = Takers(10, 8)
    takers.take("a", 5)
    waiting = takers.take("b", 8)
    takers.take("c", 3)
    failures: list[object] = []
    waiting.addErrback(lambda failure: failures.append(failure.check(CancelledError)))
    waiting.cancel()
    assert takers.served == ["a5", "c3"] and failures == [CancelledError]
    for flow, size in (("a", 5), ("c", 3)):
        takers.budget.give_back(flow, size)
    assert (takers.budget.held, takers.budget.waiting, takers.budget._flows) == (0, 0, {})


@pytest.mark.parametrize("limit", ["MOST_WAITING", "MOST_WAITING_IN_ALL"])
def test_waiters_are_bounded(monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    """No more than so many callers wait, of one flow and of all."""
    monkeypatch.setattr(byte_budget, limit, 1)
    takers = Takers(4, 4)
    for _ in range(2):
        takers.take("a", 4)
    with pytest.raises(NoRoomError):
        takers.take("a", 1)
