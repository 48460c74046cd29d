"""Metrics of controllers of release 1.35, counted by what these do in a whole server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from orchd.client.interfaces import ResourceRef
from orchd.controllers.objects import JOBS, NODES, PODS
from orchd.testing.doubles.server import run
from tests.controllers.cluster_support import Cluster, template
from tests.samples import samples

SERVICES = ResourceRef("", "v1", "services")
VOLUME_CLAIMS = ResourceRef("", "v1", "persistentvolumeclaims")
CLASSES = ResourceRef("storage.orch.io", "v1", "storageclasses")
RUNNING = ("job", "podgc", "endpointslice", "persistentvolume-binder", "nodeipam")
FLAGS = (
    "--emulated-version=1.35",
    "--terminated-pod-gc-threshold=0",
    "--allocate-node-cidrs=true",
    "--cluster-cidr=10.1.0.0/24",
)
Count = Callable[..., float]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path, RUNNING, FLAGS)
    cluster.namespace()
    yield cluster
    cluster.stop()


@pytest.fixture
def count(cluster: Cluster) -> Count:
    """``count(name, label=value)`` is the sum of the matching samples."""

    def read(name: str, /, **labels: str) -> float:
        text = run(cluster.server.request("GET", "/metrics")).body.decode()
        found = (each for each in samples(text, name) if each.name == name)
        return sum(each.value for each in found if labels.items() <= each.labels.items())

    return read


def job(name: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {**spec, "template": template({}, restartPolicy="Never")}}


def end(cluster: Cluster, phase: str, code: int = 0) -> None:
    """End all pods that have not ended."""
    for pod in cluster.items(PODS):
        if pod["status"].get("phase") not in ("Succeeded", "Failed"):
            state = {"terminated": {"exitCode": code}}
            ended = {"name": "c", "state": state, "image": "x", "imageID": "x", "ready": False, "restartCount": 0}
            change = {"status": {"phase": phase, "containerStatuses": [ended]}}
            cluster.patch(PODS, pod["metadata"]["name"], change, subresource="status")
    cluster.settle(3)


def test_pods_and_indexes_of_jobs(cluster: Cluster, count: Count) -> None:
    """Pods are counted when they are created and when the finalizer lets them go, indexes and jobs when they end."""
    prefix = "job_controller_"
    cluster.create(JOBS, job("j", completions=2, parallelism=2, completionMode="Indexed"))
    cluster.settle(2)
    assert count(f"{prefix}job_pods_creation_total", reason="new", status="succeeded") == 2
    end(cluster, "Succeeded")
    assert [count(f"{prefix}terminated_pods_tracking_finalizer_total", event=each) for each in ("add", "delete")] == [
        2,
        2,
    ]
    assert count(f"{prefix}job_finished_indexes_total", status="succeeded", backoffLimit="global") == 2
    ended = {"completion_mode": "Indexed", "result": "succeeded", "reason": "CompletionsReached"}
    assert count(f"{prefix}jobs_finished_total", **ended) == 1


def test_failures_of_jobs(cluster: Cluster, count: Count) -> None:
    """Failures that a policy decides, replaced pods, and indexes that are lost."""
    prefix = "job_controller_"
    rule = {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [3]}}
    cluster.create(JOBS, job("j", backoffLimit=5, podFailurePolicy={"rules": [rule]}, podReplacementPolicy="Failed"))
    cluster.settle(2)
    end(cluster, "Failed", 3)
    assert count(f"{prefix}pod_failures_handled_by_failure_policy_total", action="Ignore") == 1
    cluster.settle(15)
    end(cluster, "Failed", 4)
    cluster.settle(30)
    assert count(f"{prefix}job_pods_creation_total", reason="recreate_failed", status="succeeded") == 1
    per_index = {"completionMode": "Indexed", "completions": 1, "backoffLimitPerIndex": 0}
    cluster.create(JOBS, job("k", **per_index))
    cluster.settle(2)
    end(cluster, "Failed", 4)
    assert count(f"{prefix}job_finished_indexes_total", status="failed", backoffLimit="perIndex") == 1


def test_jobs_of_other_controllers(cluster: Cluster, count: Count) -> None:
    """Each is counted once, however often it changes."""
    cluster.create(JOBS, job("j", managedBy="example.com/other"))
    cluster.settle(2)
    cluster.patch(JOBS, "j", {"metadata": {"labels": {"a": "b"}}})
    cluster.settle(2)
    assert count("job_controller_jobs_by_external_controller_total", controller_name="example.com/other") == 1


def test_collected_pods(cluster: Cluster, count: Count) -> None:
    """Pods of nodes that do not exist are counted by namespace and reason."""
    pod = {"metadata": {"name": "p"}, "spec": {**template({})["spec"], "nodeName": "missing"}}
    cluster.create(PODS, pod)
    cluster.settle(45)
    assert cluster.names(PODS) == []
    assert count("pod_gc_collector_force_delete_pods_total", namespace="a", reason="orphaned") == 1
    assert count("pod_gc_collector_force_delete_pod_errors_total") == 0


def test_traffic_distributions_of_services(cluster: Cluster, count: Count) -> None:
    """Services are counted by the distribution that has an effect, as long as they exist."""
    spec = {"selector": {"a": "b"}, "ports": [{"port": 80}], "trafficDistribution": "PreferClose"}
    cluster.create(SERVICES, {"metadata": {"name": "s"}, "spec": spec})
    cluster.settle(2)
    name = "endpoint_slice_controller_services_count_by_traffic_distribution"
    assert count(name, traffic_distribution="PreferClose") == 1
    changed = "endpoint_slice_controller_endpointslices_changed_per_sync_count"
    assert count(changed, topology="Disabled", traffic_distribution="PreferClose") >= 1
    cluster.delete(SERVICES, "s")
    cluster.settle(2)
    assert count(name) == 0


def test_claims_by_class(cluster: Cluster, count: Count) -> None:
    """Claims have their class in metrics; those that get the default class afterwards are counted."""
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    cluster.create(VOLUME_CLAIMS, {"metadata": {"name": "c"}, "spec": spec})
    cluster.settle(2)
    assert count("pv_collector_unbound_pvc_count", namespace="a", storage_class="") == 1
    default = {"storageclass.orch.io/is-default-class": "true"}
    run(
        cluster.client.create(
            CLASSES, "", {"metadata": {"name": "fast", "annotations": default}, "provisioner": "x.example.com"}
        )
    )
    cluster.settle(20)
    assert count("retroactive_storageclass_total") == 1 and count("retroactive_storageclass_errors_total") == 0
    assert count("pv_collector_unbound_pvc_count", namespace="a", storage_class="fast") == 1


def test_controllers_that_run_and_node_ranges(cluster: Cluster, count: Count) -> None:
    run(cluster.client.create(NODES, "", {"metadata": {"name": "n"}}))
    assert {count("running_managed_controllers", manager="orch-controller-manager", name=each) for each in RUNNING} == {
        1
    }
    assert count("node_ipam_controller_cirdset_max_cidrs", clusterCIDR="10.1.0.0/24") == 1
