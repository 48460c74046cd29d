"""Endpoints of services, and pod garbage collection."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchd.client.interfaces import ResourceRef
from orchd.controllers.endpoints.endpoints_controller import limited
from orchd.controllers.endpoints.service_controller import changes_endpoints
from orchd.controllers.endpoints.targets import labels_for, reachable
from orchd.controllers.endpoints.trigger_times import TriggerTimes
from orchd.controllers.objects import ENDPOINTS, NODES, PODS, SERVICES
from orchd.dialect import ORCH
from tests.controllers.cluster_support import Cluster, template

#: Controllers of `cluster`.
RUNNING_CONTROLLERS = ("endpoint", "endpointslice", "deployment", "replicaset", "podgc", "garbagecollector")

EVENTS = ResourceRef("", "v1", "events")
SLICES = ResourceRef(ORCH("discovery.{abbr}.io"), "v1", "endpointslices")
LABELS = {"app": "x"}


def service(**spec: Any) -> dict[str, Any]:
    ports = [{"name": "web", "port": 80, "targetPort": 8080}]
    return {"metadata": {"name": "s"}, "spec": {"selector": LABELS, "ports": ports, **spec}}


def add_node(cluster: Cluster) -> None:
    """The node of the pods."""
    cluster.create(NODES, {"metadata": {"name": "n"}}, "")


def pod(name: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": LABELS}, "spec": template({}, **{"nodeName": "n", **spec})["spec"]}


def run_pod(cluster: Cluster, name: str, ip: str, *, ready: bool = True, node: str = "n") -> None:
    cluster.create(PODS, pod(name, nodeName=node))
    condition = {"type": "Ready", "status": "True" if ready else "False"}
    status = {"phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}], "conditions": [condition]}
    cluster.patch(PODS, name, {"status": status}, subresource="status")


def addresses(cluster: Cluster) -> tuple[list[str], list[str]]:
    """Ready addresses and others."""
    endpoint = cluster.get(ENDPOINTS, "s")
    assert endpoint is not None
    subsets = endpoint.get("subsets") or []
    ready = [a["ip"] for s in subsets for a in s.get("addresses", ())]
    return ready, [a["ip"] for s in subsets for a in s.get("notReadyAddresses", ())]


def test_endpoints_follow_selected_pods(cluster: Cluster) -> None:
    """Endpoints follow the pods that the selector matches, their readiness, and the deletion of the service."""
    cluster.create(SERVICES, service())
    cluster.settle()
    assert addresses(cluster) == ([], [])
    run_pod(cluster, "p1", "10.1.0.1")
    run_pod(cluster, "p2", "10.1.0.2", ready=False)
    assert addresses(cluster) == (["10.1.0.1"], ["10.1.0.2"])
    endpoint = cluster.get(ENDPOINTS, "s")
    assert endpoint is not None
    assert endpoint["subsets"][0]["ports"] == [{"name": "web", "port": 8080, "protocol": "TCP"}]
    cluster.patch(PODS, "p1", {"metadata": {"labels": {"app": "other"}}})
    assert addresses(cluster) == ([], ["10.1.0.2"])
    cluster.delete(ENDPOINTS, "s")
    assert addresses(cluster) == ([], ["10.1.0.2"])
    cluster.delete(SERVICES, "s")
    assert cluster.get(ENDPOINTS, "s") is None


def test_service_has_one_slice_while_its_pods_fit(cluster: Cluster) -> None:
    """A service has one slice while its pods fit; the slice is deleted with the service."""
    add_node(cluster)
    cluster.create(SERVICES, service())
    cluster.settle()
    [empty] = cluster.items(SLICES)
    assert not empty.get("endpoints")
    run_pod(cluster, "p1", "10.1.0.1")
    run_pod(cluster, "p2", "10.1.0.2", ready=False)
    [slice_] = cluster.items(SLICES)
    assert slice_["metadata"]["labels"][ORCH("{long}.io/service-name")] == "s"
    assert {e["addresses"][0]: e["conditions"]["ready"] for e in slice_["endpoints"]} == {
        "10.1.0.1": True,
        "10.1.0.2": False,
    }
    cluster.delete(SERVICES, "s")
    assert cluster.items(SLICES) == []


def test_pods_of_removed_nodes_are_deleted(cluster: Cluster) -> None:
    """A pod is deleted some time after its node."""
    cluster.create(NODES, {"metadata": {"name": "n"}}, "")
    cluster.create(PODS, pod("p", nodeName="n"))
    cluster.settle(60)
    assert cluster.names(PODS) == ["p"]
    cluster.delete(NODES, "n", "")
    cluster.settle(30)
    assert cluster.names(PODS) == ["p"]
    cluster.settle(30)
    assert cluster.names(PODS) == []


def test_batch_period_combines_pod_changes(tmp_path: Path) -> None:
    """With a batch period pod changes are written once, at its end; changes of services are written at once."""
    flags = ("--endpoint-updates-batch-period=5s", "--endpointslice-updates-batch-period=5s")
    cluster = Cluster(tmp_path, flags=flags)
    cluster.namespace()
    cluster.create(SERVICES, service())
    cluster.settle()
    assert addresses(cluster) == ([], [])
    run_pod(cluster, "p1", "10.1.0.1")
    run_pod(cluster, "p2", "10.1.0.2")
    assert addresses(cluster) == ([], [])
    cluster.settle(5)
    assert addresses(cluster) == (["10.1.0.1", "10.1.0.2"], [])
    cluster.stop()


def run_many(cluster: Cluster, *names: str, **spec: Any) -> None:
    for number, name in enumerate(names, 1):
        cluster.create(PODS, pod(name, **spec))
        ready = {"type": "Ready", "status": "True"}
        status = {"phase": "Running", "podIP": f"10.2.0.{number}", "conditions": [ready]}
        cluster.patch(PODS, name, {"status": status}, subresource="status")


def packed(cluster: Cluster) -> list[list[str]]:
    """Names of pods by slice, larger slices first."""
    found = [sorted(e["targetRef"]["name"] for e in each.get("endpoints") or ()) for each in cluster.items(SLICES)]
    return sorted(found, key=lambda names: (-len(names), names))


def test_slices_are_filled_up_and_deleted_when_empty(tmp_path: Path) -> None:
    """A slice has a maximum of endpoints; new ones fill existing slices, and empty slices are deleted."""
    cluster = Cluster(tmp_path, ["endpointslice"], ["--max-endpoints-per-slice=2"])
    cluster.namespace()
    add_node(cluster)
    run_many(cluster, *"abcde")
    cluster.create(SERVICES, service())
    cluster.settle()
    assert packed(cluster) == [["a", "b"], ["c", "d"], ["e"]]
    cluster.delete(PODS, "c", gracePeriodSeconds=0)
    run_many(cluster, "f", "g")
    assert [len(names) for names in packed(cluster)] == [2, 2, 2] and packed(cluster)[0] == ["a", "b"]
    for name in "ab":
        cluster.delete(PODS, name, gracePeriodSeconds=0)
    assert [len(names) for names in packed(cluster)] == [2, 2]
    for name in "defg":
        cluster.delete(PODS, name, gracePeriodSeconds=0)
    assert packed(cluster) == [[]]
    cluster.stop()


def test_publish_not_ready_addresses(cluster: Cluster) -> None:
    """With publishNotReadyAddresses unready and terminating pods are ready addresses; slices also have the actual
    conditions."""
    add_node(cluster)
    cluster.create(SERVICES, service(publishNotReadyAddresses=True))
    run_pod(cluster, "p", "10.1.0.1", ready=False)
    run_pod(cluster, "q", "10.1.0.2")
    cluster.patch(PODS, "q", {"metadata": {"finalizers": ["example.com/hold"]}})
    cluster.delete(PODS, "q", gracePeriodSeconds=0)
    assert addresses(cluster) == (["10.1.0.1", "10.1.0.2"], [])
    [slice_] = cluster.items(SLICES)
    assert {e["targetRef"]["name"]: tuple(e["conditions"].values()) for e in slice_["endpoints"]} == {
        "p": (True, False, False), "q": (True, True, True),
    }  # fmt: skip
    cluster.patch(SERVICES, "s", {"spec": {"publishNotReadyAddresses": False}})
    assert addresses(cluster) == ([], ["10.1.0.1"])
    [slice_] = cluster.items(SLICES)
    assert {e["targetRef"]["name"]: e["conditions"]["ready"] for e in slice_["endpoints"]} == {"p": False, "q": False}


@pytest.mark.parametrize(
    ("policy", "phase", "there"),
    [
        ("Always", "Succeeded", True), ("Always", "Failed", True),
        ("OnFailure", "Succeeded", False), ("OnFailure", "Failed", True),
        ("Never", "Succeeded", False), ("Never", "Failed", False), ("Never", "Running", True),
    ],
)  # fmt: skip
def test_ended_pods_are_no_targets(policy: str, phase: str, there: bool) -> None:
    """A pod that has ended is no endpoint, unless it restarts."""
    ended = {"metadata": {}, "spec": {"restartPolicy": policy}, "status": {"phase": phase, "podIP": "10.0.0.1"}}
    assert reachable(ended, terminating=False) is there
    assert not reachable({**ended, "metadata": {"deletionTimestamp": "2020-01-01T00:00:00Z"}}, terminating=False)


def test_endpoints_follow_service_ports_and_node_zones(cluster: Cluster) -> None:
    """Endpoints follow the ports of their service, and the node's zone at any change of its pods."""
    zone = ORCH("topology.{long}.io/zone")
    cluster.create(NODES, {"metadata": {"name": "n"}}, "")
    cluster.create(SERVICES, service())
    run_many(cluster, "p", nodeName="n")
    assert "zone" not in cluster.items(SLICES)[0]["endpoints"][0]
    cluster.patch(NODES, "n", {"metadata": {"labels": {zone: "z"}}}, "")
    cluster.patch(SERVICES, "s", {"metadata": {"labels": {"touched": "1"}}})
    assert cluster.items(SLICES)[0]["endpoints"][0]["zone"] == "z"
    cluster.patch(NODES, "n", {"metadata": {"labels": {zone: "y"}}}, "")
    cluster.create(NODES, {"metadata": {"name": "plain"}}, "")
    run_pod(cluster, "other", "10.1.0.1", node="plain")
    zones = {e["targetRef"]["name"]: e.get("zone") for e in cluster.items(SLICES)[0]["endpoints"]}
    assert zones == {"p": "y", "other": None}
    cluster.patch(SERVICES, "s", {"spec": {"ports": [{"name": "web", "port": 80, "targetPort": 9090}]}})
    [slice_] = cluster.items(SLICES)
    assert [p["port"] for p in slice_["ports"]] == [9090]
    whole = cluster.get(ENDPOINTS, "s")
    assert whole is not None and [p["port"] for p in whole["subsets"][0]["ports"]] == [9090]


@pytest.mark.parametrize(
    ("ready", "unready", "cut"), [(600, 400, False), (600, 401, True), (1001, 0, True), (1000, 5, True)]
)
def test_endpoints_hold_at_most_a_thousand_addresses(ready: int, unready: int, cut: bool) -> None:
    """Addresses beyond a thousand are left out, ready ones last."""
    subset: dict[str, Any] = {"ports": [{"port": 1}]}
    for key, count in (("addresses", ready), ("notReadyAddresses", unready)):
        if count:
            subset[key] = [{"ip": f"10.0.{n // 250}.{n % 250}"} for n in range(count)]
    subsets, was_cut = limited([subset])
    kept = [len(subsets[0].get(key, ())) for key in ("addresses", "notReadyAddresses")]
    assert (kept, was_cut) == ([min(ready, 1000), min(unready, max(0, 1000 - ready))], cut)


HEADLESS = "service.orch.io/headless"


@pytest.mark.parametrize(
    ("spec", "tags", "expected"),
    [
        ({"clusterIP": "10.0.0.1"}, {"a": "b"}, {"a": "b"}),
        ({"clusterIP": "None"}, {"a": "b"}, {"a": "b", HEADLESS: ""}),
        ({"type": "ExternalName", "externalName": "x.example"}, {}, {HEADLESS: ""}),
        ({"clusterIP": "10.0.0.1"}, {HEADLESS: "own"}, {}),
        ({"clusterIP": "None"}, {HEADLESS: "own"}, {HEADLESS: ""}),
    ],
)
def test_headless_label_follows_the_cluster_address(
    spec: dict[str, Any], tags: dict[str, str], expected: dict[str, str]
) -> None:
    """The label is set for services without a cluster address, and not copied from the service."""
    service = {"metadata": {"name": "s", "labels": tags}, "spec": spec}
    assert labels_for(service, HEADLESS) == expected


@pytest.mark.parametrize(
    ("flags", "note", "there"),
    [
        ((), 'node "gone" not found', ([], ["p", "q"])),
        (("--emulated-version=1.35",), "skipping Pod q for Service a/s: Node gone Not Found", (["p"], ["p", "q"])),
    ],
)
def test_pods_of_absent_nodes_are_in_no_slice(
    tmp_path: Path, flags: tuple[str, ...], note: str, there: tuple[list[str], list[str]]
) -> None:
    """A pod whose node does not exist is left out of slices; before 1.24 it prevents their writes. The service is
    retried until the node exists."""
    cluster = Cluster(tmp_path, ["endpointslice"], flags)
    cluster.namespace()
    add_node(cluster)
    run_pod(cluster, "p", "10.1.0.1")
    run_pod(cluster, "q", "10.1.0.2", node="gone")
    cluster.create(SERVICES, service())
    cluster.settle()
    assert [name for names in packed(cluster) for name in names] == there[0]
    events = {e["reason"]: e["message"] for e in cluster.items(EVENTS)}
    assert events == {"FailedToUpdateEndpointSlices": f"Error updating Endpoint Slices for Service a/s: {note}"}
    cluster.create(NODES, {"metadata": {"name": "gone"}}, "")
    cluster.settle(60)
    assert [name for names in packed(cluster) for name in names] == there[1]
    cluster.stop()


def test_published_pods_of_absent_nodes_are_in_slices(tmp_path: Path) -> None:
    """A service that publishes unready addresses publishes those of pods without a node."""
    cluster = Cluster(tmp_path, ["endpointslice"], ["--emulated-version=1.35"])
    cluster.namespace()
    run_pod(cluster, "q", "10.1.0.2", node="gone")
    cluster.create(SERVICES, service(publishNotReadyAddresses=True))
    cluster.settle()
    assert packed(cluster) == [["q"]]
    cluster.stop()


def test_trigger_times_are_annotated(cluster: Cluster) -> None:
    """Endpoints and slices have the time of the change that they follow: the creation of the service, then the latest
    transitions of its pods; other writes remove it."""

    def noted() -> set[str | None]:
        whole = cluster.get(ENDPOINTS, "s")
        assert whole is not None
        key = ORCH("endpoints.{long}.io/last-change-trigger-time")
        return {each["metadata"].get("annotations", {}).get(key) for each in [whole, *cluster.items(SLICES)]}

    def transition(name: str, value: str, time: str) -> None:
        ready = {"type": "Ready", "status": value, "lastTransitionTime": time}
        cluster.patch(PODS, name, {"status": {"conditions": [ready]}}, subresource="status")

    add_node(cluster)
    created = cluster.create(SERVICES, service())["metadata"]["creationTimestamp"]
    cluster.settle()
    assert noted() == {created}
    run_pod(cluster, "p", "10.1.0.1", ready=False)
    assert noted() == {None}
    transition("p", "True", "2031-01-01T00:00:02Z")
    assert noted() == {"2031-01-01T00:00:02Z"}
    # The time stays while nothing is written.
    cluster.patch(SERVICES, "s", {"metadata": {"annotations": {"touched": "1"}}})
    assert noted() == {"2031-01-01T00:00:02Z"}
    cluster.patch(SERVICES, "s", {"metadata": {"labels": {"touched": "1"}}})
    assert noted() == {None}
    transition("p", "False", "2031-01-01T00:00:05Z")
    assert noted() == {"2031-01-01T00:00:05Z"}


def test_earliest_later_time_counts() -> None:
    """Of several changes since the last sync, the earliest counts; a service that is forgotten begins anew."""

    def at(**seconds: int) -> dict[str, str]:
        return {name: f"2031-01-01T00:00:{second:02}Z" for name, second in seconds.items()}

    service = {"metadata": {"name": "s", "creationTimestamp": "2031-01-01T00:00:00Z"}}
    times = TriggerTimes()
    assert times.advance(("d", "s"), service, at(a=1)) == "2031-01-01T00:00:00Z"
    assert times.advance(("d", "s"), service, at(a=5, b=3)) == "2031-01-01T00:00:03Z"
    assert times.advance(("d", "s"), service, at(a=4, b=3)) == ""
    times.forget(("d", "s"))
    assert times.advance(("d", "s"), service, at(a=9)) == "2031-01-01T00:00:00Z"


def test_trigger_times_of_pods_without_an_address(cluster: Cluster) -> None:
    """A transition that was seen before the pod had an address is not the time of the change that gave it one."""
    add_node(cluster)
    cluster.create(SERVICES, service())
    cluster.create(PODS, pod("p"))
    ready = {"type": "Ready", "status": "False", "lastTransitionTime": "2031-01-01T00:00:02Z"}
    for status in ({"phase": "Failed", "conditions": [ready]}, {"phase": "Running", "podIP": "10.1.0.1"}):
        cluster.patch(PODS, "p", {"status": status}, subresource="status")
        cluster.settle()
    endpoint = cluster.get(ENDPOINTS, "s")
    assert endpoint is not None and addresses(cluster) == ([], ["10.1.0.1"])
    assert ORCH("endpoints.{long}.io/last-change-trigger-time") not in endpoint["metadata"].get("annotations", {})


def _observed(address: str = "", node: str = "", transition: str = "") -> dict[str, Any]:
    conditions = [{"type": "Ready", "status": "False", "lastTransitionTime": transition}] if transition else []
    status = {"phase": "Pending", "conditions": conditions, **({"podIP": address} if address else {})}
    return {"metadata": {"name": "p", "labels": LABELS}, "spec": {"nodeName": node}, "status": status}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (None, _observed(), False),
        (_observed(), _observed(node="n"), False),
        (_observed(node="n"), None, False),
        (_observed(transition="2031-01-01T00:00:02Z"), _observed(node="n", transition="2031-01-01T00:00:02Z"), True),
        (_observed(node="n", transition="2031-01-01T00:00:02Z"), None, True),
        (None, _observed("10.1.0.1"), True),
        (_observed(), _observed("10.1.0.1"), True),
        (_observed("10.1.0.1"), None, True),
        (_observed("10.1.0.1"), _observed("10.1.0.1"), False),
    ],
)
def test_changes_of_pods_that_change_endpoints(old: Any, new: Any, expected: bool) -> None:
    """Services are not looked at for pods that have neither an address nor a time of readiness, before or after a
    change."""
    assert changes_endpoints(old, new) is expected
