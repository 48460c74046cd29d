"""Which changes of the cluster bring back a pod that no node passed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from orchd.client.interfaces import ResourceRef
from orchd.dialect import ORCH
from orchd.kinds.catalog import builtin_catalog
from orchd.kinds.jsonvalues import Object
from orchd.kinds.release import NEWEST, SPECIFICATION, Release
from orchd.scheduler.event_handlers import event_sources
from orchd.scheduler.queue.queue import UNSCHEDULABLE
from tests.scheduler.scheduler_support import HOST, NAMESPACES, PODS, ZONE, SchedulerHarness, node, pod

CLAIMS, VOLUMES = (ResourceRef("", "v1", plural) for plural in ("persistentvolumeclaims", "persistentvolumes"))
CLASSES, DRIVERS = (ResourceRef(ORCH("storage.{abbr}.io"), "v1", plural) for plural in ("storageclasses", "csidrivers"))
CAPACITIES = ResourceRef(ORCH("storage.{abbr}.io"), "v1beta1", "csistoragecapacities")

Change = Callable[[SchedulerHarness], None]


def _put(*objects: Object) -> Change:
    return lambda harness: harness.put(*objects)


def _create(ref: ResourceRef, obj: Object) -> Change:
    return lambda harness: harness.informers.put(ref, obj)


def _delete(name: str) -> Change:
    return lambda harness: harness.informers.informer(PODS).remove("ns", name)


def _affinity(kind: str, **term: Any) -> Object:
    terms = [{"labelSelector": {"matchLabels": {"app": "a"}}, "topologyKey": HOST, **term}]
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def _port(number: int) -> list[Object]:
    return [{"name": "c", "image": "i", "ports": [{"hostPort": number, "containerPort": 80}]}]


DISK: Object = {"name": "v", "gcePersistentDisk": {"pdName": "d"}}
CLAIM_VOLUME: Object = {"name": "v", "persistentVolumeClaim": {"claimName": "c"}}
CLAIM: Object = {
    "metadata": {
        "name": "c",
        "namespace": "ns",
        "uid": "c",
        "annotations": {ORCH("pv.{long}.io/bind-completed"): "yes"},
    },
    "spec": {"storageClassName": "s", "accessModes": ["ReadWriteOnce"], "volumeName": "pv"},
    "status": {"phase": "Bound"},
}
VOLUME: Object = {
    "metadata": {"name": "pv"},
    "spec": {"storageClassName": "s", "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]},
    "status": {"phase": "Bound"},
}
DELAYED: Object = {
    "metadata": {"name": "s"},
    "provisioner": ORCH("{long}.io/no-provisioner"),
    "volumeBindingMode": "WaitForFirstConsumer",
}
FREE_VOLUME = {**VOLUME, "metadata": {"name": "free", "uid": "free"}, "status": {"phase": "Available"}}
#: A claim that waits for a volume of one class, which has no provisioner, or of another one, whose driver has no room.
UNBOUND, PROVISIONED = (
    {"metadata": {"name": "c", "namespace": "ns", "uid": "c"},
     "spec": {"storageClassName": each, "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
    for each in ("s", "dyn")
)  # fmt: skip
DYNAMIC: Object = {"metadata": {"name": "dyn"}, "provisioner": "p", "volumeBindingMode": "WaitForFirstConsumer"}
CAPACITY = {
    "metadata": {"name": "pool", "namespace": "x"},
    "storageClassName": "dyn",
    "nodeTopology": {},
    "capacity": "9Gi",
}
TAINT = {"key": "k", "effect": "NoSchedule"}
APP: Any = {"app": "a"}
SPREAD = [
    {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": APP}}
]

#: What is there, the pod, and the change that makes room for it.
RETRIES: dict[str, tuple[list[Object], Object, Change]] = {
    "a node is added": ([node("n1", cpu=1)], pod("a", cpu=2), _put(node("n2", cpu=2))),
    "a node becomes larger": ([node("n1", cpu=1)], pod("a", cpu=2), _put(node("n1", cpu=2))),
    "a node takes more pods": (
        [node("n1", pods=1), pod("old", on="n1", priority=9)],
        pod("a"),
        _put(node("n1", pods=2)),
    ),
    "a pod ends": ([node("n1", cpu=1), pod("old", cpu=1, on="n1", priority=9)], pod("a", cpu=1), _delete("old")),
    "a port is free": (
        [node("n1"), pod("old", on="n1", priority=9, containers=_port(80))],
        pod("a", containers=_port(80)),
        _delete("old"),
    ),
    "a disk is free": (
        [node("n1"), pod("old", on="n1", priority=9, volumes=[DISK])],
        pod("a", volumes=[DISK]),
        _delete("old"),
    ),
    "a node gets a label": (
        [node("n1")],
        pod("a", nodeSelector={"disk": "ssd"}),
        _put(node("n1", labels={"disk": "ssd"})),
    ),
    "a node loses a taint": ([node("n1", taints=[TAINT])], pod("a"), _put(node("n1"))),
    "a node is uncordoned": ([node("n1", unschedulable=True)], pod("a"), _put(node("n1"))),
    "a node of the name is added": ([node("n1")], pod("a", on="", nodeSelector={HOST: "n2"}), _put(node("n2"))),
    "a pod that is to be near is there": (
        [node("n1")],
        pod("a", affinity=_affinity("podAffinity")),
        _put(pod("other", on="n1", labels=APP)),
    ),
    "a pod of a selected namespace is there": (
        [node("n1")],
        pod("a", affinity=_affinity("podAffinity", namespaceSelector={"matchLabels": {"team": "t"}})),
        _put(pod("other", on="n1", labels=APP, namespace="of-team")),
    ),
    "a pod gets a label": (
        [node("n1"), pod("other", on="n1")],
        pod("a", affinity=_affinity("podAffinity")),
        _put(pod("other", on="n1", labels=APP)),
    ),
    "a pod that is to be far ends": (
        [node("n1"), pod("other", on="n1", labels=APP, priority=9)],
        pod("a", affinity=_affinity("podAntiAffinity")),
        _delete("other"),
    ),
    "a pod of a fuller zone ends": (
        [*(node("n1", zone="z1"), node("n2", zone="z2", taints=[TAINT])), pod("one", on="n1", labels=APP, priority=9)],
        pod("a", labels=APP, topologySpreadConstraints=SPREAD),
        _delete("one"),
    ),
    "a claim is created": ([node("n1")], pod("a", volumes=[CLAIM_VOLUME]), _create(CLAIMS, CLAIM)),
}

#: A claim, and what lets its pod run.
STORAGE_RETRIES: dict[str, tuple[Object, Change]] = {
    "a volume is created": (UNBOUND, _create(VOLUMES, FREE_VOLUME)),
    "a class gets a provisioner": (UNBOUND, _create(CLASSES, {**DELAYED, "provisioner": "other"})),
    "a driver publishes no capacity": (PROVISIONED, _create(DRIVERS, {"metadata": {"name": "p"}, "spec": {}})),
    "a pool of capacity is there": (PROVISIONED, _create(CAPACITIES, CAPACITY)),
}


@pytest.mark.parametrize("case", RETRIES)
def test_pods_are_retried_after_a_change_that_may_help(case: str) -> None:
    """The pod is bound soon after the change; nothing else brings it back before."""
    objects, waiting, change = RETRIES[case]
    harness = SchedulerHarness()
    harness.informers.put(NAMESPACES, {"metadata": {"name": "of-team", "labels": {"team": "t"}}})
    harness.informers.put(CLASSES, DELAYED)
    harness.informers.put(VOLUMES, VOLUME)
    harness.put(*objects, waiting)
    harness.settle(20)
    assert harness.place("a") == UNSCHEDULABLE and not harness.where("a"), harness.message("a")
    change(harness)
    harness.settle(15)
    assert harness.where("a")


@pytest.mark.parametrize("case", STORAGE_RETRIES)
def test_pods_are_retried_after_changes_of_storage(case: str) -> None:
    """The plugin that rejected the pod for its claim registered for the change."""
    claim, change = STORAGE_RETRIES[case]
    harness = SchedulerHarness()
    harness.informers.put(CLASSES, DELAYED, DYNAMIC)
    harness.informers.put(DRIVERS, {"metadata": {"name": "p"}, "spec": {"storageCapacity": True}})
    harness.informers.put(CLAIMS, claim)
    harness.put(node("n1"), pod("a", volumes=[CLAIM_VOLUME]))
    harness.settle(20)
    assert harness.place("a") == UNSCHEDULABLE, harness.message("a")
    change(harness)
    harness.settle(15)
    # Its volume is bound or provisioned now, for which it waits.
    assert harness.place("a") != UNSCHEDULABLE


@pytest.mark.parametrize(
    ("objects", "waiting", "change"),
    [
        ([node("n1", cpu=1)], pod("a", cpu=2), _put(node("n1", cpu=1, labels={"x": "y"}))),
        ([node("n1", taints=[TAINT])], pod("a"), _put(pod("other", on="n1"))),
        ([node("n1")], pod("a", nodeSelector={"disk": "ssd"}), _put(node("n1", labels={"disk": "hdd"}, cpu=4))),
        ([node("n1")], pod("a", affinity=_affinity("podAffinity")), _put(pod("other", on="n1", namespace="elsewhere"))),
    ],
)
def test_pods_stay_after_changes_that_do_not_help(objects: list[Object], waiting: Object, change: Change) -> None:
    """A change of another sort, or one that leaves the pod without a node, binds nothing."""
    harness = SchedulerHarness()
    harness.put(*objects, waiting)
    harness.settle(20)
    change(harness)
    harness.settle(15)
    assert harness.place("a") == UNSCHEDULABLE and not harness.where("a")


def test_resource_that_no_node_had_before() -> None:
    """Pods that request it are scheduled when a node has it, also after others that requested it in vain."""
    harness = SchedulerHarness()
    wanting = [{"name": "c", "image": "i", "resources": {"requests": {"example.com/x": "1"}}}]
    harness.put(node("n1"), pod("a", containers=wanting))
    harness.settle(20)
    assert harness.place("a") == UNSCHEDULABLE
    larger = node("n1")
    larger["status"]["allocatable"]["example.com/x"] = "2"
    harness.put(larger)
    harness.settle(15)
    harness.put(pod("b", containers=wanting), pod("c", containers=wanting))
    harness.settle(15)
    assert [harness.where(name) for name in "abc"] == ["n1", "n1", ""]


def test_nodes_that_come_later_get_pods() -> None:
    """A node that is added after decisions, also in the place of one that went, is known by its name."""
    harness = SchedulerHarness()
    harness.put(node("n1"), node("n2"), pod("a"))
    harness.settle(1)
    harness.put(node("n3"), pod("b", nodeSelector={HOST: "n3"}))
    harness.settle(1)
    harness.informers.informer(ResourceRef("", "v1", "nodes")).remove("", "n1")
    harness.put(node("n4"), pod("c", nodeSelector={HOST: "n4"}))
    harness.settle(1)
    assert (harness.where("b"), harness.where("c")) == ("n3", "n4")


@pytest.mark.parametrize("release", [SPECIFICATION, NEWEST])
def test_followed_resources_are_served(release: Release) -> None:
    """Each resource whose changes bring pods back is one of the API, in the version that the release serves."""
    catalog = builtin_catalog(ORCH, release)
    for plural, (ref, _) in event_sources(ORCH, release).others.items():
        assert ref.plural == plural and catalog.resource(ref.group, ref.version, plural) is not None


@pytest.mark.parametrize("name", ["n1", "n2"])
def test_node_that_did_not_change_retries_nothing(name: str) -> None:
    """Reports of nodes come all the time; a new label may help."""
    term = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": "missing"}}}
    beside = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    harness = SchedulerHarness()
    harness.put(node("n1"), node("n2"), pod("p", cpu=1, affinity=beside))
    harness.settle(2)
    place = harness.place("p")
    reported = node(name)
    reported["metadata"]["annotations"] = {"reported": "now"}
    harness.put(reported)
    assert (place, harness.place("p")) == ("unschedulable", "unschedulable")
    harness.put(node(name, labels={"new": "label"}))
    assert harness.place("p") != "unschedulable"
