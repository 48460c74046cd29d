"""EndpointSlices that mirror Endpoints."""

from __future__ import annotations

from typing import Any

from orchd.client.interfaces import ResourceRef
from orchd.controllers.endpoints.mirroring_controller import group_addresses
from orchd.controllers.objects import ENDPOINTS, SERVICES
from tests.controllers.cluster_support import Cluster

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
