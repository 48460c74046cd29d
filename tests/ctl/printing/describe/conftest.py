"""The time zone of descriptions."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest


@pytest.fixture
def universal_time(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Times are shown in the local time zone."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()
