"""Garbage collection of dependents, and namespaces that wait for their contents."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.client.interfaces import ResourceRef
from orchd.controllers.garbage.collector import GarbageCollector
from orchd.controllers.objects import CONFIG_MAPS, NODES, PODS
from tests.controllers.cluster_support import NAMESPACES, Cluster, template
from tests.controllers.lagging_support import StartLagging

EVENTS = ResourceRef("", "v1", "events")


def reference(owner: dict[str, Any], **changes: Any) -> dict[str, Any]:
    metadata = owner["metadata"]
    return {"apiVersion": "v1", "kind": "ConfigMap", "name": metadata["name"], "uid": metadata["uid"], **changes}


def make(cluster: Cluster, name: str, *owners: dict[str, Any], namespace: str = "a", **metadata: Any) -> dict[str, Any]:
    body = {"metadata": {"name": name, "ownerReferences": list(owners), **metadata}}
    config_map = cluster.create(CONFIG_MAPS, body, namespace)
    cluster.settle()
    return config_map


def names(cluster: Cluster) -> list[str]:
    return [name for name in cluster.names(CONFIG_MAPS) if len(name) == 1]


@pytest.mark.parametrize(("finalizer", "left"), [("orphan", ["y"]), ("foregroundDeletion", []), ("", [])])
def test_dependents_are_deleted_as_their_finalizers_say(cluster: Cluster, finalizer: str, left: list[str]) -> None:
    """A dependent is deleted with the propagation policy that its finalizers require."""
    owner = make(cluster, "o")
    middle = make(cluster, "x", reference(owner), finalizers=[finalizer] if finalizer else [])
    make(cluster, "y", reference(middle))
    cluster.delete(CONFIG_MAPS, "o", propagationPolicy="Background")
    cluster.settle(2)
    assert names(cluster) == left
    for name in left:
        config_map = cluster.get(CONFIG_MAPS, name)
        assert config_map is not None and "ownerReferences" not in config_map["metadata"]


def test_owner_in_another_namespace_does_not_keep_a_dependent(cluster: Cluster) -> None:
    """An owner in another namespace does not keep a dependent, and an Event gives the reason for its deletion."""
    cluster.namespace("b")
    owner = make(cluster, "o", namespace="b")
    make(cluster, "x", reference(owner))
    cluster.settle(5)
    assert names(cluster) == []
    assert "OwnerRefInvalidNamespace" in [e["reason"] for e in cluster.items(EVENTS)]
    assert cluster.get(CONFIG_MAPS, "o", "b") is not None


@pytest.mark.parametrize(
    ("wrong", "stays"), [({}, True), ({"uid": "other"}, False), ({"name": "p"}, False), ({"kind": "Secret"}, False)]
)
def test_owner_reference_must_match_kind_name_and_uid(cluster: Cluster, wrong: dict[str, str], stays: bool) -> None:
    """A reference that differs from the object in kind, name or uid refers to no owner."""
    owner = make(cluster, "o")
    make(cluster, "x", reference(owner, **wrong))
    cluster.settle(5)
    assert names(cluster) == (["o", "x"] if stays else ["o"])


def conditions(cluster: Cluster) -> dict[str, str]:
    namespace = cluster.get(NAMESPACES, "a", "")
    assert namespace is not None
    return {c["type"]: c["status"] for c in namespace["status"].get("conditions") or ()}


def test_namespace_waits_for_the_grace_period_of_its_pods(cluster: Cluster) -> None:
    """Pods within their grace period are no failure; the namespace is removed with the last of them."""
    cluster.create(NODES, {"metadata": {"name": "n"}}, "")
    cluster.create(
        PODS, {"metadata": {"name": "p"}, "spec": template({}, nodeName="n", terminationGracePeriodSeconds=30)["spec"]}
    )
    cluster.delete(NAMESPACES, "a", "")
    cluster.settle(20)
    assert conditions(cluster)["NamespaceDeletionContentFailure"] == "False"
    assert conditions(cluster)["NamespaceContentRemaining"] == "True"
    cluster.settle(60)
    assert conditions(cluster)["NamespaceDeletionContentFailure"] == "True"
    cluster.delete(PODS, "p", gracePeriodSeconds=0)
    for _ in range(20):
        cluster.settle(60)
    assert cluster.get(NAMESPACES, "a", "") is None


def test_writes_are_guarded_by_uid_and_version(start_lagging: StartLagging, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dependent that changes or is replaced after it was read is neither deleted nor patched."""
    cluster = start_lagging(GarbageCollector)
    guards: dict[str, Any] = {}
    client = cluster.client
    delete, patch = client.delete, client.patch

    async def guarded_delete(ref: ResourceRef, namespace: str, name: str, **more: Any) -> Any:
        guards[name] = more["options"].get("preconditions")
        return await delete(ref, namespace, name, **more)

    async def guarded_patch(ref: ResourceRef, namespace: str, name: str, body: Any, **more: Any) -> Any:
        guards[name] = {key: body["metadata"].get(key) for key in ("uid", "resourceVersion")}
        return await patch(ref, namespace, name, body, **more)

    owner = cluster.create(CONFIG_MAPS, {"metadata": {"name": "o"}})
    gone = {"name": "n", "uid": "none", "apiVersion": "v1", "kind": "ConfigMap"}
    kept = cluster.create(CONFIG_MAPS, {"metadata": {"name": "x", "ownerReferences": [reference(owner)]}})["metadata"]
    monkeypatch.setattr(client, "delete", guarded_delete)
    monkeypatch.setattr(client, "patch", guarded_patch)
    dangling = cluster.create(CONFIG_MAPS, {"metadata": {"name": "y", "ownerReferences": [gone]}})["metadata"]
    cluster.delete(CONFIG_MAPS, "o", propagationPolicy="Orphan")
    cluster.settle(5)
    assert guards["x"] == {"uid": kept["uid"], "resourceVersion": kept["resourceVersion"]}
    assert guards["y"] == {"uid": dangling["uid"]}
    assert cluster.names(CONFIG_MAPS) == ["x"]
