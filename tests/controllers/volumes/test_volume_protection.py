"""Protection of claims and volumes: who uses a claim by table, and the finalizers on a server."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.client.paging import list_pages
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


def test_claims_that_are_freed_together_share_a_list_of_pods(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pods are listed for the first of them, and again for one that is deleted later, or that a pod names."""
    lists = list[str]()

    def count(client: Any, ref: Any, namespace: str, **options: Any) -> Any:
        lists.append(namespace)
        return list_pages(client, ref, namespace, **options)

    monkeypatch.setattr("orchd.controllers.volumes.protection.list_pages", count)
    names = ["c", "d", "e"]
    user, volumes = pod("user", node="n"), []
    for name in (*names, "late"):
        storage.add_claim(claim(name))
        volumes.append({"name": name, "persistentVolumeClaim": {"claimName": name}})
    storage.add_pod({**user, "spec": {**user["spec"], "volumes": volumes[:-1]}})
    for name in names:
        storage.cluster.delete(CLAIMS, name)
    storage.cluster.delete(PODS, "user", gracePeriodSeconds=0)
    assert not any(map(storage.claim, names)) and lists == ["a"]
    storage.cluster.delete(CLAIMS, "late")
    assert not storage.claim("late") and lists == ["a", "a"]
    waiting = pod("waiting", "f")
    storage.add_pod(waiting)
    user = pod("user", node="n")
    for name in "fgh":
        storage.add_claim(claim(name))
    volumes = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in "gfh"]
    storage.add_pod({**user, "spec": {**user["spec"], "volumes": volumes}})
    for name in "fgh":
        storage.cluster.delete(CLAIMS, name)
    lists.clear()
    storage.cluster.delete(PODS, "user", gracePeriodSeconds=0)
    assert not any(map(storage.claim, "fgh")) and lists == ["a", "a"]


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
