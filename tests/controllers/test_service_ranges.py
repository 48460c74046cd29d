"""The controller of ServiceCIDRs."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Any

import pytest

from orchd.client.interfaces import ResourceRef
from orchd.controllers.service_ranges import ADDRESSES, RANGES
from orchd.dialect import ORCH
from tests.controllers.cluster_support import Cluster

RUNNING_CONTROLLERS = ("service-cidr-controller",)
SERVER_FLAGS = ("--emulated-version=1.35",)
REF, RECORDS = (ResourceRef(ORCH(ref.group), ref.version, ref.plural) for ref in (RANGES, ADDRESSES))
FINALIZER = ORCH("networking.{abbr}.io/service-cidr-finalizer")


def make_range(cluster: Cluster, name: str, *cidrs: str) -> None:
    cluster.create(REF, {"metadata": {"name": name}, "spec": {"cidrs": list(cidrs)}}, namespace="")
    cluster.settle()


def make_address(cluster: Cluster, address: str, manager: str = ORCH("ipallocator.{abbr}.io")) -> None:
    labels = {
        ORCH("ipaddress.{long}.io/ip-family"): f"IPv{ip_address(address).version}",
        ORCH("ipaddress.{long}.io/managed-by"): manager,
    }
    parent = {"resource": "services", "namespace": "a", "name": "s"}
    record = {"metadata": {"name": address, "labels": labels}, "spec": {"parentRef": parent}}
    cluster.create(RECORDS, record, namespace="")


def ready(cluster: Cluster, name: str) -> tuple[str, str] | None:
    """Status and reason of the condition; None if the range is gone."""
    found: Any = cluster.get(REF, name, namespace="")
    if found is None:
        return None
    (condition,) = found["status"]["conditions"]
    return condition["status"], condition["reason"]


def test_range_is_protected_and_ready(cluster: Cluster) -> None:
    """A new range gets the finalizer and is ready."""
    make_range(cluster, "r", "10.9.0.0/24")
    found: Any = cluster.get(REF, "r", namespace="")
    assert found["metadata"]["finalizers"] == [FINALIZER]
    assert ready(cluster, "r") == ("True", "")
    assert found["status"]["conditions"][0]["message"] == ORCH("{Long} Service CIDR is ready")


def test_range_with_addresses_stays_until_they_go(cluster: Cluster) -> None:
    """A deleted range says what it waits for, and goes ten seconds later at the earliest."""
    make_range(cluster, "r", "10.9.0.0/24")
    make_address(cluster, "10.9.0.7")
    cluster.delete(REF, "r", namespace="")
    cluster.settle(20)
    assert ready(cluster, "r") == ("False", "Terminating")
    cluster.delete(RECORDS, "10.9.0.7", namespace="")
    cluster.settle(2)
    assert ready(cluster, "r") is None


def test_unused_range_stays_for_the_allocators(cluster: Cluster) -> None:
    """Nothing holds a range without addresses, but the API servers must know of the deletion first."""
    make_range(cluster, "r", "10.9.0.0/24")
    cluster.delete(REF, "r", namespace="")
    cluster.settle(5)
    assert ready(cluster, "r") is not None
    cluster.settle(10)
    assert ready(cluster, "r") is None


def test_range_within_another_goes_with_its_addresses_in_use(cluster: Cluster) -> None:
    """Addresses that another range has too hold nothing."""
    make_range(cluster, "r", "10.9.0.0/24")
    make_address(cluster, "10.9.0.7")
    cluster.delete(REF, "r", namespace="")
    cluster.settle(2)
    assert ready(cluster, "r") == ("False", "Terminating")
    make_range(cluster, "around", "10.9.0.0/16")
    cluster.settle(15)
    assert ready(cluster, "r") is None and ready(cluster, "around") == ("True", "")


def test_one_of_two_ranges_with_the_same_addresses_stays(cluster: Cluster) -> None:
    """Each of two ranges may go while the other one has its addresses; when one has gone, the other waits for them."""
    make_range(cluster, "r", "10.9.0.0/24")
    make_range(cluster, "around", "10.9.0.0/16")
    make_address(cluster, "10.9.0.7")
    for name in ("r", "around"):
        cluster.delete(REF, name, namespace="")
        cluster.settle(2)
        assert ready(cluster, name) == ("True", "")
    cluster.settle(20)
    assert ready(cluster, "r") is None and ready(cluster, "around") == ("False", "Terminating")


@pytest.mark.parametrize(
    ("cidrs", "address", "manager", "held"),
    [
        (["10.9.0.0/24"], "10.9.0.1", None, True),
        (["10.9.0.0/24"], "10.9.0.0", None, False),
        (["10.9.0.0/24"], "10.9.0.255", None, False),
        (["10.9.0.0/24"], "10.9.0.7", "other", False),
        (["fd00:9::/120"], "fd00:9::7", None, True),
        (["fd00:9::/120"], "fd00:9::ff", None, True),
        (["fd00:9::/120"], "fd00:9::", None, False),
        (["10.9.0.0/24", "fd00:9::/120"], "fd00:9::7", None, True),
    ],
)
def test_addresses_that_hold_a_range(
    cluster: Cluster, cidrs: list[str], address: str, manager: str | None, held: bool
) -> None:
    """Those that its services can have, of the API servers: not the address of the network, nor in IPv4 that of all its
    hosts, nor one of another manager."""
    make_range(cluster, "r", *cidrs)
    make_address(cluster, address, *([] if manager is None else [manager]))
    cluster.delete(REF, "r", namespace="")
    cluster.settle(12)
    assert ready(cluster, "r") == (("False", "Terminating") if held else None)


def test_range_covered_by_several_others(cluster: Cluster) -> None:
    """A range goes if others have each of its addresses in use, though none of them contains it."""
    make_range(cluster, "r", "10.9.0.0/24", "fd00:9::/120")
    for name, cidr in (("low", "10.9.0.0/25"), ("high", "10.9.0.128/25"), ("later", "fd00:9::/119")):
        make_range(cluster, name, cidr)
    for address in ("10.9.0.7", "10.9.0.200", "fd00:9::7"):
        make_address(cluster, address)
    cluster.delete(REF, "r", namespace="")
    cluster.settle(12)
    assert ready(cluster, "r") is None


def test_addresses_of_other_ranges_block_nothing(cluster: Cluster) -> None:
    """An address outside of a range, whether in another one or in none, does not keep it."""
    make_range(cluster, "r", "10.9.0.0/24")
    make_address(cluster, "10.7.0.7")
    cluster.delete(REF, "r", namespace="")
    cluster.settle(12)
    assert ready(cluster, "r") is None
