"""Effects of feature gates on controllers of sets and services."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from orchd.client.interfaces import ResourceRef
from orchd.controllers.daemonset.plans import _surges, without_surge
from orchd.controllers.interfaces import Environment
from orchd.controllers.objects import CLAIMS, DEPLOYMENTS, NODES, PODS, REPLICA_SETS, SERVICES, STATEFUL_SETS
from orchd.controllers.statefulset.retention import is_stale
from orchd.dialect import ORCH
from orchd.kinds import gates
from orchd.kinds.release import RELEASES
from tests.controllers.cluster_support import Cluster, template

SLICES = ResourceRef(ORCH("discovery.{abbr}.io"), "v1", "endpointslices")
ROLES = ResourceRef(ORCH("rbac.authorization.{abbr}.io"), "v1", "clusterroles")
COST = ORCH("controller.{long}.io/pod-deletion-cost")
SELECTOR = {"matchLabels": {"a": "b"}}

Start = Callable[..., Cluster]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a cluster with the given feature gates, controllers and release."""
    running: list[Cluster] = []

    def make(given: str, *names: str, release: str = "1.23") -> Cluster:
        flags = (f"--feature-gates={given}", f"--emulated-version={release}")
        running.append(Cluster(tmp_path / str(len(running)), names, flags))
        running[-1].namespace()
        return running[-1]

    yield make
    for each in running:
        each.stop()


def make_ready(cluster: Cluster, name: str, since: str) -> None:
    condition = {"type": "Ready", "status": "True", "lastTransitionTime": since}
    cluster.patch(
        PODS,
        name,
        {"status": {"phase": "Running", "podIP": "10.1.1.1", "conditions": [condition]}},
        subresource="status",
    )


@pytest.mark.parametrize(("on", "left"), [("true", "newer"), ("false", "cheap")])
def test_deletion_cost_ranks_pods_behind_its_gate(start: Start, on: str, left: str) -> None:
    """A pod of low cost goes first, although it has been ready for longer; with the gate off the newer one goes."""
    cluster = start(f"PodDeletionCost={on},LogarithmicScaleDown=false", "replicaset")
    cluster.create(
        REPLICA_SETS,
        {"metadata": {"name": "r"}, "spec": {"replicas": 2, "selector": SELECTOR, "template": template({"a": "b"})}},
    )
    cluster.settle()
    cheap, newer = cluster.names(PODS)
    make_ready(cluster, cheap, "2020-01-01T00:00:00Z")
    make_ready(cluster, newer, "2021-01-01T00:00:00Z")
    cluster.patch(PODS, cheap, {"metadata": {"annotations": {COST: "-5"}}})
    cluster.patch(REPLICA_SETS, "r", {"spec": {"replicas": 1}})
    stays = [pod["metadata"]["name"] for pod in cluster.items(PODS) if not pod["metadata"].get("deletionTimestamp")]
    assert stays == [{"cheap": cheap, "newer": newer}[left]]


@pytest.mark.parametrize("on", [True, False])
def test_pods_of_close_times_go_in_random_order_behind_the_gate(start: Start, on: bool) -> None:
    """Of pods that became ready at about the same time the one of the lower uid goes; with the gate off the newest
    one."""
    cluster = start(f"LogarithmicScaleDown={str(on).lower()}", "replicaset")
    cluster.create(
        REPLICA_SETS,
        {"metadata": {"name": "r"}, "spec": {"replicas": 2, "selector": SELECTOR, "template": template({"a": "b"})}},
    )
    cluster.settle()
    first, second = sorted(cluster.items(PODS), key=lambda pod: str(pod["metadata"]["uid"]))
    make_ready(cluster, first["metadata"]["name"], "2020-01-01T00:00:00Z")
    make_ready(cluster, second["metadata"]["name"], "2020-01-01T00:00:01Z")
    cluster.patch(REPLICA_SETS, "r", {"spec": {"replicas": 1}})
    stays = [pod["metadata"]["uid"] for pod in cluster.items(PODS) if not pod["metadata"].get("deletionTimestamp")]
    assert stays == [(second if on else first)["metadata"]["uid"]]


@pytest.mark.parametrize(("on", "available"), [("true", 0), ("false", 1)])
def test_min_ready_seconds_of_stateful_sets_is_a_gate(start: Start, on: str, available: int) -> None:
    """A ready pod is available at once with the gate off."""
    cluster = start(f"StatefulSetMinReadySeconds={on}", "statefulset")
    spec = {
        "replicas": 1,
        "serviceName": "s",
        "minReadySeconds": 3600,
        "selector": SELECTOR,
        "template": template({"a": "b"}),
    }
    stateful_set = cluster.create(STATEFUL_SETS, {"metadata": {"name": "s"}, "spec": spec})
    assert ("minReadySeconds" in stateful_set["spec"]) is (on == "true")
    cluster.settle()
    make_ready(cluster, "s-0", "2100-01-01T00:00:00Z")
    current = cluster.get(STATEFUL_SETS, "s")
    assert current is not None and (
        current["status"]["readyReplicas"],
        current["status"].get("availableReplicas", 0),
    ) == (1, available)


@pytest.mark.parametrize(
    ("deleted", "scaled", "expected"),
    [
        ("Retain", "Retain", [[], []]),
        ("Delete", "Retain", [["StatefulSet"], ["StatefulSet"]]),
        ("Retain", "Delete", [[], ["Pod"]]),
        ("Delete", "Delete", [["StatefulSet"], ["Pod"]]),
    ],
)
def test_claims_belong_to_whose_end_deletes_them(
    start: Start, deleted: str, scaled: str, expected: list[list[str]]
) -> None:
    """After scaling down, claims have the owners that the retention policy says: the set, or the pod that goes."""
    cluster = start("StatefulSetAutoDeletePVC=true", "statefulset")
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    pods = template({"a": "b"})
    pods["metadata"]["finalizers"] = ["example.com/x"]
    cluster.create(STATEFUL_SETS, {"metadata": {"name": "s"}, "spec": {
        "replicas": 2, "serviceName": "s", "podManagementPolicy": "Parallel", "selector": SELECTOR, "template": pods,
        "volumeClaimTemplates": [{"metadata": {"name": "v"}, "spec": claim}],
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": deleted, "whenScaled": scaled},
    }})  # fmt: skip
    cluster.settle()
    for name in ("s-0", "s-1"):
        make_ready(cluster, name, "2020-01-01T00:00:00Z")
    cluster.patch(STATEFUL_SETS, "s", {"spec": {"replicas": 1}})
    cluster.settle()
    owners = {each["metadata"]["name"]: each["metadata"].get("ownerReferences") or () for each in cluster.items(CLAIMS)}
    assert [[owner["kind"] for owner in owners[f"v-s-{number}"]] for number in range(2)] == expected


def test_claims_of_former_pods_are_stale() -> None:
    """A claim that belongs to a pod of the same name and another uid must go before there is a new pod."""
    claim = {"metadata": {"ownerReferences": [{"kind": "Pod", "name": "s-0", "uid": "old"}]}}
    assert is_stale(claim, "s-0") and not is_stale(claim, "s-1") and not is_stale({"metadata": {}}, "s-0")


@pytest.mark.parametrize("on", [True, False])
def test_terminating_endpoints_are_listed_behind_their_gate(start: Start, on: bool) -> None:
    """Slices have the conditions serving and terminating, and list pods that are being deleted, with the gate on."""
    cluster = start(f"EndpointSliceTerminatingCondition={str(on).lower()}", "endpointslice")
    cluster.create(SERVICES, {"metadata": {"name": "s"}, "spec": {"selector": {"a": "b"}, "ports": [{"port": 80}]}})
    cluster.create(NODES, {"metadata": {"name": "n"}}, "")
    for name in ("stays", "goes"):
        cluster.create(
            PODS,
            {
                "metadata": {"name": name, "labels": {"a": "b"}, "finalizers": ["example.com/x"]},
                "spec": template({}, nodeName="n")["spec"],
            },
        )
        make_ready(cluster, name, "2020-01-01T00:00:00Z")
    cluster.delete(PODS, "goes", gracePeriodSeconds=0)
    cluster.settle(3)
    (slice_,) = cluster.items(SLICES)
    conditions = {each["targetRef"]["name"]: each["conditions"] for each in slice_["endpoints"]}
    both = {
        "stays": {"ready": True, "serving": True, "terminating": False},
        "goes": {"ready": False, "serving": True, "terminating": True},
    }
    assert conditions == (both if on else {"stays": {"ready": True}})


def test_daemon_sets_without_surge() -> None:
    """The set that is planned with the gate off does not surge."""
    limits: dict[str, Any] = {"maxSurge": 1, "maxUnavailable": 0}
    parent = {"spec": {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": limits}}}
    assert _surges(parent) and not _surges(without_surge(parent))


@pytest.mark.parametrize(
    ("release", "given", "shown"),
    [("1.35", "", True), ("1.35", "DeploymentReplicaSetTerminatingReplicas=false", False), ("1.23", "", False)],
)
def test_terminating_replicas_are_counted_behind_their_gate(
    start: Start, release: str, given: str, *, shown: bool
) -> None:
    """Deployments and their sets report terminating pods if the gate is on, as it is by default in release 1.35."""
    cluster = start(given, "deployment", "replicaset", release=release)
    spec = {"replicas": 1, "selector": SELECTOR, "template": template({"a": "b"})}
    cluster.create(DEPLOYMENTS, {"metadata": {"name": "d"}, "spec": spec})
    cluster.settle()
    statuses = [cluster.items(ref)[0]["status"] for ref in (DEPLOYMENTS, REPLICA_SETS)]
    assert [each.get("terminatingReplicas") for each in statuses] == ([0, 0] if shown else [None, None])


@pytest.mark.parametrize(
    ("distribution", "hints"),
    [
        ("PreferSameZone", {"forZones": [{"name": "z"}]}),
        ("PreferSameNode", {"forZones": [{"name": "z"}], "forNodes": [{"name": "n"}]}),
    ],
)
def test_hints_follow_the_traffic_distribution(start: Start, distribution: str, hints: dict[str, Any]) -> None:
    """Endpoints repeat their zone and node as spec.trafficDistribution says."""
    cluster = start("", "endpointslice", release="1.35")
    cluster.create(NODES, {"metadata": {"name": "n", "labels": {ORCH("topology.{long}.io/zone"): "z"}}}, namespace="")
    spec = {"selector": {"a": "b"}, "ports": [{"port": 80}], "trafficDistribution": distribution}
    cluster.create(SERVICES, {"metadata": {"name": "s"}, "spec": spec})
    pod = {"metadata": {"name": "p", "labels": {"a": "b"}}, "spec": {**template({})["spec"], "nodeName": "n"}}
    cluster.create(PODS, pod)
    make_ready(cluster, "p", "2020-01-01T00:00:00Z")
    cluster.settle(3)
    (slice_,) = cluster.items(SLICES)
    assert [each.get("hints") for each in slice_["endpoints"]] == [hints]


@pytest.mark.parametrize(
    ("release", "given", "expected"),
    [("1.23", {}, False), ("1.35", {}, True), ("1.35", {"HPAConfigurableTolerance": False}, False)],
)
def test_gates_of_controllers_have_the_defaults_of_the_release(
    release: str, given: dict[str, bool], *, expected: bool
) -> None:
    """A gate that was not given is as the emulated release has it."""
    env: Any = SimpleNamespace(features=given, release=RELEASES[release])
    assert Environment.feature(env, "HPAConfigurableTolerance") is expected


@pytest.mark.parametrize(("release", "left_out"), [("1.23", {"a"}), ("1.35", set())])
def test_what_is_skipped_follows_the_release(release: str, left_out: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A controller whose gate became on runs in the later release without a word."""
    stages = (("1.23", gates.ALPHA), ("1.30", gates.GA))
    rows = (gates.Gate(name="G", stages=stages, component="controllers", effect="", controllers=("a",)),)
    monkeypatch.setattr(gates, "GATES", rows)
    gates._begun.cache_clear()
    try:
        assert gates.skipped({}, "controllers", RELEASES[release]) == left_out
    finally:
        gates._begun.cache_clear()


@pytest.mark.parametrize("on", ["true", "false"])
def test_roles_are_aggregated_with_and_without_apply(start: Start, on: str) -> None:
    """Aggregated roles have each rule of the selected ones once, also where the server does not apply
    configurations."""
    cluster = start(f"ServerSideApply={on}", "clusterrole-aggregation")
    one, two = ({"verbs": ["get"], "apiGroups": [""], "resources": [resource]} for resource in ("pods", "nodes"))
    chosen = {"matchLabels": {"part": "of"}}
    rule = {"clusterRoleSelectors": [chosen, chosen]}
    cluster.create(ROLES, {"metadata": {"name": "all"}, "aggregationRule": rule, "rules": []}, "")
    for name, rules in (("x", [one, two]), ("y", [two])):
        cluster.create(ROLES, {"metadata": {"name": name, "labels": {"part": "of"}}, "rules": rules}, "")
    cluster.settle()
    aggregated = cluster.get(ROLES, "all", "")
    assert aggregated is not None and aggregated["rules"] == [one, two]
