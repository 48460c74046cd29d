"""Protection of classes of volume attributes, in release 1.35."""

from __future__ import annotations

from orchd.client.interfaces import ResourceRef
from orchd.controllers.objects import CLAIMS
from tests.controllers.cluster_support import Cluster
from tests.controllers.volumes.controller_volume_support import claim

RUNNING_CONTROLLERS = ("volumeattributesclass-protection-controller", "pvc-protection")
SERVER_FLAGS = ("--emulated-version=1.35",)
ATTRIBUTES_CLASSES = ResourceRef("storage.orch.io", "v1", "volumeattributesclasses")


def test_a_class_is_deleted_once_nothing_uses_it(cluster: Cluster) -> None:
    """The finalizer that admission adds is removed from a deleted class when the last claim that names it is gone."""
    cluster.create(ATTRIBUTES_CLASSES, {"metadata": {"name": "v"}, "driverName": "d", "parameters": {"a": "b"}}, "")
    cluster.create(CLAIMS, claim("c", volumeAttributesClassName="v"))
    cluster.settle()
    cluster.delete(ATTRIBUTES_CLASSES, "v", "")
    cluster.settle()
    held = cluster.get(ATTRIBUTES_CLASSES, "v", "")
    assert held is not None and held["metadata"]["finalizers"] == ["orch.io/vac-protection"]
    cluster.delete(CLAIMS, "c")
    cluster.settle()
    assert cluster.get(ATTRIBUTES_CLASSES, "v", "") is None
