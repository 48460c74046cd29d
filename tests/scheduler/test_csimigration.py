"""In-tree volumes that a CSI driver serves."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.dialect import ORCH
from orchd.scheduler.plugins.csimigration import (
    MIGRATIONS,
    is_on,
    migrated_terms,
    of_provisioner,
    of_volume,
    volume_handle,
)
from orchd.scheduler.plugins.storage import Storage
from tests.scheduler.volume_support import Cluster

ZONE, OLD_ZONE = "topology.orch.io/zone", "failure-domain.beta.orch.io/zone"
EBS, GCE, AZURE = (next(each for each in MIGRATIONS if each.source == source) for source in (
    "awsElasticBlockStore", "gcePersistentDisk", "azureDisk"))  # fmt: skip


def _volume(source: str, labels: Any = None, terms: Any = None, **members: Any) -> dict[str, Any]:
    affinity = {} if terms is None else {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}}
    return {"metadata": {"name": "v", "labels": labels or {}}, "spec": {source: members, **affinity}}


@pytest.mark.parametrize(
    ("source", "plugin", "driver"),
    [
        ("awsElasticBlockStore", "orch.io/aws-ebs", "ebs.csi.aws.com"),
        ("gcePersistentDisk", "orch.io/gce-pd", "pd.csi.storage.gke.io"),
        ("azureDisk", "orch.io/azure-disk", "disk.csi.azure.com"),
        ("cinder", "orch.io/cinder", "cinder.csi.openstack.org"),
        ("azureFile", "orch.io/azure-file", "file.csi.azure.com"),
        ("vsphereVolume", "orch.io/vsphere-volume", "csi.vsphere.vmware.com"),
        ("portworxVolume", "orch.io/portworx-volume", "pxd.portworx.com"),
        ("rbd", "orch.io/rbd", "rbd.csi.ceph.com"),
    ],
)
def test_drivers_of_in_tree_plugins(source: str, plugin: str, driver: str) -> None:
    migration = of_volume(_volume(source))
    assert migration is not None and migration.driver == driver
    assert of_provisioner(plugin, ORCH) is migration
    assert of_provisioner(driver, ORCH) is None and of_volume(_volume("nfs")) is None


@pytest.mark.parametrize(
    ("volume", "handle"),
    [
        (_volume("awsElasticBlockStore", volumeID="aws://z/vol-1"), "vol-1"),
        (_volume("awsElasticBlockStore", volumeID="aws:///vol-1/"), "vol-1"),
        (_volume("awsElasticBlockStore", volumeID="vol-1"), "vol-1"),
        (_volume("azureDisk", diskURI="/a/b"), "/a/b"),
        (_volume("cinder", volumeID="x"), "x"),
        (_volume("cinder"), ""),
        (_volume("gcePersistentDisk", pdName="d"), "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d"),
        (_volume("gcePersistentDisk", {ZONE: "r-a"}, pdName="d"), "projects/UNSPECIFIED/zones/r-a/disks/d"),
        (_volume("gcePersistentDisk", {OLD_ZONE: "r-a"}, pdName="d"), "projects/UNSPECIFIED/zones/r-a/disks/d"),
        (_volume("gcePersistentDisk", {ZONE: "r-b__r-a"}, pdName="d"), "projects/UNSPECIFIED/regions/r/disks/d"),
    ],
)
def test_handles_of_migrated_volumes(volume: dict[str, Any], handle: str) -> None:
    migration = of_volume(volume)
    assert migration is not None and volume_handle(volume, migration, ORCH) == handle


def _in(key: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": "In", "values": list(values)}


@pytest.mark.parametrize(
    ("labels", "terms", "expected"),
    [
        ({}, None, None),
        ({}, [{"matchExpressions": [_in("a", "b")]}], [{"matchExpressions": [_in("a", "b")]}]),
        ({ZONE: "z"}, None, [{"matchExpressions": [_in(EBS.topology, "z")]}]),
        ({OLD_ZONE: "z"}, None, [{"matchExpressions": [_in(EBS.topology, "z")]}]),
        (
            {ZONE: "z"},
            [{"matchExpressions": [_in("a", "b")]}, {}],
            [
                {"matchExpressions": [_in("a", "b"), _in(EBS.topology, "z")]},
                {"matchExpressions": [_in(EBS.topology, "z")]},
            ],
        ),
        # Requirements of zones are renamed, and then the label adds none.
        (
            {ZONE: "z"},
            [{"matchExpressions": [_in(ZONE, "y"), _in("a", "b")]}, {"matchExpressions": [_in(OLD_ZONE, "x")]}, {}],
            [
                {"matchExpressions": [_in(EBS.topology, "y"), _in("a", "b")]},
                {"matchExpressions": [_in(EBS.topology, "x")]},
                {"matchExpressions": []},
            ],
        ),
    ],
)
def test_topology_of_the_driver(labels: Any, terms: Any, expected: Any) -> None:
    """The node affinity of a volume under the key of the driver."""
    assert migrated_terms(_volume("awsElasticBlockStore", labels, terms), EBS, ORCH) == expected


@pytest.mark.parametrize(
    ("served", "features", "expected"),
    [
        ("orch.io/gce-pd,orch.io/aws-ebs", {}, True),
        ("orch.io/gce-pd", {}, False),
        ("", {}, False),
        (None, {}, False),
        ("orch.io/aws-ebs", {"CSIMigrationAWS": False}, False),
        ("orch.io/aws-ebs", {"CSIMigration": False}, False),
    ],
)
def test_nodes_that_serve_a_plugin(served: str | None, features: Any, expected: bool) -> None:
    """By an annotation of their CSINode and two gates."""
    cluster = Cluster()
    cluster.features = features
    annotations = {"storage.alpha.orch.io/migrated-plugins": served}
    csi_node = None if served is None else {"metadata": {"name": "n", "annotations": annotations}}
    assert is_on(EBS, csi_node, Storage(cluster.handle, "csinodes")) is expected
