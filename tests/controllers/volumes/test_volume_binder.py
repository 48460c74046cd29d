"""The persistentvolume-binder on a server: binding, phases, events and reclaim policies."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchd.assembly.controllers import recycler_template
from orchd.controllers.objects import CLAIMS, NODES, PODS
from orchd.controllers.settings import ControllerSettings
from orchd.controllers.volumes.binding import recycler
from orchd.controllers.volumes.usage import VOLUMES
from tests.controllers.cluster_support import Cluster
from tests.controllers.volumes.controller_volume_support import (
    CONTROLLERS_OF_STORAGE,
    Storage,
    claim,
    pod,
    storage_class,
    volume,
)

BY_CONTROLLER = "pv.orch.io/bound-by-controller"


def test_claim_gets_the_smallest_suitable_volume(storage: Storage) -> None:
    """A claim is bound to the smallest suitable volume, whichever of them is created first."""
    storage.add_claim(claim("early"))
    assert storage.phases("early")[0] == "Pending"
    storage.add_volume(volume("large", "9Gi"))
    assert storage.phases("early", "large") == ("Bound", "Bound")
    storage.add_volume(volume("v", "5Gi"))
    storage.add_volume(volume("tiny", "100Mi"))
    storage.add_claim(claim())
    assert storage.phases() == ("Bound", "Bound")
    bound = storage.claim()
    assert bound["status"]["capacity"] == {"storage": "5Gi"}
    assert bound["metadata"]["annotations"] == {"pv.orch.io/bind-completed": "yes", BY_CONTROLLER: "yes"}
    reference = storage.volume()["spec"]["claimRef"]
    assert (reference["kind"], reference["name"], reference["uid"]) == (
        "PersistentVolumeClaim",
        "c",
        bound["metadata"]["uid"],
    )
    assert storage.phases("c", "tiny")[1] == "Available"


def test_reserved_volume_is_kept_for_its_claim(storage: Storage) -> None:
    """A volume with a claimRef is not given to other claims."""
    storage.add_volume(volume(claimRef={"namespace": "a", "name": "c"}))
    storage.add_claim(claim("other"))
    assert storage.phases("other") == ("Pending", "Available")
    storage.add_claim(claim())
    assert storage.phases() == ("Bound", "Bound")
    assert BY_CONTROLLER not in storage.volume()["metadata"].get("annotations", {})


@pytest.mark.parametrize(
    ("wanted", "note"),
    [
        (
            claim("c", "6Gi", volumeName="v"),
            ("VolumeMismatch", 'Cannot bind to requested volume "v": requested PV is too small'),
        ),
        (claim("c", volumeName="taken"), ("FailedBinding", 'volume "taken" already bound to a different claim.')),
        (claim("c", volumeName="absent"), None),
    ],
)
def test_claim_waits_for_the_volume_it_names(storage: Storage, wanted: Any, note: Any) -> None:
    """A claim that names a volume waits for that one."""
    storage.add_volume(volume())
    storage.add_volume(volume("taken", claimRef={"namespace": "a", "name": "z"}))
    storage.add_claim(wanted)
    assert storage.phases()[0] == "Pending"
    assert [each[1:] for each in storage.notes("c") if each[0] == "Warning"] == ([note] if note else [])


@pytest.mark.parametrize(("by_controller", "phase"), [(False, "Pending"), (True, "Bound")])
def test_claim_of_another_claims_volume_keeps_the_phase_of_its_binding(
    storage: Storage, by_controller: bool, phase: str
) -> None:
    """A claim whose user named the volume of another claim is Pending; one that the binder had bound keeps its
    phase."""
    storage.add_volume(volume("taken", claimRef={"namespace": "a", "name": "z"}))
    wanted = claim("c", volumeName="taken")
    if by_controller:
        wanted["metadata"]["annotations"] = {BY_CONTROLLER: "yes"}
    storage.add_claim(wanted)
    storage.cluster.patch(CLAIMS, "c", {"status": {"phase": "Bound"}}, subresource="status")
    storage.cluster.settle()
    assert storage.phases()[0] == phase
    assert storage.notes("c")[0][1:] == ("FailedBinding", 'volume "taken" already bound to a different claim.')


def test_claim_is_bound_when_its_volume_appears(storage: Storage) -> None:
    """The claim is bound once its volume exists."""
    storage.add_claim(claim(volumeName="v"))
    storage.add_volume(volume())
    assert storage.phases() == ("Bound", "Bound")
    assert BY_CONTROLLER not in storage.claim()["metadata"]["annotations"]


@pytest.mark.parametrize(
    ("provisioner", "expected"),
    [
        (
            "p.example.com",
            (
                "Normal",
                "ExternalProvisioning",
                'waiting for a volume to be created, either by external provisioner "p.example.com" or manually created by '
                "system administrator",
            ),
        ),
        (
            "orch.io/aws-ebs",
            (
                "Normal",
                "ExternalProvisioning",
                'waiting for a volume to be created, either by external provisioner "ebs.csi.aws.com" or manually created by '
                "system administrator",
            ),
        ),
        (
            "orch.io/no-provisioner",
            ("Warning", "ProvisioningFailed", "no volume plugin matched name: orch.io/no-provisioner"),
        ),
        ("orch.io/nfs", ("Warning", "ProvisioningFailed", "no provisionable volume plugin matched")),
    ],
)
def test_external_provisioner_is_named_in_the_claim(storage: Storage, provisioner: str, expected: Any) -> None:
    """A claim's annotation names its external provisioner; in-tree ones cannot provision."""
    storage.add_class(storage_class(provisioner=provisioner))
    storage.add_claim(claim())
    assert storage.notes("c") == [expected]
    named = storage.claim()["metadata"].get("annotations", {}).get("volume.orch.io/storage-provisioner")
    assert named == {"p.example.com": "p.example.com", "orch.io/aws-ebs": "ebs.csi.aws.com"}.get(provisioner)


def test_missing_class_is_named(storage: Storage) -> None:
    """The Event of a claim names the missing class, which may be created later."""
    storage.add_claim(claim("n", storageClassName=""))
    storage.add_claim(claim())
    assert storage.notes("n") == [
        ("Normal", "FailedBinding", "no persistent volumes available for this claim and no storage class is set")
    ]
    assert storage.notes("c") == [("Warning", "ProvisioningFailed", 'storageclass.storage.orch.io "k" not found')]
    storage.add_class(storage_class())
    assert ("ExternalProvisioning" in [each[1] for each in storage.notes("c")]) is True


def test_delayed_claim_waits_for_a_consumer(storage: Storage) -> None:
    """A claim with delayed binding waits for a pod and the scheduler's choice of a node."""
    storage.add_class(storage_class(volumeBindingMode="WaitForFirstConsumer"))
    storage.add_volume(volume())
    storage.add_claim(claim())
    assert storage.phases() == ("Pending", "Available")
    assert storage.notes("c") == [
        ("Normal", "WaitForFirstConsumer", "waiting for first consumer to be created before binding")
    ]
    storage.cluster.create(PODS, {**pod(), "spec": {**pod()["spec"], "schedulerName": "none"}})
    storage.cluster.settle(16)
    assert ("Normal", "WaitForPodScheduled", "waiting for pod p to be scheduled") in storage.notes("c")
    selected = {"metadata": {"annotations": {"volume.orch.io/selected-node": "n"}}}
    storage.cluster.patch(CLAIMS, "c", selected)
    assert "ExternalProvisioning" in [each[1] for each in storage.notes("c")]
    assert storage.phases() == ("Pending", "Available")


def test_volume_chosen_by_the_scheduler_is_bound(storage: Storage) -> None:
    """A volume that the scheduler assigned to a delayed claim is bound to it."""
    storage.add_class(storage_class(volumeBindingMode="WaitForFirstConsumer"))
    storage.add_volume(volume())
    storage.add_claim(claim())
    reference = {
        "kind": "PersistentVolumeClaim",
        "namespace": "a",
        "name": "c",
        "uid": storage.claim()["metadata"]["uid"],
    }
    change = {"metadata": {"annotations": {BY_CONTROLLER: "yes"}}, "spec": {"claimRef": reference}}
    storage.cluster.patch(VOLUMES, "v", change, "")
    assert storage.phases() == ("Bound", "Bound")


@pytest.fixture
def scheduled(tmp_path: Path) -> Iterator[Storage]:
    """A cluster with a scheduler."""
    running = Cluster(tmp_path, CONTROLLERS_OF_STORAGE, ["--scheduler=true"])
    running.namespace()
    yield Storage(running)
    running.stop()


def test_delayed_claim_is_bound_on_the_scheduled_node(scheduled: Storage) -> None:
    """A delayed claim gets a volume on the node that the scheduler chooses for its pod."""
    storage = scheduled
    storage.add_class(storage_class(provisioner="orch.io/no-provisioner", volumeBindingMode="WaitForFirstConsumer"))
    for each in ("x", "y"):
        allocatable = {"cpu": "4", "memory": "8Gi", "pods": "110"}
        node = {"metadata": {"name": each, "labels": {"disk": each}}, "status": {"allocatable": allocatable}}
        storage.cluster.create(NODES, node, "")
    expressions = [{"key": "disk", "operator": "In", "values": ["y"]}]
    affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": expressions}]}}
    storage.add_volume(volume(local={"path": "/x"}, nodeAffinity=affinity))
    storage.add_claim(claim())
    user = pod()
    user["spec"]["tolerations"] = [{"operator": "Exists"}]
    storage.add_pod(user)
    storage.cluster.settle(5)
    assert storage.phases() == ("Bound", "Bound")
    placed = storage.cluster.get(PODS, "p") or {}
    assert placed["spec"].get("nodeName") == "y"


def test_claim_of_a_deleted_volume_is_lost(storage: Storage) -> None:
    """A claim whose volume was deleted becomes Lost, with one Event."""
    storage.add_volume(volume())
    storage.add_claim(claim())
    storage.cluster.delete(VOLUMES, "v", "")
    assert storage.phases() == ("Bound", "Bound")
    storage.cluster.patch(VOLUMES, "v", {"metadata": {"finalizers": None}}, "")
    storage.cluster.settle(31)
    assert storage.phases() == ("Lost", "")
    assert "capacity" not in storage.claim()["status"]
    lost = ("Warning", "ClaimLost", "Bound claim has lost its PersistentVolume. Data on the volume is lost!")
    assert storage.notes("c").count(lost) == 1


def test_claim_that_its_volume_does_not_name_is_lost(storage: Storage) -> None:
    """Of two claims with one volume, the one that the volume does not reference becomes Lost."""
    storage.add_volume(volume())
    storage.add_claim(claim())
    wrong = claim("w", volumeName="v")
    wrong["metadata"]["annotations"] = {"pv.orch.io/bind-completed": "yes"}
    storage.add_claim(wrong)
    assert storage.phases("w")[0] == "Lost"
    assert [each[1] for each in storage.notes("w")] == ["ClaimMisbound"]


def test_second_volume_is_released(storage: Storage) -> None:
    """A volume whose claim is bound to another one becomes available again."""
    storage.add_volume(volume())
    storage.add_claim(claim())
    storage.cluster.create(
        VOLUMES,
        {
            **volume("w"),
            "metadata": {"name": "w", "annotations": {BY_CONTROLLER: "yes"}},
            "spec": {**volume("w")["spec"], "claimRef": storage.volume()["spec"]["claimRef"]},
        },
        "",
    )
    storage.cluster.settle()
    assert storage.phases("c", "w") == ("Bound", "Available")
    assert "claimRef" not in storage.volume("w")["spec"]
    assert storage.phases() == ("Bound", "Bound")


def test_retained_volume_is_released_and_kept(storage: Storage) -> None:
    """A retained volume stays Released, and serves no claim until its claimRef is removed."""
    storage.add_volume(volume())
    storage.add_claim(claim())
    storage.cluster.delete(CLAIMS, "c")
    assert storage.phases() == ("", "Released")
    group = storage.cluster.server.server.background.controllers.group
    assert group is not None
    before = dict(group.counts())["persistentvolume-binder"].worked
    storage.cluster.settle(31)
    assert dict(group.counts())["persistentvolume-binder"].worked == before
    storage.add_claim(claim())
    assert storage.phases() == ("Pending", "Released")
    storage.cluster.patch(VOLUMES, "v", {"spec": {"claimRef": None}}, "")
    assert storage.phases() == ("Bound", "Bound")


@pytest.mark.parametrize(
    ("given", "reason", "message"),
    [
        (
            volume(policy="Delete"),
            "VolumeFailedDelete",
            'error getting deleter volume plugin for volume "v": no deletable volume plugin matched',
        ),
        (
            volume(policy="Delete", iscsi={"targetPortal": "1.2.3.4", "iqn": "iqn.2001-04.com.example:x", "lun": 0}),
            "VolumeFailedDelete",
            'error getting deleter volume plugin for volume "v": no volume plugin matched',
        ),
        (
            volume(policy="Delete", hostPath={"path": "/var/x"}),
            "VolumeFailedDelete",
            "host_path deleter only supports /tmp/.+ but received provided /var/x",
        ),
        (volume(policy="Recycle"), "VolumeFailedRecycle", "No recycler plugin found for the volume!"),
    ],
)
def test_failed_reclaim_is_recorded(storage: Storage, given: Any, reason: str, message: str) -> None:
    """A volume that cannot be deleted or recycled becomes Failed with one Event."""
    storage.add_volume(given)
    storage.add_claim(claim())
    storage.cluster.delete(CLAIMS, "c")
    storage.cluster.settle(31)
    assert storage.phases() == ("", "Failed")
    assert storage.volume()["status"]["message"] == message
    assert storage.notes("v", "default") == [("Warning", reason, message)]


def test_host_path_volume_is_deleted_after_its_claim(storage: Storage) -> None:
    """A hostPath volume under /tmp is deleted after its claim."""
    storage.add_volume(volume(policy="Delete", hostPath={"path": "/tmp/x"}))
    storage.add_claim(claim())
    storage.cluster.delete(CLAIMS, "c")
    assert storage.phases() == ("", "")


def test_provisioned_volume_is_left_to_its_provisioner(storage: Storage) -> None:
    """The binder does not delete a dynamically provisioned volume."""
    given = volume(policy="Delete")
    given["metadata"]["annotations"] = {"pv.orch.io/provisioned-by": "p.example.com"}
    storage.add_volume(given)
    storage.add_claim(claim())
    storage.cluster.delete(CLAIMS, "c")
    assert storage.phases() == ("", "Released")


@pytest.mark.parametrize("outcome", ["Succeeded", "Failed"])
def test_recycled_volume_becomes_available(storage: Storage, outcome: str) -> None:
    """A recycler pod empties the volume, which then becomes available."""
    storage.add_volume(volume(policy="Recycle", nfs={"server": "s", "path": "/x"}))
    storage.add_claim(claim())
    storage.cluster.delete(CLAIMS, "c")
    pod = storage.cluster.get(PODS, "recycler-for-v", "default")
    assert pod is not None and pod["spec"]["volumes"][0]["nfs"]["path"] == "/x"
    assert storage.phases()[1] == "Released"
    storage.cluster.patch(PODS, "recycler-for-v", {"status": {"phase": outcome, "message": "no"}}, "default", "status")
    if outcome == "Succeeded":
        assert storage.phases()[1] == "Available" and "claimRef" not in storage.volume()["spec"]
        assert ("Normal", "VolumeRecycled", "Volume recycled") in storage.notes("v", "default")
        assert storage.cluster.get(PODS, "recycler-for-v", "default") is None
    else:
        assert ("Warning", "VolumeFailedRecycle", "Recycle failed: no") in storage.notes("v", "default")
        assert storage.phases()[1] == "Failed"


@pytest.mark.parametrize(
    ("source", "size", "seconds"),
    [
        ({"nfs": {"server": "s", "path": "/x"}}, "5Gi", 300),
        ({"nfs": {"server": "s", "path": "/x"}}, "100Gi", 3000),
        ({"hostPath": {"path": "/x"}}, "1Gi", 60),
    ],
)
def test_pod_that_empties_a_volume(source: dict[str, Any], size: str, seconds: int, tmp_path: Path) -> None:
    """It removes all that the volume holds, hidden files too, and fails without the volume; large ones have more
    time."""
    settings = ControllerSettings()
    emptying = recycler.recycler_pod(volume(size=size, policy="Recycle", **source), "busybox", settings)
    assert emptying["metadata"] == {"name": "recycler-for-v", "namespace": "default"}
    spec = emptying["spec"]
    assert (spec["activeDeadlineSeconds"], spec["restartPolicy"]) == (seconds, "Never")
    (mounted,), (container,) = spec["volumes"], spec["containers"]
    (mount,) = container["volumeMounts"]
    assert mounted == {"name": mount["name"], **source} and container["image"] == "busybox"
    folder = tmp_path / "volume"
    line = [text.replace(mount["mountPath"], str(folder)) for text in (*container["command"], *container["args"])]
    assert subprocess.run(line, check=False).returncode == 1
    (folder / "below").mkdir(parents=True)
    for name in ("file", ".hidden", "..odd", "below/.file"):
        (folder / name).touch()
    assert subprocess.run(line, check=False).returncode == 0
    assert not list(folder.iterdir())


def test_recycler_pod_follows_the_template_flag() -> None:
    """The pod of --pv-recycler-pod-template-filepath-hostpath is used, under the controller's name."""
    template = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "any", "labels": {"a": "b"}},
        "spec": {"volumes": [{"name": "v"}, {"name": "w"}], "containers": [{"name": "own", "image": "scrubber"}]},
    }
    settings = ControllerSettings(pv_recycler_pod_template_filepath_hostpath=template)
    emptying = recycler.recycler_pod(volume(policy="Recycle", hostPath={"path": "/tmp/x"}), "unused", settings)
    assert emptying["metadata"] == {"name": "recycler-for-v", "namespace": "default", "labels": {"a": "b"}}
    assert emptying["spec"]["volumes"] == [{"name": "v", "hostPath": {"path": "/tmp/x"}}, {"name": "w"}]
    assert (emptying["spec"]["containers"][0]["name"], emptying["spec"]["activeDeadlineSeconds"]) == ("own", 150)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("kind: Pod", "is not a v1 Pod"),
        (
            "{apiVersion: v1, kind: Pod, metadata: {namespace: a}, spec: {volumes: [{name: v}]}}",
            "must be in the namespace default",
        ),
        ("{apiVersion: v1, kind: Pod, spec: {volumes: []}}", "does not contain any volumes"),
        ("{", "yaml: "),
    ],
)
def test_invalid_recycler_template_names_flag_and_file(tmp_path: Path, text: str, problem: str) -> None:
    """An invalid template fails the start; the error names the flag and the file."""
    path = tmp_path / "pod.yaml"
    path.write_text(text)
    flag = "pv-recycler-pod-template-filepath-nfs"
    with pytest.raises(ValueError, match=f"--{flag}: {path}: .*{problem}"):
        recycler_template(flag, str(path))


def test_foreign_recycler_pod_is_replaced(storage: Storage) -> None:
    """A pod with the recycler's name that another client created is replaced."""
    storage.cluster.create(PODS, {**pod("recycler-for-v"), "metadata": {"name": "recycler-for-v"}}, "default")
    storage.cluster.patch(PODS, "recycler-for-v", {"status": {"phase": "Succeeded"}}, "default", "status")
    before = storage.cluster.get(PODS, "recycler-for-v", "default") or {}
    storage.add_volume(volume(policy="Recycle", nfs={"server": "s", "path": "/x"}))
    storage.add_claim(claim())
    storage.cluster.delete(CLAIMS, "c")
    assert storage.phases()[1] == "Released"
    after = storage.cluster.get(PODS, "recycler-for-v", "default") or {}
    assert after["metadata"]["uid"] != before["metadata"]["uid"]


def test_volume_that_is_reserved_for_a_claim_of_another_mode(storage: Storage) -> None:
    """Neither is bound, and events of both tell why."""
    storage.add_claim(claim())
    uid = storage.claim()["metadata"]["uid"]
    storage.add_volume(volume(claimRef={"namespace": "a", "name": "c", "uid": uid}, volumeMode="Block"))
    assert storage.phases()[0] == "Pending"
    mismatch = [each for each in storage.notes("c") if each[1] == "VolumeMismatch"]
    assert mismatch and mismatch[0][0] == "Warning" and "volumeMode" in mismatch[0][2]


def test_claim_that_lost_its_volume(storage: Storage) -> None:
    """A claim that says it is bound, and to none, is lost, as is one whose volume is gone."""
    for name, spec in (("none", {}), ("gone", {"volumeName": "absent"})):
        lost = claim(name, **spec)
        lost["metadata"]["annotations"] = {"pv.orch.io/bind-completed": "yes"}
        storage.add_claim(lost)
        assert storage.phases(name)[0] == "Lost"
        assert [each[:2] for each in storage.notes(name)] == [("Warning", "ClaimLost")]
