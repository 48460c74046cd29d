"""Periods and limits that users of the reference rely on."""

from __future__ import annotations

import importlib

import pytest

#: Module below orchd.server.admission, constant, value.
LIMITS = [
    # Seconds.
    ("plugin", "SYNC_TIMEOUT", 10), ("policies.parameters", "_SYNC_TIMEOUT", 1),
    ("plugins.namespacelifecycle", "_LIVE_SECONDS", 30), ("plugins.serviceaccount", "_TOKEN_SECONDS", 3607),
    ("plugins.defaulttolerationseconds", "_DEFAULT", 300),
    # Counts.
    ("plugins.namespacelifecycle", "_LIVE_CAPACITY", 100), ("plugins.serviceaccount", "_ATTEMPTS", 10),
    ("plugins.serviceaccount", "_MODE", 0o644), ("plugins.podsecurity", "_MAX_PODS", 3000),
    ("plugins.resourcequota", "_ATTEMPTS", 4),
    ("plugins.eventratelimit", "_CACHE", 4096),
    # Bytes.
    ("policies.decisions", "_LONGEST_MESSAGE", 5 * 1024), ("policies.plugin", "_LONGEST_ANNOTATION", 10 * 1024),
]  # fmt: skip


@pytest.mark.parametrize(("module", "constant", "value"), LIMITS)
def test_limits_are_those_of_the_reference(module: str, constant: str, value: float) -> None:
    assert getattr(importlib.import_module(f"orchd.server.admission.{module}"), constant) == value
