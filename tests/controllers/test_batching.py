"""Rate limit for controllers whose writes cover many objects."""

from __future__ import annotations

import pytest
from twisted.internet.task import Clock

from orchd.controllers.batching import WriteShare, batch_seconds


def test_some_writes_are_made_at_once() -> None:
    """Writes are delayed once a second of work has been done."""
    share = WriteShare(Clock())
    assert [share.spend(0) for _ in range(999)] == [0.0] * 999
    assert max(share.spend(0), share.spend(0)) > 0


@pytest.mark.parametrize(("listed", "rate"), [(0, 100), (50, 40), (1000, 3)])
def test_writes_take_a_limited_share(listed: int, rate: int) -> None:
    """Beyond that, the rate of writes depends on how many objects they cover."""
    clock = Clock()
    share = WriteShare(clock)
    while not share.spend(listed):
        """Use up what may be done at once."""
    writes = 0
    began = clock.seconds()
    while clock.seconds() - began < 60:
        clock.advance(share.spend(listed))
        writes += 1
    assert writes / 60 == pytest.approx(rate, rel=0.1)


def test_few_objects_are_not_batched() -> None:
    """Owners of few objects are written at each change."""
    assert batch_seconds(199) == 0
    assert batch_seconds(1000) == pytest.approx(0.2)
