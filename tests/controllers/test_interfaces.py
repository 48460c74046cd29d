"""Resources that controllers read and write."""

from __future__ import annotations

import orchd.controllers
from tests.resource_refs import unserved


def test_resources_of_controllers_are_served() -> None:
    assert unserved(orchd.controllers) == []
