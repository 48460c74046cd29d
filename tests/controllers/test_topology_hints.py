"""Hints of endpoints by topology: the allocation to zones, and what the controller of slices makes of it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from orchd.client.interfaces import ResourceRef
from orchd.controllers.endpoints.topology_hints import (
    NodeCapacity,
    NoHintsError,
    Portion,
    assign,
    is_overloaded,
    shares_of,
)
from orchd.controllers.objects import NODES, PODS, SERVICES
from orchd.dialect import ORCH
from tests.controllers.cluster_support import Cluster, template

SLICES = ResourceRef(ORCH("discovery.{abbr}.io"), "v1", "endpointslices")
EVENTS = ResourceRef("", "v1", "events")
ZONE = ORCH("topology.{long}.io/zone")
ASKS = ORCH("service.{long}.io/topology-aware-hints")


def endpoints(**zones: int) -> list[dict[str, Any]]:
    """So many ready endpoints in each zone."""
    return [{"conditions": {"ready": True}, "zone": zone} for zone, count in zones.items() for _ in range(count)]


def hinted(portions: list[Portion]) -> Counter[str]:
    listed = [each for portion in portions for each in portion.endpoints if "hints" in each]
    return Counter(zone["name"] for each in listed for zone in each["hints"]["forZones"])


def test_shares_of_zones() -> None:
    """Zones are as large as the processors of their nodes; a node without either, or a single zone, gives none."""
    assert shares_of([NodeCapacity("a", 1000), NodeCapacity("a", 2000), NodeCapacity("b", 1000)]) == {
        "a": 0.75,
        "b": 0.25,
    }
    for nodes in ([("a", 1000.0), ("", 1000.0)], [("a", 1000.0), ("b", 0.0)], [("a", 1000.0)], []):
        assert shares_of(NodeCapacity(*each) for each in nodes) is None


@pytest.mark.parametrize(
    ("zones", "shares", "result"),
    [
        # As they are.
        ({"a": 2, "b": 1}, {"a": 2 / 3, "b": 1 / 3}, {"a": 2, "b": 1}),
        # The larger zone takes over one of the other.
        ({"a": 3, "b": 3}, {"a": 2 / 3, "b": 1 / 3}, {"a": 4, "b": 2}),
        # A zone without endpoints gets some.
        ({"a": 6}, {"a": 0.5, "b": 0.5}, {"a": 3, "b": 3}),
        ({"a": 5, "c": 4}, {"a": 2 / 9, "b": 3 / 9, "c": 4 / 9}, {"a": 2, "b": 3, "c": 4}),
    ],
)
def test_endpoints_are_divided_by_the_size_of_zones(
    zones: dict[str, int], shares: dict[str, float], result: dict[str, int]
) -> None:
    portion = Portion(endpoints(**zones), unchanged=False)
    assert +assign([portion], shares) == result == hinted([portion])


@pytest.mark.parametrize(
    ("zones", "shares", "why"),
    [
        ({"a": 3}, None, "Insufficient Node information: allocatable CPU or zone not specified on one or more nodes"),
        ({"a": 1}, {"a": 0.5, "b": 0.5}, "Insufficient number of endpoints (1 endpoints, 2 zones)"),
        ({"a": 3, "": 1}, {"a": 0.5, "b": 0.5}, "One or more endpoints do not have a zone specified"),
        (
            {"a": 1, "b": 1},
            {"a": 0.9, "b": 0.1},
            "Unable to allocate minimum required endpoints to each zone without exceeding overload threshold "
            "(2 endpoints, 2 zones)",
        ),
    ],
)
def test_reasons_for_no_hints(zones: dict[str, int], shares: dict[str, float] | None, why: str) -> None:
    """Without hints for all there are none, not even those that were there."""
    portion = Portion(endpoints(**zones), unchanged=False)
    portion.endpoints[0]["hints"] = {"forZones": [{"name": "a"}]}
    with pytest.raises(NoHintsError) as caught:
        assign([portion], shares)
    assert str(caught.value) == why and not hinted([portion])


@given(
    st.lists(st.lists(st.sampled_from("abc"), max_size=12), min_size=1, max_size=4), st.tuples(*[st.integers(1, 9)] * 3)
)
def test_any_endpoints(placed: list[list[str]], sizes: tuple[int, int, int]) -> None:
    """Every ready endpoint has one hint, and slices stay as they are if no zone is overloaded."""
    shares = {zone: size / sum(sizes) for zone, size in zip("abc", sizes, strict=True)}
    unready = {"conditions": {"ready": False}, "zone": "a"}
    portions = [Portion([*endpoints(**Counter(zones)), dict(unready)], unchanged=False) for zones in placed]
    try:
        counts = assign(portions, shares)
    except NoHintsError:
        return
    assert +counts == hinted(portions) and sum(counts.values()) == sum(map(len, placed))
    assert all("hints" not in portion.endpoints[-1] for portion in portions)
    # Endpoints move in whole numbers, so a zone may get too few; then they are assigned again.
    assume(not is_overloaded(counts, shares))
    kept = [Portion([dict(each) for each in portion.endpoints], unchanged=True) for portion in portions]
    assert assign(kept, shares) == +counts
    assert [each.endpoints for each in kept] == [each.endpoints for each in portions]


@pytest.mark.parametrize(("least", "overloaded"), [(51, False), (50, True)])
def test_zones_may_be_used_by_a_fifth_more_than_others(least: int, overloaded: bool) -> None:
    """A zone with half of the processors may have 51 of 122 endpoints, each used 1.196 times as much as on average."""
    assert is_overloaded({"a": least, "b": 122 - least}, {"a": 0.5, "b": 0.5}) is overloaded


def test_whole_endpoints_may_leave_a_zone_overloaded() -> None:
    """Only whole endpoints move, as in the reference: a zone may get fewer than those with which none is overloaded."""
    shares = {"a": 6 / 9, "b": 1 / 9, "c": 2 / 9}
    counts = assign([Portion(endpoints(a=7), unchanged=False)], shares)
    assert counts == {"a": 5, "b": 1, "c": 1} and is_overloaded(counts, shares)


def test_overload() -> None:
    """Hints no longer suffice when a zone has too few of them, or none."""
    assert not is_overloaded({"a": 2, "b": 2}, {"a": 0.55, "b": 0.45})
    assert is_overloaded({"a": 2, "b": 2}, {"a": 0.8, "b": 0.2})
    assert is_overloaded({"a": 4}, {"a": 0.9, "b": 0.1})
    assert is_overloaded({"a": 4}, None) and not is_overloaded({}, None)


def set_node(cluster: Cluster, name: str, zone: str, cpu: str, *, ready: bool = True) -> None:
    if cluster.get(NODES, name, "") is None:
        cluster.create(NODES, {"metadata": {"name": name, "labels": {ZONE: zone}}}, "")
    condition = {"type": "Ready", "status": "True" if ready else "False"}
    status = {"allocatable": {"cpu": cpu}, "conditions": [condition]}
    cluster.patch(NODES, name, {"status": status}, "", subresource="status")


def run_pods(cluster: Cluster, node: str, *names: str) -> None:
    for name in names:
        spec = template({}, nodeName=node)["spec"]
        cluster.create(PODS, {"metadata": {"name": name, "labels": {"app": "x"}}, "spec": spec})
        ready = {"type": "Ready", "status": "True"}
        address = f"10.3.0.{ord(name) - 96}"
        status = {"phase": "Running", "podIP": address, "podIPs": [{"ip": address}], "conditions": [ready]}
        cluster.patch(PODS, name, {"status": status}, subresource="status")


def zones_of_hints(cluster: Cluster) -> dict[str, int]:
    return hinted([Portion(each.get("endpoints") or [], unchanged=True) for each in cluster.items(SLICES)])


@pytest.mark.parametrize("release", ["1.23", "1.35"])
def test_controller_adds_and_removes_hints(tmp_path: Path, release: str) -> None:
    """A service that asks for hints has them, as long as it asks, and others when the nodes change."""
    gates = ["--feature-gates=TopologyAwareHints=true"] if release == "1.23" else []
    cluster = Cluster(tmp_path, ["endpointslice"], [f"--emulated-version={release}", *gates])
    cluster.namespace()
    set_node(cluster, "one", "a", "2")
    set_node(cluster, "two", "b", "2")
    spec = {"selector": {"app": "x"}, "ports": [{"port": 80}]}
    cluster.create(SERVICES, {"metadata": {"name": "s"}, "spec": spec})
    run_pods(cluster, "one", *"abcd")
    run_pods(cluster, "two", *"ef")
    assert zones_of_hints(cluster) == {}
    cluster.patch(SERVICES, "s", {"metadata": {"annotations": {ASKS: "Auto"}}})
    assert zones_of_hints(cluster) == {"a": 3, "b": 3}
    set_node(cluster, "two", "b", "5")
    cluster.settle()
    assert zones_of_hints(cluster) == {"a": 2, "b": 4}
    set_node(cluster, "two", "b", "5", ready=False)
    cluster.settle()
    assert zones_of_hints(cluster) == {}
    set_node(cluster, "two", "b", "2")
    cluster.patch(SERVICES, "s", {"metadata": {"labels": {"touched": "1"}}})
    assert zones_of_hints(cluster) == {"a": 3, "b": 3}
    cluster.patch(SERVICES, "s", {"metadata": {"annotations": {ASKS: "Disabled"}}})
    assert zones_of_hints(cluster) == {}
    told = {(each["type"], each["reason"], each["message"]) for each in cluster.items(EVENTS)}
    disabled = "Insufficient Node information: allocatable CPU or zone not specified on one or more nodes"
    assert told == (
        {
            ("Normal", "TopologyAwareHintsEnabled", "Topology Aware Hints has been enabled, addressType: IPv4"),
            ("Warning", "TopologyAwareHintsDisabled", f"{disabled}, addressType: IPv4"),
            ("Warning", "TopologyAwareHintsDisabled", "Topology Aware Hints has been disabled, addressType: IPv4"),
        }
        if release == "1.35"
        else set()
    )
    cluster.stop()


@pytest.mark.parametrize(
    ("zones", "kept"),
    [({"a": 12, "b": 12}, True), ({"a": 14, "b": 10}, True), ({"a": 15, "b": 9}, False), ({"a": 12, "c": 12}, False)],
)
def test_hints_of_unchanged_slices(zones: dict[str, int], kept: bool) -> None:
    """The hints of a slice stay unless a zone has more endpoints than it can serve, or is none any more."""
    portion = Portion(endpoints(a=12, b=12), unchanged=True)
    names = [zone for zone, count in zones.items() for _ in range(count)]
    for endpoint, name in zip(portion.endpoints, names, strict=True):
        endpoint["hints"] = {"forZones": [{"name": name}]}
    assign([portion], {"a": 0.5, "b": 0.5})
    assert hinted([portion]) == (zones if kept else {"a": 12, "b": 12})
