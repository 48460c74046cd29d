"""Targets of services: pods that count, their ports, names and addresses."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.controllers.endpoints import endpoints_controller, targets
from orchd.controllers.endpoints.endpoints_controller import limited, make_target, same_subsets, subsets


def pod(**changes: Any) -> dict[str, Any]:
    """A pod of `spec`, `status` and further metadata."""
    spec, status = changes.pop("spec", {}), changes.pop("status", {})
    return {
        "metadata": {"namespace": "a", "name": "p", "uid": "u", **changes},
        "spec": spec,
        "status": {"podIP": "10.0.0.1", **status},
    }


def service(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"namespace": "a", "name": "s", "labels": {"app": "x", "own": ""}}, "spec": spec}


@pytest.mark.parametrize(
    ("policy", "phase", "reachable"),
    [
        ("Always", "Running", True),
        ("Always", "Failed", True),
        ("Always", "Succeeded", True),
        ("OnFailure", "Running", True),
        ("OnFailure", "Failed", True),
        ("OnFailure", "Succeeded", False),
        ("Never", "Pending", True),
        ("Never", "Failed", False),
        ("Never", "Succeeded", False),
    ],
)
def test_ended_pods_are_no_targets(policy: str, phase: str, reachable: bool) -> None:
    """Unless their restart policy starts them again."""
    assert (
        targets.reachable(pod(spec={"restartPolicy": policy}, status={"phase": phase}), terminating=False) == reachable
    )


def test_pods_without_an_address_and_terminating_pods_are_no_targets() -> None:
    ending = pod(deletionTimestamp="2020-01-01T00:00:00Z")
    assert not targets.reachable(ending, terminating=False) and targets.reachable(ending, terminating=True)
    assert not targets.reachable(pod(status={"podIP": ""}), terminating=True)


NAMED = {
    "containers": [
        {"ports": [{"name": "web", "containerPort": 80}, {"name": "dns", "containerPort": 53, "protocol": "UDP"}]},
        {},
    ]
}


@pytest.mark.parametrize(
    ("port", "expected"),
    [
        ({"port": 1}, {"port": 1, "protocol": "TCP"}),
        ({"port": 1, "targetPort": 0}, {"port": 1, "protocol": "TCP"}),
        ({"port": 1, "targetPort": 2, "name": "n"}, {"name": "n", "port": 2, "protocol": "TCP"}),
        ({"port": 1, "targetPort": "web", "appProtocol": "h2c"}, {"port": 80, "protocol": "TCP", "appProtocol": "h2c"}),
        ({"port": 1, "targetPort": "dns", "protocol": "UDP"}, {"port": 53, "protocol": "UDP"}),
        ({"port": 1, "targetPort": "dns"}, None),
        ({"port": 1, "targetPort": "web", "protocol": "UDP"}, None),
        ({"port": 1, "targetPort": "none"}, None),
    ],
)
def test_target_ports(port: dict[str, Any], expected: dict[str, Any] | None) -> None:
    """A number, or the name of a container's port of the same protocol; ports that the pod lacks are left out."""
    ports = targets.ports_of(service(ports=[port]), pod(spec=NAMED))
    assert [each.as_json() for each in ports] == ([expected] if expected else [])


def test_ports_are_sorted() -> None:
    ports = targets.ports_of(service(ports=[{"name": "b", "port": 1}, {"name": "a", "port": 2}]), pod())
    assert [each.name for each in ports] == ["a", "b"]
    assert targets.ports_of(service(), pod()) == ()


def test_entries_are_compared_without_versions() -> None:
    """Only the version of the reference does not count."""
    entry = {"ip": "10.0.0.1", "targetRef": targets.versioned_reference(pod(resourceVersion="1"))}
    later = {"ip": "10.0.0.1", "targetRef": targets.versioned_reference(pod(resourceVersion="2"))}
    other = {"ip": "10.0.0.1", "targetRef": targets.reference(pod(uid="other"))}
    bare = {"ip": "10.0.0.1"}
    assert entry != later and targets.same_entries([entry], [later]) and targets.same_entries([bare], [bare])
    for one, two in (([entry], [other]), ([entry], [bare]), ([entry], []), ([entry], [entry, entry])):
        assert not targets.same_entries(one, two)
    assert targets.versioned_reference(pod(resourceVersion="1")) == {
        "kind": "Pod", "namespace": "a", "name": "p", "uid": "u", "resourceVersion": "1",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("spec", "namespace", "name"),
    [
        ({"hostname": "h", "subdomain": "s"}, "a", "h"),
        ({"hostname": "h", "subdomain": "other"}, "a", ""),
        ({"hostname": "h"}, "a", ""),
        ({"subdomain": "s"}, "a", ""),
        ({"hostname": "h", "subdomain": "s"}, "b", ""),
    ],
)
def test_hostname_of_a_pod_in_the_subdomain_of_the_service(spec: Any, namespace: str, name: str) -> None:
    assert targets.hostname(service(), pod(spec=spec, namespace=namespace)) == name


@pytest.mark.parametrize(
    ("spec", "labels", "headless"),
    [
        ({"clusterIP": "10.0.0.1"}, {"app": "x"}, False),
        ({"clusterIP": "None"}, {"app": "x", "own": ""}, True),
        ({"clusterIP": ""}, {"app": "x", "own": ""}, False),
        ({}, {"app": "x", "own": ""}, False),
    ],
)
def test_labels_for_services_without_an_address(spec: Any, labels: dict[str, str], headless: bool) -> None:
    """The label `own` is set for them alone, whatever the service has."""
    assert targets.labels_for(service(**spec), "own") == labels and targets.headless(service(**spec)) == headless


@pytest.mark.parametrize(
    ("status", "addresses"),
    [
        ({"podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd::1"}]}, ("10.0.0.1", "fd::1")),
        ({"podIPs": [{"ip": "fd::1"}]}, ("", "fd::1")),
        ({}, ("10.0.0.1", "")),
        ({"podIP": "fd::2"}, ("", "fd::2")),
        ({"podIP": ""}, ("", "")),
    ],
)
def test_addresses_by_family(status: Any, addresses: tuple[str, str]) -> None:
    assert tuple(targets.address_of(pod(status=status), family) for family in ("IPv4", "IPv6")) == addresses


@pytest.mark.parametrize(
    ("spec", "families"),
    [
        ({"ipFamilies": ["IPv6"], "clusterIP": "10.0.0.1"}, ["IPv6"]),
        ({"clusterIP": "10.0.0.1"}, ["IPv4"]),
        ({"clusterIP": "fd::1"}, ["IPv6"]),
        ({"clusterIP": "None"}, ["IPv4", "IPv6"]),
        ({}, ["IPv4", "IPv6"]),
    ],
)
def test_families_of_a_service(spec: Any, families: list[str]) -> None:
    assert targets.families(service(**spec)) == families


def test_pods_that_are_not_ready_may_be_published() -> None:
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    assert targets.counts_as_ready(service(), pod(status=ready)) and not targets.counts_as_ready(service(), pod())
    assert targets.counts_as_ready(service(publishNotReadyAddresses=True), pod())


# -- Endpoints

READY = {"conditions": [{"type": "Ready", "status": "True"}]}
WEB = {"ports": [{"port": 80}]}


def _target(service_: Any, pod_: Any) -> Any:
    return make_target(service_, pod_, targets.reference)


def test_entry_of_a_pod() -> None:
    """Its address of the first family, the name within the subdomain, the node and the reference, where it has them."""
    full = pod(
        spec={"hostname": "h", "subdomain": "s", "nodeName": "n"},
        status={**READY, "podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd::1"}]},
    )
    target = _target(service(**WEB, ipFamilies=["IPv6", "IPv4"]), full)
    reference = {"kind": "Pod", "namespace": "a", "name": "p", "uid": "u"}
    assert target.entry == {"ip": "fd::1", "hostname": "h", "nodeName": "n", "targetRef": reference}
    assert target.address == "fd::1" and target.ready and [each.number for each in target.ports] == [80]
    bare = _target(service(**WEB), pod())
    assert bare.entry == {"ip": "10.0.0.1", "targetRef": reference} and not bare.ready
    assert _target(service(**WEB, ipFamilies=["IPv6"]), pod()) is None
    assert _target(service(**WEB), pod(status={"podIP": ""})) is None


def test_terminating_pods_are_entries_if_those_that_are_not_ready_are() -> None:
    ending = pod(deletionTimestamp="2020-01-01T00:00:00Z")
    assert _target(service(**WEB), ending) is None
    target = _target(service(**WEB, publishNotReadyAddresses=True), ending)
    assert target is not None and target.ready


def test_headless_services_may_have_no_ports() -> None:
    assert _target(service(clusterIP="None"), pod()).ports == (None,)
    assert _target(service(clusterIP="10.0.0.9"), pod()).ports == ()
    assert subsets([_target(service(clusterIP="None"), pod())])[0].keys() == {"notReadyAddresses"}


def test_subsets_have_equal_ports() -> None:
    """Ports of the same pods are together, sorted; addresses are by readiness, sorted."""
    several = service(ports=[{"name": "b", "port": 2}, {"name": "a", "port": 1, "targetPort": "web"}])
    pods = [
        pod(status={**READY, "podIP": "10.0.0.2"}),
        pod(status={**READY, "podIP": "10.0.0.1"}),
        pod(status={"podIP": "10.0.0.3"}, spec=NAMED),
    ]
    result = [
        {key: [each.get("ip") or each.get("name") for each in value] for key, value in subset.items()}
        for subset in subsets([_target(several, each) for each in pods])
    ]
    ready = ["10.0.0.1", "10.0.0.2"]
    assert result == [
        {"addresses": ready, "notReadyAddresses": ["10.0.0.3"], "ports": ["b"]},
        {"notReadyAddresses": ["10.0.0.3"], "ports": ["a"]},
    ]
    together = subsets([_target(service(ports=[{"name": "b", "port": 2}, {"name": "a", "port": 1}]), pods[0])])
    assert [[port["name"] for port in subset["ports"]] for subset in together] == [["a", "b"]]


def test_endpoints_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ready addresses come first in each subset; subsets without addresses are left out."""
    monkeypatch.setattr(endpoints_controller, "_MOST", 3)
    every = [{"addresses": [1, 2], "notReadyAddresses": [3, 4], "ports": ["x"]}, {"addresses": [5], "ports": ["y"]}]
    assert limited(every) == ([{"addresses": [1, 2], "notReadyAddresses": [3], "ports": ["x"]}], True)
    whole = [{"addresses": [1, 2], "ports": ["x"]}, {"notReadyAddresses": [3], "ports": ["y"]}]
    assert limited(whole) == (whole, False)
    assert limited([{"addresses": [], "ports": ["x"]}]) == ([], False)


def test_subsets_are_compared_without_versions() -> None:
    one = {"addresses": [{"ip": "1", "targetRef": {"name": "p", "resourceVersion": "1"}}], "ports": [{"port": 1}]}
    later = {**one, "addresses": [{"ip": "1", "targetRef": {"name": "p", "resourceVersion": "2"}}]}
    assert same_subsets([one], [later]) and same_subsets([{}], [{"ports": [], "addresses": []}])
    for other in (
        [],
        [{**one, "ports": []}],
        [{**one, "addresses": []}],
        [{**one, "notReadyAddresses": [{"ip": "2"}]}],
        [one, one],
    ):
        assert not same_subsets([one], other)
