"""The attachdetach controller: names and messages by table, and attachments on a server."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.client.interfaces import ResourceRef
from orchd.controllers.objects import NODES, PODS
from orchd.controllers.volumes.attachment.attachable import attachment_name, from_persistent_volume, from_pod_volume
from orchd.controllers.volumes.attachment.attempts import Attempts
from orchd.controllers.volumes.attachment.conflicts import conflict_note
from orchd.controllers.volumes.usage import VOLUMES
from orchd.dialect import ORCH
from tests.controllers.volumes.controller_volume_support import Storage, claim, pod, volume

ATTACHMENTS = ResourceRef("storage.orch.io", "v1", "volumeattachments")
DRIVERS = ResourceRef("storage.orch.io", "v1", "csidrivers")
MANAGED = {"volumes.orch.io/controller-managed-attach-detach": "true"}
UNIQUE = "orch.io/csi/d.example.com^h-v"


def node(name: str = "n", **annotations: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "annotations": {**MANAGED, **annotations}}}


def attachments(storage: Storage) -> list[tuple[str, str]]:
    """Node and volume of each."""
    found = storage.cluster.items(ATTACHMENTS, "")
    return sorted((each["spec"]["nodeName"], each["spec"]["source"]["persistentVolumeName"]) for each in found)


def answer(storage: Storage, **status: Any) -> None:
    """Play the driver: set a status on every attachment."""
    for each in storage.cluster.items(ATTACHMENTS, ""):
        storage.cluster.patch(ATTACHMENTS, each["metadata"]["name"], {"status": status}, "", "status")


def attached(storage: Storage, name: str = "n") -> list[str]:
    found = storage.cluster.get(NODES, name, "") or {}
    return [each["name"] for each in found["status"].get("volumesAttached", ())]


@pytest.fixture
def used(storage: Storage) -> Storage:
    """A node and a bound CSI volume."""
    storage.cluster.create(NODES, node(), "")
    storage.add_volume(volume())
    storage.add_claim(claim())
    return storage


def test_attachment_names_match_the_kubelets() -> None:
    """The names equal those that kubelets compute."""
    source = {"driver": "df70vv8r.example.com", "volumeHandle": "h1"}
    found = from_persistent_volume(volume(csi=source), ORCH)
    assert found is not None and (found.unique_name, found.exclusive) == ("orch.io/csi/df70vv8r.example.com^h1", True)
    digest = "459e039a65d0b8d8fba1d66ae96a4ad28b5969fc50cff7fd4b9bf0285f50be9b"
    assert attachment_name(found, "n-f70vv8r") == f"csi-{digest}"


@pytest.mark.parametrize(
    ("source", "zone", "driver", "handle"),
    [
        ({"awsElasticBlockStore": {"volumeID": "aws://z/vol-1"}}, "", "ebs.csi.aws.com", "vol-1"),
        ({"awsElasticBlockStore": {"volumeID": "vol-1"}}, "", "ebs.csi.aws.com", "vol-1"),
        ({"cinder": {"volumeID": "x"}}, "", "cinder.csi.openstack.org", "x"),
        ({"azureDisk": {"diskURI": "/a/b"}}, "", "disk.csi.azure.com", "/a/b"),
        (
            {"gcePersistentDisk": {"pdName": "d"}},
            "",
            "pd.csi.storage.gke.io",
            "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d",
        ),
        (
            {"gcePersistentDisk": {"pdName": "d"}},
            "r-a",
            "pd.csi.storage.gke.io",
            "projects/UNSPECIFIED/zones/r-a/disks/d",
        ),
        (
            {"gcePersistentDisk": {"pdName": "d"}},
            "r-a__r-b",
            "pd.csi.storage.gke.io",
            "projects/UNSPECIFIED/regions/r/disks/d",
        ),
        ({"hostPath": {"path": "/x"}}, "", None, None),
    ],
)
def test_migrated_volumes_have_the_drivers_names(
    source: Any, zone: str, driver: str | None, handle: str | None
) -> None:
    """Volumes of migrated in-tree plugins are attached under their CSI driver's name."""
    marks = {"labels": {"topology.orch.io/zone": zone}} if zone else {}
    found = from_persistent_volume({"metadata": {"name": "v", **marks}, "spec": source}, ORCH)
    assert (found and found.driver, found and found.handle) == (driver, handle)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({"iscsi": {"targetPortal": "1.2.3.4:3260", "iqn": "iqn.x", "lun": 2}}, "orch.io/iscsi/1.2.3.4:3260:iqn.x:2"),
        ({"fc": {"targetWWNs": ["a", "b"], "lun": 1}}, "orch.io/fc/[a b]:1"),
        ({"fc": {"wwids": ["w"]}}, "orch.io/fc/[w]"),
        ({"rbd": {"image": "i"}}, "orch.io/rbd/rbd:i"),
        ({"emptyDir": {}}, ""),
    ],
)
def test_inline_volumes_are_named_after_their_target(source: Any, expected: str) -> None:
    """Inline sources that kubelets attach themselves are named after their target."""
    found = from_pod_volume({"name": "v", **source}, ORCH)
    assert ("" if found is None else found.unique_name) == expected


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ([], "Volume is already exclusively attached to one node and can't be attached to another"),
        ([("a", "x"), ("a", "y")], "Volume is already used by pod(s) x, y"),
        ([("a", "x"), ("b", "y")], "Volume is already used by pod(s) x and 1 pod(s) in different namespaces"),
        ([("b", "y"), ("b", "z")], "Volume is already used by 2 pod(s) in different namespaces"),
    ],
)
def test_conflict_messages_name_pods_of_the_same_namespace_only(others: Any, expected: str) -> None:
    """Messages name pods of the same namespace only."""
    pods = [{"metadata": {"namespace": within, "name": called}} for within, called in others]
    told = conflict_note({"metadata": {"namespace": "a", "name": "p"}}, "v", pods)
    assert told == f'Multi-Attach error for volume "v" {expected}'


def test_attach_attempts_back_off_and_time_out() -> None:
    """Failures are reported with exponential backoff; a driver has two minutes to respond."""
    attempts = Attempts()
    attempts.begin("x", 0.0)
    assert attempts.check("x", "", 1.0) == (False, 119.0)
    assert attempts.check("x", "broken", 2.0) == (True, 0.5)
    assert attempts.check("x", "broken", 2.25) == (False, 0.25)
    assert attempts.check("x", "broken", 2.5) == (True, 1.0)
    assert attempts.end("x") and not attempts.end("x")


def test_attach_and_detach(used: Storage) -> None:
    """A pod's volume is attached to its node, reported in its status, and detached after the last pod."""
    used.add_pod(pod(node="n"))
    assert attachments(used) == [("n", "v")]
    assert attached(used) == []
    answer(used, attached=True)
    assert attached(used) == [UNIQUE]
    success = ("Normal", "SuccessfulAttachVolume", 'AttachVolume.Attach succeeded for volume "v" ')
    assert used.notes("p") == [success]
    used.add_pod(pod("q", node="n"))
    used.cluster.delete(PODS, "p", gracePeriodSeconds=0)
    assert (attachments(used), attached(used)) == ([("n", "v")], [UNIQUE])
    used.cluster.delete(PODS, "q", gracePeriodSeconds=0)
    assert (attachments(used), attached(used)) == ([], [])


def test_volumes_of_ended_pods_are_detached(used: Storage) -> None:
    """Volumes of ended pods are detached, unless the node has the keep annotation."""
    used.add_pod(pod(node="n"))
    answer(used, attached=True)
    used.cluster.patch(
        NODES, "n", {"metadata": {"annotations": {"volumes.orch.io/keep-terminated-pod-volumes": "true"}}}, ""
    )
    used.cluster.patch(PODS, "p", {"status": {"phase": "Succeeded"}}, "a", "status")
    assert attachments(used) == [("n", "v")]
    used.cluster.patch(
        NODES, "n", {"metadata": {"annotations": {"volumes.orch.io/keep-terminated-pod-volumes": None}}}, ""
    )
    assert attachments(used) == []


def test_volume_in_use_stays_attached_for_six_minutes_at_most(used: Storage) -> None:
    """A volume that the kubelet reports as in use stays attached for at most six minutes."""
    used.add_pod(pod(node="n"))
    answer(used, attached=True)
    used.cluster.patch(NODES, "n", {"status": {"volumesInUse": [UNIQUE]}}, "", "status")
    used.cluster.delete(PODS, "p", gracePeriodSeconds=0)
    used.wait(340)
    assert (attachments(used), attached(used)) == ([("n", "v")], [UNIQUE])
    used.wait(30)
    assert (attachments(used), attached(used)) == ([], [])


def test_volume_is_detached_once_unmounted(used: Storage) -> None:
    """The volume is detached once the kubelet has unmounted it."""
    used.add_pod(pod(node="n"))
    answer(used, attached=True)
    used.cluster.patch(NODES, "n", {"status": {"volumesInUse": [UNIQUE]}}, "", "status")
    used.cluster.delete(PODS, "p", gracePeriodSeconds=0)
    assert attachments(used) == [("n", "v")]
    used.cluster.patch(NODES, "n", {"status": {"volumesInUse": None}}, "", "status")
    assert attachments(used) == []


def test_attach_errors_and_success_are_recorded_for_the_pods(used: Storage) -> None:
    """The driver's errors are recorded for the pods, and a later success as well."""
    used.add_pod(pod(node="n"))
    answer(used, attached=False, attachError={"message": "no room"})
    failure = ("Warning", "FailedAttachVolume", 'AttachVolume.Attach failed for volume "v" : no room')
    assert failure in used.notes("p")
    answer(used, attached=True, attachError=None)
    assert "SuccessfulAttachVolume" in [each[1] for each in used.notes("p")]


def test_unresponsive_driver_is_reported_after_two_minutes(used: Storage) -> None:
    """A driver that does not answer within two minutes is reported."""
    used.add_pod(pod(node="n"))
    used.wait(100)
    assert used.notes("p") == []
    used.wait(25)
    assert used.notes("p") == [
        (
            "Warning",
            "FailedAttachVolume",
            'AttachVolume.Attach failed for volume "v" : timed out waiting for external-attacher of d.example.com CSI '
            "driver to attach volume h-v",
        )
    ]


@pytest.mark.parametrize(("modes", "count"), [(["ReadWriteOnce"], 1), (["ReadWriteOnce", "ReadWriteMany"], 2)])
def test_exclusive_volume_waits_for_its_release(storage: Storage, modes: list[str], count: int) -> None:
    """A ReadWriteOnce volume is attached to the next node after the first one has released it."""
    for each in ("n", "m"):
        storage.cluster.create(NODES, node(each), "")
    storage.add_volume(volume(accessModes=modes))
    storage.add_claim(claim())
    storage.add_pod(pod(node="n"))
    answer(storage, attached=True)
    storage.add_pod(pod("q", node="m"))
    assert len(attachments(storage)) == count
    note = 'Multi-Attach error for volume "v" Volume is already used by pod(s) p'
    assert storage.notes("q") == ([("Warning", "FailedAttachVolume", note)] if count == 1 else [])
    storage.cluster.delete(PODS, "p", gracePeriodSeconds=0)
    assert attachments(storage) == [("m", "v")]


def test_attachment_waits_for_the_drivers_finalizer(used: Storage) -> None:
    """Another node waits until the driver has detached the volume and removed its finalizer."""
    used.cluster.create(NODES, node("m"), "")
    used.add_pod(pod(node="n"))
    answer(used, attached=True)
    called = used.cluster.items(ATTACHMENTS, "")[0]["metadata"]["name"]
    used.cluster.patch(ATTACHMENTS, called, {"metadata": {"finalizers": ["example.com/attacher"]}}, "")
    used.add_pod(pod("q", node="m"))
    used.cluster.delete(PODS, "p", gracePeriodSeconds=0)
    assert (attachments(used), attached(used)) == ([("n", "v")], [])
    used.cluster.patch(ATTACHMENTS, called, {"metadata": {"finalizers": None}}, "")
    assert attachments(used) == [("m", "v")]


def test_volumes_without_a_driver_are_reported_as_attached(storage: Storage) -> None:
    """Volumes without a CSI driver are reported as attached while pods use them."""
    storage.cluster.create(NODES, node(), "")
    storage.add_pod(pod(node="n", iscsi={"targetPortal": "1.2.3.4:3260", "iqn": "iqn.2001-04.com.example:x", "lun": 0}))
    assert attached(storage) == ["orch.io/iscsi/1.2.3.4:3260:iqn.2001-04.com.example:x:0"]
    assert [each[1] for each in storage.notes("p")] == ["SuccessfulAttachVolume"]
    storage.cluster.delete(PODS, "p", gracePeriodSeconds=0)
    assert attached(storage) == []


def test_foreign_attached_volumes_stay_in_the_status(used: Storage) -> None:
    """Volumes in the status that another component attached are kept."""
    used.cluster.patch(
        NODES, "n", {"status": {"volumesAttached": [{"name": "x/y", "devicePath": "/dev/z"}]}}, "", "status"
    )
    used.add_pod(pod(node="n"))
    answer(used, attached=True)
    assert attached(used) == [UNIQUE, "x/y"]


def test_volumes_that_need_no_attachment_get_none(storage: Storage) -> None:
    """Volumes that kubelets attach, or whose driver requires no attachment, get no VolumeAttachment."""
    storage.cluster.create(NODES, {"metadata": {"name": "own"}}, "")
    storage.cluster.create(NODES, node(), "")
    storage.cluster.create(DRIVERS, {"metadata": {"name": "d.example.com"}, "spec": {"attachRequired": False}}, "")
    storage.add_volume(volume())
    storage.add_claim(claim())
    storage.add_pod(pod(node="n"))
    assert attachments(storage) == []
    storage.add_volume(volume("w", csi={"driver": "e.example.com", "volumeHandle": "w"}))
    storage.add_claim(claim("d"))
    storage.add_pod(pod("q", "d", node="own"))
    assert attachments(storage) == []
    storage.add_pod(pod("r", "d", node="n"))
    assert attachments(storage) == [("n", "w")]


def test_volumes_of_a_deleted_node_are_detached_with_its_last_pod(used: Storage) -> None:
    """The volumes of a deleted node are detached with its last pod, even if they were in use."""
    used.add_pod(pod(node="n"))
    answer(used, attached=True)
    used.cluster.patch(NODES, "n", {"status": {"volumesInUse": [UNIQUE]}}, "", "status")
    used.cluster.delete(NODES, "n", "")
    assert attachments(used) == [("n", "v")]
    used.cluster.delete(PODS, "p", gracePeriodSeconds=0)
    assert attachments(used) == []


def test_attachment_of_a_deleted_volume_stays_while_in_use(used: Storage) -> None:
    """The attachment of a deleted volume stays while the node uses a volume of its driver."""
    used.add_pod(pod(node="n"))
    answer(used, attached=True)
    used.cluster.patch(NODES, "n", {"status": {"volumesInUse": [UNIQUE]}}, "", "status")
    used.cluster.delete(VOLUMES, "v", "")
    used.cluster.patch(VOLUMES, "v", {"metadata": {"finalizers": None}}, "")
    assert not used.volume() and attachments(used) == [("n", "v")]
    used.cluster.patch(NODES, "n", {"status": {"volumesInUse": None}}, "", "status")
    assert attachments(used) == []
