"""Events of deployments, jobs and cron jobs have the reference's reasons and messages."""

from __future__ import annotations

from typing import Any

from orchd.client.interfaces import ResourceRef
from orchd.controllers.objects import CONFIG_MAPS, CRON_JOBS, DEPLOYMENTS, JOBS, PODS, REPLICA_SETS
from tests.controllers.cluster_support import Cluster, template

#: Controllers of `cluster`.
RUNNING_CONTROLLERS = ("deployment", "replicaset", "job", "cronjob", "garbagecollector")

EVENTS = ResourceRef("", "v1", "events")


def notes(cluster: Cluster, kind: str) -> list[tuple[str, str, str]]:
    events = [e for e in cluster.items(EVENTS) if e["involvedObject"]["kind"] == kind]
    events.sort(key=lambda e: e["metadata"]["name"])
    return [(e["type"], e["reason"], e["message"]) for e in events]


def test_deployment_events(cluster: Cluster) -> None:
    """Each change of a replica set's size is recorded."""
    spec = {"replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": template({"a": "b"})}
    cluster.create(DEPLOYMENTS, {"metadata": {"name": "d"}, "spec": spec})
    cluster.settle()
    (name,) = cluster.names(REPLICA_SETS)
    cluster.patch(DEPLOYMENTS, "d", {"spec": {"replicas": 1}})
    assert notes(cluster, "Deployment") == [
        ("Normal", "ScalingReplicaSet", f"Scaled up replica set {name} to 2"),
        ("Normal", "ScalingReplicaSet", f"Scaled down replica set {name} to 1"),
    ]
    assert cluster.items(EVENTS)[0]["source"]["component"].endswith("-controller")


def job(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "j"}, "spec": {"template": template({"a": "b"}, restartPolicy="Never"), **spec}}


def test_job_events(cluster: Cluster) -> None:
    """Suspension, resumption and the end of a job are recorded; its completion keeps the start time."""
    cluster.create(JOBS, job())
    cluster.settle()
    before = cluster.get(JOBS, "j")
    cluster.patch(JOBS, "j", {"spec": {"suspend": True}})
    suspended = cluster.get(JOBS, "j")
    assert before is not None and suspended is not None
    assert suspended["status"]["startTime"] == before["status"]["startTime"]
    cluster.patch(JOBS, "j", {"spec": {"suspend": False}})
    cluster.make_ready(phase="Succeeded")
    job_notes = [
        note for note in notes(cluster, "Job") if not note[2].startswith(("Created pod: j-", "Deleted pod: j-"))
    ]
    assert job_notes == [
        ("Normal", "Suspended", "Job suspended"),
        ("Normal", "Resumed", "Job resumed"),
        ("Normal", "Completed", "Job completed"),
    ]


def test_failed_job_event(cluster: Cluster) -> None:
    """The Event of a failed job has the reason."""
    cluster.create(JOBS, job(activeDeadlineSeconds=1))
    cluster.settle(3)
    assert ("Warning", "DeadlineExceeded", "Job was active longer than specified deadline") in notes(cluster, "Job")


def test_indexed_job_generate_name(cluster: Cluster) -> None:
    """Pods of an indexed job have a generateName with their index."""
    cluster.create(JOBS, job(completions=2, parallelism=2, completionMode="Indexed"))
    cluster.settle()
    assert sorted(pod["metadata"]["generateName"] for pod in cluster.items(PODS)) == ["j-0-", "j-1-"]


def cron(**spec: Any) -> dict[str, Any]:
    inner = {"spec": {"template": template({"a": "b"}, restartPolicy="Never")}}
    return {"metadata": {"name": "c"}, "spec": {"schedule": "* * * * *", "jobTemplate": inner, **spec}}


def test_cron_job_events(cluster: Cluster) -> None:
    """Created, finished and foreign jobs, and skipped times, are recorded."""
    cluster.create(CRON_JOBS, cron(concurrencyPolicy="Forbid"))
    cluster.settle(61)
    (first,) = cluster.names(JOBS)
    assert notes(cluster, "CronJob") == [("Normal", "SuccessfulCreate", f"Created job {first}")]
    cluster.settle(61)
    note = "Not starting job because prior execution is running and concurrency policy is Forbid"
    assert ("Normal", "JobAlreadyActive", note) in notes(cluster, "CronJob")
    cluster.make_ready(phase="Succeeded")
    assert ("Normal", "SawCompletedJob", f"Saw completed job: {first}, status: Complete") in notes(cluster, "CronJob")
    parent = cluster.get(CRON_JOBS, "c")
    assert parent is not None
    owner = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "name": "c",
        "uid": parent["metadata"]["uid"],
        "controller": True,
    }
    cluster.create(JOBS, {**job(), "metadata": {"name": "by-hand", "ownerReferences": [owner]}})
    cluster.settle()
    note = "Saw a job that the controller did not create or forgot: by-hand"
    assert ("Warning", "UnexpectedJob", note) in notes(cluster, "CronJob")
    parent = cluster.get(CRON_JOBS, "c")
    assert parent is not None and "by-hand" not in [ref["name"] for ref in parent["status"].get("active") or ()]


def test_missed_time_events(cluster: Cluster) -> None:
    """Too many missed times, and a single one that is too late, are warnings."""
    cluster.create(CRON_JOBS, cron(suspend=True))
    cluster.settle()
    cluster.patch(CRON_JOBS, "c", {"status": {"lastScheduleTime": "2027-01-01T00:00:00Z"}}, subresource="status")
    cluster.patch(CRON_JOBS, "c", {"spec": {"suspend": False}})
    missed = [note for note in notes(cluster, "CronJob") if note[1] == "TooManyMissedTimes"]
    assert missed and missed[0][2].endswith("Set or decrease .spec.startingDeadlineSeconds or check clock skew")


def test_foreign_owner_event(cluster: Cluster) -> None:
    """An object with an owner in another namespace is deleted, and an Event names the reference."""
    cluster.namespace("b")
    cluster.settle()
    uid = cluster.create(CONFIG_MAPS, {"metadata": {"name": "o"}}, "b")["metadata"]["uid"]
    cluster.settle()
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": uid}
    cluster.create(CONFIG_MAPS, {"metadata": {"name": "d", "ownerReferences": [owner]}})
    cluster.settle()
    note = f'ownerRef [v1/ConfigMap, namespace: a, name: o, uid: {uid}] does not exist in namespace "a"'
    assert notes(cluster, "ConfigMap") == [("Warning", "OwnerRefInvalidNamespace", note)]
    assert cluster.get(CONFIG_MAPS, "d") is None
