"""Fixtures that every test may use."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# Properties hold on machines of any speed: how long an example takes says nothing about it.
settings.register_profile("any speed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any speed")

_SHARED = Path(os.environ.get("ORCHD_REFERENCE", Path(__file__).resolve().parents[2] / "shared" / "reference"))


@pytest.fixture(scope="session")
def reference() -> Callable[[str], Any]:
    """Loads a file of recorded API facts by name (``"defaults"``); skips the test where the facts are not at hand."""
    loaded: dict[str, Any] = {}

    def load(name: str) -> Any:
        path = _SHARED / f"{name}.json"
        if not path.exists():
            pytest.skip(f"no recorded facts at {path}")
        if name not in loaded:
            loaded[name] = json.loads(path.read_text())
        return loaded[name]

    return load
