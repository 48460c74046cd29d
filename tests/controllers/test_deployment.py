"""Deployments and replica sets; the tests play the kubelets."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.client.interfaces import ResourceRef
from orchd.controllers.deployment import conditions, sizing
from orchd.controllers.objects import DEPLOYMENTS, PODS, REPLICA_SETS
from orchd.dialect import ORCH
from orchd.kinds.times import timestamp
from tests.controllers.cluster_support import Cluster, template

#: Controllers of `cluster`.
RUNNING_CONTROLLERS = ("deployment", "replicaset", "replicationcontroller", "garbagecollector")

LABELS = {"app": "x"}
REVISION = ORCH("deployment.{long}.io/revision")


def deployment(replicas: int = 3, image: str = "x", **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "d"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": LABELS},
            "template": template(LABELS, image),
            **spec,
        },
    }


def images(cluster: Cluster) -> list[str]:
    return sorted(pod["spec"]["containers"][0]["image"] for pod in cluster.items(PODS))


def new_image(image: str) -> dict[str, Any]:
    return {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": image}]}}}}


def status(cluster: Cluster) -> dict[str, Any]:
    deployment = cluster.get(DEPLOYMENTS, "d")
    assert deployment is not None
    return dict(deployment["status"])


def test_replica_set_keeps_its_number_of_pods(cluster: Cluster) -> None:
    """Missing and finished pods are replaced, surplus ones deleted."""
    each = {
        "metadata": {"name": "r"},
        "spec": {"replicas": 2, "selector": {"matchLabels": LABELS}, "template": template(LABELS)},
    }
    cluster.create(REPLICA_SETS, each)
    cluster.settle()
    assert len(cluster.names(PODS)) == 2
    [first, second] = cluster.names(PODS)
    cluster.delete(PODS, first)
    assert len(cluster.names(PODS)) == 2 and second in cluster.names(PODS)
    cluster.patch(PODS, second, {"status": {"phase": "Failed"}}, subresource="status")
    assert len(cluster.names(PODS)) == 3
    cluster.patch(REPLICA_SETS, "r", {"spec": {"replicas": 0}})
    assert cluster.names(PODS) == [second]


def test_replication_controller_keeps_its_number_of_pods(cluster: Cluster) -> None:
    """Replication controllers behave as replica sets."""
    ref = ResourceRef("", "v1", "replicationcontrollers")
    each = {"metadata": {"name": "r"}, "spec": {"replicas": 2, "selector": LABELS, "template": template(LABELS)}}
    cluster.create(ref, each)
    cluster.settle()
    assert len(cluster.names(PODS)) == 2
    found = cluster.get(ref, "r")
    assert found is not None and found["status"]["replicas"] == 2
    cluster.delete(ref, "r", propagationPolicy="Background")
    assert cluster.names(PODS) == []


def test_matching_pods_are_adopted_and_others_released(cluster: Cluster) -> None:
    """A matching pod without a controller is adopted; a pod that no longer matches is released."""
    cluster.create(PODS, {"metadata": {"name": "p", "labels": LABELS}, "spec": template(LABELS)["spec"]})
    each = {
        "metadata": {"name": "r"},
        "spec": {"replicas": 1, "selector": {"matchLabels": LABELS}, "template": template(LABELS)},
    }
    cluster.create(REPLICA_SETS, each)
    cluster.settle()
    [pod] = cluster.items(PODS)
    assert pod["metadata"]["ownerReferences"][0]["name"] == "r"
    cluster.patch(PODS, "p", {"metadata": {"labels": {"app": "other"}}})
    found = cluster.get(PODS, "p")
    assert found is not None and "ownerReferences" not in found["metadata"]
    assert len(cluster.names(PODS)) == 2


def test_rollout_keeps_enough_pods(cluster: Cluster) -> None:
    """A rollout proceeds in steps that keep enough pods available, and ends with the old set at size 0."""
    cluster.create(DEPLOYMENTS, deployment())
    cluster.settle()
    cluster.make_ready()
    assert status(cluster)["availableReplicas"] == 3
    cluster.patch(DEPLOYMENTS, "d", new_image("y"))
    assert images(cluster) == ["x", "x", "x", "y"]
    for _ in range(6):
        cluster.make_ready()
        assert status(cluster)["availableReplicas"] >= 3
    assert images(cluster) == ["y", "y", "y"]
    said = {c["type"]: c["reason"] for c in status(cluster)["conditions"]}
    assert said == {"Available": "MinimumReplicasAvailable", "Progressing": "NewReplicaSetAvailable"}
    assert sorted(s["spec"]["replicas"] for s in cluster.items(REPLICA_SETS)) == [0, 3]
    found = cluster.get(DEPLOYMENTS, "d")
    assert found is not None and found["metadata"]["annotations"][REVISION] == "2"


def test_earlier_template_reuses_its_replica_set(cluster: Cluster) -> None:
    """A return to an earlier template reuses its replica set, with the newest revision number."""
    cluster.create(DEPLOYMENTS, deployment(1))
    cluster.settle()
    cluster.make_ready()
    for image in ("y", "x"):
        cluster.patch(DEPLOYMENTS, "d", new_image(image))
        for _ in range(3):
            cluster.make_ready()
    notes = {
        s["spec"]["template"]["spec"]["containers"][0]["image"]: s["metadata"]["annotations"]
        for s in cluster.items(REPLICA_SETS)
    }
    assert {image: n[REVISION] for image, n in notes.items()} == {"x": "3", "y": "2"}
    assert notes["x"][ORCH("deployment.{long}.io/revision-history")] == "1"


def test_recreate_never_mixes_old_and_new_pods(cluster: Cluster) -> None:
    """With strategy Recreate old and new pods never exist at once."""
    cluster.create(DEPLOYMENTS, deployment(2, strategy={"type": "Recreate"}))
    cluster.settle()
    cluster.make_ready()
    cluster.patch(DEPLOYMENTS, "d", new_image("y"))
    assert images(cluster) == ["y", "y"]


def test_recreate_waits_for_old_pods_that_run(cluster: Cluster) -> None:
    """New pods come when the last old one is gone, however long its deletion takes; those that have ended do not delay
    them."""
    obj = deployment(1, strategy={"type": "Recreate"})
    obj["spec"]["template"]["metadata"]["finalizers"] = ["example.com/hold"]
    cluster.create(DEPLOYMENTS, obj)
    cluster.settle()
    cluster.make_ready(phase="Succeeded")
    cluster.settle(2)
    ended, running = sorted(cluster.items(PODS), key=lambda pod: pod["status"].get("phase") != "Succeeded")
    cluster.patch(DEPLOYMENTS, "d", new_image("y"))
    cluster.settle(30)
    assert images(cluster) == ["x", "x"]
    cluster.patch(PODS, running["metadata"]["name"], {"metadata": {"finalizers": None}})
    cluster.settle(2)
    assert sorted(images(cluster)) == ["x", "y"]
    assert cluster.get(PODS, ended["metadata"]["name"]) is not None


def test_paused_deployment_scales_but_does_not_roll(cluster: Cluster) -> None:
    """A paused deployment is scaled but not rolled out."""
    cluster.create(DEPLOYMENTS, deployment(1))
    cluster.settle()
    cluster.patch(DEPLOYMENTS, "d", {"spec": {"paused": True, "replicas": 2}})
    cluster.patch(DEPLOYMENTS, "d", new_image("y"))
    assert images(cluster) == ["x", "x"]
    assert {c["reason"] for c in status(cluster)["conditions"]} >= {"DeploymentPaused"}
    cluster.patch(DEPLOYMENTS, "d", {"spec": {"paused": False}})
    assert "y" in images(cluster)


def test_oldest_replica_sets_beyond_the_history_limit_are_deleted(cluster: Cluster) -> None:
    """Old sets beyond the limit are deleted, the lowest revisions first."""
    cluster.create(DEPLOYMENTS, deployment(1, revisionHistoryLimit=1))
    cluster.settle()
    for image in ("y", "z", "q"):
        for _ in range(3):
            cluster.make_ready()
        cluster.patch(DEPLOYMENTS, "d", new_image(image))
    for _ in range(3):
        cluster.make_ready()
    assert sorted(s["metadata"]["annotations"][REVISION] for s in cluster.items(REPLICA_SETS)) == ["3", "4"]


def test_stalled_rollout_fails_after_the_progress_deadline(cluster: Cluster) -> None:
    """A rollout without progress within its deadline gets a failed condition."""
    cluster.create(DEPLOYMENTS, deployment(1, progressDeadlineSeconds=600))
    cluster.settle()
    said = {c["type"]: c for c in status(cluster)["conditions"]}
    assert said["Progressing"]["reason"] == "ReplicaSetUpdated"
    cluster.settle(620)
    said = {c["type"]: c for c in status(cluster)["conditions"]}
    assert said["Progressing"]["reason"] == "ProgressDeadlineExceeded"


def test_deleting_a_deployment_deletes_sets_and_pods(cluster: Cluster) -> None:
    """The deployment's replica sets and pods are deleted with it."""
    cluster.create(DEPLOYMENTS, deployment())
    cluster.settle()
    cluster.delete(DEPLOYMENTS, "d")
    assert (cluster.names(REPLICA_SETS), cluster.names(PODS)) == ([], [])


def plain(replicas: int, *, available: int = 0, most: int | None = None, name: str = "r") -> dict[str, Any]:
    notes = {} if most is None else {"most": str(most)}
    return {
        "metadata": {"name": name, "creationTimestamp": name, "annotations": notes},
        "spec": {"replicas": replicas},
        "status": {"availableReplicas": available},
    }


@pytest.mark.parametrize(
    ("surge", "unavailable", "replicas", "expected"),
    [
        ("25%", "25%", 10, (3, 2)),
        ("25%", "25%", 3, (1, 0)),
        (2, 2, 0, (2, 0)),
        (0, 0, 3, (0, 1)),
        (0, "10%", 3, (0, 1)),
        (1, 5, 2, (1, 2)),
        ("9" * 5000 + "%", "100%", 2, (2**31 - 1, 2)),
    ],
)
def test_max_surge_rounds_up_and_max_unavailable_down(
    surge: Any, unavailable: Any, replicas: int, expected: tuple[int, int]
) -> None:
    """Surge is rounded up, unavailability down; both are never 0, and unavailability is at most the size."""
    limits = {"rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}
    deployment = {"spec": {"replicas": replicas, "strategy": limits}}
    assert (sizing.max_surge(deployment), sizing.max_unavailable(deployment)) == expected


@pytest.mark.parametrize(
    ("before", "after", "sizes", "expected"),
    [(10, 20, [8, 5], [14, 9]), (10, 5, [8, 5], [5, 3]), (10, 0, [8, 5], [0, 0])],
)
def test_scaling_during_a_rollout_is_proportional(
    before: int, after: int, sizes: list[int], expected: list[int]
) -> None:
    """Each set keeps its share of the total size during a rollout, and the sum is exact."""
    limits = {"rollingUpdate": {"maxSurge": 3, "maxUnavailable": 2}}
    deployment = {"spec": {"replicas": after, "strategy": limits}, "status": {"replicas": sum(sizes)}}
    sets = [plain(size, most=before + 3, name=str(i)) for i, size in enumerate(sizes)]
    assert [size for _, size in sizing.proportions(deployment, sets, max_annotation="most")] == expected
    assert sum(expected) == (after + 3 if after else 0)


def condition(value: str, reason: str, now: float) -> dict[str, Any]:
    return conditions.make("Progressing", value, reason, "", now)


@pytest.mark.parametrize(
    ("value", "reason", "updated", "transition"),
    [("True", "A", 100.0, 100.0), ("True", "B", 200.0, 100.0), ("False", "A", 200.0, 200.0)],
)
def test_condition_times(value: str, reason: str, updated: float, transition: float) -> None:
    """An equal condition is not changed; a new reason changes the update time, a new status the transition time as
    well."""
    other = conditions.make("Available", "True", "Enough", "", 100.0)
    found = conditions.with_([condition("True", "A", 100.0), other], condition(value, reason, 200.0))
    assert other in found and len(found) == 2
    (changed,) = conditions.without(found, "Available")
    assert (changed["status"], changed["reason"]) == (value, reason)
    assert (changed["lastUpdateTime"], changed["lastTransitionTime"]) == (timestamp(updated), timestamp(transition))


def test_pods_have_the_metadata_of_their_template(cluster: Cluster) -> None:
    """Labels, annotations and finalizers of the template."""
    obj = deployment(1)
    obj["spec"]["template"]["metadata"] |= {"annotations": {"a": "b"}, "finalizers": ["example.com/hold"]}
    cluster.create(DEPLOYMENTS, obj)
    cluster.settle()
    (metadata,) = (pod["metadata"] for pod in cluster.items(PODS))
    assert (metadata["annotations"], metadata["finalizers"]) == ({"a": "b"}, ["example.com/hold"])
    assert metadata["labels"].items() >= obj["spec"]["template"]["metadata"]["labels"].items()
