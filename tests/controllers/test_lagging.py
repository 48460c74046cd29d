"""Controllers with delayed informers: nothing is done twice, and nothing irreversible is done on stale data."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from orchd.client.interfaces import ResourceRef
from orchd.controllers.daemonset.controller import DaemonSetController
from orchd.controllers.disruption.controller import BUDGETS, DisruptionController
from orchd.controllers.endpoints.mirroring_controller import EndpointSliceMirroringController
from orchd.controllers.endpoints.slice_controller import EndpointSliceController
from orchd.controllers.job import JobController
from orchd.controllers.job_staged import StagedJobController
from orchd.controllers.namespace import NamespaceController
from orchd.controllers.objects import (
    CONFIG_MAPS,
    DAEMON_SETS,
    ENDPOINTS,
    JOBS,
    NAMESPACES,
    NODES,
    PODS,
    REPLICA_SETS,
    SERVICES,
    STATEFUL_SETS,
)
from orchd.controllers.replicaset import ReplicaSetController
from orchd.controllers.statefulset.controller import StatefulSetController
from orchd.controllers.ttl_after_finished import TtlAfterFinished
from orchd.errors import ApiError
from orchd.kinds.times import timestamp
from orchd.testing.doubles.server import NOW, run
from tests.controllers.cluster_support import template
from tests.controllers.lagging_support import LaggingCluster, StartLagging

LABELS = {"a": "b"}
SLICES = ResourceRef("discovery.orch.io", "v1", "endpointslices")


def replica_set(replicas: int) -> dict[str, Any]:
    spec = {"replicas": replicas, "selector": {"matchLabels": LABELS}, "template": template(LABELS)}
    return {"metadata": {"name": "r"}, "spec": spec}


def job(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "j"}, "spec": {"template": template(LABELS, restartPolicy="Never"), **spec}}


@pytest.mark.parametrize(
    ("factory", "ref", "owner"),
    [
        (ReplicaSetController, REPLICA_SETS, replica_set(2)),
        (JobController, JOBS, job(parallelism=2, completions=2)),
        (StagedJobController, JOBS, job(parallelism=2, completions=2)),
    ],
)
def test_owner_of_the_name_of_a_deleted_one(
    start_lagging: StartLagging, factory: Any, ref: ResourceRef, owner: dict[str, Any]
) -> None:
    """It gets its pods at once, though those of the deleted one were never seen."""
    cluster = start_lagging(factory)
    cluster.informers.hold(PODS)
    cluster.create(ref, owner)
    assert len(cluster.names(PODS)) == 2
    cluster.delete(ref, owner["metadata"]["name"], propagationPolicy="Background")
    cluster.create(ref, owner)
    assert len(cluster.names(PODS)) == 4


class TestCreatesOnce:
    """A created object that is not observed yet is not created again."""

    def test_replica_set(self, start_lagging: StartLagging) -> None:
        """Pods of a replica set."""
        cluster = start_lagging(ReplicaSetController)
        cluster.informers.hold(PODS)
        cluster.create(REPLICA_SETS, replica_set(3))
        for _ in range(3):
            cluster.touch(REPLICA_SETS, "r")
        assert len(cluster.names(PODS)) == 3
        cluster.informers.deliver(PODS, 1)
        cluster.settle()
        assert len(cluster.names(PODS)) == 3
        cluster.informers.release(PODS)
        cluster.settle()
        assert len(cluster.names(PODS)) == 3

    def test_job(self, start_lagging: StartLagging) -> None:
        """Pods of a job."""
        cluster = start_lagging(JobController)
        cluster.informers.hold(PODS)
        cluster.create(JOBS, job(parallelism=3, completions=6))
        for _ in range(3):
            cluster.touch(JOBS, "j")
        assert len(cluster.names(PODS)) == 3
        cluster.informers.release(PODS)
        cluster.settle()
        assert len(cluster.names(PODS)) == 3

    def test_daemon_set(self, start_lagging: StartLagging) -> None:
        """Pods of a daemon set."""
        cluster = start_lagging(DaemonSetController)
        for name in ("m", "n"):
            run(cluster.client.create(NODES, "", {"metadata": {"name": name}}))
        cluster.informers.hold(PODS)
        spec = {"selector": {"matchLabels": LABELS}, "template": template(LABELS)}
        cluster.create(DAEMON_SETS, {"metadata": {"name": "d"}, "spec": spec})
        for _ in range(3):
            cluster.touch(DAEMON_SETS, "d")
        assert len(cluster.names(PODS)) == 2

    def test_stateful_set(self, start_lagging: StartLagging) -> None:
        """Pods of a stateful set, whose names can be used only once."""
        cluster = start_lagging(StatefulSetController)
        cluster.informers.hold(PODS)
        spec = {"replicas": 2, "serviceName": "s", "selector": {"matchLabels": LABELS}, "template": template(LABELS)}
        cluster.create(STATEFUL_SETS, {"metadata": {"name": "s"}, "spec": spec})
        for _ in range(3):
            cluster.touch(STATEFUL_SETS, "s")
        assert cluster.names(PODS) == ["s-0"]
        assert [note for note in cluster.recorder.notes if note[0] == "FailedCreate"] == []

    @pytest.mark.parametrize("mirrored", [False, True])
    def test_one_set_of_endpoint_slices_per_service(self, start_lagging: StartLagging, mirrored: bool) -> None:
        """Slices of a service, by either controller."""
        cluster = start_lagging(EndpointSliceMirroringController if mirrored else EndpointSliceController)
        cluster.informers.hold(SLICES)
        selector = {} if mirrored else {"selector": LABELS}
        cluster.create(SERVICES, {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}], **selector}})
        if mirrored:
            subset = {"addresses": [{"ip": "192.0.2.1"}], "ports": [{"port": 80}]}
            cluster.create(ENDPOINTS, {"metadata": {"name": "s"}, "subsets": [subset]})
        for _ in range(3):
            cluster.touch(ENDPOINTS if mirrored else SERVICES, "s")
        assert len(cluster.names(SLICES)) == 1


class TestDeletesOnce:
    """A deleted object that the informer still shows does not count when more are to be deleted."""

    def test_replica_set(self, start_lagging: StartLagging) -> None:
        """A pod that becomes the first candidate after two others were deleted stays."""
        cluster = start_lagging(ReplicaSetController)
        cluster.create(REPLICA_SETS, replica_set(3))
        cluster.ready(PODS)
        cluster.informers.hold(PODS)
        cluster.patch(REPLICA_SETS, "r", {"spec": {"replicas": 1}})
        (left,) = cluster.names(PODS)
        # Had this been known before, the pod would have been the first to go.
        cluster.ready(PODS, left, value="False")
        fresh = next(pod for pod in cluster.items(PODS) if pod["metadata"]["name"] == left)
        cluster.informers.informer(PODS).put(fresh)
        cluster.touch(REPLICA_SETS, "r")
        assert cluster.names(PODS) == [left]

    def test_job(self, start_lagging: StartLagging) -> None:
        """A job deletes no more pods than necessary."""
        cluster = start_lagging(JobController)
        cluster.create(JOBS, job(parallelism=3, completions=6))
        cluster.ready(PODS)
        cluster.informers.hold(PODS)
        cluster.patch(JOBS, "j", {"spec": {"parallelism": 1}})
        (left,) = cluster.names(PODS)
        cluster.ready(PODS, left, value="False")
        fresh = next(pod for pod in cluster.items(PODS) if pod["metadata"]["name"] == left)
        cluster.informers.informer(PODS).put(fresh)
        cluster.touch(JOBS, "j")
        assert cluster.names(PODS) == [left]


def orphan(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": LABELS}, "spec": template({})["spec"]}


def owners(cluster: LaggingCluster, name: str) -> list[str]:
    found = next(pod for pod in cluster.items(PODS) if pod["metadata"]["name"] == name)
    return [r["uid"] for r in found["metadata"].get("ownerReferences") or ()]


class TestAdoption:
    """Adoption reads the owner from the server first, since the informer may show a deleted one."""

    def test_replaced_owner_adopts_nothing(self, start_lagging: StartLagging) -> None:
        """A replaced set adopts nothing with its old uid."""
        cluster = start_lagging(ReplicaSetController)
        old = cluster.create(REPLICA_SETS, replica_set(0))["metadata"]["uid"]
        cluster.informers.hold(REPLICA_SETS)
        cluster.delete(REPLICA_SETS, "r")
        new = cluster.create(REPLICA_SETS, replica_set(1))["metadata"]["uid"]
        cluster.create(PODS, orphan("p"))
        assert owners(cluster, "p") == []
        cluster.informers.release(REPLICA_SETS)
        cluster.settle()
        assert owners(cluster, "p") == [new] != [old]

    def test_terminating_owner_adopts_nothing(self, start_lagging: StartLagging) -> None:
        """A terminating set adopts nothing, even if its informer shows an older state."""
        cluster = start_lagging(ReplicaSetController)
        body = replica_set(1)
        body["metadata"]["finalizers"] = ["example.com/hold"]
        body["spec"]["replicas"] = 0
        cluster.create(REPLICA_SETS, body)
        cluster.informers.hold(REPLICA_SETS)
        cluster.delete(REPLICA_SETS, "r")
        cluster.create(PODS, orphan("p"))
        assert owners(cluster, "p") == []

    def test_pod_adopted_by_another_controller_is_left_alone(self, start_lagging: StartLagging) -> None:
        """A pod that another controller has adopted meanwhile is not patched, by the resourceVersion precondition."""
        cluster = start_lagging(ReplicaSetController)
        cluster.informers.hold(PODS)
        cluster.create(PODS, orphan("p"))
        taken = {"apiVersion": "v1", "kind": "Other", "name": "o", "uid": "1", "controller": True}
        cluster.informers.deliver(PODS)
        cluster.patch(PODS, "p", {"metadata": {"ownerReferences": [taken]}})
        cluster.create(REPLICA_SETS, replica_set(1))
        assert owners(cluster, "p") == ["1"]


def test_budget_is_recounted_once_the_owner_is_observed(start_lagging: StartLagging) -> None:
    """If the informer shows an owner after its pod, the budget is computed again."""
    cluster = start_lagging(DisruptionController)
    cluster.informers.hold(REPLICA_SETS)
    stored_replica_set = cluster.create(REPLICA_SETS, replica_set(2))
    owner = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "name": "r",
        "uid": stored_replica_set["metadata"]["uid"],
        "controller": True,
    }
    pod = {"metadata": {"name": "p", "labels": LABELS, "ownerReferences": [owner]}, "spec": template(LABELS)["spec"]}
    cluster.create(PODS, pod)
    budget = {"metadata": {"name": "b"}, "spec": {"maxUnavailable": 1, "selector": {"matchLabels": LABELS}}}
    cluster.create(BUDGETS, budget)

    def reason() -> tuple[str, int]:
        (budget,) = cluster.items(BUDGETS)
        return budget["status"]["conditions"][0]["reason"], budget["status"]["expectedPods"]

    assert reason() == ("SyncFailed", 0)
    cluster.informers.release(REPLICA_SETS)
    cluster.settle()
    assert reason() == ("InsufficientPods", 2)


def finished_job(cluster: LaggingCluster, seconds: int) -> None:
    cluster.create(JOBS, job(ttlSecondsAfterFinished=seconds))
    ended = {"type": "Complete", "status": "True", "lastTransitionTime": timestamp(NOW + cluster.passed)}
    cluster.patch(JOBS, "j", {"status": {"conditions": [ended]}}, "status")


def test_current_ttl_is_read_before_a_job_is_deleted(start_lagging: StartLagging) -> None:
    """The TTL is read from the server before a finished job is deleted."""
    cluster = start_lagging(TtlAfterFinished)
    finished_job(cluster, 10)
    cluster.informers.hold(JOBS)
    cluster.patch(JOBS, "j", {"spec": {"ttlSecondsAfterFinished": 60}})

    def finalizers() -> list[Any]:
        return [each["metadata"].get("finalizers") for each in cluster.items(JOBS)]

    cluster.settle(20)
    assert finalizers() == [None]
    cluster.informers.release(JOBS)
    cluster.settle(30)
    assert finalizers() == [None]
    cluster.settle(20)
    assert finalizers() == [["foregroundDeletion"]]


def test_counts_of_a_status_are_of_one_moment(start_lagging: StartLagging) -> None:
    """Pods that are created or deleted during a pass are counted in the next one, in all counts of the status."""
    cluster = start_lagging(ReplicaSetController)
    cluster.create(REPLICA_SETS, replica_set(3))
    cluster.ready(PODS)
    cluster.patch(REPLICA_SETS, "r", {"spec": {"replicas": 5}})
    cluster.patch(REPLICA_SETS, "r", {"spec": {"replicas": 1}})
    assert cluster.controller.counts.failed == 0
    (stored_replica_set,) = cluster.items(REPLICA_SETS)
    assert stored_replica_set["status"]["replicas"] == stored_replica_set["status"]["fullyLabeledReplicas"] == 1


@pytest.mark.parametrize("several", [False, True])
def test_first_pass_of_a_deleted_namespace_waits_for_other_servers(start_lagging: StartLagging, several: bool) -> None:
    """If other servers may use the store, the contents are deleted only when these had time to observe the deletion,
    including objects that they admitted until then."""
    cluster = start_lagging(lambda env: NamespaceController(replace(env, several_servers=several)))
    cluster.create(CONFIG_MAPS, {"metadata": {"name": "early"}})
    run(cluster.client.delete(NAMESPACES, "", "a", options={}))
    cluster.settle(3)
    assert cluster.names(CONFIG_MAPS) == (["early"] if several else [])
    cluster.settle(3)
    assert cluster.names(CONFIG_MAPS) == []
    with pytest.raises(ApiError, match="not found"):
        run(cluster.client.get(NAMESPACES, "", "a"))
