"""TaintNodesByCondition."""

from __future__ import annotations

from orchd.dialect import ORCH
from tests.server.admission.conftest import World
from tests.server.admission.test_noderestriction import node


def test_new_nodes_are_tainted(world: type[World]) -> None:
    """A new node has the not-ready taint."""
    stored_node = world().run("nodes", node())
    assert stored_node["spec"]["taints"] == [{"key": ORCH("node.{long}.io/not-ready"), "effect": "NoSchedule"}]
