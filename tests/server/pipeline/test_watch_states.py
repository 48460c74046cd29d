"""The states of a watch as a table: every state can end, and nothing follows the end."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.server.pipeline.verbs.watch.stream import TRANSITIONS, Input, State

ENDINGS = (Input.CLOSE, Input.FAIL, Input.TOO_SLOW, Input.CLIENT_GONE)
BEFORE_THE_END = [state for state in State if state is not State.ENDED]


def test_every_state_is_reachable_and_has_transitions() -> None:
    """A watch could hang in a state without transitions, and unreachable states are not needed."""
    reached = {State.NEW, *(state for rows in TRANSITIONS.values() for state, _ in rows.values())}
    assert set(TRANSITIONS) == reached == set(State)


@pytest.mark.parametrize("state", BEFORE_THE_END)
@pytest.mark.parametrize("what", ENDINGS)
def test_every_ending_releases_resources(state: State, what: Input) -> None:
    """Every ending releases the watch's resources, from any state."""
    after, actions = TRANSITIONS[state][what]
    assert after is State.ENDED
    assert [act.__name__ for act in actions].count("_release") == 1


def test_no_transition_leaves_the_end() -> None:
    """Late events of timers, caches and clients have no transition."""
    assert not TRANSITIONS[State.ENDED]


@pytest.mark.parametrize("state", BEFORE_THE_END)
def test_every_state_leads_to_following_changes(state: State) -> None:
    """From every state the watch reaches the one in which it follows changes."""
    seen: set[Any] = set()
    open_ = [state]
    while open_:
        at = open_.pop()
        if at not in seen:
            seen.add(at)
            open_ += [after for after, _ in TRANSITIONS[at].values()]
    assert State.LIVE in seen
