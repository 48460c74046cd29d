"""Periods and limits that users of the reference rely on."""

from __future__ import annotations

import importlib

import pytest

MIB = 1024**2
#: Module below orchd.scheduler, constant, value.
LIMITS = [
    # Seconds.
    ("extender_connection", "DEFAULT_TIMEOUT", 5), ("cluster", "EXPIRES", 15 * 60), ("queue.queue", "FLUSH_EVERY", 30),
    ("waiting_pods", "_LONGEST", 15 * 60), ("plugins.volume_writes", "_INTERVAL", 1), ("devices.selection", "TIME", 10),
    # Counts.
    ("framework.sampling", "_LEAST_NODES", 100), ("framework.sampling", "_LEAST_PERCENTAGE", 5),
    ("plugins.strategies", "_MAX_SHAPE_SCORE", 10), ("config.argument_rules", "_MOST_SCORE", 10),
    ("devices.allocation", "MAX_DEVICES", 32), ("plugins.dynamicresources", "_MOST_ALTERNATIVES", 8),
    ("plugins.nodevolumelimits", "_LONGEST_NAME", 63), ("metrics", "_PLUGIN_SAMPLING", 10),
    ("values", "MIN_SCORE", 0), ("values", "MAX_SCORE", 100),
    # Amounts: milli CPU and bytes.
    ("pod_amounts", "DEFAULT_CPU", 100), ("pod_amounts", "DEFAULT_MEMORY", 200 * MIB),
    ("plugins.imagelocality", "_MIN_BYTES", 23 * MIB), ("plugins.imagelocality", "_MAX_BYTES_PER_CONTAINER", 1000 * MIB),
    # Characters of Events and conditions.
    ("pod_conditions", "_MAX_NOTE", 1024), ("pod_conditions", "_MAX_MESSAGE", 32768),
]  # fmt: skip


@pytest.mark.parametrize(("module", "constant", "value"), LIMITS)
def test_limits_are_those_of_the_reference(module: str, constant: str, value: float) -> None:
    assert getattr(importlib.import_module(f"orchd.scheduler.{module}"), constant) == value
