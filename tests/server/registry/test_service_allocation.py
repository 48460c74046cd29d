"""Allocation for services: addresses, IP families, node ports."""

from __future__ import annotations

import json
from ipaddress import ip_address, ip_network
from random import Random
from typing import Any

import orjson
import pytest

from orchd.cache import entries
from orchd.cache.entries import Change, ChangeType, Entry
from orchd.kinds.release import NEWEST, SPECIFICATION, Release
from orchd.server.registry.ranges import (
    AddressRange,
    AllocatedError,
    DryRunAddresses,
    DryRunNumbers,
    ExhaustedError,
    NumberRange,
    OutOfRangeError,
)
from orchd.server.registry.strategies import servicefields as fields
from orchd.server.registry.strategies.service_allocations import ServiceAllocations

Spec = dict[str, Any]
BOTH = ["IPv4", "IPv6"]
PREFER: Spec = {"ipFamilyPolicy": "PreferDualStack"}
REQUIRE: Spec = {"ipFamilyPolicy": "RequireDualStack"}
SINGLE: Spec = {"ipFamilyPolicy": "SingleStack"}


def spec(*addresses: str, **members: Any) -> Spec:
    out: Spec = {"type": "ClusterIP", **members}
    return {**out, "clusterIP": addresses[0], "clusterIPs": list(addresses)} if addresses else out


class _Counting(dict[int, int]):
    """Used values that count how often one is looked up."""

    looked = 0

    def __contains__(self, key: object) -> bool:
        self.looked += 1
        return super().__contains__(key)


def test_a_full_range_is_searched_once_per_value() -> None:
    """Taking all values of a range looks up a few values for each, not all of them."""
    used = _Counting(dict.fromkeys(range(100, 1600), 1))
    numbers = NumberRange(0, 2999, lambda: used, Random(1))
    taken = [numbers.take_any() for _ in range(1500)]
    assert sorted(taken) == [*range(100), *range(1600, 3000)]
    assert used.looked < 400_000
    with pytest.raises(ExhaustedError):
        numbers.take_any()


class _Services:
    """A cache of one service, whose changes a test announces."""

    def __init__(self, entry: Entry) -> None:
        self.entries, self.revision = [entry], entry.revision
        self.tell: Any = None
        self.end: Any = None

    def page(self) -> _Services:
        return self

    def subscribe(self, *, on_change: Any, on_end: Any, **_: Any) -> object:
        self.tell, self.end = on_change, on_end
        return object()


def test_counts_begin_anew_after_a_restart() -> None:
    """What a service had before the cache restarted does not count against another one that has it now."""

    def entry(path: str, address: str) -> Entry:
        return Entry(
            path, 1, 1, orjson.dumps({"spec": {"clusterIPs": [address], "ports": [{"nodePort": 30001}]}}), {}, {}
        )

    services: Any = _Services(entry("a/s", "10.0.0.5"))
    index = ServiceAllocations(lambda: services)
    assert list(index.addresses(4)) == [int(ip_address("10.0.0.5"))]
    services.end(Exception())
    services.entries = [entry("a/t", "10.0.0.5")]
    assert dict(index.ports()) == {30001: 1}
    services.tell(Change(ChangeType.ADDED, entry("a/s", "10.0.0.6"), None))
    assert sorted(index.addresses(4)) == [int(ip_address("10.0.0.5")), int(ip_address("10.0.0.6"))]
    assert dict(index.ports()) == {30001: 2}


def test_counts_follow_the_services(monkeypatch: pytest.MonkeyPatch) -> None:
    """Addresses and ports are counted while services have them; a change decodes a service once."""

    def entry(revision: int, *ports: int, address: str = "10.0.0.5") -> Entry:
        body: Spec = {"spec": {"clusterIPs": [address], "ports": [{"nodePort": port} for port in ports]}}
        return Entry("a/s", revision, 1, orjson.dumps(body), {}, {})

    services: Any = _Services(entry(1, 30001, 30002))
    index = ServiceAllocations(lambda: services)
    assert dict(index.ports()) == {30001: 1, 30002: 1}
    decoded: list[object] = []

    class Decoder:
        def loads(self, data: bytes) -> Any:
            decoded.append(data)
            return json.loads(data)

    monkeypatch.setattr(entries, "orjson", Decoder())
    old = services.entries[0]
    services.tell(Change(ChangeType.MODIFIED, entry(2, 30002, 30003, 30003, address="10.0.0.6"), old))
    assert dict(index.ports()) == {30002: 1, 30003: 2} and len(decoded) == 1
    assert list(index.addresses(4)) == [int(ip_address("10.0.0.6"))]
    # A service that this process has written is not decoded at all.
    fresh = entry(3)
    fresh.fresh = {"spec": {"clusterIPs": ["10.0.0.7"]}}
    services.tell(Change(ChangeType.MODIFIED, fresh, old))
    assert not index.ports() and list(index.addresses(4)) == [int(ip_address("10.0.0.7"))] and len(decoded) == 1
    services.tell(Change(ChangeType.DELETED, entry(4, 30002), None))
    assert not index.ports() and not index.addresses(4) and len(decoded) == 1


def test_ports_of_dry_runs_follow_the_highest() -> None:
    """A dry run gives the number after the highest that it has given."""
    numbers = DryRunNumbers(NumberRange(30000, 32767, dict, Random(1)))
    assert numbers.take_any() == 32769
    numbers.take(40000)
    assert [numbers.take_any(), numbers.take_any()] == [40001, 40002]
    low = DryRunNumbers(NumberRange(30000, 32767, dict, Random(1)))
    low.take(30000)
    assert low.take_any() == 30001


@pytest.mark.parametrize(
    ("new", "old", "addresses"),
    [
        # On creation clusterIPs follows clusterIP, never the other way round.
        ({"clusterIP": "a"}, None, ["a"]),
        ({"clusterIPs": ["a"]}, None, ["a"]),
        ({"clusterIP": "a", "clusterIPs": ["b"]}, None, ["b"]),
        ({}, None, None),
        # A client that knows one of the fields changed only that one.
        ({"clusterIP": "a"}, spec("a", "b"), ["a", "b"]),
        ({"clusterIP": "c", "clusterIPs": ["a", "b"]}, spec("a", "b"), ["c"]),
        ({"clusterIPs": ["a", "b"]}, spec("a", "b"), None),
        ({"clusterIP": "c"}, spec("a", "b"), None),
        ({}, spec("a", "b"), None),
        ({"clusterIP": "a"}, {}, ["a"]),
        ({"clusterIP": "a"}, {"clusterIP": "a"}, None),
        ({"clusterIPs": ["b"]}, spec("a"), ["b"]),
        # A client that changed both is taken literally.
        ({"clusterIP": "c", "clusterIPs": ["c", "d"]}, spec("a", "b"), ["c", "d"]),
    ],
)
def test_cluster_ip_and_cluster_ips_agree(new: Spec, old: Spec | None, addresses: list[str] | None) -> None:
    assert fields.normalize(new, old).get("clusterIPs") == addresses


@pytest.mark.parametrize(
    ("new", "old", "configured", "families"),
    [
        (spec(**SINGLE), {}, ["IPv4"], ["IPv4"]),
        (spec(**PREFER), {}, ["IPv4"], ["IPv4"]),
        (spec(**PREFER), {}, ["IPv6", "IPv4"], ["IPv6", "IPv4"]),
        (spec("fd00::1", **REQUIRE), {}, BOTH, ["IPv6", "IPv4"]),
        (spec("None", **REQUIRE), {}, ["IPv4"], BOTH),
        (spec("None", selector={"a": "b"}, **SINGLE), {}, ["IPv4"], ["IPv4"]),
        (spec("None", selector={"a": "b"}, **PREFER), {}, ["IPv4"], ["IPv4"]),
        (spec("None", selector={"a": "b"}, **PREFER), {}, BOTH, BOTH),
        (spec("None", ipFamilies=["IPv6"], **SINGLE), {}, ["IPv4"], ["IPv6"]),
        (spec(ipFamilies=["IPv6"], **PREFER), {}, BOTH, ["IPv6", "IPv4"]),
        (spec(ipFamilies=["IPv6"], **SINGLE), {}, BOTH, ["IPv6"]),
        (spec(**SINGLE), {}, BOTH, ["IPv4"]),
        (spec("010.0.0.1", **SINGLE), {}, BOTH, ["IPv4"]),
        (spec("10.0.0.1", "fd00::1", **REQUIRE), {}, BOTH, BOTH),
        (spec("10.0.0.1", "fd00::1", ipFamilies=["IPv4"], **REQUIRE), {}, BOTH, BOTH),
        (
            spec("10.0.0.1", "fd00::1", ipFamilies=BOTH, **SINGLE),
            spec("10.0.0.1", "fd00::1", ipFamilies=BOTH),
            BOTH,
            ["IPv4"],
        ),
        # What the client releases itself needs no change.
        (spec("10.0.0.1", **SINGLE), spec("10.0.0.1", "fd00::1", ipFamilies=BOTH), BOTH, ["IPv4"]),
        (spec(ipFamilies=["IPv4"], **PREFER), spec(ipFamilies=["IPv4"]), BOTH, BOTH),
        (spec(ipFamilies=["IPv6"], **PREFER), spec(ipFamilies=BOTH), BOTH, ["IPv6", "IPv4"]),
    ],
)
def test_ip_family_defaults(new: Spec, old: Spec, configured: list[str], families: list[str]) -> None:
    out, causes = fields.with_families(new, old, configured)
    assert (out.get("ipFamilies"), causes) == (families, [])


@pytest.mark.parametrize(
    ("new", "old", "configured", "problem"),
    [
        (spec(**REQUIRE), {}, ["IPv4"], "spec.ipFamilyPolicy: this cluster is not configured for dual-stack services"),
        (spec(ipFamilies=["IPv6"], **SINGLE), {}, ["IPv4"], "spec.ipFamilies[0]: not configured on this cluster"),
        (spec("fd00::1", **SINGLE), {}, ["IPv4"], "spec.clusterIPs[0]: IPv6 is not configured on this cluster"),
        (
            spec(ipFamilies=BOTH, **SINGLE),
            {},
            BOTH,
            "spec.ipFamilyPolicy: must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified",
        ),
        (
            spec("10.0.0.1", "fd00::1", **SINGLE),
            {},
            BOTH,
            "spec.ipFamilyPolicy: must be 'RequireDualStack' or 'PreferDualStack' when multiple cluster IPs are specified",
        ),
        # The default families are not reported, only those that were asked for.
        (spec(ipFamilies=BOTH, **PREFER), {}, ["IPv4"], "spec.ipFamilies[1]: not configured on this cluster"),
        (
            spec("10.0.0.1", "fd00::1", **PREFER),
            {},
            ["IPv4"],
            "spec.clusterIPs[1]: IPv6 is not configured on this cluster",
        ),
        (
            spec("None", selector={"a": "b"}, **REQUIRE),
            {},
            ["IPv4"],
            "spec.ipFamilyPolicy: this cluster is not configured for dual-stack services",
        ),
        (
            spec(ipFamilies=["IPv4"], **REQUIRE),
            spec(ipFamilies=BOTH),
            BOTH,
            "spec.ipFamilyPolicy: must be 'SingleStack' to release the secondary IP family",
        ),
        # The second values of a changed service are not dropped.
        (
            spec("10.0.0.2", "fd00::1", **SINGLE),
            spec("10.0.0.1", "fd00::1"),
            BOTH,
            "spec.ipFamilyPolicy: must be 'RequireDualStack' or 'PreferDualStack' when multiple cluster IPs are specified",
        ),
        (
            spec("10.0.0.1", **PREFER),
            spec("10.0.0.1", "fd00::1"),
            BOTH,
            "spec.ipFamilyPolicy: must be 'SingleStack' to release the secondary cluster IP",
        ),
    ],
)
def test_invalid_ip_families_are_refused(new: Spec, old: Spec, configured: list[str], problem: str) -> None:
    unchanged, causes = fields.with_families(new, old, configured)
    assert unchanged is new
    assert [f"{c.field}: {c.message.split(': ', 2)[2]}" for c in causes] == [problem]


def test_ip_family_policy_on_update() -> None:
    """The existing policy stays; services without addresses and selector may have both families."""
    assert fields.with_policy(spec(), PREFER)["ipFamilyPolicy"] == "PreferDualStack"
    assert fields.with_policy(spec(**REQUIRE), PREFER)["ipFamilyPolicy"] == "RequireDualStack"
    assert fields.with_policy(spec(), {})["ipFamilyPolicy"] == "SingleStack"
    assert fields.with_policy(spec("None"), {})["ipFamilyPolicy"] == "RequireDualStack"
    assert fields.with_policy(spec("None", selector={"a": "b"}), {})["ipFamilyPolicy"] == "SingleStack"


@pytest.mark.parametrize(
    ("new", "old", "stays"),
    [
        (PREFER, PREFER, True),
        ({**PREFER, "clusterIP": "", "ipFamilies": []}, PREFER, True),
        (spec("a", "b", ipFamilies=BOTH, **PREFER), spec("a", "b", ipFamilies=BOTH, **PREFER), True),
        (spec("a", **PREFER), spec("a", "b", **PREFER), False),
        ({"clusterIP": "b", **PREFER}, {"clusterIP": "a", **PREFER}, False),
        (spec(ipFamilies=["IPv4"], **PREFER), spec(ipFamilies=BOTH, **PREFER), False),
        ({"type": "NodePort", **PREFER}, {"type": "ClusterIP", **PREFER}, False),
        ({"type": "ExternalName", **PREFER}, {"type": "ExternalName", **PREFER}, False),
        (PREFER, SINGLE, False),
        (SINGLE, PREFER, False),
        (SINGLE, SINGLE, False),
    ],
)
def test_preferred_families_that_stay(new: Spec, old: Spec, stays: bool) -> None:
    """A service that prefers both families keeps those that it has, unless its type, addresses or families change."""
    assert fields.stays_preferred(new, old) is stays


def ports(*numbered: tuple[str, int]) -> list[Spec]:
    return [{"name": n, "port": i, **({"nodePort": p} if p else {})} for i, (n, p) in enumerate(numbered, 1)]


def test_node_ports_are_kept_by_name() -> None:
    """A port with an unchanged name keeps its number, unless another port requests it."""
    before = {"type": "NodePort", "ports": ports(("a", 30001), ("b", 30002))}
    now = {"type": "NodePort", "ports": ports(("b", 0), ("a", 0), ("c", 0))}
    kept = fields.carried_over(now, before)
    assert [p.get("nodePort", 0) for p in kept["ports"]] == [30002, 30001, 0]
    taken = fields.carried_over({"type": "NodePort", "ports": ports(("a", 0), ("c", 30001))}, before)
    assert [p.get("nodePort", 0) for p in taken["ports"]] == [0, 30001]
    silent = {"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False, "ports": ports(("a", 0))}
    assert fields.carried_over(silent, before)["ports"] == ports(("a", 30001))


LOCAL: Spec = {"type": "LoadBalancer", "externalTrafficPolicy": "Local"}
UNNAMED: Spec = {"port": 1, "nodePort": 30001}


@pytest.mark.parametrize(
    ("new", "old", "carried"),
    [
        ({}, spec("a", "b"), {"clusterIP": "a", "clusterIPs": ["a", "b"]}),
        ({"clusterIP": "c"}, spec("a", "b"), {"clusterIP": "c", "clusterIPs": ["a", "b"]}),
        ({"clusterIPs": ["c"]}, spec("a", "b"), {"clusterIP": "a", "clusterIPs": ["c"]}),
        ({}, {}, {}),
        ({"type": "ExternalName"}, spec("a"), {"type": "ExternalName"}),
        ({}, {**spec("a"), "type": "ExternalName"}, {}),
        ({"type": "NodePort"}, {"type": "LoadBalancer"}, {"type": "NodePort", "ports": []}),
        ({"type": "ClusterIP"}, {"type": "NodePort", "ports": [UNNAMED]}, {"type": "ClusterIP"}),
        ({"type": "NodePort"}, {"type": "ClusterIP"}, {"type": "NodePort"}),
        (
            {"type": "NodePort", "ports": [{"port": 2}]},
            {"type": "NodePort", "ports": [UNNAMED]},
            {"type": "NodePort", "ports": [{"port": 2, "nodePort": 30001}]},
        ),
        (
            {"type": "NodePort", "ports": [{"port": 1, "nodePort": 30002}]},
            {"type": "NodePort", "ports": [UNNAMED]},
            {"type": "NodePort", "ports": [{"port": 1, "nodePort": 30002}]},
        ),
        (
            {"type": "NodePort", "ports": [{"port": 1}]},
            {"type": "LoadBalancer", "ports": [{"port": 1}]},
            {"type": "NodePort", "ports": [{"port": 1}]},
        ),
        (LOCAL, {**LOCAL, "healthCheckNodePort": 5}, {**LOCAL, "ports": [], "healthCheckNodePort": 5}),
        (
            {**LOCAL, "healthCheckNodePort": 7},
            {**LOCAL, "healthCheckNodePort": 5},
            {**LOCAL, "ports": [], "healthCheckNodePort": 7},
        ),
        (LOCAL, {"type": "LoadBalancer", "healthCheckNodePort": 5}, {**LOCAL, "ports": []}),
        ({"type": "LoadBalancer"}, {**LOCAL, "healthCheckNodePort": 5}, {"type": "LoadBalancer", "ports": []}),
    ],
)
def test_allocated_values_are_carried_over(new: Spec, old: Spec, carried: Spec) -> None:
    """What an update omits and both specs need stays as it was."""
    assert fields.carried_over(new, old) == carried


BALANCED: Spec = {
    **spec("10.0.0.1", ipFamilies=["IPv4"], **SINGLE),
    "type": "LoadBalancer",
    "externalTrafficPolicy": "Local",
    "healthCheckNodePort": 30003,
    "allocateLoadBalancerNodePorts": True,
    "loadBalancerClass": "x",
    "ports": ports(("a", 30001)),
}


def test_type_change_clears_fields_of_the_old_type() -> None:
    """Fields are cleared only if the client did not change them as well."""
    plain = fields.without_foreign({**BALANCED, "type": "ClusterIP"}, BALANCED)
    assert plain == {**spec("10.0.0.1", ipFamilies=["IPv4"], **SINGLE), "ports": ports(("a", 0))}
    named = fields.without_foreign({**BALANCED, "type": "ExternalName", "externalName": "n"}, BALANCED)
    assert named == {"type": "ExternalName", "externalName": "n", "ports": ports(("a", 0))}
    changed = fields.without_foreign({**BALANCED, "type": "ClusterIP", "healthCheckNodePort": 5}, BALANCED)
    assert changed["healthCheckNodePort"] == 5
    fewer = {**BALANCED, "ports": ports(("a", 0), ("b", 30001))}
    assert fields.without_foreign({**fewer, "type": "ClusterIP"}, BALANCED)["ports"] == ports(("a", 0), ("b", 0))
    other = {**BALANCED, "type": "ClusterIP", "ports": ports(("a", 30009))}
    assert fields.without_foreign(other, BALANCED)["ports"] == other["ports"]
    freed = {**BALANCED, "type": "ClusterIP", "externalTrafficPolicy": "Cluster", "loadBalancerClass": "y"}
    assert fields.without_foreign(freed, BALANCED) == {
        **spec("10.0.0.1", ipFamilies=["IPv4"], **SINGLE),
        "externalTrafficPolicy": "Cluster",
        "loadBalancerClass": "y",
        "ports": ports(("a", 0)),
    }
    # A type that has external traffic too keeps its policy and node ports.
    assert fields.without_foreign({**BALANCED, "type": "NodePort"}, BALANCED) == {
        **spec("10.0.0.1", ipFamilies=["IPv4"], **SINGLE),
        "type": "NodePort",
        "externalTrafficPolicy": "Local",
        "ports": ports(("a", 30001)),
    }
    moved = {**BALANCED, "type": "ExternalName", "clusterIP": "10.0.0.2"}
    assert fields.without_foreign(moved, BALANCED)["clusterIPs"] == ["10.0.0.1"]
    external = {"type": "ExternalName", "clusterIP": "10.0.0.1", **SINGLE}
    assert fields.without_foreign(external, external) == external
    assert fields.without_foreign(BALANCED, BALANCED) == BALANCED
    # An unknown type is refused, and nothing else is reported about it.
    assert fields.without_foreign({**BALANCED, "type": "Unknown"}, BALANCED)["clusterIPs"] == ["10.0.0.1"]
    # A client that requests no new values keeps the old ones.
    assert (
        fields.without_foreign({**BALANCED, "allocateLoadBalancerNodePorts": False}, BALANCED)["ports"]
        == BALANCED["ports"]
    )


@pytest.mark.parametrize(
    ("release", "type_", "policy", "shown"),
    [
        (NEWEST, "ExternalName", "Cluster", False),
        (NEWEST, "ExternalName", "Local", False),
        (NEWEST, "ExternalName", "Other", True),
        (NEWEST, "ClusterIP", "Cluster", True),
        (SPECIFICATION, "ExternalName", "Cluster", True),
    ],
)
def test_internal_traffic_policy_of_names(release: Release, type_: str, policy: str, shown: bool) -> None:
    """A type without cluster IPs has no use for the policy, which release 1.26 drops; validation refuses an unknown
    one."""
    sent: Spec = {"type": type_, "internalTrafficPolicy": policy}
    assert release.choose(fields.READABLE)(sent) == (sent if shown else {"type": type_})


def test_cluster_ips_default_to_the_old_list() -> None:
    """clusterIPs keeps its value and follows clusterIP."""
    before = spec("10.0.0.1")
    moved = fields.normalize(fields.carried_over({"type": "ClusterIP", "clusterIP": "10.0.0.2"}, before), before)
    assert moved["clusterIPs"] == ["10.0.0.2"]


def service(name: str, **members: Any) -> Any:
    return {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}], **members}}


def fields_of(response: Any) -> list[str]:
    return [cause["field"] for cause in response.json["details"]["causes"]]


def test_address_fields_are_validated_first(space: Any) -> None:
    """If the addresses of a service are invalid, no other error is reported."""
    response = space("POST", "services", service("a", ports=[], clusterIP="x"))
    assert (response.code, fields_of(response)) == (422, ["spec.clusterIPs[0]"])


def test_changed_address_is_refused_by_validation(space: Any) -> None:
    """Validation rejects the change, whether the address is free or not."""
    stored_service = space.make("services", service("a"))
    for address in (space.make("services", service("b"))["spec"]["clusterIP"], "10.9.9.9"):
        response = space(
            "PUT",
            "services/a",
            {**stored_service, "spec": {**stored_service["spec"], "clusterIP": address, "clusterIPs": [address]}},
        )
        assert (response.code, fields_of(response)) == (422, ["spec.clusterIPs[0]"])
        assert "may not change once set" in response.json["message"]


def test_leading_zeros_are_ignored_in_addresses(space: Any) -> None:
    """An address with leading zeros is kept as written, and equals the one without them."""
    address = space.make("services", service("a"))["spec"]["clusterIP"]
    padded = ".".join(octet.zfill(3) for octet in address.split("."))
    assert space("POST", "services", service("b", clusterIP=padded)).code == 422
    assert space("DELETE", "services/a").code == 200
    assert space.make("services", service("b", clusterIP=padded))["spec"]["clusterIP"] == padded


def test_health_check_node_port_is_allocated(space: Any) -> None:
    """A port is requested or allocated for load balancers with the traffic policy Local; a failed allocation is an
    internal error."""
    local = {"type": "LoadBalancer", "externalTrafficPolicy": "Local"}
    stored_service = space.make("services", service("a", **local))
    port = stored_service["spec"]["healthCheckNodePort"]
    for wanted, why in (
        (port, "provided port is already allocated"),
        (80, "provided port is not in the valid range. The range of valid ports is 30000-32767"),
    ):
        response = space("POST", "services", service("b", **local, healthCheckNodePort=wanted))
        head = f"Internal error occurred: failed to allocate requested HealthCheck NodePort {wanted}: "
        assert (response.code, response.json["message"]) == (500, head + why)
    changed = {**stored_service, "spec": {**stored_service["spec"], "healthCheckNodePort": 5}}
    assert fields_of(space("PUT", "services/a", changed)) == ["spec.healthCheckNodePort"]


def test_protocols_of_one_port_may_share_a_node_port(space: Any) -> None:
    """Ports with different numbers cannot share one."""

    def two(first: int, second: int) -> Any:
        return service(
            "a",
            type="NodePort",
            ports=[
                {"name": "a", "port": first, "nodePort": 30053},
                {"name": "b", "port": second, "protocol": "UDP", "nodePort": 30053},
            ],
        )

    assert space("POST", "services", two(53, 53)).code == 201
    space("DELETE", "services/a")
    response = space("POST", "services", two(53, 54))
    assert (response.code, fields_of(response)) == (422, ["spec.ports[1].nodePort"])
    same = service(
        "b", type="NodePort", ports=[{"name": "a", "port": 53}, {"name": "b", "port": 53, "protocol": "UDP"}]
    )
    assert len({p["nodePort"] for p in space.make("services", same)["spec"]["ports"]}) == 1


def test_status_updates_allocate_nothing(space: Any) -> None:
    """The spec of a status update is ignored."""
    stored_service = space.make("services", service("a"))
    body = {
        **stored_service,
        "spec": {**stored_service["spec"], "clusterIP": "x"},
        "status": {"loadBalancer": {"ingress": [{"ip": "1.1.1.1"}]}},
    }
    response = space("PUT", "services/a/status", body)
    assert response.code == 200 and response.json["spec"] == stored_service["spec"]


def test_dry_run_allocations_are_not_reserved() -> None:
    """As in the reference, a dry run gets numbers from a separate range, and the network's own address."""
    numbers = NumberRange(30000, 32767, lambda: {30001}, Random(1))
    dry_run = DryRunNumbers(numbers)
    assert [dry_run.take_any(), dry_run.take_any()] == [32769, 32770]
    dry_run.take(40000)
    assert dry_run.take_any() == 40001
    for taken in (30001, 40000):
        with pytest.raises(AllocatedError):
            dry_run.take(taken)
    addresses = AddressRange(
        ip_network("10.0.0.0/24"), lambda: {int(ip_network("10.0.0.9/32").network_address)}, Random(1)
    )
    free = DryRunAddresses(addresses)
    assert free.take_any() == "10.0.0.0"
    free.take("10.0.0.9")
    for outside in ("10.0.0.0", "10.0.0.255", "1.2.3.4", "fd00::1"):
        with pytest.raises(OutOfRangeError):
            free.take(outside)
    addresses.take("10.0.0.8")
    numbers.take(32000)
