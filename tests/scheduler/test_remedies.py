"""What would let a pod run on a node."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.scheduler.remedies import remedy
from tests.scheduler.scheduler_support import SchedulerHarness, node, pod

TAINTS: list[Any] = [{"key": "k", "value": "v", "effect": "NoSchedule"}, {"key": "x", "effect": "PreferNoSchedule"}]
AFFINITY: Any = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}}


def _port(number: int, protocol: str = "TCP") -> Any:
    return {"hostPort": number, "containerPort": 1, "protocol": protocol}


def _spread(key: str, when: str = "DoNotSchedule") -> Any:
    return {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": when, "labelSelector": {}}


@pytest.mark.parametrize(
    ("plugin", "target", "waiting", "change"),
    [
        ("NodeResourcesFit", node("n", cpu=2), pod("p", cpu=1), ""),
        ("NodeResourcesFit", node("n", cpu=2), pod("p", cpu=2), "1000m more cpu"),
        ("NodeResourcesFit", node("n", pods=1), pod("p"), "1 pods fewer"),
        ("NodeResourcesFit", node("n", pods=2), pod("p"), ""),
        ("NodeResourcesFit", node("n", cpu=1, pods=0), pod("p", cpu="1500m"), "2 pods fewer, 1500m more cpu"),
        ("TaintToleration", node("n", taints=TAINTS), pod("p"), "a toleration of k=v:NoSchedule, or the taint removed"),
        ("TaintToleration", node("n", taints=[{"key": "k", "effect": "NoExecute"}]), pod("p"),
         "a toleration of k=:NoExecute, or the taint removed"),
        ("TaintToleration", node("n", taints=TAINTS[1:]), pod("p"), ""),
        ("NodeUnschedulable", node("n"), pod("p"), "the node uncordoned"),
        ("NodeAffinity", node("n", labels={"a": "1"}), pod("p", nodeSelector={"a": "1", "b": "2", "c": "3"}),
         "node labels b=2, c=3"),
        ("NodeAffinity", node("n"), pod("p", affinity=AFFINITY), "node labels that the pod's node affinity asks for"),
        ("NodePorts", node("n"),
         pod("p", containers=[{"name": "c", "image": "i", "ports": [_port(80), _port(53, "UDP")]}]),
         "host ports free: 53/UDP, 80/TCP"),
        ("PodTopologySpread", node("n"), pod("p", topologySpreadConstraints=[_spread("z"), _spread("y", "ScheduleAnyway")]),
         "node labels z"),
        ("PodTopologySpread", node("n", labels={"z": "1"}), pod("p", topologySpreadConstraints=[_spread("z")]),
         "fewer matching pods in the node's domain, more in the others, or a larger maxSkew"),
        ("Other", node("n"), pod("p"), ""),
    ],
)  # fmt: skip
def test_remedies(plugin: str, target: Any, waiting: Any, change: str) -> None:
    """By plugin. One pod that requests a processor runs on the node."""
    harness = SchedulerHarness()
    harness.put(target, pod("old", cpu=1, on="n"))
    snapshot = harness.scheduler.snapshot
    view = snapshot.node(snapshot.row_of("n"))
    said = remedy(plugin, harness.scheduler.templates.pod(waiting), view)
    assert sorted(said.partition(": ")[2].split(", ")) == sorted(change.partition(": ")[2].split(", ")) and (
        plugin == "NodePorts" or said == change
    )
