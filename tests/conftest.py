"""Fixtures that every test may use."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# Properties hold on machines of any speed: how long an example takes says nothing about it. The examples of an ordinary
# run follow from the test's text, so that the same commit passes or fails everywhere; `make fuzz` looks for new ones.
settings.register_profile("same", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
_EXAMPLES = int(os.environ.get("ORCHD_FUZZ", 0))
if _EXAMPLES:
    settings.register_profile("new", settings.get_profile("same"), derandomize=False, max_examples=_EXAMPLES)
settings.load_profile("new" if _EXAMPLES else "same")

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
