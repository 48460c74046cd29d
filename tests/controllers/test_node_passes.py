"""Health and taints of nodes, and the eviction of pods by taints, without a server."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.task import Clock

from orchd.controllers.nodelifecycle.controller import NodeLifecycleController
from orchd.controllers.nodelifecycle.eviction import TaintEviction
from orchd.controllers.nodelifecycle.health import Taints, conditions_of_silence
from orchd.controllers.objects import BY_NODE, NODES, PODS, pods_node
from orchd.dialect import ORCH
from orchd.kinds.times import timestamp
from orchd.testing.doubles.informers import MemoryInformers
from orchd.testing.doubles.results import result_of
from orchd.testing.doubles.server import NOW, run
from tests.controllers.lagging_support import RecordedEvents
from tests.controllers.recording_support import MISSING, recording_client
from tests.controllers.unit_support import ControllerBench

Entry = dict[str, Any]
PREFIX = ORCH("node.{long}.io/")
CREATED, TIME = "2026-01-01T00:00:00Z", timestamp(NOW)
REPORTED = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")


def node(conditions: Any = (), taints: Any = (), labels: Any = None, **spec: Any) -> Entry:
    return {
        "metadata": {
            "name": "n",
            "uid": "n",
            "resourceVersion": "1",
            "creationTimestamp": CREATED,
            "labels": labels or {},
        },
        "spec": {"taints": list(taints), **spec},
        "status": {"conditions": [{"type": type_, "status": status} for type_, status in conditions]},
    }


def test_conditions_of_a_node_that_never_reported() -> None:
    """All that nodes report, since the creation of the node; others stay."""
    conditions = conditions_of_silence(ORCH, node([("Other", "True")]), NOW)
    fresh = {
        "status": "Unknown",
        "reason": "NodeStatusNeverUpdated",
        "message": ORCH("{Short}let never posted node status."),
        "lastHeartbeatTime": CREATED,
        "lastTransitionTime": TIME,
    }
    assert conditions is not None
    assert sorted(conditions, key=lambda each: REPORTED.index(each["type"]) if each["type"] in REPORTED else 9) == [
        *({"type": type_, **fresh} for type_ in REPORTED),
        {"type": "Other", "status": "True"},
    ]


@pytest.mark.parametrize(
    ("ready", "pressure", "changed"),
    [("True", "False", True), ("False", "False", True), ("Unknown", "False", False), ("Unknown", "Unknown", False)],
)
def test_conditions_of_a_node_that_fell_silent(ready: str, pressure: str, changed: bool) -> None:
    """The condition Ready decides."""
    conditions = conditions_of_silence(ORCH, node([("Ready", ready), ("MemoryPressure", pressure)]), NOW)
    assert (conditions is not None) == changed
    if conditions is not None:
        assert conditions[0] == {
            "type": "Ready",
            "status": "Unknown",
            "reason": "NodeStatusUnknown",
            "message": ORCH("{Short}let stopped posting node status."),
            "lastTransitionTime": TIME,
        }
        assert {each["status"] for each in conditions} == {"Unknown"}


def taint(key: str, effect: str = "NoSchedule") -> Entry:
    return {"key": PREFIX + key, "effect": effect}


OTHER = {"key": "other", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("of", "keys"),
    [
        (node([("Ready", "True")]), None),
        (node([("Ready", "False")]), ["not-ready"]),
        (node([("Ready", "Unknown")]), ["unreachable"]),
        (node([("Ready", "False")], [taint("not-ready")]), None),
        (node([("Ready", "False")], [taint("not-ready", "NoExecute")]), ["not-ready"]),
        (node([("Ready", "True")], [taint("not-ready")]), []),
        (node([("Ready", "True")], [taint("own")]), None),
        (node([("Ready", "True")], unschedulable=True), ["unschedulable"]),
        (node([("Ready", "True")], [taint("unschedulable")]), []),
        (
            node([(each, "True") for each in ("MemoryPressure", "DiskPressure", "NetworkUnavailable", "PIDPressure")]),
            ["memory-pressure", "disk-pressure", "network-unavailable", "pid-pressure"],
        ),
    ],
)
def test_taints_by_condition(of: Entry, keys: list[str] | None) -> None:
    """Missing ones are added, and those without their condition removed; taints of others stay."""
    of["spec"]["taints"].append(OTHER)
    taints = Taints(ORCH).no_schedule(of, NOW)
    if keys is None:
        assert taints is None
        return
    assert taints is not None and OTHER in taints
    fresh = [each["key"].removeprefix(PREFIX) for each in taints if each != OTHER and each["effect"] == "NoSchedule"]
    assert fresh == keys
    assert all(each["timeAdded"] == TIME for each in taints if "timeAdded" in each)


def lifecycle(of: Entry, client: Any = None) -> ControllerBench:
    bench = ControllerBench(NodeLifecycleController, client)
    result_of(bench.controller.listen())
    bench.informers.put(NODES, of)
    return bench


OS, BETA_OS = ORCH("{long}.io/os"), ORCH("beta.{long}.io/os")
ARCH, BETA_ARCH = ORCH("{long}.io/arch"), ORCH("beta.{long}.io/arch")


@pytest.mark.parametrize(
    ("of", "bodies"),
    [
        (node([("Ready", "True")]), []),
        (
            node([("Ready", "False")]),
            [{"metadata": {"resourceVersion": "1"}, "spec": {"taints": [{**taint("not-ready"), "timeAdded": TIME}]}}],
        ),
        (
            node([("Ready", "True")], labels={OS: "l", ARCH: "a"}),
            [{"metadata": {"labels": {BETA_OS: "l", BETA_ARCH: "a"}}}],
        ),
        (node([("Ready", "True")], labels={OS: "l", BETA_OS: "l"}), []),
        (node([("Ready", "True")], labels={OS: "l", BETA_OS: "w"}), [{"metadata": {"labels": {BETA_OS: "l"}}}]),
        (node([("Ready", "True")], labels={BETA_OS: "w"}), []),
    ],
)
def test_pass_over_a_node(of: Entry, bodies: list[Entry]) -> None:
    """Writes the taints of its conditions, and the deprecated labels of its system."""
    bench = lifecycle(of)
    assert bench.queued() == [("", "n")]
    assert result_of(bench.controller.reconcile(("", "n"))) is None
    assert bench.client.bodies == bodies
    bench.informers.informer(NODES).remove("", "n")
    assert not bench.queued() and result_of(bench.controller.reconcile(("", "n"))) is None


def test_nodes_are_announced_once() -> None:
    """When they are first checked, and when they are gone."""
    bench = lifecycle(node([("Ready", "True")]))
    for _ in range(2):
        result_of(bench.controller.check_health())
    assert bench.events.notes == [("RegisteredNode", "Node n event: Registered Node n in Controller")]
    bench.informers.informer(NODES).remove("", "n")
    for _ in range(2):
        result_of(bench.controller.check_health())
    assert bench.events.notes[1:] == [("RemovingNode", "Node n event: Removing Node n from Controller")]


@pytest.mark.parametrize(
    ("ready", "present", "expected"),
    [
        ("False", "unreachable", ["not-ready"]),
        ("Unknown", "not-ready", ["unreachable"]),
        ("False", "not-ready", None),
        ("Unknown", "unreachable", None),
        ("True", "not-ready", []),
        ("True", "unreachable", []),
    ],
)
def test_taints_that_evict_follow_the_readiness(ready: str, present: str, expected: list[str] | None) -> None:
    """One is replaced by the other at once, and both go when the node is ready."""
    bench = lifecycle(node([("Ready", ready)], [taint(present, "NoExecute"), OTHER]))
    # A new node loses the taint.
    result_of(bench.controller.check_health())
    bench.client.calls.clear()
    bench.client.bodies.clear()
    result_of(bench.controller.check_health())
    written = [body["spec"]["taints"] for body in bench.client.bodies]
    if expected is None:
        assert not written
        return
    (taints,) = written
    assert [each["key"].removeprefix(PREFIX) for each in taints if each != OTHER] == expected and OTHER in taints


# -- eviction


def pod(seconds: int | None = None, on: str = "n", uid: str = "p", **metadata: Any) -> Entry:
    """A pod that tolerates the taint for some seconds, -1 for ever, None for not at all."""
    toleration: Entry = {"key": "k", "operator": "Exists", "effect": "NoExecute"}
    if seconds is not None and seconds >= 0:
        toleration["tolerationSeconds"] = seconds
    spec = {"nodeName": on, "tolerations": [] if seconds is None else [toleration]}
    return {"metadata": {"name": "p", "namespace": "a", "uid": uid, **metadata}, "spec": spec}


class Evicting:
    def __init__(self, client: Any = None) -> None:
        self.client, self.events, self.clock = client or recording_client(), RecordedEvents(), Clock()
        informers = MemoryInformers()
        self.pods = informers.informer(PODS)
        self.pods.add_index(BY_NODE, pods_node)
        self.eviction = TaintEviction(self.client, self.events, self.pods, self.clock, None)
        self.pods.add_listener(self.eviction.pod_changed)
        self.eviction.loop.start()

    def taint(self, *taints: Entry, name: str = "n") -> None:
        each = {"metadata": {"name": name}, "spec": {"taints": list(taints)}}
        self.eviction.node_changed("MODIFIED", each, each)

    def deleted(self) -> int:
        return len([verb for verb, _, _ in self.client.calls if verb == "delete"])


TAINT = {"key": "k", "effect": "NoExecute"}


@pytest.mark.parametrize(
    ("seconds", "on", "taints", "at"),
    [
        (None, "n", [TAINT], 0),
        (0, "n", [TAINT], 0),
        (10, "n", [TAINT], 10),
        (-1, "n", [TAINT], None),
        (None, "m", [TAINT], None),
        (None, "n", [{**TAINT, "effect": "NoSchedule"}], None),
        (-1, "n", [TAINT, {**TAINT, "key": "l"}], 0),
    ],
)
@pytest.mark.parametrize("pod_first", [True, False])
def test_pods_are_evicted_when_their_toleration_ends(
    seconds: int | None, on: str, taints: list[Entry], at: int | None, pod_first: bool
) -> None:
    evicting = Evicting()
    if pod_first:
        evicting.pods.put(pod(seconds, on))
        evicting.taint(*taints)
    else:
        evicting.taint(*taints)
        evicting.pods.put(pod(seconds, on))
    if at:
        evicting.clock.advance(at - 0.1)
        assert not evicting.deleted()
        evicting.clock.advance(0.1)
    else:
        evicting.clock.advance(0)
    if at is None:
        evicting.clock.advance(100)
        assert not evicting.client.calls and not evicting.events.notes
        return
    assert evicting.client.bodies == [{"preconditions": {"uid": "p"}}]
    assert evicting.events.notes == [("TaintManagerEviction", "Marking for deletion Pod a/p")]
    assert sum(evicting.eviction.deletions.values.values()) == 1
    (delay,) = evicting.eviction.delays.values.values()
    assert delay.count == 1 and delay.sum == pytest.approx(0)


def test_eviction_is_cancelled_with_the_taint() -> None:
    """And begins anew with the next one."""
    evicting = Evicting()
    evicting.pods.put(pod(10))
    evicting.taint(TAINT)
    evicting.clock.advance(5)
    evicting.taint()
    evicting.clock.advance(0)
    assert evicting.events.notes == [("TaintManagerEviction", "Cancelling deletion of Pod a/p")]
    evicting.taint(TAINT)
    evicting.clock.advance(9)
    assert not evicting.deleted()
    evicting.clock.advance(1)
    assert evicting.deleted() == 1


@pytest.mark.parametrize("change", [pod(10, uid="q"), pod(10, deletionTimestamp=CREATED), None])
def test_eviction_belongs_to_one_pod(change: Entry | None) -> None:
    """Another pod of the name has its own time; one that is deleted or gone is not evicted."""
    evicting = Evicting()
    evicting.pods.put(pod(10))
    evicting.taint(TAINT)
    evicting.clock.advance(5)
    if change is None:
        evicting.pods.remove("a", "p")
    else:
        evicting.pods.put(change)
    evicting.clock.advance(5)
    assert not evicting.deleted()
    evicting.clock.advance(5)
    assert evicting.deleted() == (1 if change is not None and change["metadata"]["uid"] == "q" else 0)
    evicting.pods.put(pod(10))
    evicting.clock.advance(5)
    assert evicting.deleted() == (1 if change is not None and change["metadata"]["uid"] == "q" else 0)


def test_pod_that_is_gone_is_evicted_without_failure() -> None:
    evicting = Evicting(recording_client(delete=MISSING))
    evicting.taint(TAINT)
    evicting.pods.put(pod())
    evicting.clock.advance(100)
    assert evicting.deleted() == 1 and evicting.eviction.loop.counts.failed == 0
    run(evicting.eviction.loop.stop())
