"""Resources that the scheduler reads."""

from __future__ import annotations

import orchd.scheduler
from tests.resource_refs import unserved


def test_resources_that_plugins_read_are_served() -> None:
    assert unserved(orchd.scheduler) == []
