"""Protection of claims and volumes: who uses a claim by table, and the finalizers on a server."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.controllers.objects import CLAIMS, PODS
from orchd.controllers.volumes.protection import shut_down, uses
from orchd.controllers.volumes.usage import VOLUMES
from tests.controllers.volumes.controller_volume_support import Storage, claim, pod, volume

CLAIM: dict[str, Any] = {"metadata": {"name": "c", "namespace": "a", "uid": "1"}}
OWNED: dict[str, Any] = {
    "metadata": {"name": "p-v", "namespace": "a", "ownerReferences": [{"uid": "9", "controller": True}]}
}


def placed(**more: Any) -> dict[str, Any]:
    user = pod("p", node="n", **more)
    return {**user, "metadata": {"name": "p", "namespace": "a", "uid": "9"}}


def killed_pod(found: dict[str, Any]) -> dict[str, Any]:
    return {**found, "metadata": {**found["metadata"], "deletionTimestamp": "now", "deletionGracePeriodSeconds": 0}}


@pytest.mark.parametrize(
    ("user", "used", "expected"),
    [
        (placed(), CLAIM, True),
        ({**placed(), "spec": pod("p")["spec"]}, CLAIM, False),
        ({**placed(), "status": {"phase": "Succeeded"}}, CLAIM, True),
        (killed_pod(placed()), CLAIM, True),
        (placed(emptyDir={}), CLAIM, False),
        (placed(ephemeral={}), OWNED, True),
        (killed_pod(placed(ephemeral={})), OWNED, False),
        (placed(ephemeral={}), {"metadata": {"name": "p-v", "namespace": "a"}}, False),
    ],
)
def test_only_scheduled_pods_use_a_claim(user: Any, used: Any, expected: bool) -> None:
    """Only pods with a node count; the claim of an ephemeral volume counts for its pod until that has ended."""
    assert uses(user, used) == expected


def test_pod_in_its_grace_period_has_not_shut_down() -> None:
    """A pod within its grace period has not ended."""
    dying = {"metadata": {"deletionTimestamp": "now", "deletionGracePeriodSeconds": 30}}
    assert not shut_down(dying) and shut_down(killed_pod(placed()))


def test_deleted_claim_stays_while_in_use(storage: Storage) -> None:
    """A deleted claim stays while a pod on a node uses it."""
    storage.add_claim(claim())
    storage.add_pod(pod(node="n"))
    storage.add_pod(pod("q", "other", node="n"))
    storage.cluster.delete(CLAIMS, "c")
    assert storage.claim()["metadata"]["finalizers"] == ["orch.io/pvc-protection"]
    storage.cluster.delete(PODS, "q", gracePeriodSeconds=0)
    assert storage.claim()
    storage.cluster.delete(PODS, "p", gracePeriodSeconds=0)
    assert not storage.claim()


def test_deleted_volume_stays_while_bound(storage: Storage) -> None:
    """A deleted volume stays while it is bound; a free one is deleted at once."""
    storage.add_volume(volume())
    storage.add_volume(volume("free", "1Mi"))
    storage.add_claim(claim())
    storage.cluster.delete(VOLUMES, "free", "")
    assert not storage.volume("free")
    storage.cluster.delete(VOLUMES, "v", "")
    assert storage.volume()["metadata"]["finalizers"] == ["orch.io/pv-protection"]
    storage.cluster.delete(CLAIMS, "c")
    assert not storage.volume()


def test_removed_protection_finalizer_is_restored(storage: Storage) -> None:
    """A removed protection finalizer is added again, beside those of others."""
    storage.add_volume(volume())
    storage.add_claim(claim())
    storage.cluster.patch(CLAIMS, "c", {"metadata": {"finalizers": ["example.com/x"]}})
    storage.cluster.patch(VOLUMES, "v", {"metadata": {"finalizers": None}}, "")
    assert storage.claim()["metadata"]["finalizers"] == ["example.com/x", "orch.io/pvc-protection"]
    assert storage.volume()["metadata"]["finalizers"] == ["orch.io/pv-protection"]
