"""Metrics of the allocation of cluster IPs and node ports."""

from __future__ import annotations

from ipaddress import ip_network
from random import Random
from time import perf_counter
from typing import Any

import pytest

from orchd.dialect import KUBERNETES
from orchd.kinds.release import NEWEST, SPECIFICATION, Release
from orchd.server.registry.ranges import AddressRange, AllocatedError, ExhaustedError, NumberRange, OutOfRangeError
from orchd.server.registry.strategies.allocation_metrics import AllocationMetrics

USED = {int(ip_network("10.0.0.0/28")[at]) for at in (1, 2, 3)}
IPS, PORTS = (f"kube_apiserver_{name}_allocator_" for name in ("clusterip", "nodeport"))
#: The newest release has all of them.
NAMES = {
    *(IPS + name for name in ("allocated_ips", "available_ips", "allocation", "allocation_errors", "allocation_duration_seconds")),
    *(PORTS + name for name in ("allocated_ports", "available_ports", "allocation", "allocation_errors")),
}  # fmt: skip
CIDR = ("cidr", "10.0.0.0/28")


class Allocations:
    def __init__(self, release: Release = NEWEST) -> None:
        self.space = AddressRange(ip_network("10.0.0.0/28"), lambda: USED, Random(0))
        ports = NumberRange(30000, 30009, lambda: {30001, 30002}, Random(0))
        self.metrics = AllocationMetrics(KUBERNETES, release, lambda: [self.space], ports)

    def samples(self) -> dict[str, list[tuple[dict[str, str], float]]]:
        """Labels and values by the name of the metric."""
        families = [each.family() for each in self.metrics.instruments]
        return {family.name: [(dict(sample.labels), sample.value) for sample in family.samples] for family in families}


def refuse(error: Exception) -> Any:
    raise error


def test_addresses_and_ports_in_use() -> None:
    """Thirteen of sixteen addresses are neither in use nor those of the network; of ten ports two are in use."""
    samples = Allocations().samples()
    assert samples[IPS + "allocated_ips"] == [(dict([CIDR]), 3)]
    assert samples[IPS + "available_ips"] == [(dict([CIDR]), 14 - 3)]
    assert samples[PORTS + "allocated_ports"] == [({}, 2)]
    assert samples[PORTS + "available_ports"] == [({}, 8)]


@pytest.mark.parametrize(("requested", "scope"), [("", "dynamic"), ("10.0.0.9", "static")])
def test_allocations_of_addresses(requested: str, scope: str) -> None:
    """A success and each sort of failure are counted by whether an address was asked for; other errors are not."""
    world = Allocations()
    assert world.metrics.address(world.space, requested, lambda: "10.0.0.9") == "10.0.0.9"
    for error in (AllocatedError, OutOfRangeError, ExhaustedError):
        with pytest.raises(error):
            world.metrics.address(world.space, requested, lambda error=error: refuse(error("x")))  # type: ignore[misc]
    with pytest.raises(KeyError):
        world.metrics.address(world.space, requested, lambda: refuse(KeyError()))
    samples = world.samples()
    assert 0 <= samples[IPS + "allocation_duration_seconds"][-1][1] < perf_counter()
    labels = dict([CIDR, ("scope", scope)])
    assert samples[IPS + "allocation"] == [(labels, 1)]
    assert samples[IPS + "allocation_errors"] == [(labels, 3)]


@pytest.mark.parametrize(("requested", "scope"), [(0, "dynamic"), (30005, "static")])
def test_allocations_of_ports(requested: int, scope: str) -> None:
    world = Allocations()
    assert world.metrics.port(requested, lambda: 30005) == 30005
    with pytest.raises(AllocatedError):
        world.metrics.port(requested, lambda: refuse(AllocatedError("x")))
    samples = world.samples()
    assert samples[PORTS + "allocation"] == samples[PORTS + "allocation_errors"] == [({"scope": scope}, 1)]


def test_metrics_of_releases() -> None:
    """Before release 1.25 allocations have no scope; ports and durations came later than addresses."""
    assert set(Allocations().samples()) == NAMES
    world = Allocations(SPECIFICATION)
    world.metrics.address(world.space, "", lambda: "10.0.0.9")
    assert world.samples()[IPS + "allocation"] == [(dict([CIDR]), 1)]
    assert set(world.samples()) == {name for name in NAMES if name.startswith(IPS) and "seconds" not in name}
