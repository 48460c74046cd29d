"""Comparing values with stored ones."""

from __future__ import annotations

from itertools import count

import pytest

from orchd.dialect import ORCH
from orchd.kinds.objects.schema_check import correlation
from orchd.kinds.objects.schema_check.correlation import Matched, TimeSpent

SCHEMA = {"properties": {"a": {"properties": {"b": {"type": "string"}}}, "c": {"type": "string"}}}


def test_each_comparison_is_timed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a comparison looks at below is a part of its time, and what is known is not compared again."""
    ticks = count()
    monkeypatch.setattr(correlation, "perf_counter", lambda: next(ticks))
    time = TimeSpent()
    value = {"a": {"b": "x"}, "c": "y"}
    whole = Matched(value, {"a": {"b": "x"}, "c": "y"}, SCHEMA, ORCH, time)
    assert whole.unchanged() and whole.unchanged()
    assert time.seconds == 1
    member = whole.below("a")
    assert member is not None and member.unchanged()
    assert time.seconds == 2
