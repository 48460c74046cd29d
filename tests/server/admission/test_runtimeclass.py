"""RuntimeClass: overhead and scheduling of pods."""

from __future__ import annotations

from collections.abc import Callable

from orchd.kinds.jsonvalues import Object
from tests.server.admission.conftest import World


def test_runtime_classes_set_overhead_and_scheduling(world: type[World], pod: Callable[..., Object]) -> None:
    """Overhead, node selector and tolerations come from the class; conflicts are rejected."""
    w = world(only=["RuntimeClass"])
    toleration = {"key": "k", "operator": "Exists"}
    w.put(
        "runtimeclasses",
        {
            "metadata": {"name": "rc"},
            "overhead": {"podFixed": {"cpu": "1"}},
            "scheduling": {"nodeSelector": {"a": "b"}, "tolerations": [toleration]},
        },
        "node.{abbr}.io",
    )
    spec = w.run("pods", pod(runtimeClassName="rc", overhead={"cpu": "1000m"}))["spec"]
    assert (spec["overhead"], spec["nodeSelector"], spec["tolerations"]) == ({"cpu": "1"}, {"a": "b"}, [toleration])
    assert "doesn't match" in w.refusal("pods", pod(runtimeClassName="rc", overhead={"cpu": "2"})).message
    assert "conflict: " in w.refusal("pods", pod(runtimeClassName="rc", nodeSelector={"a": "c"})).message
