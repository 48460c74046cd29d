"""Simulated nodes on a whole server."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
from twisted.python.usage import UsageError

from orchd.client.interfaces import ResourceRef
from orchd.dialect import ORCH
from orchd.errors import ApiError
from orchd.kinds.simulated import LABEL, is_simulated
from orchd.simulation.addresses import AddressPool
from orchd.simulation.behaviour import NOT_READY, SILENT
from orchd.testing.doubles.server import NOW, InProcessServer, make_server, run

PODS, NODES, NAMESPACES = (ResourceRef("", "v1", plural) for plural in ("pods", "nodes", "namespaces"))
LEASES = ResourceRef(ORCH("coordination.{abbr}.io"), "v1", "leases")
LEASE_NAMESPACE = ORCH("{short}-node-lease")


class World:
    """A server with two simulated nodes in two zones."""

    def __init__(self, folder: Path, *flags: str) -> None:
        self.passed = 0.0
        self.server: InProcessServer = make_server(
            folder,
            "--simulated-nodes=2",
            "--simulated-node-zones=east,west",
            "--disable-admission-plugins=ServiceAccount",
            *flags,
            wall=lambda: NOW + self.passed,
        )
        self.client = self.server.client()
        self.pass_(2)
        run(self.client.create(NAMESPACES, "", {"metadata": {"name": "a"}}))

    def pass_(self, seconds: float) -> None:
        for _ in range(int(seconds / 0.25)):
            self.passed += 0.25
            self.server.clock.advance(0.25)

    def node(self, name: str) -> dict[str, Any]:
        node: dict[str, Any] = run(self.client.get(NODES, "", name))
        return node

    def pod(self, name: str, node: str = "simulated-0", **metadata: Any) -> None:
        spec = {"containers": [{"name": "c", "image": "x"}], "nodeName": node}
        run(self.client.create(PODS, "a", {"metadata": {"name": name, **metadata}, "spec": spec}))

    def annotate(self, node: str, **notes: str | None) -> None:
        run(
            self.client.patch(
                NODES, "", node, {"metadata": {"annotations": notes}}, content_type="application/merge-patch+json"
            )
        )

    def renewed(self, name: str) -> str:
        return str(run(self.client.get(LEASES, LEASE_NAMESPACE, name))["spec"]["renewTime"])


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A server with simulated nodes."""
    world = World(tmp_path)
    yield world
    world.server.stop()


def ready(node: dict[str, Any]) -> str:
    [status] = [c["status"] for c in node["status"]["conditions"] if c["type"] == "Ready"]
    return str(status)


def test_nodes_are_registered_and_ready(world: World) -> None:
    """Nodes are registered in their zones, marked as simulated, and Ready with addresses of their own."""
    nodes = [world.node(f"simulated-{n}") for n in range(2)]
    assert [ready(node) for node in nodes] == ["True", "True"]
    assert all(is_simulated(node) and node["metadata"]["labels"][LABEL] == "true" for node in nodes)
    assert [n["metadata"]["labels"][ORCH("topology.{long}.io/zone")] for n in nodes] == ["east", "west"]
    assert len({n["status"]["addresses"][0]["address"] for n in nodes}) == 2


def test_leases_are_renewed_in_time(world: World) -> None:
    """The lease of each node is renewed before it expires, and not more often than needed."""
    seen: dict[str, list[str]] = {"simulated-0": [], "simulated-1": []}
    for _ in range(90):
        world.pass_(1)
        for name, times in seen.items():
            if world.renewed(name) not in times:
                times.append(world.renewed(name))
    assert all(3 <= len(times) <= 5 for times in seen.values()), seen
    lease = run(world.client.get(LEASES, LEASE_NAMESPACE, "simulated-0"))
    assert lease["metadata"]["ownerReferences"][0]["uid"] == world.node("simulated-0")["metadata"]["uid"]


def test_pod_runs_until_deleted(world: World) -> None:
    """A pod bound to a simulated node runs, and is gone when it is deleted."""
    world.pod("p")
    world.pod("q")
    pods = [run(world.client.get(PODS, "a", name)) for name in "pq"]
    assert [p["status"]["phase"] for p in pods] == ["Running", "Running"]
    assert len({p["status"]["podIP"] for p in pods}) == 2
    run(world.client.delete(PODS, "a", "p"))
    world.pass_(0.5)
    with pytest.raises(ApiError) as caught:
        run(world.client.get(PODS, "a", "p"))
    assert caught.value.code == 404


def test_other_nodes_are_not_changed(world: World) -> None:
    """Nodes without the annotation, and their pods, are not changed; with the annotation they are simulated."""
    run(world.client.create(NODES, "", {"metadata": {"name": "mine"}, "spec": {"podCIDR": "10.9.0.0/24"}}))
    world.pod("p", "mine")
    world.pass_(5)
    assert run(world.client.get(PODS, "a", "p"))["status"]["phase"] == "Pending"
    world.annotate("mine", **{ORCH("kwok.x-{abbr}.io/node"): "fake"})
    world.pass_(5)
    assert ready(world.node("mine")) == "True"
    assert run(world.client.get(PODS, "a", "p"))["status"]["podIP"] == "10.9.0.2"


def test_silent_node_stops_lease_and_status(world: World) -> None:
    """A silent node neither renews its lease nor reports its pods until it is enabled again."""
    world.pass_(30)
    world.annotate("simulated-0", **{SILENT: "true"})
    last = world.renewed("simulated-0")
    world.pod("p")
    world.pass_(60)
    assert world.renewed("simulated-0") == last
    assert run(world.client.get(PODS, "a", "p"))["status"]["phase"] == "Pending"
    world.annotate("simulated-0", **{SILENT: None})
    world.pass_(5)
    assert world.renewed("simulated-0") != last
    assert run(world.client.get(PODS, "a", "p"))["status"]["phase"] == "Running"


def test_not_ready_by_annotation(world: World) -> None:
    """A node reports NotReady with the reason of its annotation."""
    world.annotate("simulated-1", **{NOT_READY: "DiskOnFire"})
    world.pass_(1)
    [condition] = [c for c in world.node("simulated-1")["status"]["conditions"] if c["type"] == "Ready"]
    assert (condition["status"], condition["reason"]) == ("False", "DiskOnFire")


def test_extended_resources_of_a_patch_are_kept(world: World) -> None:
    """An extended resource that is patched into the capacity stays and is allocatable; the node's own resources are
    reported unchanged."""
    change = {"status": {"capacity": {"example.com/dongle": "4", "cpu": "1000"}}}
    run(
        world.client.patch(
            NODES, "", "simulated-0", change, content_type="application/merge-patch+json", subresource="status"
        )
    )
    world.pass_(5)
    status = world.node("simulated-0")["status"]
    assert status["capacity"] == status["allocatable"]
    assert (status["capacity"]["example.com/dongle"], status["capacity"]["cpu"]) == ("4", "8")
    gone: dict[str, Any] = {"status": {"capacity": {"example.com/dongle": None}}}
    run(
        world.client.patch(
            NODES, "", "simulated-0", gone, content_type="application/merge-patch+json", subresource="status"
        )
    )
    world.pass_(5)
    status = world.node("simulated-0")["status"]
    assert "example.com/dongle" not in status["capacity"] and "example.com/dongle" not in status["allocatable"]


def test_unchanged_status_is_reported_rarely(world: World) -> None:
    """A node whose status does not change reports it every few minutes only."""
    before = world.node("simulated-0")["metadata"]["resourceVersion"]
    world.pass_(200)
    assert world.node("simulated-0")["metadata"]["resourceVersion"] == before
    world.pass_(150)
    assert world.node("simulated-0")["metadata"]["resourceVersion"] != before


@pytest.mark.parametrize("path", ["log", "exec?command=ls", "attach", "portforward"])
def test_logs_and_streams_are_refused(world: World, path: str) -> None:
    """Logs and streams of a simulated pod are refused with the reason."""
    world.pod("p")
    response = run(world.server.request("GET", f"/api/v1/namespaces/a/pods/p/{path}"))
    assert response.code == 400
    assert "node simulated-0 is simulated: nothing runs in pod p" in response.json["message"]


@pytest.mark.parametrize(
    ("flag", "word"),
    [
        ("--simulated-nodes=-1", "--simulated-nodes: must be at least 0"),
        ("--simulated-node-capacity=cpu=x,memory=1,pods=1", "--simulated-node-capacity: cpu"),
        ("--simulated-node-capacity=cpu=1", "--simulated-node-capacity: memory is missing"),
        ("--simulated-pod-startup-delay=-1s", "--simulated-pod-startup-delay: must not be negative"),
    ],
)
def test_invalid_flags_are_named(tmp_path: Path, flag: str, word: str) -> None:
    """The error at the start names the flag."""
    with pytest.raises((ValueError, UsageError), match=word):
        make_server(tmp_path, flag)


def test_startup_delay_of_nodes(tmp_path: Path) -> None:
    """With a start-up delay nodes are registered at once and become Ready later."""
    world = World(tmp_path, "--simulated-node-startup-delay=10s")
    assert ready(world.node("simulated-0")) == "False"
    world.pass_(10)
    assert ready(world.node("simulated-0")) == "True"
    world.server.stop()


def test_address_pool_gives_and_reuses_addresses() -> None:
    """Each pod gets its own address until the range is exhausted; released addresses are reused."""
    pool, network = AddressPool(), ip_network("10.0.0.0/29")
    pool.learn("other", ["10.0.0.3"])
    given = [pool.take(str(n), [network]) for n in range(5)]
    assert given == [["10.0.0.2"], ["10.0.0.4"], ["10.0.0.5"], ["10.0.0.6"], []]
    assert pool.take("0", [network]) == ["10.0.0.2"]
    pool.release("2")
    assert pool.take("5", [network]) == ["10.0.0.5"]


@pytest.mark.parametrize(
    ("release", "message"),
    [
        ("1.23", "Pod Predicate NodePorts failed"),
        (
            "1.35",
            "Pod was rejected: Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports",
        ),
    ],
)
def test_pods_with_used_host_ports_fail(tmp_path: Path, release: str, message: str) -> None:
    """Of pods that reach a node together one gets a host port, the others fail. The port is free again after the end of
    the pod."""
    world = World(tmp_path, f"--emulated-version={release}")

    def add(name: str, node: str = "simulated-0", **port: Any) -> None:
        container = {"name": "c", "image": "x", "ports": [{"containerPort": 80, "hostPort": 8080, **port}]}
        spec = {"containers": [container], "nodeName": node}
        run(world.client.create(PODS, "a", {"metadata": {"name": name}, "spec": spec}))

    def status(name: str) -> tuple[Any, ...]:
        pod = run(world.client.get(PODS, "a", name))["status"]
        return pod["phase"], pod.get("reason"), pod.get("message")

    refused, running = ("Failed", "NodePorts", message), ("Running", None, None)
    for name in ("one", "two"):
        add(name)
    add("elsewhere", "simulated-1")
    add("other-protocol", protocol="UDP")
    add("one-address", hostIP="192.0.2.1")
    world.pass_(2)
    assert sorted([status("one"), status("two"), status("one-address")]) == [refused, refused, running]
    assert status("elsewhere") == status("other-protocol") == running
    [holder] = [name for name in ("one", "two", "one-address") if status(name) == running]
    run(world.client.delete(PODS, "a", holder, options={"gracePeriodSeconds": 0}))
    add("one-address-later", hostIP="192.0.2.1")
    add("another-address", hostIP="192.0.2.2")
    world.pass_(2)
    assert status("one-address-later") == status("another-address") == running
    world.server.stop()


def test_missing_images_keep_pods_from_starting(tmp_path: Path) -> None:
    """A pod of which any container has an image that is missing waits for it; other pods run."""
    world = World(tmp_path, "--simulated-missing-images=registry.example/gone:1,gone:2")

    def status(**images: str) -> dict[str, Any]:
        spec: dict[str, Any] = {"nodeName": "simulated-0", "containers": [{"name": "c", "image": images["main"]}]}
        if "first" in images:
            spec["initContainers"] = [{"name": "i", "image": images["first"]}]
        pod = run(world.client.create(PODS, "a", {"metadata": {"generateName": "p"}, "spec": spec}))
        world.pass_(2)
        stored_pod: dict[str, Any] = run(world.client.get(PODS, "a", pod["metadata"]["name"]))["status"]
        return stored_pod

    assert status(main="gone:1")["phase"] == "Running"
    waiting = status(main="gone:2")
    assert waiting["phase"] == "Pending"
    assert waiting["containerStatuses"][0]["state"]["waiting"]["reason"] == "ImagePullBackOff"
    assert status(main="x", first="registry.example/gone:1")["phase"] == "Pending"
    world.server.stop()


def test_deferred_resizes_are_tried_when_a_pod_ends(tmp_path: Path) -> None:
    """A resize that waits for room on its node is granted as soon as another pod there is gone."""
    world = World(tmp_path, "--emulated-version=1.35")
    capacity = int(world.node("simulated-0")["status"]["allocatable"]["cpu"])
    for name, amount in (("large", capacity - 2), ("small", 1)):
        container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": str(amount)}}}
        spec = {"containers": [container], "nodeName": "simulated-0"}
        run(world.client.create(PODS, "a", {"metadata": {"name": name}, "spec": spec}))
    world.pass_(2)
    resources = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "3"}}}]}}
    strategic = "application/strategic-merge-patch+json"
    run(world.client.patch(PODS, "a", "small", resources, content_type=strategic, subresource="resize"))

    def pending() -> list[str]:
        status = run(world.client.get(PODS, "a", "small"))["status"]
        return [each["reason"] for each in status["conditions"] if each["type"] == "PodResizePending"]

    world.pass_(2)
    assert pending() == ["Deferred"]
    run(world.client.delete(PODS, "a", "large"))
    world.pass_(2)
    status = run(world.client.get(PODS, "a", "small"))["status"]
    assert pending() == [] and status["containerStatuses"][0]["resources"]["requests"] == {"cpu": "3"}
    world.server.stop()
