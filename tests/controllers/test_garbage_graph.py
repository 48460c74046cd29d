"""The graph of owner references: which objects are examined after each event."""

from __future__ import annotations

from typing import Any

from orchd.client.interfaces import ResourceRef
from orchd.controllers.garbage.graph import FOREGROUND, ORPHAN, Graph

MAPS = ResourceRef("", "v1", "configmaps")


def obj(uid: str, *owners: str, blocks: bool = False, deleting: str = "") -> dict[str, Any]:
    metadata: dict[str, Any] = {"uid": uid, "name": uid, "namespace": "n"}
    if owners:
        metadata["ownerReferences"] = [
            {"apiVersion": "v1", "kind": "ConfigMap", "name": o, "uid": o, "blockOwnerDeletion": blocks} for o in owners
        ]
    if deleting:
        metadata.update(deletionTimestamp="2020-01-01T00:00:00Z", finalizers=[deleting])
    return {"metadata": metadata}


def test_objects_without_owners_are_not_examined() -> None:
    """An object without owners is not examined."""
    work = Graph().seen(MAPS, obj("a"))
    assert (work.check, work.orphan) == ([], [])


def test_dependents_of_a_deleted_owner_are_examined() -> None:
    """When an owner is deleted each dependent is examined, in whatever order they were observed."""
    graph = Graph()
    assert graph.seen(MAPS, obj("child", "parent")).check == ["child"]
    graph.seen(MAPS, obj("parent"))
    assert [d.uid for d in graph.dependents("parent")] == ["child"]
    assert graph.gone("parent").check == ["child"]


def test_foreground_deletion_examines_dependents_and_owner() -> None:
    """A foreground deletion examines the dependents and the owner, and the owner again after each dependent's
    deletion."""
    graph = Graph()
    graph.seen(MAPS, obj("parent"))
    graph.seen(MAPS, obj("child", "parent", blocks=True))
    assert set(graph.seen(MAPS, obj("parent", deleting=FOREGROUND)).check) == {"parent", "child"}
    assert [d.uid for d in graph.blocking("parent")] == ["child"]
    assert graph.gone("child").check == ["parent"]
    assert graph.blocking("parent") == []


def test_changed_reference_unblocks_the_owner() -> None:
    """A changed reference lets a waiting owner be examined."""
    graph = Graph()
    graph.seen(MAPS, obj("parent", deleting=FOREGROUND))
    graph.seen(MAPS, obj("child", "parent", blocks=True))
    assert "parent" in graph.seen(MAPS, obj("child", "parent", blocks=False)).check
    assert "parent" not in graph.seen(MAPS, obj("child")).check or graph.dependents("parent") == []


def test_orphaning_deletion_is_reported_once() -> None:
    """The deletion of an owner that orphans its dependents is reported once."""
    graph = Graph()
    graph.seen(MAPS, obj("parent"))
    assert graph.seen(MAPS, obj("parent", deleting=ORPHAN)).orphan == ["parent"]
    assert graph.seen(MAPS, obj("parent", deleting=ORPHAN)).orphan == []


def test_graph_is_empty_after_all_objects_are_deleted() -> None:
    """After all objects are deleted the graph is empty, expectations included."""
    graph = Graph()
    graph.seen(MAPS, obj("parent"))
    graph.seen(MAPS, obj("child", "parent", "never-seen"))
    graph.gone("parent")
    graph.gone("child")
    assert len(graph) == 0
    assert graph.gone("never-seen").check == []
    assert graph.gone("parent").check == []
