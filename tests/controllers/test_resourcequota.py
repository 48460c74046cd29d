"""The resource quota controller: the status of quotas is computed from their namespaces."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.client.interfaces import ResourceRef
from orchd.controllers.objects import CLAIMS, CONFIG_MAPS, NODES, PODS, QUOTAS, REPLICA_SETS, SERVICES
from orchd.errors import ApiError
from tests.controllers.cluster_support import Cluster, template

#: Controllers of `cluster`.
RUNNING_CONTROLLERS = ("resourcequota", "replicaset", "root-ca-cert-publisher")

DEFINITIONS = ResourceRef("apiextensions.orch.io", "v1", "customresourcedefinitions")
THINGS = ResourceRef("example.com", "v1", "things")
DEFINITION: dict[str, Any] = {
    "metadata": {"name": "things.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
        "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
        ],
    },
}


def quota(name: str = "q", scopes: list[str] | None = None, **hard: str) -> dict[str, Any]:
    spec: dict[str, Any] = {"hard": {key.replace("__", "/").replace("_", "."): value for key, value in hard.items()}}
    if scopes:
        spec["scopes"] = scopes
    return {"metadata": {"name": name}, "spec": spec}


def pod(name: str, cpu: str = "", **spec: Any) -> dict[str, Any]:
    resources = {"resources": {"requests": {"cpu": cpu}}} if cpu else {}
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "x", **resources}], **spec}}


def used(cluster: Cluster, name: str = "q") -> dict[str, str]:
    cluster.settle()
    quota = cluster.get(QUOTAS, name)
    assert quota is not None
    result: dict[str, str] = quota["status"].get("used") or {}
    return result


def test_existing_objects_are_counted(cluster: Cluster) -> None:
    """A new quota counts existing objects, and has its limits in the status."""
    cluster.create(PODS, pod("a", "250m"))
    cluster.create(SERVICES, {"metadata": {"name": "s"}, "spec": {"type": "NodePort", "ports": [{"port": 1}]}})
    cluster.create(QUOTAS, quota(pods="2", requests_cpu="1", services_nodeports="1", limits_cpu="1"))
    assert used(cluster) == {"pods": "1", "requests.cpu": "250m", "services.nodeports": "1", "limits.cpu": "0"}
    assert cluster.get(QUOTAS, "q")["status"]["hard"] == {  # type: ignore[index]  # it exists
        "pods": "2",
        "requests.cpu": "1",
        "services.nodeports": "1",
        "limits.cpu": "1",
    }


def test_ended_and_deleted_pods_count_no_more(cluster: Cluster) -> None:
    """Ended and deleted pods no longer count; new ones are counted by admission."""
    cluster.create(QUOTAS, quota(pods="2"))
    cluster.settle()
    for name in ("a", "b"):
        cluster.create(PODS, pod(name))
    assert used(cluster) == {"pods": "2"}
    with pytest.raises(ApiError, match="exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2"):
        cluster.create(PODS, pod("c"))
    cluster.patch(PODS, "a", {"status": {"phase": "Succeeded"}}, subresource="status")
    assert used(cluster) == {"pods": "1"}
    cluster.delete(PODS, "b", gracePeriodSeconds=0)
    assert used(cluster) == {"pods": "0"}


def test_object_counts_of_any_kind(cluster: Cluster) -> None:
    """count/NAME counts built-in and custom kinds, also kinds that are defined after the quota."""
    cluster.create(QUOTAS, quota(count__configmaps="5", configmaps="5", count__things_example_com="2"))
    cluster.create(CONFIG_MAPS, {"metadata": {"name": "m"}})
    # The namespace also has the ConfigMap with the cluster's CA.
    assert used(cluster) == {"configmaps": "2", "count/configmaps": "2"}
    cluster.create(DEFINITIONS, DEFINITION, "")
    cluster.settle(8)
    assert used(cluster)["count/things.example.com"] == "0"
    cluster.create(THINGS, {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}})
    assert used(cluster)["count/things.example.com"] == "1"
    cluster.delete(THINGS, "t")
    assert used(cluster)["count/things.example.com"] == "0"


def test_quota_counts_pods_in_all_its_scopes(cluster: Cluster) -> None:
    """A quota counts the pods in all of its scopes."""
    cluster.create(PODS, pod("plain"))
    cluster.create(PODS, pod("asking", "1"))
    cluster.create(PODS, pod("limited", activeDeadlineSeconds=5))
    for scope, number in (("BestEffort", "2"), ("NotBestEffort", "1"), ("Terminating", "1"), ("NotTerminating", "2")):
        cluster.create(QUOTAS, quota(scope.lower(), [scope], pods="5"))
        assert used(cluster, scope.lower()) == {"pods": number}


def test_claims_are_counted_by_storage_class(cluster: Cluster) -> None:
    """Claims are counted in total and by storage class, in number and size."""
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "3Gi"}}, "storageClassName": "gold"}
    cluster.create(CLAIMS, {"metadata": {"name": "c"}, "spec": spec})
    names = (
        "persistentvolumeclaims",
        "requests.storage",
        "gold.storageclass.storage.orch.io/requests.storage",
        "tin.storageclass.storage.orch.io/persistentvolumeclaims",
    )
    cluster.create(QUOTAS, {"metadata": {"name": "q"}, "spec": {"hard": dict.fromkeys(names, "10Gi")}})
    assert used(cluster) == dict(zip(names, ("1", "3Gi", "3Gi", "0"), strict=True))


def test_status_follows_changed_limits(cluster: Cluster) -> None:
    """Removed limits leave the status; new ones are counted."""
    cluster.create(PODS, pod("a"))
    cluster.create(QUOTAS, quota(pods="2"))
    assert used(cluster) == {"pods": "1"}
    cluster.patch(QUOTAS, "q", {"spec": {"hard": {"pods": None, "services": "1"}}})
    assert used(cluster) == {"services": "0"}


def test_wrong_status_is_corrected_by_full_recalculation(cluster: Cluster) -> None:
    """A status that another client changed is corrected by the next full recalculation."""
    cluster.create(QUOTAS, quota(pods="2"))
    cluster.settle()
    cluster.patch(QUOTAS, "q", {"status": {"used": {"pods": "7"}}}, subresource="status")
    assert used(cluster) == {"pods": "7"}
    cluster.settle(400)
    assert used(cluster) == {"pods": "0"}


def test_removed_status_is_restored_at_once(cluster: Cluster) -> None:
    """Admission needs the usage, so a missing status is written at once."""
    cluster.create(QUOTAS, quota(pods="2"))
    cluster.settle()
    cluster.patch(QUOTAS, "q", {"status": {"used": None}}, subresource="status")
    assert used(cluster) == {"pods": "0"}


def test_pod_past_its_grace_period_counts_no_more(cluster: Cluster) -> None:
    """A pod past its grace period no longer counts, even if it still exists."""
    cluster.create(NODES, {"metadata": {"name": "n"}}, "")
    cluster.create(PODS, pod("a", nodeName="n", terminationGracePeriodSeconds=30))
    cluster.create(QUOTAS, quota(pods="2", count__pods="2"))
    cluster.delete(PODS, "a")
    assert used(cluster) == {"pods": "1", "count/pods": "1"}
    cluster.settle(700)
    assert cluster.get(PODS, "a") is not None
    assert used(cluster) == {"pods": "0", "count/pods": "1"}


def test_replica_set_continues_when_the_quota_has_room(cluster: Cluster) -> None:
    """A set that was limited by a quota creates its pods when the quota allows them."""
    cluster.create(QUOTAS, quota(pods="0"))
    cluster.settle()
    selector = {"matchLabels": {"a": "b"}}
    cluster.create(
        REPLICA_SETS, {"metadata": {"name": "r"}, "spec": {"selector": selector, "template": template({"a": "b"})}}
    )
    cluster.settle()
    replica_set = cluster.get(REPLICA_SETS, "r")
    assert replica_set is not None and replica_set["status"]["conditions"][0]["reason"] == "FailedCreate"
    cluster.patch(QUOTAS, "q", {"spec": {"hard": {"pods": "1"}}})
    cluster.settle(30)
    assert len(cluster.names(PODS)) == 1
