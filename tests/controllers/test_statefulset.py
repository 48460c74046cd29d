"""Stateful sets: ordered pods, each with its own name and volume."""

from __future__ import annotations

from typing import Any

from orchd.client.interfaces import ResourceRef
from orchd.controllers.objects import CLAIMS, PODS, REVISIONS, STATEFUL_SETS
from tests.controllers.cluster_support import Cluster, template

#: Controllers of `cluster`.
RUNNING_CONTROLLERS = ("statefulset",)

LABELS = {"app": "x"}


def stateful(replicas: int = 2, **spec: Any) -> dict[str, Any]:
    claim = {
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    return {
        "metadata": {"name": "s"},
        "spec": {
            "replicas": replicas,
            "serviceName": "names",
            "selector": {"matchLabels": LABELS},
            "template": template(LABELS),
            "volumeClaimTemplates": [claim],
            **spec,
        },
    }


def images(cluster: Cluster) -> list[str]:
    return [pod["spec"]["containers"][0]["image"] for pod in cluster.items(PODS)]


def status(cluster: Cluster) -> dict[str, Any]:
    stateful_set = cluster.get(STATEFUL_SETS, "s")
    assert stateful_set is not None
    return dict(stateful_set["status"])


def test_pods_start_in_order_and_stop_in_reverse(cluster: Cluster) -> None:
    """The next pod is created when the previous one is ready, the last is deleted first; claims stay."""
    cluster.create(STATEFUL_SETS, stateful())
    cluster.settle()
    assert cluster.names(PODS) == ["s-0"]
    cluster.make_ready()
    assert cluster.names(PODS) == ["s-0", "s-1"]
    cluster.make_ready()
    assert (status(cluster)["readyReplicas"], status(cluster)["replicas"]) == (2, 2)
    pod = cluster.get(PODS, "s-1")
    assert pod is not None and (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("s-1", "names")
    cluster.patch(STATEFUL_SETS, "s", {"spec": {"replicas": 1}})
    assert cluster.names(PODS) == ["s-0"]
    assert cluster.names(CLAIMS) == ["data-s-0", "data-s-1"]


def test_parallel_set_starts_all_pods_at_once(cluster: Cluster) -> None:
    """With podManagementPolicy Parallel all pods are created at once."""
    cluster.create(STATEFUL_SETS, stateful(3, podManagementPolicy="Parallel"))
    cluster.settle()
    assert cluster.names(PODS) == ["s-0", "s-1", "s-2"]


def test_rolling_update_goes_down_to_the_partition(cluster: Cluster) -> None:
    """A new template replaces pods from the last one down to the partition."""
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}
    cluster.create(STATEFUL_SETS, stateful(updateStrategy=strategy))
    cluster.settle()
    for _ in range(2):
        cluster.make_ready()
    change = {"template": {"spec": {"containers": [{"name": "c", "image": "y"}]}}}
    cluster.patch(STATEFUL_SETS, "s", {"spec": change})
    for _ in range(2):
        cluster.make_ready()
    assert images(cluster) == ["x", "y"]
    assert status(cluster)["currentRevision"] != status(cluster)["updateRevision"]
    cluster.patch(STATEFUL_SETS, "s", {"spec": {"updateStrategy": {"rollingUpdate": {"partition": 0}}}})
    for _ in range(2):
        cluster.make_ready()
    assert images(cluster) == ["y", "y"]
    assert status(cluster)["currentRevision"] == status(cluster)["updateRevision"]
    assert len(cluster.names(REVISIONS)) == 2


def test_revisions_carry_the_sets_annotations(cluster: Cluster) -> None:
    """A revision has the annotations of its set, so that the history has change causes."""
    made = stateful()
    notes = {"example.com/change-cause": "first"}
    cluster.create(STATEFUL_SETS, {**made, "metadata": {**made["metadata"], "annotations": notes}})
    cluster.settle()
    (revision,) = cluster.items(REVISIONS)
    assert revision["metadata"]["annotations"] == notes


def test_claims_that_cannot_be_created(cluster: Cluster) -> None:
    """A pod is not created without its claim; an event tells why, and the set is retried."""
    quotas = ResourceRef("", "v1", "resourcequotas")
    quota = {"metadata": {"name": "q"}, "spec": {"hard": {"persistentvolumeclaims": "0"}}}
    cluster.create(quotas, quota)
    used = {"hard": {"persistentvolumeclaims": "0"}, "used": {"persistentvolumeclaims": "0"}}
    cluster.patch(quotas, "q", {"status": used}, subresource="status")
    cluster.create(STATEFUL_SETS, stateful(1))
    cluster.settle(2)
    assert not cluster.names(PODS) and not cluster.names(CLAIMS)
    notes = [
        (event["type"], event["reason"], event["message"]) for event in cluster.items(ResourceRef("", "v1", "events"))
    ]
    kind, reason, message = notes[0]
    assert (kind, reason) == ("Warning", "FailedCreate")
    assert message.startswith("create Claim data-s-0 for Pod s-0 in StatefulSet s failed error: ")
    assert "exceeded quota: q" in message
    cluster.delete(quotas, "q")
    cluster.settle(60)
    assert (cluster.names(PODS), cluster.names(CLAIMS)) == (["s-0"], ["data-s-0"])
