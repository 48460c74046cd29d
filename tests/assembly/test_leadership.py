"""Leader election within a server: its controllers run while it leads, and restart when it is elected again."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from orchd.assembly.leadership import candidate_identity
from orchd.client.fenced import FencedClient
from orchd.client.interfaces import ResourceRef
from orchd.client.scoped_informers import ScopedInformers
from orchd.controllers.garbage.collector import GarbageCollector
from orchd.errors import ApiError
from orchd.testing.doubles.informers import MemoryInformers
from orchd.testing.doubles.server import NOW, InProcessServer, make_server, run
from orchd.txkit.coroutines import start

LEASES = ResourceRef("coordination.orch.io", "v1", "leases")
EVENTS = ResourceRef("", "v1", "events")
REPLICA_SETS = ResourceRef("apps", "v1", "replicasets")
PODS = ResourceRef("", "v1", "pods")
NAME = "orch-controller-manager"


class World:
    def __init__(self, folder: Path, *flags: str) -> None:
        self.passed = 0.0
        self.server: InProcessServer = make_server(
            folder,
            "--controllers=replicaset",
            "--disable-admission-plugins=ServiceAccount",
            *flags,
            wall=lambda: NOW + self.passed,
        )
        self.client = self.server.client()
        self.controllers = self.server.server.background.controllers

    def pass_time(self, seconds: float) -> None:
        for _ in range(int(seconds * 2)):
            self.passed += 0.5
            self.server.clock.advance(0.5)

    def lease(self) -> dict[str, Any]:
        lease: dict[str, Any] = run(self.client.get(LEASES, "orch-system", NAME))
        return lease

    def take(self) -> None:
        """Another process acquires the lock."""
        found = self.lease()
        spec = {**found["spec"], "holderIdentity": "other", "renewTime": "2027-01-15T09:00:00.000000Z"}
        run(self.client.update(LEASES, "orch-system", NAME, {**found, "spec": spec}))

    def replica_set(self, name: str) -> None:
        template = {"metadata": {"labels": {"a": name}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        spec = {"replicas": 1, "selector": {"matchLabels": {"a": name}}, "template": template}
        run(self.client.create(REPLICA_SETS, "default", {"metadata": {"name": name}, "spec": spec}))

    def pods(self) -> int:
        return len(run(self.client.list(PODS, "default"))["items"])


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    yield world
    world.server.stop()


def test_single_server_leads_from_the_start(world: World) -> None:
    """A single server leads from the start, which a Lease, an event and a metric show."""
    assert world.controllers.group is not None
    assert world.lease()["spec"]["holderIdentity"].startswith("orchd_")
    (event,) = run(world.client.list(EVENTS, "orch-system"))["items"]
    assert event["source"] == {"component": "orch-controller-manager"}
    assert (event["reason"], event["message"].split(" ", 1)[1]) == ("LeaderElection", "became leader")
    metrics = run(world.server.request("GET", "/metrics")).body.decode()
    assert 'leader_election_master_status{name="orch-controller-manager"} 1.0' in metrics


def test_controllers_stop_and_restart_with_the_lock(world: World) -> None:
    """Without the lock the controllers stop while the API is served; with it new instances complete the remaining
    work."""
    world.replica_set("one")
    world.pass_time(1)
    assert world.pods() == 1
    before = world.controllers.group
    world.take()
    world.pass_time(5)
    assert world.controllers.group is None
    world.replica_set("two")
    world.pass_time(5)
    assert world.pods() == 1
    metrics = run(world.server.request("GET", "/metrics")).body.decode()
    assert 'leader_election_master_status{name="orch-controller-manager"} 0.0' in metrics
    world.pass_time(20)
    assert world.controllers.group is not None
    assert world.controllers.group is not before
    assert world.pods() == 2
    assert world.lease()["spec"]["leaseTransitions"] == 1


def test_terms_that_ended_are_freed(tmp_path: Path) -> None:
    """Nothing refers to what terms made but itself, and a dedicated process is told that they have ended."""
    world = World(tmp_path, "--controllers=garbagecollector,ttl")
    world.replica_set("one")
    former: list[weakref.ref[Any]] = []
    gc.disable()
    try:
        for _ in range(3):
            group = world.controllers.group
            assert group is not None
            former += map(weakref.ref, group.controllers)
            (collector,) = (each for each in group.controllers if isinstance(each, GarbageCollector))
            world.pass_time(1)
            assert len(collector.graph)
            world.take()
            world.pass_time(5)
            assert not len(collector.graph)
            del group, collector
            world.pass_time(25)
            assert world.controllers.group is not None
        assert world.controllers.leadership is not None and world.controllers.leadership.ended == 3
        gc.collect()
        assert [each() for each in former] == [None] * len(former)
    finally:
        gc.enable()
        world.server.stop()


def test_without_election_controllers_run_without_a_lock(tmp_path: Path) -> None:
    """With --leader-elect=false there is no lock and the controllers run."""
    world = World(tmp_path, "--leader-elect=false")
    with pytest.raises(ApiError):
        world.lease()
    assert world.controllers.group is not None
    world.server.stop()


def test_stop_releases_the_lock(world: World) -> None:
    """A server releases the lock when it stops."""
    leadership = world.controllers.leadership
    assert leadership is not None
    assert start(leadership.stop()).called
    assert world.lease()["spec"]["holderIdentity"] == ""


def test_lock_kind_name_and_namespace_are_flags(tmp_path: Path) -> None:
    """Flags set the kind, name and namespace of the lock; a separate component needs permission to write it."""
    world = World(tmp_path, "--leader-elect-resource-lock=endpointsleases", "--leader-elect-resource-namespace=default")
    endpoints = run(world.client.get(ResourceRef("", "v1", "endpoints"), "default", NAME))
    assert world.controllers.group is not None
    assert "control-plane.alpha.orch.io/leader" in endpoints["metadata"]["annotations"]
    world.server.stop()
    (tmp_path / "flags").write_text("--leader-elect-resource-name=mine")
    forbidden = World(tmp_path, f"--controller-manager-flagfile={tmp_path / 'flags'}")
    assert forbidden.controllers.group is None
    forbidden.server.stop()


def test_identity_is_stable_only_for_a_server_alone_on_its_store() -> None:
    """A server that is alone on its store keeps its identity; others have a new one after each start."""
    assert candidate_identity(b"ca", Random(1)) == candidate_identity(b"ca", Random(2))
    assert candidate_identity(b"ca", Random(1)) != candidate_identity(b"cb", Random(1))
    assert candidate_identity(b"", Random(1)) != candidate_identity(b"", Random(2))


def test_fenced_client_reads_but_refuses_writes(world: World) -> None:
    """The client of a component that lost its lock still reads, but refuses writes."""
    allowed = [True]
    client = FencedClient(world.client, lambda: allowed[0])
    run(
        client.create(
            PODS, "default", {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        )
    )
    allowed[0] = False
    pod = run(client.get(PODS, "default", "p"))
    assert len(run(client.list(PODS, "default"))["items"]) == 1
    for write in (
        client.create(PODS, "default", pod),
        client.update(PODS, "default", "p", pod),
        client.patch(PODS, "default", "p", {}, content_type="application/merge-patch+json"),
        client.delete(PODS, "default", "p"),
        client.delete_collection(PODS, "default"),
    ):
        with pytest.raises(ApiError, match="not the leader any more"):
            run(write)
    assert world.pods() == 1


def test_scope_end_removes_its_listeners() -> None:
    """Listeners that were added through a scope are removed when it ends; others stay."""
    shared = MemoryInformers()
    scope = ScopedInformers(shared)
    heard: list[str] = []
    scope.informer(PODS).add_listener(lambda event, old, new: heard.append(f"scoped {event}"))
    shared.informer(PODS).add_listener(lambda event, old, new: heard.append(f"shared {event}"))
    shared.informer(PODS).put({"metadata": {"name": "p", "namespace": "a"}})
    assert scope.informer(PODS).get("a", "p") is not None
    scope.close()
    shared.informer(PODS).remove("a", "p")
    assert heard == ["scoped ADDED", "shared ADDED", "shared DELETED"]


def test_scheduler_stops_and_restarts_with_its_lock(tmp_path: Path) -> None:
    """A server that loses the scheduler's lock schedules no pods; elected again, a new scheduler binds those that
    wait."""
    world = World(tmp_path, "--scheduler=true", "--disable-admission-plugins=TaintNodesByCondition")
    room = {"cpu": "4", "memory": "8Gi", "pods": "100"}
    node = {"metadata": {"name": "n"}, "status": {"allocatable": room, "capacity": room}}
    run(world.client.create(ResourceRef("", "v1", "nodes"), "", node))

    def node_of(name: str) -> str:
        return str(run(world.client.get(PODS, "default", name))["spec"].get("nodeName", ""))

    def pod(name: str) -> None:
        spec = {"containers": [{"name": "c", "image": "i"}]}
        run(world.client.create(PODS, "default", {"metadata": {"name": name}, "spec": spec}))
        world.pass_time(2)

    pod("one")
    assert node_of("one") == "n"
    scheduler = world.server.server.background.scheduler
    assert scheduler is not None
    first = scheduler.scheduler
    assert first is not None
    lease = run(world.client.get(LEASES, "orch-system", "orch-scheduler"))
    taken = {**lease["spec"], "holderIdentity": "other", "renewTime": "2027-01-15T09:00:00.000000Z"}
    run(world.client.update(LEASES, "orch-system", "orch-scheduler", {**lease, "spec": taken}))
    world.pass_time(5)
    assert scheduler.scheduler is None
    # The controllers have a lock of their own.
    assert world.controllers.group is not None
    pod("two")
    assert node_of("two") == ""
    explained = run(world.server.request("GET", "/debug/scheduler/explain?namespace=default&pod=two"))
    assert explained.code == 503
    world.pass_time(20)
    assert scheduler.scheduler not in (None, first)
    assert node_of("two") == "n"
    metrics = run(world.server.request("GET", "/metrics")).body.decode()
    assert 'leader_election_master_status{name="orch-scheduler"} 1.0' in metrics
    world.server.stop()
