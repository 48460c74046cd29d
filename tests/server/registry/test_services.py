"""Addresses and ports that services get, from ranges of a few, without a server."""

from __future__ import annotations

from ipaddress import ip_network
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from orchd.errors import ApiError
from orchd.kinds.release import NEWEST, SPECIFICATION
from orchd.server.registry.operations import Create, Edit
from orchd.server.registry.ranges import OutOfRangeError
from orchd.server.registry.strategies.cluster_ips import ObjectRanges
from orchd.testing.doubles.results import result_of
from tests.server.registry.registry_support import Bench, Object

PATH = "v1/services"
LOCAL: Object = {"type": "LoadBalancer", "externalTrafficPolicy": "Local"}


def port(number: int, node_port: int = 0, protocol: str = "TCP", **members: Any) -> Object:
    name = {"name": f"p{number}{protocol.lower()}"}
    return {
        **name,
        "port": number,
        "protocol": protocol,
        "targetPort": number,
        **({"nodePort": node_port} if node_port else {}),
        **members,
    }


class Services:
    """A registry with two addresses of either family and three node ports."""

    def __init__(self, *cidrs: str, ports: tuple[int, int] = (30000, 30002), release: Any = SPECIFICATION) -> None:
        networks = tuple(map(ip_network, cidrs or ("10.0.0.0/30",)))
        self.bench = Bench(release, service_cidrs=networks, node_ports=ports).start()

    @property
    def strategy(self) -> Any:
        return self.bench.registry.strategy(self.bench.resource(PATH))

    def create(self, name: str, *, dry_run: bool = False, **spec: Any) -> Object:
        """The spec of a new service."""
        obj = {"metadata": {"name": name, "namespace": "a"}, "spec": {"ports": [port(80)], **spec}}
        obj = self.bench.canonical(PATH, obj)
        return self._write(Create(obj=obj), dry_run)

    def change(self, name: str, *, dry_run: bool = False, **spec: Any) -> Object:
        """The spec of a changed service; members that are None are left out."""

        async def edit(obj: Object) -> Object:
            members = {k: v for k, v in {**obj["spec"], **spec}.items() if v is not None}
            return self.bench.canonical(PATH, {**obj, "spec": members})

        return self._write(Edit(name=name, change=edit), dry_run)

    def _write(self, operation: Any, dry_run: bool) -> Object:
        context = self.bench.context(PATH, dry_run=dry_run)
        written = self.bench.do(self.bench.registry.write(context, operation))
        spec: Object = written.entry.decoded()["spec"]
        assert not self.strategy.ports._reserved
        return spec

    def refusal(self, work: str, *arguments: Any, **more: Any) -> tuple[int, str]:
        """Code and message of a write that is refused, which leaves nothing reserved."""
        with pytest.raises(ApiError) as refused:
            getattr(self, work)(*arguments, **more)
        assert not self.strategy.ports._reserved
        return refused.value.code, refused.value.message


def node_ports(spec: Object) -> list[int]:
    return [each.get("nodePort", 0) for each in spec["ports"]]


def test_addresses_of_services() -> None:
    """A service gets a free address or the one that it wants; the range is full when all are taken."""
    services = Services()
    assert services.create("a", clusterIP="10.0.0.2")["clusterIPs"] == ["10.0.0.2"]
    code, message = services.refusal("create", "b", clusterIP="10.0.0.2")
    assert code == 422 and message.endswith(
        'spec.clusterIPs: Invalid value: []string{"10.0.0.2"}: failed to allocate IP 10.0.0.2: provided IP is already '
        "allocated"
    )
    moved = services.refusal("change", "a", clusterIP="10.0.0.1")[1]
    assert 'spec.clusterIPs[0]: Invalid value: []string{"10.0.0.1"}: may not change once set' in moved
    code, message = services.refusal("create", "b", clusterIP="10.0.1.1")
    assert code == 422 and message.endswith(
        "failed to allocate IP 10.0.1.1: the provided IP (10.0.1.1) is not in the valid range. The range of valid IPs is "
        "10.0.0.0/30"
    )
    assert services.create("b")["clusterIP"] == "10.0.0.1"
    full = (500, "Internal error occurred: failed to allocate a serviceIP: range is full")
    assert services.refusal("create", "c") == full
    assert services.create("c", dry_run=True)["clusterIP"] == "10.0.0.0"
    assert services.create("c", clusterIP="None")["clusterIPs"] == ["None"]
    named = services.create("d", type="ExternalName", externalName="x.y", ports=[])
    assert "clusterIP" not in named
    assert services.refusal("change", "d", type="ClusterIP", externalName=None, ports=[port(80)]) == full
    services.change("a", type="ExternalName", externalName="x.y", clusterIP="", clusterIPs=[])
    assert services.change("d", type="ClusterIP", externalName=None, ports=[port(80)])["clusterIP"] == "10.0.0.2"


def test_second_family_is_added_and_released() -> None:
    """A service that needs both families gets an address of each; the second may be added and released later."""
    services = Services("10.0.0.0/30", "fd00::/126")
    both = services.create("a", ipFamilyPolicy="RequireDualStack")
    assert (both["ipFamilies"], both["clusterIPs"][0][:3], both["clusterIPs"][1][:3]) == (
        ["IPv4", "IPv6"],
        "10.",
        "fd0",
    )
    one = services.create("b", ipFamilyPolicy="SingleStack")
    assert len(one["clusterIPs"]) == 1
    more = services.change("b", ipFamilyPolicy="PreferDualStack")
    assert more["clusterIPs"][0] == one["clusterIP"] and more["clusterIPs"][1].startswith("fd00::")
    assert (
        services.change("b", sessionAffinity="ClientIP", sessionAffinityConfig={"clientIP": {"timeoutSeconds": 1}})[
            "clusterIPs"
        ]
        == more["clusterIPs"]
    )
    assert services.refusal("create", "c", ipFamilyPolicy="RequireDualStack")[0] == 500
    assert services.change("b", ipFamilyPolicy="SingleStack")["clusterIPs"] == [one["clusterIP"]]
    only = services.create("c", ipFamilyPolicy="SingleStack", ipFamilies=["IPv6"])
    assert only["clusterIPs"] == [more["clusterIPs"][1]]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"ports": [port(80)]}, [0]),
        ({"ports": [port(80, 30001)]}, "may not be used when `type` is 'ClusterIP'"),
        ({"type": "NodePort", "ports": [port(80, 30001), port(81, 30000)]}, [30001, 30000]),
        # Protocols of one port share a node port, whichever of them asks for it.
        ({"type": "NodePort", "ports": [port(80, 30001), port(80, protocol="UDP")]}, [30001, 30001]),
        ({"type": "NodePort", "ports": [port(80), port(80, 30001, protocol="UDP")]}, [30001, 30001]),
        ({"type": "NodePort", "ports": [port(80, 30001), port(81, 30001)]}, "provided port is already allocated"),
        (
            {"type": "NodePort", "ports": [port(80, 29999)]},
            "spec.ports[0].nodePort: Invalid value: 29999: provided port is not in the valid range. The range of valid "
            "ports is 30000-30002",
        ),
        ({"type": "NodePort", "ports": [port(1), port(2), port(3), port(9)]}, "allocate a nodePort: range is full"),
        (
            {"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False, "ports": [port(80), port(81, 30001)]},
            [0, 30001],
        ),
        (
            {"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False, "ports": [port(80, 30002), port(81)]},
            [30002, 0],
        ),
    ],
)
def test_node_ports_of_new_services(spec: Object, expected: Any) -> None:
    """Requested ports are taken for any type that has them, others for types that need them."""
    services = Services(release=NEWEST)
    if isinstance(expected, str):
        assert expected in services.refusal("create", "a", **spec)[1]
        assert services.create("b", type="NodePort", ports=[port(1), port(2), port(3)])
    else:
        assert node_ports(services.create("a", **spec)) == expected
        assert services.strategy.ports.count() == len({n for n in expected if n})


def test_node_ports_of_changed_services() -> None:
    """A service keeps its ports, also with other numbers, and gets more; what it loses is free."""
    services = Services()
    first = services.create("a", type="NodePort", ports=[port(80, 30001), port(80, protocol="UDP")])
    assert node_ports(first) == [30001, 30001]
    swapped = [port(81, 30001), port(82, 30000)]
    assert node_ports(services.change("a", ports=swapped)) == [30001, 30000]
    assert node_ports(services.change("a", ports=[port(81, 30001), port(82, 30000), port(83)])) == [30001, 30000, 30002]
    assert "range is full" in services.refusal("change", "a", ports=[*swapped, port(83, 30002), port(84)])[1]
    assert (
        "duplicate nodePort: {TCP 30001}" in services.refusal("change", "a", ports=[port(1, 30001), port(2, 30001)])[1]
    )
    assert node_ports(services.change("a", ports=[port(1, 30001), port(1, 30001, "UDP")])) == [30001, 30001]
    assert node_ports(services.change("a", ports=[port(1, 30002), port(1, 30002, "UDP")])) == [30002, 30002]
    assert node_ports(services.change("a", ports=[port(1, 30001), port(1, 30001, "UDP")])) == [30001, 30001]
    quiet = {"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False}
    beside = services.refusal("create", "c", **quiet, ports=[port(80), port(81, 30001)])[1]
    assert "spec.ports[1].nodePort: Invalid value: 30001: provided port is already allocated" in beside
    taken = "spec.ports[1].nodePort: Invalid value: 30000: provided port is already allocated"
    services.create("b", type="NodePort", ports=[port(80, 30000)])
    assert taken in services.refusal("change", "a", ports=[port(1, 30001), port(2, 30000)])[1]
    assert node_ports(services.change("a", dry_run=True, ports=[port(1, 30001), port(2)])) == [30001, 32769]
    assert node_ports(services.change("a", type="ClusterIP", ports=[port(1)])) == [0]
    assert services.strategy.ports.count() == 1
    assert node_ports(services.change("a", type="NodePort", ports=[port(1, 30001)])) == [30001]


def test_health_check_ports() -> None:
    """A load balancer with the policy Local has one more port, which stays; another policy frees it."""
    services = Services("10.0.0.0/29", release=NEWEST)
    quiet = {**LOCAL, "allocateLoadBalancerNodePorts": False}
    assert services.create("a", **quiet, healthCheckNodePort=30001)["healthCheckNodePort"] == 30001
    refused = (
        "Internal error occurred: failed to allocate requested HealthCheck NodePort 30001: provided port is already"
    )
    assert services.refusal("create", "b", **quiet, healthCheckNodePort=30001) == (500, refused + " allocated")
    assert services.change("a", sessionAffinity="None")["healthCheckNodePort"] == 30001
    assert services.strategy.ports.count() == 1
    services.create("b", type="NodePort", ports=[port(1, 30000), port(2, 30002)])
    full = "Internal error occurred: failed to allocate a HealthCheck NodePort 0: range is full"
    assert services.refusal("create", "c", **quiet) == (500, full)
    assert "healthCheckNodePort" not in services.change("a", externalTrafficPolicy="Cluster", healthCheckNodePort=None)
    assert services.create("c", **quiet)["healthCheckNodePort"] == 30001
    assert services.create("d", dry_run=True, **quiet)["healthCheckNodePort"] == 32769


def test_ranges_of_objects() -> None:
    """They follow the objects, keep what is reserved, and have addresses of one family."""
    networks = {ip_network(text) for text in ("10.0.0.0/24", "10.0.1.0/24", "fd00::/64")}
    waits: list[str] = []

    def index(name: str) -> Any:
        async def fresh() -> None:
            waits.append(name)

        return SimpleNamespace(networks=lambda: networks, addresses=lambda version: set(), fresh=fresh)

    ranges = ObjectRanges(index("ranges"), index("addresses"), Random(1))
    spaces = {str(space.network): space for space in ranges.spaces("IPv4")}
    assert set(spaces) == {"10.0.0.0/24", "10.0.1.0/24"}
    assert [str(space.network) for space in ranges.spaces("IPv6")] == ["fd00::/64"]
    assert ranges.holding("IPv4", "10.0.1.5") is spaces["10.0.1.0/24"]
    for family, address in (("IPv4", "10.0.2.5"), ("IPv6", "10.0.1.5")):
        with pytest.raises(OutOfRangeError, match="the provided network does not match the current range"):
            ranges.holding(family, address)
    assert str(ranges.dry_run("IPv6").network) == "fd00::/64"
    networks -= {ip_network("10.0.1.0/24"), ip_network("fd00::/64")}
    assert list(ranges.spaces("IPv4")) == [spaces["10.0.0.0/24"]]
    with pytest.raises(OutOfRangeError, match="allocator not ready"):
        ranges.dry_run("IPv6")
    networks.add(ip_network("10.0.1.0/24"))
    assert ranges.holding("IPv4", "10.0.1.5") is not spaces["10.0.1.0/24"]
    result_of(ranges.fresh())
    assert waits == ["ranges", "addresses"]


def test_values_that_a_service_holds() -> None:
    """Claims in a store of several servers: addresses and ports; with records, ports alone."""
    strategy = Services().strategy
    spec = {"clusterIPs": ["10.0.0.1", "fd00::1"], "ports": [port(1, 30000), port(2, 30000, "UDP"), port(3)]}
    obj = {"spec": {**spec, "healthCheckNodePort": 30001}}
    ports = {"node-ports/30000", "node-ports/30001"}
    assert strategy.unique_values(obj) == {"addresses/10.0.0.1", "addresses/fd00::1", *ports}
    assert strategy.recorded_values(obj) == {"10.0.0.1", "fd00::1"}
    assert strategy.unique_values({"spec": {"clusterIP": "None"}}) == strategy.unique_values({}) == frozenset()
    strategy.records = object()
    assert strategy.unique_values(obj) == ports


def test_status_of_a_load_balancer() -> None:
    """It is shown while the service is one."""
    services = Services()
    services.create("a", type="LoadBalancer")
    ingress = {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}
    bench = services.bench

    async def edit(obj: Object) -> Object:
        return {**obj, "status": ingress, "spec": {**obj["spec"], "type": "ClusterIP"}}

    bench.do(bench.registry.write(bench.context(PATH, subresource="status"), Edit(name="a", change=edit)))

    def status() -> Any:
        entry = bench.stored(PATH, "a")
        assert entry is not None
        return entry.decoded()["status"]

    assert status() == ingress
    services.change("a", sessionAffinity="None")
    assert status() == ingress
    services.change("a", type="NodePort")
    assert status() == {"loadBalancer": {}}


@pytest.mark.parametrize(("release", "warned"), [(SPECIFICATION, False), (NEWEST, True)])
def test_warnings_of_a_status(release: Any, warned: bool) -> None:
    """Addresses with leading zeros in a status are warned of from release 1.33 on."""
    services = Services(release=release)
    services.create("a", type="LoadBalancer")
    warnings: list[str] = []

    async def edit(obj: Object) -> Object:
        return {**obj, "status": {"loadBalancer": {"ingress": [{"ip": "192.000.002.001"}]}}}

    bench = services.bench
    context = bench.context(PATH, subresource="status", warn=warnings.append)
    bench.do(bench.registry.write(context, Edit(name="a", change=edit)))
    assert bool(warnings) is warned
