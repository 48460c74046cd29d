"""What schedulers of release 1.35 decide and say otherwise than those of 1.23. Facts compared with the reference."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.kinds.release import NEWEST, SPECIFICATION
from orchd.scheduler.pods import Templates
from tests.scheduler.scheduler_support import HOST, ZONE, SchedulerHarness, node, pod

_NEVER: dict[str, Any] = {"preemptionPolicy": "Never", "priority": 5}
_ENDING = " no new claims to deallocate, preemption: not eligible due to preemptionPolicy=Never."


def _newest(*objects: Any) -> SchedulerHarness:
    harness = SchedulerHarness(release=NEWEST)
    harness.put(*objects)
    harness.settle(1)
    return harness


def _container(cpu: str = "", **others: Any) -> dict[str, Any]:
    return {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu} if cpu else {}}, **others}


_SIDECAR = {"restartPolicy": "Always"}


@pytest.mark.parametrize(
    ("spec", "earlier", "later"),
    [
        ({"containers": [_container("1")], "initContainers": [_container("3")]}, 3000, 3000),
        ({"containers": [_container("1")], "initContainers": [_container("1", **_SIDECAR)]}, 1000, 2000),
        (
            {"containers": [_container("1")], "initContainers": [_container("1", **_SIDECAR), _container("2")]},
            2000,
            3000,
        ),
        (
            {"containers": [_container("1")], "initContainers": [_container("2"), _container("1", **_SIDECAR)]},
            2000,
            2000,
        ),
        ({"containers": [_container("1")], "resources": {"requests": {"cpu": "3"}}}, 1000, 3000),
        ({"containers": [_container()], "overhead": {"cpu": "250m"}}, 250, 250),
    ],
)
def test_sidecars_and_whole_pods_request_resources(spec: dict[str, Any], earlier: int, later: int) -> None:
    """Containers that run beside all others add to them, and what a pod requests as a whole replaces their sum."""
    obj = {"metadata": {"name": "p", "namespace": "n"}, "spec": spec}
    amounts = [Templates(release=release).pod(obj).template.requests.get("cpu") for release in (SPECIFICATION, NEWEST)]
    assert amounts == [earlier, later]


@pytest.mark.parametrize(("pending", "expected"), [(None, 3000), ("Deferred", 3000), ("Infeasible", 2000)])
def test_a_resized_container_counts_with_the_most_that_it_may_have(pending: str | None, expected: int) -> None:
    """What a node has granted counts while a smaller request is carried out, and a request that cannot succeed does not
    count."""
    conditions = [] if pending is None else [{"type": "PodResizePending", "reason": pending}]
    status = {"name": "c", "resources": {"requests": {"cpu": "2"}}, "allocatedResources": {"cpu": "1"}}
    obj = {
        "metadata": {"name": "p", "namespace": "n"},
        "spec": {"containers": [_container("3")]},
        "status": {"containerStatuses": [status], "conditions": conditions},
    }
    assert Templates(release=NEWEST).pod(obj).template.requests["cpu"] == expected


_NAMED = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}
_NAMELESS = {"matchFields": [{**_NAMED["matchFields"][0]}, {**_NAMED["matchFields"][0], "values": ["n2"]}]}


def _affinity(*terms: Any) -> dict[str, Any]:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
    return {"affinity": {"nodeAffinity": required}}


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"cpu": 9}, "0/2 nodes are available: 2 Insufficient cpu."),
        ({"nodeSelector": {"a": "b"}}, "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector."),
        (
            {"cpu": 9, **_affinity(_NAMED)},
            "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't satisfy plugin(s) [NodeAffinity].",
        ),
    ],
)
def test_a_message_tells_why_nothing_could_be_done(spec: dict[str, Any], message: str) -> None:
    """The reasons of the nodes are followed by those of the plugins that could help."""
    harness = _newest(node("n1"), node("n2"), pod("p", **spec, **_NEVER))
    assert harness.message("p") == message + _ENDING


@pytest.mark.parametrize(("generation", "expected"), [(4, 4), (None, None)])
def test_the_condition_of_a_pending_pod_tells_its_generation(generation: int | None, expected: int | None) -> None:
    """A pod without a generation is one of a release that counts none."""
    pending = pod("p", **_NEVER)
    if generation is not None:
        pending["metadata"]["generation"] = generation
    harness = _newest(pending)
    (condition,) = next(patch for name, patch in harness.api.patches if name == "p")["status"]["conditions"]
    assert condition.get("observedGeneration") == expected


def test_taints_are_counted_together() -> None:
    """Nodes with different taints have one reason."""
    taints = [[{"key": key, "effect": "NoSchedule"}] for key in "ab"]
    harness = _newest(node("n1", taints=taints[0]), node("n2", taints=taints[1]), pod("p", **_NEVER))
    assert harness.message("p") == "0/2 nodes are available: 2 node(s) had untolerated taint(s)." + _ENDING


def test_preemption_says_why_it_does_not_help() -> None:
    """Nodes without pods of lower priority, and those that are too small for the pod, are counted apart."""
    harness = _newest(
        node("n1"), node("n2", cpu=1), pod("old", cpu=4, on="n1", priority=9), pod("p", cpu=2, priority=5)
    )
    assert harness.message("p") == (
        "0/2 nodes are available: 2 Insufficient cpu. no new claims to deallocate, preemption: 0/2 nodes are available:"
        " 1 No preemption victims found for incoming pod, 1 Preemption is not helpful for scheduling."
    )


def test_a_pod_that_no_node_can_take_for_what_it_names() -> None:
    """If a plugin rejects the pod before its claims of devices are looked up, the message ends with that, as the
    reference's does."""
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "none"}}]
    harness = _newest(node("n1"), pod("p", volumes=volumes), pod("q", **_affinity(_NAMELESS)))
    assert harness.message("p") == '0/1 nodes are available: persistentvolumeclaim "none" not found. not found'
    assert harness.message("q") == "0/1 nodes are available: pod affinity terms conflict. not found"


def test_a_victim_is_marked_before_it_is_deleted() -> None:
    """Its condition and the Event name the preemption, and nothing is said of what could not be done."""
    harness = _newest(node("n1"), pod("old", cpu=4, on="n1"), pod("p", cpu=2, priority=5))
    (condition,) = next(patch for name, patch in harness.api.patches if name == "old")["status"]["conditions"]
    assert (condition["type"], condition["reason"]) == ("DisruptionTarget", "PreemptionByScheduler")
    assert condition["message"] == "default-scheduler: preempting to accommodate a higher priority pod"
    assert harness.api.deleted == ["old"]
    assert ("old", "Preempted", "Preempted by pod uid-p on node n1") in harness.events.seen
    assert harness.message("p") == "0/1 nodes are available: 1 Insufficient cpu."


def _spread(**others: Any) -> list[dict[str, Any]]:
    selector = {"matchLabels": {"app": "a"}}
    constraint = {"topologyKey": ZONE, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}
    return [{**constraint, **others}]


@pytest.mark.parametrize(
    ("policies", "bound"),
    [
        ({}, False),
        ({"nodeTaintsPolicy": "Honor"}, True),
        ({"nodeTaintsPolicy": "Honor", "minDomains": 2}, False),
        ({"nodeTaintsPolicy": "Honor", "minDomains": 1}, True),
        ({"matchLabelKeys": ["version"]}, True),
    ],
)
def test_policies_say_which_nodes_are_domains(policies: dict[str, Any], bound: bool) -> None:
    """An empty zone whose taint is not tolerated holds pods back, unless it is no domain; too few domains hold them
    back too."""
    labels = {"app": "a", "version": "1"}
    harness = _newest(
        node("n1", zone="z1"),
        node("n2", zone="z2", taints=[{"key": "k", "effect": "NoSchedule"}]),
        pod("old", on="n1", labels=labels),
        pod("p", labels={**labels, "version": "2"}, topologySpreadConstraints=_spread(**policies), **_NEVER),
    )
    assert bool(harness.where("p")) == bound


def test_an_idle_pod_is_not_scored_by_balance() -> None:
    """A pod without requests scores 0 on every node."""
    harness = _newest(node("n1"), node("n2", memory="1Gi"))
    found = []
    for each in (pod("idle"), pod("busy", cpu=1)):
        harness.put(each)
        harness.settle(1)
        record = harness.scheduler.history.get(each["metadata"]["uid"])
        assert record is not None
        found.append({score.plugin: score.weighted for score in record.scores}["NodeResourcesBalancedAllocation"])
    assert found[0] == 0 and not isinstance(found[1], int)


def test_a_selector_of_all_pods_counts_none() -> None:
    """A selector of all pods counts none in later releases."""
    constraint = _spread(topologyKey=HOST, labelSelector={})
    for release, message in ((SPECIFICATION, True), (NEWEST, False)):
        harness = SchedulerHarness(release=release)
        harness.put(node("n1"), node("n2", unschedulable=True), pod("a", on="n1"), pod("b", on="n1"))
        harness.put(pod("p", topologySpreadConstraints=constraint, **_NEVER))
        harness.settle(1)
        assert bool(harness.message("p")) == message


_TAINT = {"key": "example.com/starting", "effect": "NoSchedule"}
_APP = {"app": "a"}
_NEAR = {"topologyKey": HOST, "labelSelector": {"matchLabels": _APP}}


def _repelled(kind: str) -> dict[str, Any]:
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [_NEAR]}}}


@pytest.mark.parametrize(
    ("spec", "before", "change", "retried"),
    [
        pytest.param({"cpu": 9}, [], node("n2", cpu=10, taints=[_TAINT]), True, id="a new node with a taint"),
        pytest.param({"cpu": 9}, [], node("n2", cpu=2), False, id="a new node that is too small"),
        pytest.param(
            {"labels": _APP, "topologySpreadConstraints": _spread(topologyKey=HOST, minDomains=2)},
            [pod("x", cpu=1, on="n1", labels=_APP)], pod("y", cpu=1, on="n1", labels=_APP), True,
            id="a pod that a spread constraint counts",
        ),
        pytest.param(
            {"labels": _APP, "topologySpreadConstraints": _spread(topologyKey=HOST, minDomains=2)},
            [pod("x", cpu=1, on="n1", labels=_APP)], pod("y", cpu=1, on="n1"), False,
            id="a pod that no constraint counts",
        ),
        pytest.param(
            _repelled("podAntiAffinity"), [pod("x", on="n1", labels=_APP)], pod("x", on="n1"), True,
            id="a pod that loses the label that repelled",
        ),
        pytest.param(
            _repelled("podAffinity"), [pod("x", on="n1")], pod("x", on="n1", labels=_APP), True,
            id="a pod that gets the label that attracts",
        ),
        pytest.param({"cpu": 3}, [pod("x", cpu=4, on="n1")], pod("x", cpu=1, on="n1"), True, id="a pod that shrinks"),
        pytest.param({"cpu": 3}, [pod("x", cpu=2, on="n1")], pod("x", cpu=4, on="n1"), False, id="a pod that grows"),
    ],
)  # fmt: skip
def test_a_change_retries_the_pods_that_it_may_help(
    spec: dict[str, Any], before: list[Any], change: Any, retried: bool
) -> None:
    """The plugins that rejected a pod say which changes may help it; a pod that is rejected again waits for what the
    next one says."""
    harness = _newest(node("n1", cpu=4), *before, pod("p", **spec, **_NEVER))
    harness.settle(20)
    seen = [each for each in harness.events.seen if each[0] == "p"]
    harness.put(change)
    harness.settle(20)
    again = [each for each in harness.events.seen if each[0] == "p"][len(seen) :]
    assert bool(again) == retried


_SPREAD: dict[str, Any] = {"labels": _APP, "topologySpreadConstraints": _spread(topologyKey=HOST, minDomains=2)}
_TOLERATED: dict[str, Any] = {"tolerations": [{"key": "example.com/starting", "operator": "Exists"}]}


@pytest.mark.parametrize(
    ("before", "after", "retried"),
    [
        pytest.param({"cpu": 9}, {"cpu": 9, "labels": _APP}, False, id="a label of a pod that is too large"),
        pytest.param({"cpu": 9}, {"cpu": 8}, True, id="smaller requests of a pod that is too large"),
        pytest.param({"cpu": 9}, {"cpu": 9, **_TOLERATED}, False, id="a toleration of a pod that is too large"),
        pytest.param(
            {"labels": {"app": "b"}, **_repelled("podAntiAffinity")}, {**_repelled("podAntiAffinity")}, False,
            id="a label of a pod that others repel",
        ),
        pytest.param(_SPREAD, {**_SPREAD, "labels": {}}, True, id="the label that a constraint counts"),
        pytest.param(_SPREAD, {**_SPREAD, "labels": {**_APP, "b": "c"}}, False, id="a label that no constraint counts"),
        pytest.param({"nodeSelector": {ZONE: "z"}}, {"nodeSelector": {ZONE: "z"}, "labels": _APP}, False, id="a selector"),
    ],
)  # fmt: skip
def test_a_pending_pod_is_retried_if_its_change_may_help_it(
    before: dict[str, Any], after: dict[str, Any], retried: bool
) -> None:
    """The plugins that rejected a pod say which changes of its own may help it."""
    harness = _newest(node("n1", cpu=4), pod("x", cpu=1, on="n1", labels=_APP), pod("p", **before, **_NEVER))
    harness.settle(20)
    seen = [each for each in harness.events.seen if each[0] == "p"]
    assert seen and harness.place("p") == "unschedulable"
    harness.put(pod("p", **after, **_NEVER))
    harness.settle(20)
    again = [each for each in harness.events.seen if each[0] == "p"][len(seen) :]
    assert bool(again) == retried


def test_a_tainted_node_takes_a_pod_that_tolerates_it_later() -> None:
    """A new toleration retries a pod that a taint repelled."""
    harness = _newest(node("n1", taints=[_TAINT]), pod("p", **_NEVER))
    assert harness.where("p") == ""
    harness.put(pod("p", **_TOLERATED, **_NEVER))
    harness.settle(10)
    assert harness.where("p") == "n1"


def test_a_pod_is_bound_when_the_taint_of_a_new_node_goes() -> None:
    """It was tried when the node was added, so that it waits for the taint."""
    harness = _newest(node("n1", cpu=4), pod("p", cpu=9, **_NEVER))
    harness.put(node("n2", cpu=10, taints=[_TAINT]))
    harness.settle(20)
    assert harness.where("p") == ""
    harness.put(node("n2", cpu=10))
    harness.settle(1)
    assert harness.where("p") == "n2"
