"""EndpointSlices that mirror Endpoints."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.client.interfaces import ResourceRef
from orchd.controllers.endpoints.mirroring_controller import EndpointSliceMirroringController, group_addresses
from orchd.controllers.objects import ENDPOINTS, SERVICES
from orchd.controllers.settings import ControllerSettings
from orchd.dialect import ORCH
from orchd.testing.doubles.results import result_of
from tests.controllers.cluster_support import Cluster
from tests.controllers.unit_support import ControllerBench

#: Controllers of `cluster`.
RUNNING_CONTROLLERS = ("endpoint", "endpointslice", "endpointslicemirroring")

SLICES = ResourceRef("discovery.orch.io", "v1", "endpointslices")
SERVICE = {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}}


def endpoints(*subsets: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": "s", **metadata}, "subsets": list(subsets)}


def subset(*addresses: str, port: int = 80, not_ready: tuple[str, ...] = ()) -> dict[str, Any]:
    return {
        "addresses": [{"ip": ip} for ip in addresses],
        "notReadyAddresses": [{"ip": ip} for ip in not_ready],
        "ports": [{"name": "web", "port": port}],
    }


def slices(cluster: Cluster) -> list[tuple[str, int, list[tuple[str, bool]]]]:
    """Family, port and addresses with their readiness."""
    cluster.settle()
    found = []
    for each in cluster.items(SLICES):
        entries = sorted((e["addresses"][0], e["conditions"]["ready"]) for e in each.get("endpoints") or ())
        found.append((each["addressType"], each["ports"][0]["port"], entries))
    return sorted(found)


def test_addresses_are_grouped_by_family_and_ports() -> None:
    """Each pair of family and ports has a slice; invalid addresses and those beyond the limit are counted."""
    groups, wrong, surplus = group_addresses(
        endpoints(subset("10.0.0.1", "fd00::1", "?", not_ready=("10.0.0.2", "10.0.0.3"))), 3
    )
    assert (wrong, surplus) == (1, 1)
    assert {
        family: [(e["addresses"], e["conditions"]["ready"]) for e in group] for (family, _), group in groups.items()
    } == {"IPv4": [(["10.0.0.1"], True), (["10.0.0.2"], False)], "IPv6": [(["fd00::1"], True)]}


def test_mirrored_slices_follow_the_endpoints(cluster: Cluster) -> None:
    """Slices follow addresses, ports, labels and annotations, and are deleted with the Endpoints."""
    cluster.create(SERVICES, SERVICE)
    made = endpoints(subset("192.0.2.1", not_ready=("192.0.2.2",)), labels={"m": "1"}, annotations={"am": "2"})
    cluster.create(ENDPOINTS, made)
    assert slices(cluster) == [("IPv4", 80, [("192.0.2.1", True), ("192.0.2.2", False)])]
    (before,) = cluster.items(SLICES)
    assert before["metadata"]["labels"] == {
        "m": "1",
        "orch.io/service-name": "s",
        "endpointslice.orch.io/managed-by": "endpointslicemirroring-controller.orch.io",
    }
    assert before["metadata"]["annotations"]["am"] == "2"
    assert before["metadata"]["ownerReferences"][0]["kind"] == "Endpoints"
    cluster.patch(ENDPOINTS, "s", {"subsets": [subset("192.0.2.3", port=81)]})
    assert slices(cluster) == [("IPv4", 81, [("192.0.2.3", True)])]
    (after,) = cluster.items(SLICES)
    # A slice that is no longer needed is reused.
    assert after["metadata"]["name"] == before["metadata"]["name"]
    cluster.delete(ENDPOINTS, "s")
    assert slices(cluster) == []


def test_endpoints_that_are_not_mirrored(cluster: Cluster) -> None:
    """Endpoints without a service, of a service with a selector, with the skip label or of a leader election are not
    mirrored."""
    label, leader = "endpointslice.orch.io/skip-mirror", "control-plane.alpha.orch.io/leader"
    cluster.create(ENDPOINTS, endpoints(subset("192.0.2.1")))
    assert slices(cluster) == []
    cluster.create(SERVICES, SERVICE)
    assert len(slices(cluster)) == 1
    cluster.patch(ENDPOINTS, "s", {"metadata": {"labels": {label: "true"}}})
    assert slices(cluster) == []
    cluster.patch(ENDPOINTS, "s", {"metadata": {"labels": {label: None}, "annotations": {leader: "{}"}}})
    assert slices(cluster) == []
    cluster.patch(ENDPOINTS, "s", {"metadata": {"annotations": {leader: None}}})
    assert len(slices(cluster)) == 1
    cluster.patch(SERVICES, "s", {"spec": {"selector": {"x": "y"}}})
    assert not [
        s for s in cluster.items(SLICES) if "mirroring" in s["metadata"]["labels"]["endpointslice.orch.io/managed-by"]
    ]


def test_dual_stack_endpoints_have_two_slices(cluster: Cluster) -> None:
    """Each address family has its own slice."""
    cluster.create(SERVICES, SERVICE)
    cluster.create(ENDPOINTS, endpoints(subset("192.0.2.1", "2001:db8::1")))
    assert slices(cluster) == [("IPv4", 80, [("192.0.2.1", True)]), ("IPv6", 80, [("2001:db8::1", True)])]


_PREFIX = "endpoint_slice_mirroring_controller_"
#: Labels of a mirrored slice.
TAGS = {"orch.io/service-name": "s", "endpointslice.orch.io/managed-by": "endpointslicemirroring-controller.orch.io"}


def mirrored(name: str, *addresses: str, port: int = 80, family: str = "IPv4", **metadata: Any) -> dict[str, Any]:
    """A slice of the service as the controller writes it."""
    return {
        "metadata": {"name": name, "namespace": "a", "labels": TAGS, "annotations": {}, **metadata},
        "addressType": family,
        "ports": [{"name": "web", "port": port, "protocol": "TCP"}],
        "endpoints": [{"addresses": [each], "conditions": {"ready": True}} for each in addresses],
    }


def mirror(given: dict[str, Any], *current: dict[str, Any], most: int = 1000) -> ControllerBench:
    """The bench after one pass over the Endpoints `given` of a service that has the slices `current`."""
    settings = ControllerSettings(mirroring_max_endpoints_per_subset=most)
    bench = ControllerBench(EndpointSliceMirroringController, settings=settings)
    bench.informers.put(SERVICES, {**SERVICE, "metadata": {"name": "s", "namespace": "a"}})
    bench.informers.put(ENDPOINTS, {**given, "metadata": {**given["metadata"], "namespace": "a", "uid": "e"}})
    bench.informers.put(SLICES, *current)
    result_of(bench.controller.reconcile(("a", "s")))
    return bench


@pytest.mark.parametrize(
    ("given", "current", "calls"),
    [
        (endpoints(subset("192.0.2.1")), [], ["create "]),
        (endpoints(subset("192.0.2.1")), [mirrored("x", "192.0.2.1")], []),
        (endpoints(subset("192.0.2.1")), [mirrored("x", "192.0.2.2")], ["update x"]),
        (endpoints(subset("192.0.2.1")), [mirrored("x", "192.0.2.1", port=81)], ["update x"]),
        (endpoints(subset("192.0.2.1")), [mirrored("x", "fd00::1", family="IPv6")], ["create ", "delete x"]),
        (endpoints(subset("192.0.2.1")), [mirrored("x", "192.0.2.1"), mirrored("y", "192.0.2.1")], ["delete y"]),
        (endpoints(subset("192.0.2.1", "fd00::1")), [mirrored("x", "192.0.2.1")], ["create "]),
        (endpoints(subset("192.0.2.1"), subset("192.0.2.1", port=81)), [mirrored("y", "192.0.2.1", port=81)], ["create "]),
        (endpoints(), [mirrored("x", "192.0.2.1"), mirrored("y", "192.0.2.1", port=81)], ["delete x", "delete y"]),
        (endpoints(subset("192.0.2.1"), labels={"a": "b"}), [mirrored("x", "192.0.2.1")], ["update x"]),
        (endpoints(subset("192.0.2.1"), annotations={"a": "b"}), [mirrored("x", "192.0.2.1")], ["update x"]),
        (endpoints(subset("192.0.2.1")), [mirrored("x", "192.0.2.1", annotations={"a": "b"})], ["update x"]),
        # Annotations that are about the Endpoints themselves.
        (endpoints(subset("192.0.2.1"), annotations={"endpoints.orch.io/last-change-trigger-time": "t"}),
         [mirrored("x", "192.0.2.1")], []),
        (endpoints(subset("192.0.2.1"), annotations={ORCH.last_applied: "{}"}), [mirrored("x", "192.0.2.1")], []),
        # Slices that are being deleted, or of another controller, do not count.
        (endpoints(subset("192.0.2.1")), [mirrored("x", "192.0.2.1", deletionTimestamp="t")], ["create "]),
        (endpoints(subset("192.0.2.1")), [mirrored("x", "192.0.2.1", labels={"orch.io/service-name": "s"})], ["create "]),
        # Endpoints that are going, or opt out, lose their slices.
        (endpoints(subset("192.0.2.1"), deletionTimestamp="t"), [mirrored("x", "192.0.2.1")], ["delete x"]),
        (endpoints(subset("192.0.2.1"), labels={"endpointslice.orch.io/skip-mirror": "true"}), [mirrored("x", "192.0.2.1")],
         ["delete x"]),
        (endpoints(subset("192.0.2.1"), labels={"endpointslice.orch.io/skip-mirror": "no"}), [], ["create "]),
    ],
)  # fmt: skip
def test_writes_of_one_pass(given: dict[str, Any], current: list[dict[str, Any]], calls: list[str]) -> None:
    """A slice per family and ports; a surplus one is reused for the same family, or deleted. Changes are counted."""
    bench = mirror(given, *current)
    assert [f"{verb} {name}" for verb, _, name in bench.client.calls] == calls
    changes: dict[tuple[str], int] = {}
    for each in calls:
        verb = (each.partition(" ")[0],)
        changes[verb] = changes.get(verb, 0) + 1
    assert bench.values()[f"{_PREFIX}changes"] == changes


def test_created_slice_belongs_to_the_endpoints() -> None:
    given = endpoints(subset("192.0.2.1"), labels={"m": "1"}, annotations={"n": "2"})
    (body,) = mirror(given).client.bodies
    reference = {"apiVersion": "v1", "kind": "Endpoints", "name": "s", "uid": "e"}
    (owner,) = body["metadata"].pop("ownerReferences")
    assert {key: owner[key] for key in reference} == reference
    expected = mirrored("", "192.0.2.1", labels={**TAGS, "m": "1"}, annotations={"n": "2"}, generateName="s-")
    del expected["metadata"]["name"]
    assert body == {"apiVersion": "discovery.orch.io/v1", "kind": "EndpointSlice", **expected}


TOO_MANY = "A max of {} addresses can be mirrored to EndpointSlices per Endpoints subset. {} addresses were skipped"
INVALID = "Skipped {} invalid IP addresses when mirroring to EndpointSlices"


@pytest.mark.parametrize(
    ("addresses", "most", "notes"),
    [
        (["192.0.2.1", "192.0.2.2"], 2, []),
        (["192.0.2.1", "192.0.2.2"], 1, [("TooManyAddressesToMirror", TOO_MANY.format(1, 1))]),
        (["192.0.2.1", "?", "!"], 3, [("InvalidIPAddress", INVALID.format(2))]),
        (["?", "192.0.2.1", "192.0.2.2", "192.0.2.3"], 1,
         [("InvalidIPAddress", INVALID.format(1)), ("TooManyAddressesToMirror", TOO_MANY.format(1, 3))]),
    ],
)  # fmt: skip
def test_skipped_addresses_are_reported(addresses: list[str], most: int, notes: list[tuple[str, str]]) -> None:
    bench = mirror(endpoints(subset(*addresses)), most=most)
    assert bench.events.notes == notes


def test_members_of_addresses_are_kept() -> None:
    """Reference, node and hostname are copied; members of ports have their defaults."""
    whole = {"ip": "192.0.2.1", "targetRef": {"kind": "Pod"}, "nodeName": "n", "hostname": "h"}
    ports = [{"port": 80}, {"name": "a", "port": 53, "protocol": "UDP", "appProtocol": "dns"}]
    (groups, wrong, surplus) = group_addresses({"metadata": {}, "subsets": [{"addresses": [whole], "ports": ports}]}, 1)
    assert (wrong, surplus) == (0, 0)
    (((family, grouped), entries),) = groups.items()
    assert family == "IPv4" and [each.as_json() for each in grouped] == [
        {"port": 80, "protocol": "TCP"},
        {"name": "a", "port": 53, "protocol": "UDP", "appProtocol": "dns"},
    ]
    assert entries == [
        {
            "addresses": ["192.0.2.1"],
            "conditions": {"ready": True},
            **{key: whole[key] for key in ("targetRef", "nodeName", "hostname")},
        }
    ]
