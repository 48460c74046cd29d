"""Names that are made of templates."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

from orchd.controllers.naming import template_hash


def steps(template: Any) -> int:
    """The number of executed lines of `template_hash`."""
    count = 0

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal count
        if frame.f_code is not template_hash.__code__:
            return None
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        template_hash(template)
    finally:
        sys.settrace(before)
    return count


def test_steps_of_large_templates_are_bounded() -> None:
    """The hash of a template of any size takes steps for its digest alone; templates that differ have different
    hashes."""
    large = {"tolerations": [{"key": f"k{i}"} for i in range(10_000)]}
    assert steps(large) < 500
    assert template_hash(large) != template_hash({**large, "a": "b"}) != template_hash({**large, "a": "b"}, 1)


def test_hashes_of_usual_templates_are_stable() -> None:
    """A template keeps its hash over releases: names of objects contain it."""
    assert template_hash({"spec": {"containers": [{"name": "a"}]}}) == "5b684bc5db"
