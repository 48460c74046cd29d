"""NodeRestriction: what a node may change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from orchd.dialect import ORCH
from orchd.kinds.jsonvalues import Object
from orchd.kinds.users import User
from orchd.server.admission.interfaces import DELETE, UPDATE
from tests.server.admission.conftest import World

NODE = User(name="system:node:n1", groups=("system:nodes",))


def node(name: str = "n1", labels: dict[str, str] | None = None, **spec: Any) -> Object:
    return {"metadata": {"name": name, **({"labels": labels} if labels else {})}, "spec": spec}


@pytest.mark.parametrize(
    ("new", "old", "text"),
    [
        (node(taints=[{"key": "a"}]), node(), 'node "n1" is not allowed to modify taints'),
        (node(labels={"a/b": "c"}), node(), None),
        (node(labels={ORCH("{long}.io/hostname"): "c"}), node(), None),
        (node(labels={ORCH("{long}.io/foo"): "c"}), node(), ORCH("is not allowed to modify labels: {long}.io/foo")),
        (node("n2"), node("n2"), 'node "n1" is not allowed to modify node "n2"'),
    ],
)
def test_node_restriction_on_nodes(world: type[World], new: Any, old: Any, text: str) -> None:
    """A node cannot change its taints or the product's labels."""
    w = world(only=["NodeRestriction"])
    if text is None:
        w.run("nodes", new, old, operation=UPDATE, user=NODE)
    else:
        assert w.refusal("nodes", new, old, operation=UPDATE, user=NODE).message.endswith(text)


def test_node_name_is_checked_before_labels(world: type[World]) -> None:
    """The name of another node is rejected before its labels; a new node may have only its own labels."""
    w = world(only=["NodeRestriction"])
    label = {ORCH("node-restriction.{long}.io/x"): "y"}
    assert w.refusal("nodes", node("n2", label), user=NODE).message.endswith('is not allowed to modify node "n2"')
    assert "is not allowed to set the following labels" in w.refusal("nodes", node("n1", label), user=NODE).message


def test_node_delete_of_a_missing_pod(world: type[World], pod: Callable[..., Object]) -> None:
    """Errors about deleting or evicting a missing pod name the kind in the singular."""
    w = world(only=["NodeRestriction"])
    eviction = {"metadata": {"name": "none"}}
    error = w.refusal("pods", eviction, user=NODE, sub="eviction")
    assert (error.code, error.details) == (404, {"name": "none", "kind": "pod"})


def test_nodes_cannot_change_pod_labels(world: type[World], pod: Callable[..., Object]) -> None:
    """A node that writes a pod's status cannot change labels."""
    w = world(only=["NodeRestriction"])
    old = {**pod("p"), "spec": {"nodeName": "n1"}}
    new = {**old, "metadata": {**old["metadata"], "labels": {"a": "b"}}}
    error = w.refusal("pods", new, old, operation=UPDATE, user=NODE, sub="status")
    assert error.message.endswith('node "n1" cannot update labels through pod status')


def test_nodes_delete_only_their_own_pods(world: type[World], pod: Callable[..., Object]) -> None:
    """A node cannot delete, evict or request tokens for pods of other nodes."""
    w = world(only=["NodeRestriction"])
    other = {**pod("q"), "metadata": {"name": "q", "namespace": "ns", "uid": "u"}, "spec": {"nodeName": "n2"}}
    w.put("pods", other)
    assert "can only delete pods" in w.refusal("pods", None, other, operation=DELETE, user=NODE).message
    assert "can only evict pods" in w.refusal("pods", {"metadata": {"name": "q"}}, sub="eviction", user=NODE).message
    request = {"spec": {"boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": "q", "uid": "u"}}}
    error = w.refusal("serviceaccounts", request, sub="token", user=NODE, name="default")
    assert "scheduled on a different node" in error.message
