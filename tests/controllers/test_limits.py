"""Periods and limits that users of the reference rely on."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from orchd.controllers.volumes.attachment.attempts import Attempts

#: Module below orchd.controllers, constant, value.
LIMITS = [
    # Seconds.
    ("volumes.attachment.controller", "UNMOUNT_PATIENCE", 6 * 60), ("volumes.attachment.attempts", "TIMEOUT", 2 * 60),
    ("certificates.signing", "_SHORTEST_LIFETIME", 10 * 60), ("certificates.cleaner", "DECIDED", 60 * 60),
    ("certificates.cleaner", "PENDING", 24 * 60 * 60), ("podgc", "_QUARANTINE", 40),
    ("daemonset.backoff", "_FIRST", 1), ("daemonset.backoff", "_LONGEST", 15 * 60), ("job", "_BACKOFF", 10),
    ("job", "_LONGEST_BACKOFF", 6 * 60), ("job", "READY_BATCH", 1), ("job_policies", "_BACKOFF", 10),
    ("job_policies", "_LONGEST_BACKOFF", 10 * 60), ("disruption.budget", "DELETION_TIMEOUT", 2 * 60),
    ("cronjob.controller", "_SLACK", 0.1), ("nodelifecycle.controller", "_TAINTING_PERIOD", 0.1),
    ("namespace", "_FINALIZER_PAUSE", 15), ("autoscaling.metrics", "_WINDOW", 60),
    # Writes of one pass.
    ("daemonset.controller", "_BURST", 250), ("replicaset", "_BURST", 500), ("statefulset.controller", "_BURST", 500),
    ("job", "BURST", 500), ("job_tracking", "MOST_UNCOUNTED", 500),
    # Counts and lengths.
    ("serviceaccount_tokens", "_ATTEMPTS", 10), ("cronjob.controller", "_MANY_MISSED", 100),
    ("autoscaling.normalization", "_SCALE_UP_FLOOR", 4), ("deployment.rollout", "_HISTORY", 2000),
    ("endpoints.endpoints_controller", "_MOST", 1000), ("endpoints.topology_hints", "_OVERLOAD", 0.2),
    ("nodeipam.ranges", "MOST_BITS", 16),
]  # fmt: skip


@pytest.mark.parametrize(("module", "constant", "value"), LIMITS)
def test_limits_are_those_of_the_reference(module: str, constant: str, value: float) -> None:
    assert getattr(importlib.import_module(f"orchd.controllers.{module}"), constant) == value


def _checks(error: str, *times: float) -> list[Any]:
    attempts = Attempts()
    attempts.begin("a", 0)
    return [attempts.check("a", error, now) for now in times]


@pytest.mark.parametrize(
    ("error", "times", "expected"),
    [
        ("", [0, 119, 120], [(False, 120), (False, 1), (True, 120.5)]),
        ("", [120, 120.25, 240, 240.5], [(True, 120.5), (False, 120.25), (False, 0.5), (True, 121)]),
        ("no", [0, 0.25, 0.5, 1, 1.5], [(True, 0.5), (False, 0.25), (True, 1), (False, 0.5), (True, 2)]),
        ("no", [1000 * each for each in range(10)], [(True, min(0.5 * 2**each, 122)) for each in range(10)]),
    ],
)
def test_failures_of_attachments_are_reported_ever_less(error: str, times: list[float], expected: list[Any]) -> None:
    """First after half a second, at most after 122; a driver that is silent has two minutes each time."""
    assert _checks(error, *times) == expected


def test_attempts_begin_once_and_end() -> None:
    attempts = Attempts()
    attempts.begin("a", 0)
    attempts.begin("a", 60)
    assert attempts.check("a", "", 100) == (False, 20)
    assert attempts.end("a") and not attempts.end("a")
