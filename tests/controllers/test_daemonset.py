"""Daemon sets: the plan of one pass by table, and the controller on a server."""

from __future__ import annotations

import json
from typing import Any

import pytest

from orchd.client.interfaces import ResourceRef
from orchd.controllers.daemonset.backoff import Backoff
from orchd.controllers.daemonset.controller import DaemonSetController
from orchd.controllers.daemonset.nodes import NodeFits
from orchd.controllers.daemonset.plans import Placement, Planner
from orchd.controllers.daemonset.template import on_node, target_node
from orchd.controllers.objects import DAEMON_SETS, NODES, PODS, REVISIONS
from orchd.dialect import ORCH
from orchd.testing.doubles.server import run
from tests.controllers.cluster_support import Cluster, template
from tests.controllers.unit_support import ControllerBench
from tests.kinds.test_body_bounds import lines

#: Controllers of `cluster`.
RUNNING_CONTROLLERS = ("daemonset",)

EVENTS = ResourceRef("", "v1", "events")


def node(name: str, *taints: tuple[str, str], **labels: str) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": {"taints": [{"key": k, "effect": e} for k, e in taints]},
    }


def daemons(update: dict[str, Any] | None = None, **pod: Any) -> dict[str, Any]:
    spec: dict[str, Any] = {"template": template({"a": "b"}, **pod), "updateStrategy": update or {"type": "OnDelete"}}
    return {"metadata": {"name": "d"}, "spec": spec}


def rolling(surge: int | str = 0, unavailable: int | str = 0) -> dict[str, Any]:
    return {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}


def pod(name: str, revision: str, *, ready: bool = True, age: int = 0, **changes: Any) -> dict[str, Any]:
    condition = {"type": "Ready", "status": "True" if ready else "False", "lastTransitionTime": "2020-01-01T00:00:00Z"}
    metadata = {
        "name": name,
        "labels": {"controller-revision-hash": revision},
        "creationTimestamp": f"2020-01-01T00:00:{age:02}Z",
    }
    metadata |= changes.pop("metadata", {})
    return {
        "metadata": metadata,
        "spec": {"nodeName": "x"},
        "status": {"phase": "Running", "conditions": [condition], **changes},
    }


@pytest.mark.parametrize(
    ("spec", "taints", "expected"),
    [
        ({}, [], (True, True)),
        ({"nodeName": "other"}, [], (False, False)),
        ({"nodeSelector": {"zone": "b"}}, [], (False, False)),
        ({}, [("k", "NoSchedule")], (False, True)),
        ({}, [("k", "NoExecute")], (False, False)),
        ({}, [("k", "PreferNoSchedule")], (True, True)),
        ({"tolerations": [{"operator": "Exists"}]}, [("k", "NoExecute")], (True, True)),
        ({}, [("node.orch.io/unschedulable", "NoSchedule"), ("node.orch.io/not-ready", "NoExecute")], (True, True)),
        ({}, [("node.orch.io/network-unavailable", "NoSchedule")], (False, True)),
        ({"hostNetwork": True}, [("node.orch.io/network-unavailable", "NoSchedule")], (True, True)),
    ],
)
def test_taints_decide_where_daemons_run(
    spec: dict[str, Any], taints: list[tuple[str, str]], expected: tuple[bool, bool]
) -> None:
    """A NoSchedule taint keeps new pods away, NoExecute existing ones as well."""
    assert Placement(ORCH, daemons(**spec)).fit(node("n", *taints, zone="a")) == expected


def test_tolerations_are_not_read_for_each_node() -> None:
    """A template may have thousands, and a cluster thousands of nodes."""
    tolerations = [{"key": f"k{n}", "operator": "Exists"} for n in range(100)]
    placement = Placement(ORCH, daemons(tolerations=tolerations))
    first, second = (lines(lambda: placement.fit(node("n", ("k99", "NoExecute")))) for _ in range(2))
    assert first > 100 > second


def plan(
    parent: dict[str, Any], by_node: dict[str, list[dict[str, Any]]], nodes: str = "mn", step: str = "place"
) -> tuple[list[str], list[str]]:
    planner = Planner(parent, {n: Placement(ORCH, parent).fit(node(n)) for n in nodes}, by_node, "new", 1e10)
    steps = getattr(planner, step)()
    return sorted(p["metadata"]["name"] for p in steps.delete), sorted(steps.create)


GOING: dict[str, Any] = {"metadata": {"deletionTimestamp": "2020-01-01T00:00:00Z"}}


def failing(name: str) -> dict[str, Any]:
    return pod(name, "new", phase="Failed")


@pytest.mark.parametrize(
    ("parent", "by_node", "expected"),
    [
        (daemons(), {}, ([], ["m", "n"])),
        (daemons(), {"m": [pod("p", "new")]}, ([], ["n"])),
        (daemons(), {"m": [pod("p", "new")], "n": [pod("young", "new", age=2), pod("old", "x", age=1)]}, (["young"], [])),
        # A terminating pod occupies its node: the next one is created when it is gone.
        (daemons(), {"m": [pod("p", "new", **GOING)], "n": [pod("q", "new")]}, ([], [])),
        # With surge there may be two pods, so a terminating one does not occupy its node.
        (daemons(rolling(1)), {"m": [pod("p", "new", **GOING)], "n": [pod("q", "new")]}, ([], ["m"])),
        # The old pod stays until the new one is available,
        (daemons(rolling(1)), {"m": [pod("o", "x"), pod("p", "new", ready=False)], "n": [pod("q", "new")]}, ([], [])),
        (daemons(rolling(1)), {"m": [pod("o", "x"), pod("p", "new")], "n": [pod("q", "new")]}, (["o"], [])),
        # or when it is not ready itself.
        (daemons(rolling(1)), {"m": [pod("o", "x", ready=False), pod("p", "new", ready=False)], "n": [pod("q", "new")]}, (["o"], [])),
        (daemons(nodeName="m"), {"m": [pod("p", "new")], "n": [pod("q", "new")]}, (["q"], [])),
    ],
)  # fmt: skip
def test_one_pod_per_suitable_node(
    parent: dict[str, Any], by_node: dict[str, Any], expected: tuple[list[str], list[str]]
) -> None:
    """Each suitable node has one pod, the oldest of several; other nodes have none."""
    assert plan(parent, by_node) == expected


def test_unscheduled_pod_of_a_removed_node_is_deleted() -> None:
    """A pod that was never scheduled is deleted with its node; a running one is left to the pod garbage collector."""
    waiting = {**pod("w", "new"), "spec": {}}
    assert plan(daemons(), {"m": [pod("p", "new")], "n": [pod("q", "new")], "gone": [waiting, pod("r", "new")]}) == (
        ["w"],
        [],
    )


@pytest.mark.parametrize(
    ("strategy", "by_node", "expected"),
    [
        ({"type": "OnDelete"}, {"m": [pod("p", "x")]}, ([], [])),
        # One at a time,
        (rolling(0, 1), {"m": [pod("p", "x")], "n": [pod("q", "x")]}, (["p"], [])),
        (rolling(0, 2), {"m": [pod("p", "x")], "n": [pod("q", "x")]}, (["p", "q"], [])),
        (rolling(0, "50%"), {"m": [pod("p", "x")], "n": [pod("q", "x")]}, (["p"], [])),
        (rolling(0, 0), {"m": [pod("p", "x")], "n": [pod("q", "x")]}, (["p"], [])),
        # not before the new one is available,
        (rolling(0, 1), {"m": [pod("p", "new", ready=False)], "n": [pod("q", "x")]}, ([], [])),
        (rolling(0, 1), {"m": [pod("p", "new", **GOING)], "n": [pod("q", "x")]}, ([], [])),
        (rolling(0, 1), {"m": [pod("p", "new")], "n": [pod("q", "x")]}, (["q"], [])),
        # but what does not work may always go.
        (rolling(0, 1), {"m": [pod("p", "new", ready=False)], "n": [pod("q", "x", ready=False)]}, (["q"], [])),
        (rolling(1), {"m": [pod("p", "x")], "n": [pod("q", "x")]}, ([], ["m"])),
        (rolling(1), {"m": [pod("p", "x"), pod("r", "new", ready=False)], "n": [pod("q", "x")]}, ([], [])),
        (rolling(1), {"m": [pod("p", "x"), pod("r", "new")], "n": [pod("q", "x")]}, (["p"], ["n"])),
        (rolling(1), {"m": [pod("p", "x"), pod("r", "new", ready=False)], "n": [pod("q", "x", ready=False)]}, ([], ["n"])),
    ],
)  # fmt: skip
def test_rolling_update_respects_max_unavailable_and_max_surge(
    strategy: dict[str, Any], by_node: dict[str, Any], expected: tuple[list[str], list[str]]
) -> None:
    """Old pods are replaced within maxUnavailable, or surged upon within maxSurge."""
    assert plan(daemons(strategy), by_node, step="roll") == expected


def test_pod_of_the_current_generation_is_up_to_date() -> None:
    """A pod of the current generation is up to date, whatever its hash."""
    parent = daemons(rolling(0, 1))
    parent["metadata"]["annotations"] = {"deprecated.daemonset.template.generation": "3"}
    old = pod("p", "x")
    old["metadata"]["labels"]["pod-template-generation"] = "3"
    assert plan(parent, {"m": [old]}, step="roll") == ([], [])


def test_required_node_affinity_is_replaced_by_the_node_name() -> None:
    """The controller evaluates required node affinity; the pod gets the node's name instead."""
    term = {"matchExpressions": [{"key": "zone", "operator": "Exists"}]}
    affinity = {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}},
        "podAffinity": {},
    }
    made = on_node({"spec": {"affinity": affinity}}, "n")
    assert target_node(made) == "n"
    assert made["spec"]["affinity"]["podAffinity"] == {}
    (only,) = made["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][
        "nodeSelectorTerms"
    ]
    assert "matchExpressions" not in only


def test_failed_pod_backoff_doubles() -> None:
    """The backoff doubles with every failure up to 15 minutes, and is reset after twice that time."""
    now = [0.0]
    backoff = Backoff(lambda: now[0])
    assert backoff.attempt("a") == 0
    assert backoff.attempt("a") == 1
    now[0] = 1.0
    assert backoff.attempt("a") == 0
    assert backoff.attempt("a") == 2
    for _ in range(20):
        now[0] += 900
        assert backoff.attempt("a") == 0
    assert backoff.attempt("a") == 900
    now[0] += 1801
    assert backoff.attempt("a") == 0
    assert backoff.attempt("a") == 1


def add_node(cluster: Cluster, name: str) -> None:
    """A node without the taint that new ones have until they are ready."""
    cluster.create(NODES, {"metadata": {"name": name, "labels": {"zone": name}}}, "")
    cluster.patch(NODES, name, {"spec": {"taints": None}}, "")


def create(cluster: Cluster, update: dict[str, Any] | None = None, **pod_spec: Any) -> None:
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template({"a": "b"}, **pod_spec)}
    if update:
        spec["updateStrategy"] = update
    cluster.create(DAEMON_SETS, {"metadata": {"name": "d"}, "spec": spec})
    cluster.settle()


def nodes_of(cluster: Cluster) -> list[str]:
    return sorted(target_node(pod) for pod in cluster.items(PODS))


def test_pods_follow_suitable_nodes(cluster: Cluster) -> None:
    """Pods follow the set of suitable nodes; the status counts them."""
    for name in ("m", "n"):
        add_node(cluster, name)
    create(cluster, nodeSelector={"zone": "m"})
    assert nodes_of(cluster) == ["m"]
    cluster.patch(NODES, "n", {"metadata": {"labels": {"zone": "m"}}}, "")
    assert nodes_of(cluster) == ["m", "n"]
    daemon_set = cluster.get(DAEMON_SETS, "d")
    assert daemon_set is not None
    assert daemon_set["status"] == {
        "currentNumberScheduled": 2, "desiredNumberScheduled": 2, "numberMisscheduled": 0, "numberReady": 0,
        "numberUnavailable": 2, "updatedNumberScheduled": 2, "observedGeneration": 1,
    }  # fmt: skip
    cluster.patch(NODES, "m", {"metadata": {"labels": {"zone": "x"}}}, "")
    assert nodes_of(cluster) == ["n"]
    cluster.delete(NODES, "n", "")
    cluster.settle(2)
    assert nodes_of(cluster) == []
    messages = [e["message"].partition(":")[0] for e in cluster.items(EVENTS)]
    assert sorted(set(messages)) == ["Created pod", "Deleted pod"]


def images(cluster: Cluster) -> list[str]:
    return sorted(p["spec"]["containers"][0]["image"] for p in cluster.items(PODS))


@pytest.mark.parametrize("update", [None, rolling(1)])
def test_new_template_reaches_every_node(cluster: Cluster, update: dict[str, Any] | None) -> None:
    """A new template is rolled out to every node, by replacement and by surge; its history is kept."""
    for name in ("m", "n"):
        add_node(cluster, name)
    create(cluster, update)
    cluster.make_ready()
    change = {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "y"}]}}}}
    cluster.patch(DAEMON_SETS, "d", change)
    assert images(cluster) == (["x", "x", "y"] if update else ["x", "y"])
    for _ in range(4):
        cluster.make_ready()
        cluster.settle(2)
    assert images(cluster) == ["y", "y"]
    daemon_set = cluster.get(DAEMON_SETS, "d")
    assert (
        daemon_set is not None
        and daemon_set["status"]["updatedNumberScheduled"] == daemon_set["status"]["numberAvailable"] == 2
    )
    assert sorted(r["revision"] for r in cluster.items(REVISIONS)) == [1, 2]
    # Clients compare the data as bytes.
    written = [json.dumps(r["data"]) for r in cluster.items(REVISIONS)]
    assert written == [json.dumps(r["data"], sort_keys=True) for r in cluster.items(REVISIONS)]


def test_failed_pod_is_replaced_after_a_pause(cluster: Cluster) -> None:
    """A failed pod is deleted with an Event, and the next one only after a backoff."""
    add_node(cluster, "m")
    create(cluster)
    (first,) = cluster.names(PODS)
    cluster.patch(PODS, first, {"status": {"phase": "Failed"}}, subresource="status")
    (second,) = cluster.names(PODS)
    assert second != first
    assert "FailedDaemonPod" in [e["reason"] for e in cluster.items(EVENTS)]
    cluster.patch(PODS, second, {"status": {"phase": "Failed"}}, subresource="status")
    assert cluster.names(PODS) == [second]
    cluster.settle(2)
    assert cluster.names(PODS) != [second]


@pytest.mark.parametrize(
    ("nodes", "strategy", "expected"),
    [("abc", rolling(0, "50%"), 2), ("abc", rolling("34%"), 2), ("abcd", rolling(0, "25%"), 1)],
)
def test_max_unavailable_percentage_is_rounded_up(nodes: str, strategy: dict[str, Any], expected: int) -> None:
    """The percentage of the nodes is rounded up."""
    found = plan(daemons(strategy), {n: [pod(n, "old")] for n in nodes}, nodes, "roll")
    assert len(found[0]) + len(found[1]) == expected


def test_new_template_or_labels_change_suitable_nodes(cluster: Cluster) -> None:
    """Suitable nodes are computed again for a new template, and for new labels of a node."""
    for name in ("m", "n"):
        add_node(cluster, name)
    create(cluster)
    assert nodes_of(cluster) == ["m", "n"]
    cluster.patch(DAEMON_SETS, "d", {"spec": {"template": {"spec": {"nodeSelector": {"zone": "a"}}}}})
    cluster.settle(2)
    assert nodes_of(cluster) == []
    cluster.patch(NODES, "n", {"metadata": {"labels": {"zone": "a"}}}, "")
    cluster.settle(2)
    assert nodes_of(cluster) == ["n"]
    cluster.patch(NODES, "n", {"metadata": {"labels": {"zone": "b"}}}, "")
    cluster.settle(2)
    assert nodes_of(cluster) == []


def test_nodes_of_a_set_are_chosen_before_it_is_queued(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that is woken by the set finds the time of the turn spent if the choice took long."""
    bench, queued = ControllerBench(DaemonSetController), list[int]()
    queue = bench.controller.queue
    monkeypatch.setattr(NodeFits, "follow_set", lambda fits, parent, *, gone: queued.append(len(queue)))
    for ref in (DAEMON_SETS, NODES, PODS, REVISIONS):
        bench.informers.informer(ref).sync()
    run(bench.controller.listen())
    bench.informers.put(DAEMON_SETS, {**daemons(), "metadata": {"namespace": "n", "name": "d"}})
    assert (queued, len(queue)) == ([0], 1)
