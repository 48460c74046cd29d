"""NodeRestriction: what a node may change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from orchd import errors
from orchd.dialect import ORCH
from orchd.kinds.jsonvalues import Object
from orchd.kinds.users import User
from orchd.server.admission.interfaces import CREATE, DELETE, UPDATE
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


OWNER = {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "nu", "controller": True}
MIRROR = {ORCH("{long}.io/config.mirror"): "x"}


def _mirror(*owners: Object, annotations: Object = MIRROR, **spec: Any) -> Object:
    metadata = {"name": "m", "annotations": annotations, "ownerReferences": list(owners)}
    return {"metadata": metadata, "spec": {"nodeName": "n1", "containers": [], **spec}}


_MAY = 'node "n1" can only create pods with'


@pytest.mark.parametrize(
    ("pod", "problem"),
    [
        (_mirror(OWNER), ""),
        (_mirror(OWNER, annotations={}), f'pod does not have "{next(iter(MIRROR))}" annotation, node "n1" can only create mirror pods'),
        (_mirror(OWNER, nodeName="n2"), f"{_MAY} spec.nodeName set to itself"),
        (_mirror(OWNER, {**OWNER, "uid": "x"}), f"{_MAY} a single owner reference set to itself"),
        (_mirror(), f"{_MAY} an owner reference set to itself"),
        (_mirror({**OWNER, "apiVersion": "v2"}), f"{_MAY} an owner reference set to itself"),
        (_mirror({**OWNER, "kind": "Pod"}), f"{_MAY} an owner reference set to itself"),
        (_mirror({**OWNER, "name": "n2"}), f"{_MAY} an owner reference set to itself"),
        (_mirror({**OWNER, "controller": False}), f"{_MAY} a controller owner reference set to itself"),
        (_mirror({**OWNER, "blockOwnerDeletion": True}), 'node "n1" must not set blockOwnerDeletion on an owner reference'),
        (_mirror({**OWNER, "uid": "x"}), "node n1 UID mismatch: expected x got nu"),
        (_mirror(OWNER, serviceAccountName="a"), 'node "n1" can not create pods that reference a service account'),
    ],
)  # fmt: skip
def test_mirror_pods(world: type[World], pod: Object, problem: str) -> None:
    """A node creates pods that mirror its own, owned by itself, which refer to no objects of the API."""
    w = world(only=["NodeRestriction"])
    w.put("nodes", {"metadata": {"name": "n1", "uid": "nu"}})
    if problem:
        assert w.refusal("pods", pod, user=NODE).message == f'pods "m" is forbidden: {problem}'
    else:
        w.run("pods", pod, user=NODE)


def test_mirror_pods_of_a_missing_node(world: type[World]) -> None:
    """The node has to exist."""
    error = world(only=["NodeRestriction"]).refusal("pods", _mirror(OWNER), user=NODE)
    assert (error.code, error.message) == (404, 'node "n1" not found')


_POD: Object = {"metadata": {"name": "p", "namespace": "ns", "uid": "u"}, "spec": {"nodeName": "n1"}}
_REF = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}


@pytest.mark.parametrize(
    ("ref", "problem"),
    [
        (_REF, ""),
        (None, "node requested token not bound to a pod"),
        ({**_REF, "apiVersion": "v2"}, "node requested token not bound to a pod"),
        ({**_REF, "kind": "Secret"}, "node requested token not bound to a pod"),
        ({**_REF, "name": ""}, "node requested token not bound to a pod"),
        ({**_REF, "uid": ""}, "node requested token with a pod binding without a uid"),
        ({**_REF, "uid": "x"}, "the UID in the bound object reference (x) does not match the UID in record. "
         "The object might have been deleted and then recreated"),
    ],
)  # fmt: skip
def test_tokens_are_bound_to_pods_of_the_node(world: type[World], ref: Any, problem: str) -> None:
    """A node requests tokens that are bound to one of its pods, by name and UID."""
    w = world(only=["NodeRestriction"])
    w.put("pods", _POD)
    request = {"spec": {"boundObjectRef": ref}}
    if problem:
        error = w.refusal("serviceaccounts", request, sub="token", user=NODE, name="default")
        assert error.message == f'serviceaccounts "default" is forbidden: {problem}'
    else:
        w.run("serviceaccounts", request, sub="token", user=NODE, name="default")


def _claim(**more: Any) -> Object:
    claim: Object = {"metadata": {"name": "c"}, "spec": {"volumeName": "v"}, "status": {"phase": "Bound"}}
    return {part: {**value, **more.get(part, {})} for part, value in claim.items()}


@pytest.mark.parametrize(
    ("new", "more", "problem"),
    [
        (_claim(status={"capacity": {"storage": "1Gi"}, "conditions": []}), {"sub": "status"}, ""),
        (_claim(metadata={"resourceVersion": "2", "managedFields": []}), {"sub": "status"}, ""),
        (_claim(status={"phase": "Lost"}), {"sub": "status"}, "status"),
        (_claim(metadata={"labels": {}}, spec={"volumeName": "w"}), {"sub": "status"}, "metadata, spec"),
        (_claim(), {}, "may only update PVC status"),
        (_claim(), {"sub": "status", "operation": CREATE}, 'unexpected operation "CREATE"'),
    ],
)
def test_nodes_change_sizes_of_claims(world: type[World], new: Object, more: Any, problem: str) -> None:
    """A node changes the capacity and the conditions of a claim, through its status, and nothing else."""
    w = world(only=["NodeRestriction"])
    more = {"operation": UPDATE, "user": NODE, **more}
    if problem:
        text = w.refusal("persistentvolumeclaims", new, _claim(), **more).message
        assert text.endswith(f": {problem}")
    else:
        w.run("persistentvolumeclaims", new, _claim(), **more)


@pytest.mark.parametrize(
    ("plural", "group", "name", "more", "problem"),
    [
        ("leases", "coordination.{abbr}.io", "n1", {}, ""),
        ("leases", "coordination.{abbr}.io", "n2", {}, "can only access node lease with the same name as the requesting node"),
        ("leases", "coordination.{abbr}.io", "n1", {"namespace": "ns"},
         ORCH('can only access leases in the "{short}-node-lease" system namespace')),
        ("csinodes", "storage.{abbr}.io", "n1", {}, ""),
        ("csinodes", "storage.{abbr}.io", "n2", {}, "can only access CSINode with the same name as the requesting node"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("operation", [CREATE, UPDATE, DELETE])
def test_leases_and_csinodes_of_the_node(
    world: type[World], plural: str, group: str, name: str, more: Any, problem: str, operation: str
) -> None:
    """A node writes the lease and the CSINode of its name."""
    w = world(only=["NodeRestriction"])
    obj = {"metadata": {"name": name}}
    more = {"group": group, "operation": operation, "user": NODE, "namespace": ORCH("{short}-node-lease"), **more}
    new, old = (None if operation == DELETE else obj), (None if operation == CREATE else obj)
    if problem:
        assert w.refusal(plural, new, old, **more).message.endswith(f": {problem}")
    else:
        w.run(plural, new, old, **more)


@pytest.mark.parametrize(
    ("sub", "operation", "problem"),
    [
        ("", UPDATE, 'unexpected operation "UPDATE", node "n1" can only create and delete mirror pods'),
        ("status", CREATE, 'unexpected operation "CREATE"'),
        ("status", UPDATE, 'node "n1" can only update pod status for pods with spec.nodeName set to itself'),
        ("eviction", UPDATE, "unexpected operation UPDATE"),
        ("binding", CREATE, "unexpected pod subresource \"binding\", only 'status' and 'eviction' are allowed"),
    ],
)
def test_other_writes_of_pods(world: type[World], sub: str, operation: str, problem: str) -> None:
    """A node writes no more than the status of its pods and evictions."""
    other = {**_POD, "spec": {"nodeName": "n2"}}
    error = world(only=["NodeRestriction"]).refusal("pods", other, other, sub=sub, operation=operation, user=NODE)
    assert error.message == f'pods "p" is forbidden: {problem}'


def test_users_named_like_nodes(world: type[World]) -> None:
    """A member of the nodes without a node's name may write nothing; a node's name without the group is any user."""
    w = world(only=["NodeRestriction"])
    taints = node(taints=[{"key": "a"}])
    nameless = User(name="system:node:", groups=("system:nodes",))
    error = w.refusal("nodes", taints, node(), operation=UPDATE, user=nameless)
    assert error.message == 'nodes "n1" is forbidden: could not determine node from user "system:node:"'
    for other in (User(name="system:node:n2"), User(name="n2", groups=("system:nodes",))):
        w.run("nodes", taints, node(), operation=UPDATE, user=other)


SOURCE = {"configMap": {"name": "c"}}


@pytest.mark.parametrize(
    ("new", "old", "problem"),
    [
        (node(configSource=SOURCE), None, 'node "n1" is not allowed to create pods with a non-nil configSource'),
        (node(), None, ""),
        (node(labels={"plain": "a", "example.org/b": "c"}), None, ""),
        (node(taints=[{"key": "a"}]), None, ""),
        (node(configSource=SOURCE), node(configSource=SOURCE), ""),
        (node(), node(configSource=SOURCE), ""),
        (node(configSource=SOURCE), node(), 'node "n1" is not allowed to update configSource to a new non-nil configSource'),
        (node(configSource=SOURCE), node(configSource={}), 'node "n1" is not allowed to update configSource to a new non-nil configSource'),
        (node(taints=[]), node(), ""),
        (node(labels={"plain": "a"}), node(labels={"other": "b"}), ""),
    ],
)  # fmt: skip
def test_what_a_node_writes_of_itself(world: type[World], new: Object, old: Object | None, problem: str) -> None:
    """A node registers with any labels but those of the product's domains, and sets no source of its configuration."""
    w = world(only=["NodeRestriction"])
    operation = CREATE if old is None else UPDATE
    if problem:
        assert w.refusal("nodes", new, old, operation=operation, user=NODE).message.endswith(f": {problem}")
    else:
        w.run("nodes", new, old, operation=operation, user=NODE)


def test_tokens_for_pods_that_cannot_be_read(world: type[World], monkeypatch: pytest.MonkeyPatch) -> None:
    """A pod that is not there is told as such; another error refuses the token."""
    w = world(only=["NodeRestriction"])
    request = {"spec": {"boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}}}
    more = {"sub": "token", "user": NODE, "name": "default"}
    error = w.refusal("serviceaccounts", request, **more)
    assert (error.code, error.message) == (404, 'pod "p" not found')

    async def broken(*args: Any, **named: Any) -> Object:
        raise errors.internal("no store")

    monkeypatch.setattr(w.client, "get", broken)
    error = w.refusal("serviceaccounts", request, **more)
    assert error.code == 403 and error.message.endswith("no store")
