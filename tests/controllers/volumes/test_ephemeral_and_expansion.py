"""Claims of ephemeral volumes, and the expansion of claims."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchd.controllers.objects import CLAIMS, PODS
from tests.controllers.cluster_support import Cluster
from tests.controllers.volumes.controller_volume_support import Storage, claim, pod, storage_class, volume

TEMPLATE = {"metadata": {"labels": {"l": "1"}, "annotations": {"a": "2"}}, "spec": claim()["spec"]}
_EXTERNAL = (
    "Ignoring the PVC: didn't find a plugin capable of expanding the volume; waiting for an external controller to "
    "process this PVC."
)


def test_ephemeral_volume_gets_its_own_claim(storage: Storage) -> None:
    """An ephemeral volume has a claim that the pod owns, named after it, which is created again if it is deleted."""
    storage.add_pod(pod(ephemeral={"volumeClaimTemplate": TEMPLATE}))
    first = storage.claim("p-v")
    assert (first["metadata"]["labels"], first["metadata"]["annotations"]["a"]) == ({"l": "1"}, "2")
    owner = first["metadata"]["ownerReferences"][0]
    assert (owner["kind"], owner["name"], owner["controller"], owner["blockOwnerDeletion"]) == ("Pod", "p", True, True)
    storage.cluster.delete(CLAIMS, "p-v")
    second = storage.claim("p-v")
    assert second["metadata"]["uid"] != first["metadata"]["uid"]
    storage.cluster.delete(PODS, "p", gracePeriodSeconds=0)
    storage.cluster.settle(2)
    assert not storage.claim("p-v")


def test_existing_claim_of_the_name_is_not_changed(storage: Storage) -> None:
    """An existing claim of that name is not changed, and the pod gets an Event."""
    storage.add_claim(claim("p-v"))
    storage.add_pod(pod(ephemeral={"volumeClaimTemplate": TEMPLATE}))
    note = "ephemeral volume v: PVC a/p-v was not created for pod a/p (pod is not owner)"
    assert ("Warning", "FailedBinding", note) in storage.notes("p")
    assert "ownerReferences" not in storage.claim("p-v")["metadata"]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({}, ("Warning", "ExternalExpanding", _EXTERNAL)),
        (
            {"awsElasticBlockStore": {"volumeID": "x"}},
            (
                "Normal",
                "ExternalExpanding",
                "CSI migration enabled for orch.io/aws-ebs; waiting for external resizer to expand the pvc",
            ),
        ),
        (
            {"flexVolume": {"driver": "d/x"}},
            ("Normal", "FileSystemResizeRequired", "Require file system resize of volume on node"),
        ),
    ],
)
def test_resize_is_left_to_the_driver(storage: Storage, source: Any, expected: Any) -> None:
    """A larger request is left to the CSI resizer; flex volumes wait for their node."""
    storage.add_class(storage_class(allowVolumeExpansion=True))
    storage.add_volume(volume(**source))
    storage.add_claim(claim())
    assert [each for each in storage.notes("c") if each[1] == expected[1]] == []
    storage.cluster.patch(CLAIMS, "c", {"spec": {"resources": {"requests": {"storage": "8Gi"}}}})
    assert expected in storage.notes("c")
    resizer = storage.claim()["metadata"]["annotations"].get("volume.orch.io/storage-resizer")
    assert resizer == {"awsElasticBlockStore": "ebs.csi.aws.com", "flexVolume": "d/x"}.get(next(iter(source), ""))


def test_resize_is_left_to_the_driver_in_later_releases(tmp_path: Path) -> None:
    """That a controller elsewhere expands a volume is no warning since release 1.27."""
    cluster = Cluster(tmp_path, ("persistentvolume-binder", "persistentvolume-expander"), ["--emulated-version=1.35"])
    cluster.namespace()
    storage = Storage(cluster)
    storage.add_class(storage_class(allowVolumeExpansion=True))
    storage.add_volume(volume())
    storage.add_claim(claim())
    cluster.patch(CLAIMS, "c", {"spec": {"resources": {"requests": {"storage": "8Gi"}}}})
    notes = [each for each in storage.notes("c") if each[1] == "ExternalExpanding"]
    assert notes == [("Normal", "ExternalExpanding", "waiting for an external controller to expand this PVC")]
    cluster.stop()


def test_flex_expansion_ends(storage: Storage) -> None:
    """The volume has its new size at once, the claim when the node has expanded the file system."""
    storage.add_class(storage_class(allowVolumeExpansion=True))
    storage.add_volume(volume(flexVolume={"driver": "d/x"}))
    storage.add_claim(claim())
    storage.cluster.patch(CLAIMS, "c", {"spec": {"resources": {"requests": {"storage": "8Gi"}}}})
    grown = storage.volume()
    mark = "volume.alpha.orch.io/pre-resize-capacity"
    assert (grown["spec"]["capacity"]["storage"], grown["metadata"]["annotations"][mark]) == ("8Gi", "5Gi")
    status = storage.claim()["status"]
    assert status["capacity"]["storage"] == "5Gi"
    assert [each["type"] for each in status["conditions"]] == ["FileSystemResizePending"]
    done = {"status": {"capacity": {"storage": "8Gi"}, "conditions": None}}
    storage.cluster.patch(CLAIMS, "c", done, "a", "status")
    assert mark not in storage.volume()["metadata"]["annotations"]
