"""Volume controllers with delayed informers: nothing is bound twice, and nothing released or unprotected by mistake."""

from __future__ import annotations

from typing import Any

from orchd.client.interfaces import ResourceRef
from orchd.controllers.objects import CLAIMS, NODES, PODS
from orchd.controllers.volumes.attachment.controller import AttachDetachController
from orchd.controllers.volumes.binding.controller import PersistentVolumeBinder
from orchd.controllers.volumes.protection import ClaimProtection
from orchd.controllers.volumes.usage import VOLUMES
from orchd.testing.doubles.server import run
from tests.controllers.lagging_support import LaggingCluster, StartLagging
from tests.controllers.volumes.controller_volume_support import claim, pod, volume

ATTACHMENTS = ResourceRef("storage.orch.io", "v1", "volumeattachments")
MANAGED = {"volumes.orch.io/controller-managed-attach-detach": "true"}


def add_volume(cluster: LaggingCluster, **spec: Any) -> dict[str, Any]:
    stored_volume: dict[str, Any] = run(cluster.client.create(VOLUMES, "", volume(**spec)))
    cluster.settle()
    return stored_volume


def live_volume(cluster: LaggingCluster) -> dict[str, Any]:
    volume: dict[str, Any] = run(cluster.client.get(VOLUMES, "", "v"))
    return volume


def test_bound_volume_is_not_given_to_another_claim(start_lagging: StartLagging) -> None:
    """A bound volume that the informer shows as free is not given to another claim."""
    cluster = start_lagging(PersistentVolumeBinder)
    add_volume(cluster)
    cluster.informers.hold(VOLUMES)
    first = cluster.create(CLAIMS, claim("first"))
    cluster.create(CLAIMS, claim("second"))
    assert {c["metadata"]["name"]: c["status"]["phase"] for c in cluster.items(CLAIMS)} == {
        "first": "Bound",
        "second": "Pending",
    }
    assert live_volume(cluster)["spec"]["claimRef"]["uid"] == first["metadata"]["uid"]
    # The second claim has given the volume up, instead of retrying the write.
    assert ("ProvisioningFailed", 'storageclass.storage.orch.io "k" not found') in cluster.recorder.notes
    cluster.informers.release(VOLUMES)
    cluster.settle()
    assert [c["spec"].get("volumeName") for c in cluster.items(CLAIMS)] == ["v", None]


def test_volume_of_an_unobserved_claim_is_not_released(start_lagging: StartLagging) -> None:
    """A claim that the informer does not show is read from the server before its volume is released."""
    cluster = start_lagging(PersistentVolumeBinder)
    cluster.informers.hold(CLAIMS)
    stored_claim = cluster.create(CLAIMS, claim())
    reference = {"kind": "PersistentVolumeClaim", "namespace": "a", "name": "c", "uid": stored_claim["metadata"]["uid"]}
    add_volume(cluster, claimRef=reference)
    assert live_volume(cluster)["status"]["phase"] == "Pending"
    cluster.informers.release(CLAIMS)
    cluster.settle()
    assert live_volume(cluster)["status"]["phase"] == "Bound"


def test_claim_of_an_unobserved_pod_stays_protected(start_lagging: StartLagging) -> None:
    """A claim stays protected while a pod uses it that the informer does not show yet."""
    cluster = start_lagging(ClaimProtection)
    cluster.create(CLAIMS, claim())
    cluster.informers.hold(PODS)
    cluster.create(PODS, pod(node="n"))
    cluster.delete(CLAIMS, "c")
    assert cluster.names(CLAIMS) == ["c"]
    cluster.delete(PODS, "p", gracePeriodSeconds=0)
    cluster.informers.release(PODS)
    cluster.settle()
    assert cluster.names(CLAIMS) == []


def test_attached_volume_is_not_attached_to_another_node(start_lagging: StartLagging) -> None:
    """An attached volume that the informer shows as detached is not attached to another node."""
    cluster = start_lagging(AttachDetachController)
    for each in ("n", "m"):
        run(cluster.client.create(NODES, "", {"metadata": {"name": each, "annotations": MANAGED}}))
    stored_claim = cluster.create(CLAIMS, claim(volumeName="v"))
    reference = {"kind": "PersistentVolumeClaim", "namespace": "a", "name": "c", "uid": stored_claim["metadata"]["uid"]}
    add_volume(cluster, claimRef=reference)
    cluster.patch(CLAIMS, "c", {"status": {"phase": "Bound"}}, "status")
    cluster.informers.hold(ATTACHMENTS)
    cluster.create(PODS, pod(node="n"))
    cluster.create(PODS, pod("q", node="m"))
    attachments = run(cluster.client.list(ATTACHMENTS))["items"]
    assert [each["spec"]["nodeName"] for each in attachments] == ["n"]
    cluster.informers.release(ATTACHMENTS)
    cluster.delete(PODS, "p", gracePeriodSeconds=0)
    attachments = run(cluster.client.list(ATTACHMENTS))["items"]
    assert [each["spec"]["nodeName"] for each in attachments] == ["m"]
