"""The linearizability checker itself: histories that it must accept and reject."""

from __future__ import annotations

import random

import pytest

from orchd.testing.contracts.linear import History, Kind, Operation, State, check_order, explain


def put(called: float, returned: float, value: str, expected: int, revision: int) -> Operation:
    history = History(clock=iter([called, returned]).__next__)
    operation = history.begin("c", Kind.PUT, "k", value=value, expected=expected)
    history.wrote(operation, revision)
    return operation


def lost(called: float, value: str, expected: int) -> Operation:
    return Operation(client="c", key="k", kind=Kind.PUT, called=called, value=value, expected=expected)


def rejected_put(called: float, returned: float, value: str, expected: int) -> Operation:
    history = History(clock=iter([called, returned]).__next__)
    operation = history.begin("c", Kind.PUT, "k", value=value, expected=expected)
    history.refused(operation)
    return operation


def get(called: float, returned: float, found: State) -> Operation:
    history = History(clock=iter([called, returned]).__next__)
    operation = history.begin("c", Kind.GET, "k")
    history.saw(operation, found)
    return operation


GOOD = {
    "nothing": [],
    "in turn": [get(1, 2, None), put(3, 4, "a", 0, 5), get(5, 6, ("a", 5)), put(7, 8, "b", 5, 9), get(9, 10, ("b", 9))],
    "a read during a write may see both": [put(1, 10, "a", 0, 5), get(2, 3, None), get(4, 5, ("a", 5))],
    "the loser is told": [put(1, 4, "a", 0, 5), rejected_put(2, 3, "b", 0)],
    "a lost write that happened": [
        put(1, 2, "a", 0, 5),
        lost(3, "b", 5),
        get(4, 5, ("b", 7)),
        rejected_put(6, 7, "c", 5),
    ],
    "a lost write that did not": [put(1, 2, "a", 0, 5), lost(3, "b", 5), get(4, 5, ("a", 5)), put(6, 7, "c", 5, 6)],
    "a lost write that happened late": [lost(1, "b", 0), get(2, 3, None), get(4, 5, ("b", 2))],
}
BAD = {
    "a stale read": [put(1, 2, "a", 0, 5), get(3, 4, None)],
    "a read of what was never written": [get(1, 2, ("a", 5))],
    "time goes back between reads": [put(1, 10, "a", 0, 5), get(2, 3, ("a", 5)), get(4, 5, None)],
    "two winners": [put(1, 4, "a", 0, 5), put(2, 3, "b", 0, 6)],
    "a lost update": [put(1, 2, "a", 0, 5), put(3, 6, "b", 5, 6), put(4, 7, "c", 5, 7)],
    "an acknowledged write is gone": [put(1, 2, "a", 0, 5), put(3, 4, "b", 5, 6), get(5, 6, ("a", 5))],
    "refused for no reason": [put(1, 2, "a", 0, 5), rejected_put(3, 4, "b", 5)],
    "a lost write that came twice": [put(1, 2, "a", 0, 5), lost(3, "b", 5), get(4, 5, ("b", 6)), get(6, 7, ("a", 5))],
    "revisions that fall": [put(1, 2, "a", 0, 5), put(3, 4, "b", 5, 4)],
}


@pytest.mark.parametrize("name", GOOD)
def test_linearizable_histories_are_accepted(name: str) -> None:
    """An order exists."""
    assert explain(GOOD[name]) == ""
    assert check_order(GOOD[name]) == ""


@pytest.mark.parametrize("name", BAD)
def test_other_histories_are_refused(name: str) -> None:
    """No order exists, and the explanation shows where the search ends."""
    assert "none of these can follow" in explain(BAD[name])


def test_revisions_are_ordered_across_keys() -> None:
    """A write that begins after another has returned has a greater revision, whatever the keys."""
    first, second = put(1, 2, "a", 0, 5), put(3, 4, "b", 0, 4)
    second.key = "other"
    assert "revision 5 was there" in check_order([first, second])
    assert "two writes" in check_order([first, put(5, 6, "c", 5, 5)])


@pytest.mark.parametrize("seed", range(20))
def test_random_register_histories(seed: int) -> None:
    """Histories of a register with atomic operations are accepted, and rejected if a result is changed."""
    choose = random.Random(seed)
    state: State = None
    operations: list[Operation] = []
    for moment in range(60):
        called, returned = moment - choose.uniform(0, 4), moment + choose.uniform(0, 4)
        expected = (state[1] if state else 0) if choose.random() < 0.6 else choose.randrange(60)
        if choose.random() < 0.4:
            operations.append(get(called, returned, state))
        elif expected != (state[1] if state else 0):
            operations.append(rejected_put(called, returned, f"v{moment}", expected))
        else:
            state = (f"v{moment}", moment + 100)
            operation = put(called, returned, state[0], expected, state[1])
            if choose.random() < 0.1:
                # Some client sees it: a later writer needs its revision.
                operation = lost(called, state[0], expected)
                operations.append(get(called, returned, state))
            operations.append(operation)
    choose.shuffle(operations)
    assert explain(operations) == ""
    assert explain([*operations, get(100, 101, ("never", 1))])
