"""Priority: the priority of pods from their class."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from orchd.kinds.jsonvalues import Object
from orchd.server.admission.interfaces import UPDATE
from tests.server.admission.conftest import World


def priority_class(name: str, value: Any, **more: Any) -> Object:
    return {"metadata": {"name": name}, "value": value, **more}


def test_pod_priority_comes_from_its_class(world: type[World], pod: Callable[..., Object]) -> None:
    """The priority is that of the named class, of the default one, or zero; an update keeps it."""
    w = world(only=["Priority"])
    group = "scheduling.{abbr}.io"
    spec = w.run("pods", pod())["spec"]
    assert (spec["priority"], spec["preemptionPolicy"]) == (0, "PreemptLowerPriority")
    w.put("priorityclasses", priority_class("high", 10, preemptionPolicy="Never"), group)
    w.put("priorityclasses", priority_class("std", 5, globalDefault=True), group)
    spec = w.run("pods", pod(priorityClassName="high"))["spec"]
    assert (spec["priority"], spec["preemptionPolicy"]) == (10, "Never")
    spec = w.run("pods", pod())["spec"]
    assert (spec["priority"], spec["priorityClassName"]) == (5, "std")
    kept = w.run("pods", pod(), pod(priority=7), operation=UPDATE)
    assert kept["spec"]["priority"] == 7
    error = w.refusal("priorityclasses", priority_class("x", 1, globalDefault=True), group=group)
    assert error.message.endswith("PriorityClass std is already marked as default. Only one default can exist")
    w.run("priorityclasses", priority_class("std", 5, globalDefault=True), operation=UPDATE, group=group)
    error = w.refusal("priorityclasses", priority_class("high", 10, globalDefault=True), operation=UPDATE, group=group)
    assert error.message.endswith("PriorityClass std is already marked as default. Only one default can exist")
    w.run("priorityclasses", priority_class("low", 1), group=group)
    error = w.refusal("priorityclasses", priority_class("std", 5, globalDefault=True), group=group)
    assert error.message.endswith("PriorityClass std is already marked as default. Only one default can exist")


def test_pod_priority_without_a_value(world: type[World], pod: Callable[..., Object]) -> None:
    """A class without a value has the priority 0; it is the lowest of several default classes that a race created."""
    w = world(only=["Priority"])
    group = "scheduling.{abbr}.io"
    for name, more in {"none": {}, "low": {"value": -1}, "one": {"value": 1}}.items():
        metadata = {"metadata": {"name": name}, "globalDefault": True}
        w.put("priorityclasses", {**metadata, **more}, group)
    assert w.run("pods", pod(priorityClassName="none"))["spec"]["priority"] == 0
    assert w.run("pods", pod())["spec"]["priorityClassName"] == "low"
    other = world(only=["Priority"])
    for name, more in {"one": {"value": 1}, "none": {}}.items():
        other.put("priorityclasses", {"metadata": {"name": name}, "globalDefault": True, **more}, group)
    assert other.run("pods", pod())["spec"]["priorityClassName"] == "none"
