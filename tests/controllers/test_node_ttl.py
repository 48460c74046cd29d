"""How long node agents may cache Secrets and ConfigMaps."""

from __future__ import annotations

import pytest

from orchd.controllers.node_ttl import NodeTtlController, step_for
from orchd.controllers.objects import NODES
from orchd.testing.doubles.results import result_of
from tests.controllers.unit_support import ControllerBench

ANNOTATION = "node.alpha.orch.io/ttl"


@pytest.mark.parametrize(
    ("step", "nodes", "expected"),
    [
        (0, 0, 0), (0, 100, 0), (0, 101, 1), (1, 90, 1), (1, 89, 0), (1, 500, 1), (1, 501, 2), (2, 450, 2), (2, 449, 1),
        (2, 1000, 2), (2, 1001, 3), (3, 900, 3), (3, 899, 2), (3, 2000, 3), (3, 2001, 4), (4, 1800, 4), (4, 1799, 3),
        (0, 5000, 4), (4, 0, 0), (4, 1_000_000, 4),
    ],
)  # fmt: skip
def test_steps_overlap(step: int, nodes: int, expected: int) -> None:
    """So that a node more or less does not change all others."""
    assert step_for(step, nodes) == expected


@pytest.mark.parametrize(
    ("count", "seconds"), [(1, "0"), (100, "0"), (101, "15"), (501, "30"), (1001, "60"), (2001, "300")]
)
def test_annotation_grows_with_the_cluster(count: int, seconds: str) -> None:
    """It is written where it differs."""
    bench = ControllerBench(NodeTtlController)
    result_of(bench.controller.listen())
    for number in range(count):
        notes = {ANNOTATION: seconds} if number == 1 else {}
        bench.informers.put(NODES, {"metadata": {"name": f"n{number}", "annotations": notes}})
    for name in ("n0", "n1", "gone"):
        result_of(bench.controller.reconcile(("", name)))
    assert bench.client.calls == [("patch", "nodes", "n0")]
    assert bench.client.bodies == [{"metadata": {"annotations": {ANNOTATION: seconds}}}]


def test_nodes_that_go_are_not_counted() -> None:
    bench = ControllerBench(NodeTtlController)
    result_of(bench.controller.listen())
    for number in range(101):
        bench.informers.put(NODES, {"metadata": {"name": f"n{number}", "annotations": {}}})
    bench.informers.put(NODES, {"metadata": {"name": "n0", "annotations": {}, "labels": {}}})
    for number in range(12):
        bench.informers.informer(NODES).remove("", f"n{100 - number}")
    result_of(bench.controller.reconcile(("", "n0")))
    assert bench.client.bodies == [{"metadata": {"annotations": {ANNOTATION: "0"}}}]
