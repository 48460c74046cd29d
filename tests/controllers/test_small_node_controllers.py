"""Pod CIDRs of nodes, and the TTL annotation."""

from __future__ import annotations

from dataclasses import fields
from ipaddress import ip_network
from pathlib import Path
from random import Random
from typing import Any

import pytest
from twisted.internet.task import Clock

from orchd.client.interfaces import ResourceRef
from orchd.controllers.interfaces import Environment
from orchd.controllers.loop import RetryError
from orchd.controllers.node_ttl import step_for
from orchd.controllers.nodeipam.controller import NodeIpamController, range_sets
from orchd.controllers.nodeipam.ranges import RangeError, RangeSet
from orchd.controllers.objects import NODES
from orchd.controllers.settings import ControllerSettings
from orchd.dialect import ORCH
from orchd.errors import ApiError
from orchd.kinds.release import NEWEST
from orchd.testing.doubles.informers import MemoryInformers
from orchd.testing.doubles.server import make_server, run
from tests.controllers.cluster_support import Cluster
from tests.controllers.recording_support import FORBIDDEN, MISSING, recording_client
from tests.controllers.unit_support import ControllerBench

TTL = ORCH("node.alpha.{long}.io/ttl")


def ranges(cluster: Cluster, name: str) -> list[str]:
    node = cluster.get(NODES, name, "")
    assert node is not None
    return list(node["spec"].get("podCIDRs") or ())


def test_nodes_get_free_ranges_of_both_families(tmp_path: Path) -> None:
    """Nodes get free CIDRs of both families; released ones are reused."""
    flags = ["--allocate-node-cidrs", "--cluster-cidr=10.1.0.0/22,fd00::/62", "--node-cidr-mask-size-ipv4=24"]
    cluster = Cluster(tmp_path, ["nodeipam"], flags)
    for name in ("a", "b"):
        cluster.create(NODES, {"metadata": {"name": name}}, "")
    cluster.create(
        NODES, {"metadata": {"name": "own"}, "spec": {"podCIDR": "10.1.2.0/24", "podCIDRs": ["10.1.2.0/24"]}}, ""
    )
    cluster.settle()
    assert ranges(cluster, "a") == ["10.1.0.0/24", "fd00::/64"]
    assert ranges(cluster, "b") == ["10.1.1.0/24", "fd00:0:0:1::/64"]
    for name in ("c", "d"):
        cluster.create(NODES, {"metadata": {"name": name}}, "")
        cluster.settle()
    assert (ranges(cluster, "c"), ranges(cluster, "d")) == (["10.1.3.0/24", "fd00:0:0:2::/64"], [])
    cluster.delete(NODES, "a", "")
    cluster.settle(30)
    assert ranges(cluster, "d") == ["10.1.0.0/24", "fd00:0:0:3::/64"]
    cluster.stop()


class Patches:
    """A client that records patches."""

    def __init__(self) -> None:
        self.ranges: dict[str, list[str]] = {}

    async def patch(
        self, ref: ResourceRef, namespace: str, name: str, change: dict[str, Any], **options: Any
    ) -> dict[str, Any]:
        self.ranges[name] = change["spec"]["podCIDRs"]
        return change


def test_ranges_in_use_are_known_before_any_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a restart no node gets a CIDR before those in use are known, however late informers are."""
    informers, client, clock = MemoryInformers(), Patches(), Clock()
    nodes = informers.informer(NODES)
    for name, spec in (("new", {}), ("old", {"podCIDRs": ["10.1.0.0/24"]})):
        informers.put(NODES, {"metadata": {"name": name, "uid": name}, "spec": spec})
    settings = ControllerSettings(allocate_node_cidrs=True, cluster_cidr=(ip_network("10.1.0.0/16"),))
    given: dict[str, Any] = {field.name: None for field in fields(Environment)}
    given |= {
        "dialect": ORCH,
        "client": lambda account: client,
        "recorder": lambda component: None,
        "informers": informers,
    }
    given["random"] = Random(1)
    controller = NodeIpamController(Environment(**{**given, "clock": clock, "settings": settings}))
    # Listeners see the new node at once and the other one later.
    monkeypatch.setattr(nodes, "add_listener", lambda listener: listener("ADDED", None, nodes.get("", "new")))
    run(controller.start())
    clock.advance(1)
    assert client.ranges == {"new": ["10.1.1.0/24"]}
    # The node is reconciled again before the informer has its CIDR.
    client.ranges.clear()
    controller.enqueue("MODIFIED", None, nodes.get("", "new"))
    clock.advance(1)
    assert client.ranges == {}


def test_without_the_flag_nodes_get_no_range(tmp_path: Path) -> None:
    """Nodes get CIDRs only with --allocate-node-cidrs."""
    cluster = Cluster(tmp_path, ["nodeipam", "service", "route"])
    cluster.create(NODES, {"metadata": {"name": "a"}}, "")
    cluster.settle()
    assert ranges(cluster, "a") == []
    cluster.stop()


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({}, "--cluster-cidr: is needed"),
        ({"cluster_cidr": ("10.0.0.0/8", "11.0.0.0/8")}, "--cluster-cidr: takes one range"),
        ({"cluster_cidr": ("10.0.0.0/8",), "node_cidr_mask_size": 26}, "--cluster-cidr: .*choose a larger mask|larger"),
        ({"cluster_cidr": ("10.0.0.0/24",), "node_cidr_mask_size": 23}, "--cluster-cidr: mask size /23 does not fit"),
        ({"cluster_cidr": ("10.0.0.0/16",), "node_cidr_mask_size_ipv6": 64}, "--node-cidr-mask-size"),
        ({"cluster_cidr": ("10.0.0.0/16", "fd00::/56"), "node_cidr_mask_size": 24}, "--node-cidr-mask-size"),
        ({"cluster_cidr": ("10.0.0.0/16",), "cidr_allocator_type": "CloudAllocator"}, "--cidr-allocator-type"),
    ],
)
def test_invalid_range_flags_are_refused(fields: dict[str, Any], word: str) -> None:
    """Invalid CIDRs fail the start; the error names the flag."""
    networks = tuple(ip_network(text) for text in fields.pop("cluster_cidr", ()))
    with pytest.raises(ValueError, match=word):
        range_sets(ControllerSettings(cluster_cidr=networks, allocate_node_cidrs=True, **fields))


def test_service_ranges_are_not_given_to_nodes() -> None:
    """CIDRs that overlap the services' are not allocated."""
    settings = ControllerSettings(
        cluster_cidr=(ip_network("10.0.0.0/22"),), service_cluster_ip_range=(ip_network("10.0.0.0/23"),)
    )
    [found] = range_sets(settings)
    assert [str(found.take()) for _ in range(3)] == ["10.0.2.0/24", "10.0.3.0/24", "None"]


def test_range_is_given_once_until_released() -> None:
    """A CIDR is allocated once until it is released."""
    range_set = RangeSet(ip_network("fd00::/126"), 128)
    taken = [range_set.take() for _ in range(5)]
    assert [str(n) for n in taken] == ["fd00::/128", "fd00::1/128", "fd00::2/128", "fd00::3/128", "None"]
    range_set.release(ip_network("fd00::2/128"))
    assert str(range_set.take()) == "fd00::2/128"
    with pytest.raises(RangeError):
        RangeSet(ip_network("10.0.0.0/8"), 25)


@pytest.mark.parametrize(
    ("step", "nodes", "then"),
    [(0, 100, 0), (0, 101, 1), (1, 95, 1), (1, 89, 0), (1, 501, 2), (0, 5000, 4), (4, 1800, 4), (4, 10, 0)],
)
def test_ttl_steps_overlap(step: int, nodes: int, then: int) -> None:
    """The steps of the TTL have hysteresis, so that one node more or less changes nothing."""
    assert step_for(step, nodes) == then


def test_ttl_annotation_is_written_and_restored(tmp_path: Path) -> None:
    """The annotation is set, and restored when it is changed or removed."""
    cluster = Cluster(tmp_path, ["ttl"])
    cluster.create(NODES, {"metadata": {"name": "a"}}, "")
    for spoilt in (None, "77"):
        cluster.patch(NODES, "a", {"metadata": {"annotations": {TTL: spoilt}}}, "")
        cluster.settle()
        node = cluster.get(NODES, "a", "")
        assert node is not None and node["metadata"]["annotations"][TTL] == "0"
    cluster.stop()


def test_mismatched_signing_files_are_refused(tmp_path: Path) -> None:
    """A key that does not match its certificate fails the start."""
    with pytest.raises(ValueError, match="--cluster-signing-cert-file and --cluster-signing-key-file go together"):
        make_server(tmp_path, "--cluster-signing-cert-file=/nowhere")


def ipam(*nodes: dict[str, Any], client: Any = None, **settings: Any) -> ControllerBench:
    """An allocator of two ranges for two nodes each, with these nodes."""
    networks = (ip_network("10.1.0.0/23"), ip_network("fd00::/63"))
    chosen = ControllerSettings(
        **{"allocate_node_cidrs": True, "cluster_cidr": networks, "node_cidr_mask_size_ipv4": 24, **settings}
    )
    bench = ControllerBench(NodeIpamController, client, settings=chosen, release=NEWEST)
    run(bench.controller.listen())
    bench.informers.put(NODES, *nodes)
    return bench


def placed(name: str, *cidrs: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "uid": name}, "spec": {"podCIDRs": list(cidrs)} if cidrs else {}}


def numbers(bench: ControllerBench, name: str) -> list[float]:
    """The values of a metric of both ranges."""
    values = bench.values()[f"node_ipam_controller_{name}"]
    return [values[(each,)] for each in ("10.1.0.0/23", "fd00::/63")]


def test_ranges_of_nodes_are_taken_and_released() -> None:
    """A node without ranges gets the next free ones; those of a node that is gone are free again."""
    bench = ipam(placed("own", "10.1.0.0/24", "fd00::/64"), placed("n"))
    assert bench.queued() == [("", "n")]
    run(bench.controller.reconcile(("", "n")))
    assert bench.client.bodies == [
        {"metadata": {"uid": "n"}, "spec": {"podCIDR": "10.1.1.0/24", "podCIDRs": ["10.1.1.0/24", "fd00:0:0:1::/64"]}}
    ]
    assert numbers(bench, "cidrset_usage_cidrs") == [1.0, 1.0]
    assert numbers(bench, "cidrset_cidrs_allocations_total") == [2, 2]
    assert numbers(bench, "cirdset_max_cidrs") == [2, 2]
    run(bench.controller.reconcile(("", "n")))
    run(bench.controller.reconcile(("", "own")))
    run(bench.controller.reconcile(("", "missing")))
    assert len(bench.client.bodies) == 1
    bench.informers.put(NODES, placed("more"))
    with pytest.raises(RetryError):
        run(bench.controller.reconcile(("", "more")))
    assert bench.events.notes == [("CIDRNotAvailable", "Node more status is now: CIDRNotAvailable")]
    bench.informers.informer(NODES).remove("", "own")
    assert numbers(bench, "cidrset_cidrs_releases_total") == [1, 1]
    bench.informers.put(NODES, placed("n", "10.1.1.0/24", "fd00:0:0:1::/64"))
    assert numbers(bench, "cidrset_usage_cidrs") == [0.5, 0.5]
    bench.informers.informer(NODES).remove("", "n")
    bench.informers.informer(NODES).remove("", "more")
    assert numbers(bench, "cidrset_usage_cidrs") == [0.0, 0.0]


@pytest.mark.parametrize(("error", "reasons"), [(MISSING, []), (FORBIDDEN, ["CIDRAssignmentFailed"])])
def test_ranges_that_cannot_be_written_are_free_again(error: ApiError, reasons: list[str]) -> None:
    """A node that is gone is no failure."""
    bench = ipam(placed("n"), client=recording_client(patch=error))
    if reasons:
        with pytest.raises(ApiError):
            run(bench.controller.reconcile(("", "n")))
    else:
        run(bench.controller.reconcile(("", "n")))
    assert [reason for reason, _ in bench.events.notes] == reasons
    assert numbers(bench, "cidrset_usage_cidrs") == [0.0, 0.0]
    bench.client.failures.clear()
    run(bench.controller.reconcile(("", "n")))
    assert bench.client.bodies[-1]["spec"]["podCIDR"] == "10.1.1.0/24"


def test_partly_used_ranges_are_given_back() -> None:
    """If one family has no range left, that of the other one is free again."""
    bench = ipam(placed("a", "10.1.0.0/24"), placed("b", "10.1.1.0/24"), placed("n"))
    with pytest.raises(RetryError):
        run(bench.controller.reconcile(("", "n")))
    assert numbers(bench, "cidrset_usage_cidrs") == [1.0, 0.0]
    bench = ipam(placed("a", "fd00::/64"), placed("b", "fd00:0:0:1::/64"), placed("n"))
    with pytest.raises(RetryError):
        run(bench.controller.reconcile(("", "n")))
    assert numbers(bench, "cidrset_usage_cidrs") == [0.0, 1.0]


def test_ranges_that_are_no_networks_are_passed_over() -> None:
    """A node may have one from elsewhere."""
    bench = ipam(placed("odd", "x", "10.1.0.0/24"))
    assert numbers(bench, "cidrset_usage_cidrs") == [0.5, 0.0]
    bench.informers.informer(NODES).remove("", "odd")
    assert numbers(bench, "cidrset_usage_cidrs") == [0.0, 0.0]
