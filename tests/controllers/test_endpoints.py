"""Endpoints of services, and pod garbage collection."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from orchd.client.interfaces import ResourceRef
from orchd.controllers.objects import ENDPOINTS, NODES, PODS, SERVICES
from orchd.dialect import ORCH
from tests.controllers.cluster_support import Cluster, template

SLICES = ResourceRef(ORCH("discovery.{abbr}.io"), "v1", "endpointslices")
LABELS = {"app": "x"}


def service(**spec: Any) -> dict[str, Any]:
    ports = [{"name": "web", "port": 80, "targetPort": 8080}]
    return {"metadata": {"name": "s"}, "spec": {"selector": LABELS, "ports": ports, **spec}}


def pod(name: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": LABELS}, "spec": template({}, **spec)["spec"]}


def run_pod(cluster: Cluster, name: str, ip: str, *, ready: bool = True) -> None:
    cluster.create(PODS, pod(name))
    condition = {"type": "Ready", "status": "True" if ready else "False"}
    status = {"phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}], "conditions": [condition]}
    cluster.patch(PODS, name, {"status": status}, subresource="status")


def shown(cluster: Cluster) -> tuple[list[str], list[str]]:
    """Ready addresses and others."""
    found = cluster.get(ENDPOINTS, "s")
    assert found is not None
    subsets = found.get("subsets") or []
    ready = [a["ip"] for s in subsets for a in s.get("addresses", ())]
    return ready, [a["ip"] for s in subsets for a in s.get("notReadyAddresses", ())]


def test_endpoints(cluster: Cluster) -> None:
    """Endpoints follow the pods that the selector chooses, their readiness and the service's end."""
    cluster.create(SERVICES, service())
    cluster.settle()
    assert shown(cluster) == ([], [])
    run_pod(cluster, "p1", "10.1.0.1")
    run_pod(cluster, "p2", "10.1.0.2", ready=False)
    assert shown(cluster) == (["10.1.0.1"], ["10.1.0.2"])
    found = cluster.get(ENDPOINTS, "s")
    assert found is not None
    assert found["subsets"][0]["ports"] == [{"name": "web", "port": 8080, "protocol": "TCP"}]
    cluster.patch(PODS, "p1", {"metadata": {"labels": {"app": "other"}}})
    assert shown(cluster) == ([], ["10.1.0.2"])
    cluster.delete(ENDPOINTS, "s")
    assert shown(cluster) == ([], ["10.1.0.2"])
    cluster.delete(SERVICES, "s")
    assert cluster.get(ENDPOINTS, "s") is None


def test_slices(cluster: Cluster) -> None:
    """A service has one slice while its pods fit; it goes with the service."""
    cluster.create(SERVICES, service())
    cluster.settle()
    [empty] = cluster.items(SLICES)
    assert not empty.get("endpoints")
    run_pod(cluster, "p1", "10.1.0.1")
    run_pod(cluster, "p2", "10.1.0.2", ready=False)
    [found] = cluster.items(SLICES)
    assert found["metadata"]["labels"][ORCH("{long}.io/service-name")] == "s"
    assert {e["addresses"][0]: e["conditions"]["ready"] for e in found["endpoints"]} == {
        "10.1.0.1": True, "10.1.0.2": False,
    }
    cluster.delete(SERVICES, "s")
    assert cluster.items(SLICES) == []


def test_pods_of_lost_nodes(cluster: Cluster) -> None:
    """A pod whose node has gone goes too, after a while."""
    cluster.create(NODES, {"metadata": {"name": "n"}}, "")
    cluster.create(PODS, pod("p", nodeName="n"))
    cluster.settle(60)
    assert cluster.names(PODS) == ["p"]
    cluster.delete(NODES, "n", "")
    cluster.settle(30)
    assert cluster.names(PODS) == ["p"]
    cluster.settle(30)
    assert cluster.names(PODS) == []


def test_changes_are_collected(tmp_path: Path) -> None:
    """With a batch period changes of pods within it are written once, when it has passed; those of services at once."""
    flags = ("--endpoint-updates-batch-period=5s", "--endpointslice-updates-batch-period=5s")
    cluster = Cluster(tmp_path, flags=flags)
    cluster.namespace()
    cluster.create(SERVICES, service())
    cluster.settle()
    assert shown(cluster) == ([], [])
    run_pod(cluster, "p1", "10.1.0.1")
    run_pod(cluster, "p2", "10.1.0.2")
    assert shown(cluster) == ([], [])
    cluster.settle(5)
    assert shown(cluster) == (["10.1.0.1", "10.1.0.2"], [])
    cluster.stop()
