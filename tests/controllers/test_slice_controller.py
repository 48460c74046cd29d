"""EndpointSlices of a service, without a server: the endpoint of each pod, and the writes of one pass."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.controllers.endpoints import targets
from orchd.controllers.endpoints.slice_controller import EndpointSliceController
from orchd.controllers.objects import NODES, PODS, SERVICES
from orchd.controllers.settings import ControllerSettings
from orchd.dialect import ORCH
from orchd.kinds.release import NEWEST, SPECIFICATION
from orchd.testing.doubles.results import result_of
from tests.controllers.test_endpoints import SLICES
from tests.controllers.unit_support import ControllerBench

PORT = {"name": "web", "port": 80, "protocol": "TCP"}


def service(**spec: Any) -> dict[str, Any]:
    metadata = {"name": "s", "namespace": "a", "uid": "s", "creationTimestamp": "2026-01-01T00:00:00Z"}
    return {"metadata": metadata, "spec": {"selector": {"app": "x"}, "clusterIP": "10.0.0.1", "ports": [PORT], **spec}}


def pod(name: str = "p", *addresses: str, ready: bool = True, deleting: bool = False, **spec: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "a", "uid": name, "labels": {"app": "x"}, "resourceVersion": "7"}
    if deleting:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    ips = addresses or ("10.1.0.1",)
    conditions = [{"type": "Ready", "status": str(ready)}]
    status = {"podIP": ips[0], "podIPs": [{"ip": each} for each in ips], "conditions": conditions, "phase": "Running"}
    return {"metadata": metadata, "spec": {"nodeName": "n", **spec}, "status": status}


def bench(**environment: Any) -> ControllerBench:
    """With the node of the pods, which is in the zone z."""
    started = ControllerBench(EndpointSliceController, **environment)
    result_of(started.controller.listen())
    node = {"metadata": {"name": "n", "labels": {ORCH("topology.{long}.io/zone"): "z"}}}
    started.informers.put(NODES, node)
    return started


def described(given: dict[str, Any], of: dict[str, Any], zone: str | None = "z", **environment: Any) -> list[Any]:
    """The endpoints of a pod: address family and endpoint."""
    endpoints = bench(**environment).controller.describe(of, given, zone)
    return [(family, endpoint) for (family, _), endpoint in endpoints]


def conditions(ready: bool, serving: bool, terminating: bool) -> dict[str, bool]:
    return {"ready": ready, "serving": serving, "terminating": terminating}


@pytest.mark.parametrize(
    ("given", "of", "expected"),
    [
        (pod(), service(), conditions(True, True, False)),
        (pod(ready=False), service(), conditions(False, False, False)),
        (pod(deleting=True), service(), conditions(False, True, True)),
        (pod(deleting=True, ready=False), service(), conditions(False, False, True)),
        (pod(ready=False), service(publishNotReadyAddresses=True), conditions(True, False, False)),
        (pod(deleting=True), service(publishNotReadyAddresses=True), conditions(True, True, True)),
    ],
)
def test_conditions_of_an_endpoint(given: dict[str, Any], of: dict[str, Any], expected: dict[str, bool]) -> None:
    ((family, endpoint),) = described(given, of)
    assert (family, endpoint["conditions"]) == ("IPv4", expected)


@pytest.mark.parametrize(
    ("given", "published", "expected"),
    [(pod(), False, [True]), (pod(ready=False), False, [False]), (pod(deleting=True), False, []), (pod(deleting=True), True, [True])],
)  # fmt: skip
def test_without_the_gate_terminating_pods_have_no_endpoint(
    given: dict[str, Any], published: bool, expected: list[bool]
) -> None:
    """Unless the service publishes them; the only condition is `ready`."""
    endpoints = described(
        given, service(publishNotReadyAddresses=published), features={"EndpointSliceTerminatingCondition": False}
    )
    assert [endpoint["conditions"] for _, endpoint in endpoints] == [{"ready": ready} for ready in expected]


@pytest.mark.parametrize("release", [SPECIFICATION, NEWEST])
def test_members_of_an_endpoint(release: Any) -> None:
    """Newer releases leave the version out of the reference."""
    given = pod(hostname="h", subdomain="s")
    reference = {"kind": "Pod", "namespace": "a", "name": "p", "uid": "p"}
    ((_, endpoint),) = described(given, service(), release=release)
    assert endpoint == {
        "addresses": ["10.1.0.1"], "conditions": conditions(True, True, False), "hostname": "h", "nodeName": "n", "zone": "z",
        "targetRef": reference if release is NEWEST else {**reference, "resourceVersion": "7"},
    }  # fmt: skip
    ((_, endpoint),) = described(pod(hostname="h", subdomain="other"), service(), zone="")
    assert not {"hostname", "zone"} & set(endpoint)


HINTS = {"forZones": [{"name": "z"}]}


@pytest.mark.parametrize(
    ("given", "distribution", "annotations", "hints"),
    [
        (pod(), "PreferClose", {}, HINTS),
        (pod(), "PreferSameZone", {}, HINTS),
        (pod(), "PreferSameNode", {}, {**HINTS, "forNodes": [{"name": "n"}]}),
        (pod(), "Other", {}, None),
        (pod(), None, {}, None),
        (pod(ready=False), "PreferClose", {}, None),
        (pod(), "PreferClose", {"service.orch.io/topology-mode": "Auto"}, None),
        (pod(), "PreferClose", {"service.orch.io/topology-mode": "auto"}, None),
        (pod(), "PreferClose", {"service.orch.io/topology-mode": "Disabled"}, HINTS),
        (pod(), "PreferClose", {"service.orch.io/topology-aware-hints": "Auto"}, None),
    ],
)
def test_hints_of_a_ready_endpoint(
    given: dict[str, Any], distribution: str | None, annotations: dict[str, str], hints: Any
) -> None:
    """They repeat zone and node, unless an annotation asks for hints by topology."""
    of = service(**({"trafficDistribution": distribution} if distribution else {}))
    of["metadata"]["annotations"] = annotations
    ((_, endpoint),) = described(given, of, release=NEWEST)
    assert endpoint.get("hints") == hints
    ((_, endpoint),) = described(given, of, release=SPECIFICATION)
    assert "hints" not in endpoint


def test_hints_need_a_zone() -> None:
    ((_, endpoint),) = described(pod(), service(trafficDistribution="PreferSameNode"), zone="", release=NEWEST)
    assert endpoint["hints"] == {"forNodes": [{"name": "n"}]}


# -- targets


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"ipFamilies": ["IPv6", "IPv4"]}, ["IPv6", "IPv4"]),
        ({"clusterIP": "10.0.0.1"}, ["IPv4"]),
        ({"clusterIP": "fd00::1"}, ["IPv6"]),
        ({"clusterIP": "None"}, ["IPv4", "IPv6"]),
        ({"clusterIP": ""}, ["IPv4", "IPv6"]),
    ],
)
def test_families_of_a_service(spec: dict[str, Any], expected: list[str]) -> None:
    assert targets.families(service(**spec)) == expected


@pytest.mark.parametrize(
    ("addresses", "four", "six"),
    [(["10.1.0.1"], "10.1.0.1", ""), (["fd00::1"], "", "fd00::1"), (["fd00::1", "10.1.0.1", "10.1.0.2"], "10.1.0.1", "fd00::1")],
)  # fmt: skip
def test_address_of_a_family(addresses: list[str], four: str, six: str) -> None:
    """The first one; a pod without a list has one address."""
    given = pod("p", *addresses)
    assert (targets.address_of(given, "IPv4"), targets.address_of(given, "IPv6")) == (four, six)
    single = {"status": {"podIP": addresses[0]}}
    assert targets.address_of(single, "IPv6" if ":" in addresses[0] else "IPv4") == addresses[0]
    assert targets.address_of({"status": {}}, "IPv4") == ""


CONTAINERS = [
    {"name": "c", "ports": [{"containerPort": 1}, {"name": "web", "containerPort": 8080}]},
    {
        "name": "d",
        "ports": [{"name": "web", "containerPort": 9, "protocol": "UDP"}, {"name": "web", "containerPort": 8081}],
    },
]


@pytest.mark.parametrize(
    ("ports", "expected"),
    [
        ([{"port": 80}], [("", 80, "TCP", "")]),
        ([{"port": 80, "targetPort": 0}], [("", 80, "TCP", "")]),
        ([{"port": 80, "targetPort": 81, "name": "a", "appProtocol": "x"}], [("a", 81, "TCP", "x")]),
        ([{"port": 80, "targetPort": "web"}], [("", 8080, "TCP", "")]),
        ([{"port": 80, "targetPort": "web", "protocol": "UDP"}], [("", 9, "UDP", "")]),
        ([{"port": 80, "targetPort": "none"}, {"port": 81}], [("", 81, "TCP", "")]),
        ([{"port": 80, "name": "b"}, {"port": 90, "name": "a"}], [("a", 90, "TCP", ""), ("b", 80, "TCP", "")]),
        ([], []),
    ],
)
def test_target_ports(ports: list[dict[str, Any]], expected: list[Any]) -> None:
    """By number, or by the name and protocol of a container's port; sorted by name."""
    assert targets.ports_of(service(ports=ports), pod(containers=CONTAINERS)) == tuple(
        targets.Port(*e) for e in expected
    )


def test_versions_of_references_are_no_difference() -> None:
    one, other = ({"addresses": ["a"], "targetRef": {"uid": "p", "resourceVersion": version}} for version in "12")
    assert targets.same_entries([one], [other])
    assert not targets.same_entries([one], [])
    assert not targets.same_entries([one], [{**other, "addresses": ["b"]}])
    assert not targets.same_entries([one], [{**other, "targetRef": {"uid": "q", "resourceVersion": "1"}}])
    assert not targets.same_entries([one], [{"addresses": ["a"]}])


# -- writes of one pass


def entry(name: str) -> dict[str, Any]:
    """The endpoint of pod(name)."""
    return described(pod(name), service())[0][1]  # type: ignore[no-any-return]


def slice_(name: str, *pods: str, port: int = 80, **metadata: Any) -> dict[str, Any]:
    tags = {
        ORCH("{long}.io/service-name"): "s",
        ORCH("endpointslice.{long}.io/managed-by"): ORCH("endpointslice-controller.{abbr}.io"),
    }
    return {
        "metadata": {"name": name, "namespace": "a", "labels": tags, "ownerReferences": [{"uid": "s"}], **metadata},
        "addressType": "IPv4",
        "ports": [{**PORT, "port": port}],
        "endpoints": [entry(each) for each in pods],
    }


@pytest.mark.parametrize(
    ("current", "pods", "calls"),
    [
        ([], "", ["create : "]),
        ([], "a", ["create : a"]),
        ([], "abc", ["create : ab", "create : c"]),
        ([slice_("x", "a")], "a", []),
        ([slice_("x", "a")], "ab", ["update x: ab"]),
        ([slice_("x", "a", "b")], "a", ["update x: a"]),
        ([slice_("x", "a", "b")], "abc", ["create : c"]),
        ([slice_("x", "a"), slice_("y", "b")], "abc", ["update x: ac"]),
        ([slice_("x", "a", "b"), slice_("y", "c")], "abcd", ["update y: cd"]),
        ([slice_("x", "a"), slice_("y", "b")], "b", ["delete x"]),
        ([slice_("x", "a"), slice_("y", "b")], "", ["update x: ", "delete y"]),
        # A slice that is no longer needed is reused, if it belongs to the service.
        ([slice_("x", "a", port=81)], "a", ["update x: a"]),
        ([slice_("x", "a", port=81), slice_("y", "b", port=82)], "a", ["update x: a", "delete y"]),
        ([slice_("x", "a", port=81, ownerReferences=[{"uid": "earlier"}])], "a", ["create : a", "delete x"]),
        ([{**slice_("x"), "addressType": "IPv6"}], "a", ["create : a", "delete x"]),
        ([slice_("x", "a", deletionTimestamp="t")], "a", ["create : a"]),
        ([slice_("x", "a", labels={"other": "labels"})], "a", ["create : a"]),
    ],
)
def test_writes_of_one_pass(current: list[dict[str, Any]], pods: str, calls: list[str]) -> None:
    """Endpoints stay in their slices, which hold two here; new ones fill them up; empty slices but the last go. A service
    without pods has no ports in its slice."""
    started = bench(settings=ControllerSettings(max_endpoints_per_slice=2))
    started.informers.put(SERVICES, service())
    for name in pods:
        started.informers.put(PODS, pod(name))
    started.informers.put(SLICES, *current)
    result_of(started.controller.reconcile(("a", "s")))
    written = []
    for (verb, _, name), body in zip(started.client.calls, started.client.bodies, strict=True):
        entries = "".join(each["targetRef"]["name"] for each in body.get("endpoints", ())) if verb != "delete" else ""
        written.append(f"{verb} {name}" + (f": {entries}" if verb != "delete" else ""))
    assert written == calls
    ports = [body["ports"] for (verb, _, _), body in zip(started.client.calls, started.client.bodies, strict=True)
             if verb != "delete"]  # fmt: skip
    assert all(each == ([PORT] if pods else []) for each in ports)
    changes = started.values()["endpoint_slice_controller_changes"]
    assert sum(changes.values()) == len(calls)
    assert all(changes[verb,] == sum(each.startswith(verb) for each in calls) for (verb,) in changes)


@pytest.mark.parametrize(
    "obj",
    [None, service(selector=None), {**service(), "metadata": {**service()["metadata"], "deletionTimestamp": "t"}}],
)
def test_slices_of_services_that_select_nothing_are_left_alone(obj: Any) -> None:
    """Those that are gone or going, and those without a selector."""
    started = bench()
    if obj is not None:
        started.informers.put(SERVICES, obj)
    started.informers.put(SLICES, slice_("x", "a"))
    assert result_of(started.controller.reconcile(("a", "s"))) is None
    assert started.client.calls == []


def slice_of(
    name: str = "s-1", of: str = "s", manager: str = ORCH("endpointslice-controller.{abbr}.io")
) -> dict[str, Any]:
    labels = {ORCH("{long}.io/service-name"): of, ORCH("endpointslice.{long}.io/managed-by"): manager}
    return {"metadata": {"name": name, "namespace": "a", "uid": name, "labels": labels}, "addressType": "IPv4"}


def test_changes_of_slices_queue_their_services() -> None:
    """The services before and after, of slices that this controller manages."""
    started = bench()
    started.informers.put(SLICES, slice_of())
    assert started.queued() == [("a", "s")]
    started.informers.put(SLICES, slice_of(of="t"))
    assert started.queued() == [("a", "s"), ("a", "t")]
    started.informers.informer(SLICES).remove("a", "s-1")
    assert started.queued() == [("a", "t")]
    started.informers.put(SLICES, slice_of(manager="other"))
    assert not started.queued()


def test_services_that_have_no_slices_of_their_own() -> None:
    """One that is gone, being deleted, or without a selector: its slices are left to others."""
    for of in (
        None,
        service(selector=None),
        {**service(), "metadata": {**service()["metadata"], "deletionTimestamp": "x"}},
    ):
        started = bench()
        if of is not None:
            started.informers.put(SERVICES, of)
        assert result_of(started.controller.reconcile(("a", "s"))) is None
        assert not started.client.calls
