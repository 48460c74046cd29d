"""Attempts of attachments: which failures are reported, and when to look again."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.controllers.volumes.attachment.attempts import Attempts


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
    """The second begin of an attempt does not restart its time; an attempt ends once."""
    attempts = Attempts()
    attempts.begin("a", 0)
    attempts.begin("a", 60)
    assert attempts.check("a", "", 100) == (False, 20)
    assert attempts.end("a") and not attempts.end("a")
