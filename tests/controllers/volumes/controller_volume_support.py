"""Storage objects for tests."""

from __future__ import annotations

from typing import Any

from orchd.client.interfaces import ResourceRef
from orchd.controllers.objects import CLAIMS, PODS
from orchd.controllers.volumes.usage import VOLUMES
from tests.controllers.cluster_support import Cluster

CLASSES = ResourceRef("storage.orch.io", "v1", "storageclasses")
EVENTS = ResourceRef("", "v1", "events")

CONTROLLERS_OF_STORAGE = (
    *("attachdetach", "ephemeral-volume", "persistentvolume-binder", "persistentvolume-expander"),
    *("pv-protection", "pvc-protection", "garbagecollector"),
)


def volume(name: str = "v", size: str = "5Gi", policy: str = "Retain", **spec: Any) -> dict[str, Any]:
    """A CSI volume of the class "k", unless `spec` overrides it."""
    source = (
        {}
        if {"hostPath", "nfs", "flexVolume", "awsElasticBlockStore", "iscsi", "local"} & spec.keys()
        else {"csi": {"driver": "d.example.com", "volumeHandle": f"h-{name}"}}
    )
    base = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": size}, "storageClassName": "k"}
    return {"metadata": {"name": name}, "spec": {**base, "persistentVolumeReclaimPolicy": policy, **source, **spec}}


def claim(name: str = "c", size: str = "1Gi", **spec: Any) -> dict[str, Any]:
    """A claim of the class "k", unless `spec` overrides it."""
    base = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}, "storageClassName": "k"}
    return {"metadata": {"name": name}, "spec": {**base, **spec}}


def storage_class(name: str = "k", provisioner: str = "p.example.com", **fields: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "provisioner": provisioner, **fields}


def pod(name: str = "p", claim_name: str = "c", node: str = "", **volume_source: Any) -> dict[str, Any]:
    """A pod with one volume: of a claim, or `volume_source`."""
    source = volume_source or {"persistentVolumeClaim": {"claimName": claim_name}}
    spec: dict[str, Any] = {"containers": [{"name": "c", "image": "x"}], "volumes": [{"name": "v", **source}]}
    if node:
        spec["nodeName"] = node
    return {"metadata": {"name": name}, "spec": spec}


class Storage:
    """Shorthands for a cluster with storage."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    def add_volume(self, obj: dict[str, Any]) -> None:
        self.cluster.create(VOLUMES, obj, "")
        self.cluster.settle()

    def add_claim(self, obj: dict[str, Any]) -> None:
        self.cluster.create(CLAIMS, obj)
        self.cluster.settle()

    def add_class(self, obj: dict[str, Any]) -> None:
        self.cluster.create(CLASSES, obj, "")
        self.cluster.settle()

    def add_pod(self, obj: dict[str, Any]) -> None:
        self.cluster.create(PODS, obj)
        self.cluster.settle()

    def wait(self, seconds: int) -> None:
        """Advance the time in steps short enough for the leader's lease."""
        for _ in range(0, seconds, 20):
            self.cluster.settle(20)

    def volume(self, name: str = "v") -> dict[str, Any]:
        return self.cluster.get(VOLUMES, name, "") or {}

    def claim(self, name: str = "c") -> dict[str, Any]:
        return self.cluster.get(CLAIMS, name) or {}

    def phases(self, claim_name: str = "c", volume_name: str = "v") -> tuple[str, str]:
        """The phases of a claim and a volume; "" if one does not exist."""
        found = (self.claim(claim_name), self.volume(volume_name))
        return found[0].get("status", {}).get("phase", ""), found[1].get("status", {}).get("phase", "")

    def notes(self, name: str, namespace: str = "a") -> list[tuple[str, str, str]]:
        """Type, reason and message of the Events about an object."""
        self.cluster.settle()
        events = self.cluster.items(EVENTS, namespace)
        return [(e["type"], e["reason"], e["message"]) for e in events if e["involvedObject"]["name"] == name]
