"""Nodes that stop sending heartbeats, and the pods on them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.task import Clock

from orchd.client.interfaces import ResourceRef
from orchd.controllers.nodelifecycle.controller import _TAINTING_PERIOD, NodeLifecycleController
from orchd.controllers.nodelifecycle.eviction import TaintEviction, tolerated_for
from orchd.controllers.nodelifecycle.zones import FULL, NORMAL, PARTIAL, Zones, zone_of, zone_state
from orchd.controllers.objects import BY_NODE, NODES, PODS, pods_node
from orchd.controllers.settings import ControllerSettings
from orchd.dialect import ORCH
from orchd.errors import ApiError
from orchd.kinds.times import microtime, timestamp
from orchd.testing.doubles.informers import MemoryInformer
from orchd.testing.doubles.results import result_of
from orchd.testing.doubles.server import NOW, run
from tests.controllers.cluster_support import Cluster
from tests.controllers.lagging_support import RecordedEvents
from tests.controllers.recording_support import CONFLICT, FORBIDDEN, MISSING, RecordingClient
from tests.controllers.unit_support import ControllerBench

EVENTS = ResourceRef("", "v1", "events")
LEASES = ResourceRef(ORCH("coordination.{abbr}.io"), "v1", "leases")
LEASE_NAMESPACE = ORCH("{short}-node-lease")
NOT_READY, UNREACHABLE = (ORCH("node.{long}.io/") + what for what in ("not-ready", "unreachable"))


class Nodes:
    """A cluster whose nodes a test plays."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.alive: set[str] = set()

    def add(self, name: str, ready: str = "True", **spec: Any) -> None:
        conditions = [
            {
                "type": "Ready",
                "status": ready,
                "lastHeartbeatTime": timestamp(NOW),
                "lastTransitionTime": timestamp(NOW),
            }
        ]
        node = {"metadata": {"name": name, "labels": {ORCH("{long}.io/os"): "linux"}}, "spec": spec}
        self.cluster.create(NODES, {**node, "status": {"conditions": conditions if ready else []}}, "")
        self.cluster.create(LEASES, {"metadata": {"name": name}, "spec": {"holderIdentity": name}}, LEASE_NAMESPACE)
        self.alive.add(name)

    def pass_(self, seconds: int) -> None:
        """Advance the time while live nodes renew their leases."""
        for step in range(seconds):
            if step % 10 == 0:
                for name in self.alive:
                    renewed = {"spec": {"renewTime": microtime(NOW + self.cluster.passed)}}
                    run(
                        self.cluster.client.patch(
                            LEASES, LEASE_NAMESPACE, name, renewed, content_type="application/merge-patch+json"
                        )
                    )
            self.cluster.settle(1)

    def ready(self, name: str) -> tuple[str, str]:
        node = self.cluster.get(NODES, name, "")
        assert node is not None
        [condition] = [c for c in node["status"]["conditions"] if c["type"] == "Ready"]
        return condition["status"], condition.get("reason", "")

    def taints(self, name: str) -> set[tuple[str, str]]:
        node = self.cluster.get(NODES, name, "")
        assert node is not None
        return {(t["key"], t["effect"]) for t in node["spec"].get("taints") or ()}

    def pod(self, name: str, node: str, *tolerations: dict[str, Any]) -> None:
        spec = {"containers": [{"name": "c", "image": "x"}], "nodeName": node, "tolerations": list(tolerations)}
        self.cluster.create(PODS, {"metadata": {"name": name}, "spec": spec})

    def messages(self, namespace: str = "default") -> list[tuple[str, str]]:
        self.cluster.settle()
        return [(e["reason"], e["message"]) for e in self.cluster.items(EVENTS, namespace)]


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[Nodes]:
    """A cluster with only this controller."""
    cluster = Cluster(tmp_path, ["nodelifecycle"])
    cluster.namespace()
    yield Nodes(cluster)
    cluster.stop()


def toleration(seconds: int | None = None, key: str = UNREACHABLE) -> dict[str, Any]:
    toleration: dict[str, Any] = {"key": key, "operator": "Exists", "effect": "NoExecute"}
    return toleration if seconds is None else {**toleration, "tolerationSeconds": seconds}


def test_taints_follow_conditions(nodes: Nodes) -> None:
    """NoSchedule taints follow the conditions and spec.unschedulable; other taints stay."""
    nodes.add("n", "False", taints=[{"key": "mine", "effect": "NoSchedule"}])
    nodes.pass_(1)
    assert ("mine", "NoSchedule") in nodes.taints("n") and (NOT_READY, "NoSchedule") in nodes.taints("n")
    status = {"conditions": [{"type": "Ready", "status": "True"}, {"type": "PIDPressure", "status": "True"}]}
    nodes.cluster.patch(NODES, "n", {"status": status}, "", "status")
    nodes.pass_(11)
    assert nodes.taints("n") == {("mine", "NoSchedule"), (ORCH("node.{long}.io/pid-pressure"), "NoSchedule")}
    nodes.cluster.patch(NODES, "n", {"spec": {"unschedulable": True}}, "")
    assert (ORCH("node.{long}.io/unschedulable"), "NoSchedule") in nodes.taints("n")
    node = nodes.cluster.get(NODES, "n", "")
    assert node is not None and node["metadata"]["labels"][ORCH("beta.{long}.io/os")] == "linux"


def test_silent_node_becomes_unknown_and_is_drained(nodes: Nodes) -> None:
    """A node whose lease is not renewed becomes Unknown after the grace period; its pods become unready, and are
    deleted when their tolerations expire. Pods of healthy nodes stay."""
    for name in ("a", "b"):
        nodes.add(name)
    nodes.pod("stays", "a", toleration(), toleration(key=NOT_READY))
    nodes.pod("leaves", "a", toleration(30), toleration(key=NOT_READY))
    nodes.pod("other", "b", toleration(30))
    conditions = [{"type": "Ready", "status": "True"}]
    nodes.cluster.patch(PODS, "stays", {"status": {"conditions": conditions}}, subresource="status")
    nodes.pass_(60)
    assert nodes.ready("a")[0] == "True"
    nodes.alive.remove("a")
    nodes.pass_(25)
    assert nodes.ready("a")[0] == "True"
    nodes.pass_(25)
    assert nodes.ready("a") == ("Unknown", "NodeStatusUnknown")
    assert nodes.taints("a") == {(UNREACHABLE, "NoSchedule"), (UNREACHABLE, "NoExecute")}
    assert nodes.taints("b") == set()
    pod = nodes.cluster.get(PODS, "stays")
    assert pod is not None and pod["status"]["conditions"][0]["status"] == "False"
    nodes.pass_(40)
    assert all(nodes.cluster.get(PODS, name) is not None for name in ("stays", "other"))
    leaving = nodes.cluster.get(PODS, "leaves")
    assert leaving is None or leaving["metadata"].get("deletionTimestamp")
    said = nodes.messages()
    assert ("RegisteredNode", "Node a event: Registered Node a in Controller") in said
    assert ("NodeNotReady", "Node a status is now: NodeNotReady") in said
    assert ("TaintManagerEviction", "Marking for deletion Pod a/leaves") in nodes.messages("a")
    assert ("NodeNotReady", "Node is not ready") in nodes.messages("a")


def test_nothing_is_looked_at_while_no_node_waits(nodes: Nodes, monkeypatch: pytest.MonkeyPatch) -> None:
    """The taint queue is polled only while there is a node in it."""
    delays: list[float] = []
    clock = nodes.cluster.server.clock
    later = clock.callLater

    def noted(delay: float, *arguments: Any, **named: Any) -> Any:
        delays.append(delay)
        return later(delay, *arguments, **named)

    nodes.add("a")
    nodes.add("b")
    nodes.pass_(10)
    monkeypatch.setattr(clock, "callLater", noted)
    nodes.pass_(30)
    assert delays and _TAINTING_PERIOD not in delays
    nodes.alive.remove("a")
    nodes.pass_(60)
    assert _TAINTING_PERIOD in delays
    assert (UNREACHABLE, "NoExecute") in nodes.taints("a")


def test_returning_node_loses_its_taints_and_keeps_its_pods(nodes: Nodes) -> None:
    """A node that returns in time loses its taints and keeps its pods."""
    for name in ("a", "b"):
        nodes.add(name)
    nodes.pod("p", "a", toleration(300), toleration(300, NOT_READY))
    nodes.pass_(10)
    nodes.alive.remove("a")
    nodes.pass_(70)
    assert (UNREACHABLE, "NoExecute") in nodes.taints("a")
    nodes.alive.add("a")
    back = [{"type": "Ready", "status": "True", "lastHeartbeatTime": timestamp(NOW + 1000)}]
    nodes.cluster.patch(NODES, "a", {"status": {"conditions": back}}, "", "status")
    nodes.pass_(10)
    assert nodes.taints("a") == set()
    nodes.pass_(300)
    assert nodes.cluster.get(PODS, "p") is not None
    assert ("TaintManagerEviction", "Cancelling deletion of Pod a/p") in nodes.messages("a")


def test_nothing_is_evicted_when_all_nodes_are_silent(nodes: Nodes) -> None:
    """If all nodes are silent no pod is evicted, since the control plane itself is probably disconnected."""
    for name in ("a", "b"):
        nodes.add(name)
    nodes.pod("p", "a")
    nodes.pass_(10)
    nodes.alive.clear()
    nodes.pass_(120)
    assert nodes.ready("a")[0] == nodes.ready("b")[0] == "Unknown"
    assert not [effect for name in "ab" for _, effect in nodes.taints(name) if effect == "NoExecute"]
    assert nodes.cluster.get(PODS, "p") is not None


def test_taints_are_removed_when_the_last_node_is_lost(nodes: Nodes) -> None:
    """When the last node is lost, existing taints are removed until a node returns."""
    for name in ("a", "b"):
        nodes.add(name)
    nodes.pass_(10)
    nodes.alive.remove("a")
    nodes.pass_(60)
    assert (UNREACHABLE, "NoExecute") in nodes.taints("a")
    nodes.alive.clear()
    nodes.pass_(60)
    assert (UNREACHABLE, "NoExecute") not in nodes.taints("a") | nodes.taints("b")
    nodes.alive.add("b")
    back = [{"type": "Ready", "status": "True", "lastHeartbeatTime": timestamp(NOW + 1000)}]
    nodes.cluster.patch(NODES, "b", {"status": {"conditions": back}}, "", "status")
    nodes.pass_(70)
    assert (UNREACHABLE, "NoExecute") in nodes.taints("a")


def test_new_node_has_the_startup_grace_period(nodes: Nodes) -> None:
    """A node that has never reported has the longer grace period for startup."""
    nodes.add("other")
    nodes.add("n", ready="")
    nodes.alive.discard("n")
    nodes.pass_(50)
    node = nodes.cluster.get(NODES, "n", "")
    assert node is not None and not node["status"].get("conditions")
    nodes.pass_(20)
    assert nodes.ready("n") == ("Unknown", "NodeStatusNeverUpdated")


def test_node_that_returned_before_tainting_is_tainted_later(nodes: Nodes) -> None:
    """A node that returns while it is queued is tainted when it becomes silent again."""
    for name in ("m", "n", "o", "p"):
        nodes.add(name)
    nodes.pass_(1)
    nodes.alive -= {"m", "n"}
    waiting = ["m", "n"]
    for _ in range(60):
        nodes.pass_(1)
        waiting = [name for name in waiting if (UNREACHABLE, "NoExecute") not in nodes.taints(name)]
        if len(waiting) == 1:
            break
    assert len(waiting) == 1
    nodes.alive.add(waiting[0])
    conditions = [
        {
            "type": "Ready",
            "status": "True",
            "lastHeartbeatTime": timestamp(NOW + 50),
            "lastTransitionTime": timestamp(NOW + 50),
        }
    ]
    nodes.cluster.patch(NODES, waiting[0], {"status": {"conditions": conditions}}, "", subresource="status")
    nodes.pass_(20)
    assert (UNREACHABLE, "NoExecute") not in nodes.taints(waiting[0])
    nodes.alive.discard(waiting[0])
    nodes.pass_(60)
    assert (UNREACHABLE, "NoExecute") in nodes.taints(waiting[0])


def test_without_the_taint_manager_pods_are_evicted_after_the_timeout(tmp_path: Path) -> None:
    """With --enable-taint-manager=false pods of a failed node are deleted after --pod-eviction-timeout, except those of
    daemon sets; later pods are deleted as well, and the node gets no NoExecute taint. A node that is ready again keeps
    its pods."""
    cluster = Cluster(tmp_path, ["nodelifecycle"], ["--enable-taint-manager=false", "--pod-eviction-timeout=1m"])
    cluster.namespace()
    nodes = Nodes(cluster)
    for name in ("m", "n", "o"):
        nodes.add(name)
    nodes.pod("gone", "n")
    nodes.pod("kept", "m")
    daemon = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "u", "controller": True}
    spec = {"containers": [{"name": "c", "image": "x"}], "nodeName": "n"}
    cluster.create(PODS, {"metadata": {"name": "daemon", "ownerReferences": [daemon]}, "spec": spec})
    nodes.pass_(1)
    nodes.alive.discard("n")
    nodes.pass_(50)
    assert nodes.ready("n")[0] == "Unknown"
    assert not deleting(cluster, "gone")
    nodes.pass_(30)
    assert deleting(cluster, "gone")
    assert not deleting(cluster, "kept")
    assert not deleting(cluster, "daemon")
    assert not [effect for _, effect in nodes.taints("n") if effect == "NoExecute"]
    notes = nodes.messages()
    assert ("DeletingAllPods", "Node n event: Deleting all Pods from Node n.") in notes
    assert ("NodeControllerEviction", "Marking for deletion Pod gone from Node n") in nodes.messages("a")
    nodes.pod("late", "n")
    nodes.pass_(6)
    assert deleting(cluster, "late")
    cluster.stop()


def deleting(cluster: Cluster, name: str) -> bool:
    pod = cluster.get(PODS, name)
    return pod is None or bool(pod["metadata"].get("deletionTimestamp"))


def test_node_removal_is_recorded_as_an_event(nodes: Nodes) -> None:
    """The removal of a node is recorded as an Event."""
    nodes.add("n")
    nodes.pass_(6)
    nodes.alive.clear()
    nodes.cluster.delete(NODES, "n", "")
    nodes.pass_(6)
    assert ("RemovingNode", "Node n event: Removing Node n from Controller") in nodes.messages()


@pytest.mark.parametrize(
    ("tolerations", "seconds"),
    [
        ([], 0.0),
        ([toleration()], None),
        ([toleration(30)], 30.0),
        ([toleration(-5)], 0.0),
        ([{"operator": "Exists"}], None),
        ([toleration(30, "other")], 0.0),
    ],
)
def test_shortest_toleration_counts(tolerations: list[dict[str, Any]], seconds: float | None) -> None:
    """The shortest matching toleration applies; a taint without a match is not tolerated."""
    assert tolerated_for([{"key": UNREACHABLE, "effect": "NoExecute"}], tolerations) == seconds


@pytest.mark.parametrize(
    ("good", "bad", "state"),
    [(3, 0, NORMAL), (0, 1, FULL), (2, 2, NORMAL), (2, 3, PARTIAL), (3, 3, NORMAL), (0, 0, NORMAL), (9, 11, PARTIAL)],
)
def test_zone_states(good: int, bad: int, state: str) -> None:
    """A zone is partially disrupted if more than two nodes, and the threshold's share, are lost; fully if all are."""
    assert zone_state([True] * good + [False] * bad, 0.55) == state


def test_eviction_rates_by_zone_state() -> None:
    """Zones are evicted at the normal rate, at a lower one or not at all, depending on the share of lost nodes."""
    zones = Zones(
        ControllerSettings(node_eviction_rate=1.0, secondary_node_eviction_rate=0.5, large_cluster_size_threshold=5)
    )
    for key in ("normal", "small", "large"):
        for number in range(9):
            zones.zone(key, 0.0).add(f"{key}-{number}")
    assert not zones.zone("normal", 0.0).add("normal-0")
    lost = {"normal": [True] * 9, "small": [False] * 4 + [True], "large": [False] * 8 + [True]}
    assert zones.update(lost, 0.0) == ""
    taken = [name.partition("-")[0] for second in range(5) for _, name in zones.due(float(second))]
    assert {key: taken.count(key) for key in ("normal", "small", "large")} == {"normal": 5, "small": 0, "large": 3}
    assert zones.update({key: [False] for key in lost}, 5.0) == "entered"
    assert not list(zones.due(100.0))
    assert zones.update({key: [True] for key in lost}, 101.0) == "left"
    assert len(list(zones.due(102.0))) == 3


def test_unchanged_zone_state_adds_no_tokens() -> None:
    """Passes over a zone with an unchanged state do not refill its token bucket."""
    zones = Zones(ControllerSettings(node_eviction_rate=0.125))
    for number in range(3):
        zones.zone("z", 0.0).add(str(number))
    taken = []
    for second in range(12):
        zones.update({"z": [False, False, True]}, float(second))
        taken += [(second, name) for _, name in zones.due(float(second))]
    assert taken == [(0, "0"), (8, "1")]


class Deletions:
    """An API client that records deletions."""

    def __init__(self) -> None:
        self.uids: list[str] = []

    async def delete(self, ref: ResourceRef, namespace: str, name: str, *, options: dict[str, Any]) -> None:
        self.uids.append(options["preconditions"]["uid"])


def test_eviction_time_starts_with_the_pod() -> None:
    """The toleration of a pod starts with that pod, even if only its successor of the same name was observed."""
    clock, pods, api = Clock(), MemoryInformer(), Deletions()
    pods.add_index(BY_NODE, pods_node)
    client: Any = api
    eviction = TaintEviction(client, RecordedEvents(), pods, clock, None)
    pods.add_listener(eviction.pod_changed)
    eviction.loop.start()

    def pod(uid: str) -> dict[str, Any]:
        return {
            "metadata": {"namespace": "a", "name": "p", "uid": uid},
            "spec": {"nodeName": "n", "tolerations": [toleration(30)]},
        }

    taint = {"key": UNREACHABLE, "effect": "NoExecute"}
    eviction.node_changed("ADDED", None, {"metadata": {"name": "n"}, "spec": {"taints": [taint]}})
    pods.put(pod("first"))
    clock.advance(20)
    pods.put(pod("second"))
    clock.advance(20)
    assert api.uids == []
    clock.advance(11)
    assert api.uids == ["second"]
    run(eviction.loop.stop())


def test_zone_key_of_region_and_zone_labels() -> None:
    """The zone key is made of region and zone, by current or deprecated labels."""
    new, old = ORCH("topology.{long}.io/"), ORCH("failure-domain.beta.{long}.io/")
    keys = [zone_of(ORCH, {"metadata": {"labels": {p + "region": "r", p + "zone": "z"}}}) for p in (new, old)]
    assert keys[0] == keys[1] != ""
    assert zone_of(ORCH, {"metadata": {}}) == ""


def node_object(name: str, ready: str = "True", **members: Any) -> dict[str, Any]:
    conditions = [{"type": "Ready", "status": ready, "lastHeartbeatTime": timestamp(NOW)}] if ready else []
    metadata = {"name": name, "uid": name, "resourceVersion": "1", "creationTimestamp": timestamp(NOW), **members}
    return {"metadata": metadata, "spec": {}, "status": {"conditions": conditions}}


def _running(name: str, node: str, ready: str = "True") -> dict[str, Any]:
    status = {"conditions": [{"type": "Ready", "status": ready}, {"type": "Initialized", "status": "True"}]}
    return {"metadata": {"name": name, "namespace": "a", "uid": name}, "spec": {"nodeName": node}, "status": status}


def watching(*nodes: dict[str, Any], client: Any = None) -> ControllerBench:
    """A controller that knows the nodes and has looked at them once."""
    bench = ControllerBench(NodeLifecycleController, client)
    result_of(bench.controller.listen())
    for each in nodes:
        bench.informers.put(NODES, each)
    result_of(bench.controller.check_health())
    bench.events.notes.clear()
    bench.client.calls.clear()
    return bench


@pytest.mark.parametrize(
    ("seconds", "ready", "calls"),
    [(40, "True", []), (41, "True", ["update nodes/status n"]), (60, "", []), (61, "", ["update nodes/status n"])],
)
def test_grace_periods_of_silent_nodes(seconds: int, ready: str, calls: list[str]) -> None:
    """Forty seconds, sixty for a node that never had a status; the grace period itself is no silence."""
    bench = watching(node_object("n", ready))
    bench.clock.advance(seconds)
    result_of(bench.controller.check_health())
    assert [" ".join(each) for each in bench.client.calls] == calls


@pytest.mark.parametrize("error", [CONFLICT, MISSING, FORBIDDEN])
def test_node_that_cannot_be_written_delays_no_other(error: ApiError) -> None:
    """It is not counted in this check; every attempt is measured."""
    bench = watching(node_object("m"), node_object("n"))
    bench.clock.advance(41)
    bench.informers.put(NODES, node_object("m", resourceVersion="2") | {"status": {"conditions": [
        {"type": "Ready", "status": "True", "lastHeartbeatTime": timestamp(NOW + 41)}]}})  # fmt: skip
    bench.client.failures["update"] = error
    result_of(bench.controller.check_health())
    assert [" ".join(each) for each in bench.client.calls] == ["update nodes/status n"]
    values = bench.values()
    assert values["node_collector_zone_size"] == {("",): 1} and values["node_collector_zone_health"] == {("",): 100}


def test_nodes_are_counted_by_zone() -> None:
    """Nodes that are excluded from disruption are not counted."""
    zone = {"topology.orch.io/region": "r", "topology.orch.io/zone": "z"}
    bench = watching(
        node_object("a", labels=zone), node_object("b", "False", labels=zone), node_object("c"),
        node_object("d", labels={**zone, "node.orch.io/exclude-disruption": ""}),
    )  # fmt: skip
    values, key = bench.values(), zone_of(ORCH, node_object("a", labels=zone))
    assert values["node_collector_zone_size"] == {(key,): 2, ("",): 1}
    assert values["node_collector_unhealthy_nodes_in_zone"] == {(key,): 1, ("",): 0}
    assert values["node_collector_zone_health"] == {(key,): 50, ("",): 100}


class _PodFailures(RecordingClient):
    """Writes of pods fail."""

    def __init__(self, failure: ApiError | None) -> None:
        super().__init__()
        self.failure = failure

    async def update(self, ref: ResourceRef, *args: Any, **more: Any) -> Any:
        body = await super().update(ref, *args, **more)
        if ref.plural == "pods" and self.failure is not None:
            raise self.failure
        return body

    def marked(self) -> list[str]:
        """Names of the pods that were written since the last call."""
        names = [name for verb, what, name in self.calls if (verb, what) == ("update", "pods/status")]
        self.calls.clear()
        return names


@pytest.mark.parametrize(
    ("failure", "marked", "again"), [(None, ["p", "q"], []), (MISSING, ["p", "q"], []), (CONFLICT, ["p"], ["p"])]
)
def test_pods_of_a_silent_node_are_marked(failure: ApiError | None, marked: list[str], again: list[str]) -> None:
    """As not ready, once, those that are ready; a pod that has gone is skipped, another failure is retried."""
    client = _PodFailures(failure)
    bench = watching(node_object("n"), client=client)
    for pod in (_running("p", "n"), _running("q", "n"), _running("r", "n", "False"), _running("s", "other")):
        bench.informers.put(PODS, pod)
    bench.clock.advance(41)
    result_of(bench.controller.check_health())
    assert client.marked() == marked
    assert ("NodeNotReady", "Node n status is now: NodeNotReady") in bench.events.notes
    assert bench.events.notes.count(("NodeNotReady", "Node is not ready")) == (2 if failure is None else 0)
    (written, *pods) = client.bodies
    assert [c["status"] for c in pods[0]["status"]["conditions"]] == ["False", "True"]
    bench.informers.put(NODES, written)
    bench.events.notes.clear()
    result_of(bench.controller.check_health())
    assert client.marked() == again
    assert ("NodeNotReady", "Node n status is now: NodeNotReady") not in bench.events.notes
