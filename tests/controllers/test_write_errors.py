"""Writes that fail: which errors a controller passes over, and which it retries."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.client.interfaces import ResourceRef
from orchd.controllers.cronjob.controller import CronJobController
from orchd.controllers.disruption.controller import BUDGETS, DisruptionController
from orchd.controllers.nodelifecycle.pod_eviction import PodEviction
from orchd.controllers.objects import BY_NODE, CRON_JOBS, JOBS, SERVICE_ACCOUNTS
from orchd.controllers.serviceaccount import ServiceAccountController
from orchd.controllers.write_errors import ignore_missing, ignore_missing_or_changed, ignore_terminating_namespace
from orchd.errors import ApiError
from orchd.testing.doubles.informers import MemoryInformer
from orchd.testing.doubles.server import run
from tests.controllers.lagging_support import LaggingCluster, RecordedEvents, StartLagging
from tests.controllers.recording_support import CONFLICT, EXISTS, FORBIDDEN, MISSING, recording_client
from tests.controllers.test_cronjob import cron

#: The namespace of the object is being deleted.
TERMINATING = ApiError(
    403, "Forbidden", "no", details={"causes": [{"reason": "x"}, {"reason": "NamespaceTerminating"}]}
)
ERRORS = {
    "missing": MISSING,
    "conflict": CONFLICT,
    "exists": EXISTS,
    "forbidden": FORBIDDEN,
    "terminating": TERMINATING,
}


@pytest.mark.parametrize(
    "ignore, ignored",
    [
        (ignore_missing, {"missing"}),
        (ignore_missing_or_changed, {"missing", "conflict", "exists"}),
        (ignore_terminating_namespace, {"terminating"}),
    ],
)
def test_ignored_errors(ignore: Any, ignored: set[str]) -> None:
    for name, error in (*ERRORS.items(), ("odd", ApiError(409, "Conflict", "no", details=TERMINATING.details))):
        if name in ignored or (name == "odd" and "conflict" in ignored):
            with ignore():
                raise error
        else:
            with pytest.raises(ApiError), ignore():
                raise error
    with pytest.raises(KeyError), ignore():
        raise KeyError


def fails(cluster: LaggingCluster, key: tuple[str, str], **failures: ApiError) -> tuple[bool, list[str], list[Any]]:
    """Whether a reconciliation raises while requests fail, the reasons of its Events, and its requests."""
    events = RecordedEvents()
    client = recording_client(**failures)
    controller = cluster.controller
    controller.client, controller.recorder = client, events
    try:
        run(controller.reconcile(key))
    except ApiError as error:
        assert error in failures.values()
        return True, [reason for reason, _ in events.notes], client.calls
    return False, [reason for reason, _ in events.notes], client.calls


def test_jobs_of_schedules(start_lagging: StartLagging) -> None:
    """A job that exists is that of an earlier attempt; others that fail are reported, but for the end of a
    namespace."""
    cluster = start_lagging(CronJobController)
    cluster.controller.client = recording_client()
    run(cluster.client.create(CRON_JOBS, "a", cron()))
    cluster.settle()
    cluster.passed += 61
    key = ("a", "c")
    create, update = "create", ("update", "cronjobs/status", "c")
    raised, reasons, calls = fails(cluster, key, create=EXISTS)
    assert (raised, reasons, calls[1:]) == (False, [], [update])
    raised, reasons, calls = fails(cluster, key, create=FORBIDDEN)
    assert (raised, reasons, len(calls)) == (True, ["FailedCreate"], 1)
    raised, reasons, calls = fails(cluster, key, create=TERMINATING)
    assert (raised, reasons, [verb for verb, _, _ in calls]) == (False, [], [create])
    raised, reasons, calls = fails(cluster, key, update=MISSING)
    assert (raised, reasons, calls[1:]) == (False, ["SuccessfulCreate"], [update])
    assert fails(cluster, key, update=CONFLICT)[0]
    assert calls[0][:2] == ("create", JOBS.plural)


def test_default_accounts(start_lagging: StartLagging) -> None:
    """The account of a namespace: another controller may have made it, and the namespace may be gone."""
    cluster = start_lagging(ServiceAccountController)
    cluster.controller.client = recording_client()
    cluster.delete(SERVICE_ACCOUNTS, "default")
    for name, raises in (("exists", False), ("terminating", False), ("forbidden", True), ("conflict", True)):
        raised, _, calls = fails(cluster, ("", "a"), create=ERRORS[name])
        assert (raised, calls) == (raises, [("create", "serviceaccounts", "default")])
    assert fails(cluster, ("", "absent"))[2] == []


def test_status_of_budgets(start_lagging: StartLagging) -> None:
    cluster = start_lagging(DisruptionController)
    cluster.controller.client = recording_client()
    body = {"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}}}
    run(cluster.client.create(BUDGETS, "a", body))
    cluster.settle()
    for error, raises in ((MISSING, False), (CONFLICT, True)):
        raised, reasons, calls = fails(cluster, ("a", "b"), update=error)
        assert (raised, reasons) == (raises, ["NoPods"])
        assert calls == [("update", "poddisruptionbudgets/status", "b")]


def pod(name: str, kind: str = "", **metadata: Any) -> dict[str, Any]:
    if kind:
        metadata["ownerReferences"] = [{"kind": kind, "name": "o", "uid": "o", "controller": True}]
    return {"metadata": {"namespace": "a", "name": name, "uid": f"uid-{name}", **metadata}, "spec": {"nodeName": "n"}}


@pytest.mark.parametrize("error, raises", [(None, False), (MISSING, False), (CONFLICT, False), (FORBIDDEN, True)])
def test_pods_of_failed_nodes(error: ApiError | None, raises: bool) -> None:
    """Pods that go with their node are deleted by their uid; those of daemon sets and those that go already are not."""
    pods: Any = MemoryInformer()
    pods.add_index(BY_NODE, lambda obj: [obj["spec"]["nodeName"]])
    for each in (pod("one"), pod("two", "ReplicaSet"), pod("daemon", "DaemonSet"), pod("going", deletionTimestamp="x")):
        pods.put(each)
    client = recording_client(**({"delete": error} if error else {}))
    events: Any = RecordedEvents()
    eviction = PodEviction(client, events, pods)
    assert not eviction.is_empty("n") and eviction.is_empty("m")
    node = {"metadata": {"name": "n"}}
    if raises:
        with pytest.raises(ApiError):
            run(eviction.empty(node))
        return
    run(eviction.empty(node))
    assert client.calls == [("delete", "pods", "one"), ("delete", "pods", "two")]
    assert client.bodies == [{"preconditions": {"uid": f"uid-{name}"}} for name in ("one", "two")]
    assert [reason for reason, _ in events.notes] == ["DeletingAllPods", *["NodeControllerEviction"] * 2]
    for name in ("one", "two"):
        pods.remove("a", name)
    run(eviction.empty(node))
    assert len(events.notes) == 3 and eviction.is_empty("n")


def test_removal_of_objects(start_lagging: StartLagging) -> None:
    """An object that is gone was removed; with a uid, another one of its name is left alone."""
    controller = start_lagging(CronJobController).controller
    ref = ResourceRef("", "v1", "pods")
    for uid, error, raises in (
        ("", MISSING, False),
        ("", CONFLICT, True),
        ("u", MISSING, False),
        ("u", CONFLICT, False),
        ("u", FORBIDDEN, True),
    ):
        controller.client = recording_client(delete=error)
        try:
            run(controller.remove(ref, "a", "p", uid=uid, propagation="Background", grace=0))
        except ApiError:
            assert raises
        else:
            assert not raises
        expected: dict[str, Any] = {"propagationPolicy": "Background", "gracePeriodSeconds": 0}
        assert controller.client.bodies == [{**expected, "preconditions": {"uid": "u"}} if uid else expected]
