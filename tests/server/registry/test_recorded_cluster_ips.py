"""Cluster IPs of release 1.35: ranges of ServiceCIDR objects, records as IPAddress objects."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchd.dialect import ORCH
from orchd.server.reconcilers.cluster_ips import AddressRecords
from orchd.server.registry.ranges import StaticPart
from orchd.store.interfaces import ClaimedError
from orchd.testing.doubles.server import InProcessServer, make_server, run

GROUP = f"/apis/{ORCH('networking.{abbr}.io')}/v1"
RANGES, ADDRESSES, SERVICES = f"{GROUP}/servicecidrs", f"{GROUP}/ipaddresses", "/api/v1/namespaces/default/services"
FLAGS = ("--emulated-version=1.35", "--service-cluster-ip-range=10.0.0.0/24")
OWN = ORCH("{long}")


class Cluster:
    """A server, and requests in short."""

    def __init__(self, server: InProcessServer) -> None:
        self.server = server

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        return run(self.server.request(method, path, body=body, headers=headers))

    def serve(self, name: str, **spec: Any) -> Any:
        return self.send("POST", SERVICES, {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}], **spec}})

    def add_range(self, name: str, *cidrs: str) -> None:
        response = self.send("POST", RANGES, {"metadata": {"name": name}, "spec": {"cidrs": list(cidrs)}})
        assert response.code == 201

    def records(self) -> dict[str, str]:
        """Names of the parents by address."""
        items = self.send("GET", ADDRESSES).json["items"]
        return {each["metadata"]["name"]: each["spec"]["parentRef"]["name"] for each in items}

    def pass_time(self, seconds: float) -> None:
        for _ in range(10):
            self.server.clock.advance(seconds / 10)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    server = make_server(tmp_path, *FLAGS)
    yield Cluster(server)
    server.stop()


def reason(response: Any) -> str:
    """The text of the only cause."""
    (cause,) = response.json["details"]["causes"]
    return str(cause["message"]).rpartition(": ")[2]


def test_default_range_and_own_service_are_there(cluster: Cluster) -> None:
    """The range of the flag is an object that is ready, and the address of the own service is recorded with its
    labels."""
    found = cluster.send("GET", f"{RANGES}/{OWN}").json
    assert found["spec"] == {"cidrs": ["10.0.0.0/24"]}
    assert [(each["type"], each["status"]) for each in found["status"]["conditions"]] == [("Ready", "True")]
    managers = {each["manager"]: each["operation"] for each in found["metadata"]["managedFields"]}
    assert managers == {ORCH("{long}-service-cidr-controller"): "Apply", ORCH("{short}-apiserver"): "Update"}
    (record,) = cluster.send("GET", ADDRESSES).json["items"]
    assert record["metadata"]["name"] == "10.0.0.1"
    assert record["metadata"]["labels"] == {
        ORCH("ipaddress.{long}.io/ip-family"): "IPv4",
        ORCH("ipaddress.{long}.io/managed-by"): ORCH("ipallocator.{abbr}.io"),
    }
    assert record["spec"] == {"parentRef": {"resource": "services", "namespace": "default", "name": OWN}}


def test_records_live_as_long_as_services_have_the_addresses(cluster: Cluster) -> None:
    """A record comes with the service, in the canonical form of the address, and goes with it or with its type."""
    assert cluster.serve("a", clusterIP="10.000.0.7").code == 201
    given = cluster.serve("b").json["spec"]["clusterIP"]
    assert cluster.records() == {"10.0.0.1": OWN, "10.0.0.7": "a", given: "b"}
    change = {"spec": {"type": "ExternalName", "externalName": "x.y", "clusterIP": None, "clusterIPs": None}}
    patch = {"content-type": "application/merge-patch+json"}
    assert cluster.send("PATCH", f"{SERVICES}/b", change, **patch).code == 200
    assert cluster.records() == {"10.0.0.1": OWN, "10.0.0.7": "a"}
    assert cluster.send("DELETE", f"{SERVICES}/a").code == 200
    assert cluster.records() == {"10.0.0.1": OWN}


def test_refused_services_leave_no_record(cluster: Cluster) -> None:
    """A taken name, an invalid service and a dry run record nothing."""
    assert cluster.serve("a", clusterIP="10.0.0.7").code == 201
    assert cluster.serve("a", clusterIP="10.0.0.8").code == 409
    assert cluster.serve("b", clusterIP="10.0.0.9", sessionAffinity="x").code == 422
    dry = {"metadata": {"name": "c"}, "spec": {"ports": [{"port": 80}], "clusterIP": "10.0.0.10"}}
    assert cluster.send("POST", f"{SERVICES}?dryRun=All", dry).code == 201
    assert cluster.records() == {"10.0.0.1": OWN, "10.0.0.7": "a"}


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("10.0.0.1", "provided IP is already allocated"),
        ("10.0.0.77", "provided IP is already allocated"),
        ("10.0.0.0", "the provided network does not match the current range"),
        ("10.0.0.255", "the provided network does not match the current range"),
        ("10.0.1.1", "the provided network does not match the current range"),
    ],
)
def test_addresses_that_are_not_free_are_refused(cluster: Cluster, address: str, why: str) -> None:
    """Addresses of services and of others are taken; network and broadcast addresses are in no range."""
    parent = {"group": "example.com", "resource": "gateways", "name": "g"}
    body = {"metadata": {"name": "10.0.0.77"}, "spec": {"parentRef": parent}}
    assert cluster.send("POST", ADDRESSES, body).code == 201
    response = cluster.serve("a", clusterIP=address)
    assert response.code == 422 and reason(response) == why
    assert f'Invalid value: ["{address}"]: failed to allocate IP {address}: ' in response.json["message"]


def test_second_range_adds_room_until_it_is_deleted(tmp_path: Path) -> None:
    """When the first range is full, services get addresses of the second one; a range that is being deleted gives
    none."""
    server = make_server(tmp_path, "--emulated-version=1.35", "--service-cluster-ip-range=10.0.0.0/29")
    cluster = Cluster(server)
    try:
        assert [cluster.serve(f"a{number}").code for number in range(6)] == [201] * 5 + [500]
        cluster.add_range("more", "10.1.0.0/30")
        assert cluster.serve("b").json["spec"]["clusterIP"] in ("10.1.0.1", "10.1.0.2")
        held = {"metadata": {"finalizers": ["example.com/held"]}}
        cluster.send("PATCH", f"{RANGES}/more", held, **{"content-type": "application/merge-patch+json"})
        cluster.send("DELETE", f"{RANGES}/more")
        response = cluster.serve("c")
        assert response.code == 500 and response.json["message"].endswith(
            "failed to allocate a serviceIP: range is full"
        )
    finally:
        server.stop()


def test_range_that_is_not_ready_gives_no_addresses(cluster: Cluster) -> None:
    """Only the condition Ready excludes a range; one without it is used."""
    cluster.add_range("more", "10.1.0.0/24")
    assert cluster.serve("a", clusterIP="10.1.0.5").code == 201
    status = {"status": {"conditions": [
        {"type": "Ready", "status": "False", "reason": "x", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"},
    ]}}  # fmt: skip
    patch = {"content-type": "application/merge-patch+json"}
    assert cluster.send("PATCH", f"{RANGES}/more/status", status, **patch).code == 200
    assert cluster.serve("b", clusterIP="10.1.0.6").code == 422


def test_second_family_of_the_flag_is_added(tmp_path: Path) -> None:
    """A server with a second range upgrades the default range; services then have records of both families."""
    first = make_server(tmp_path, *FLAGS)
    first.stop()
    second = make_server(tmp_path, FLAGS[0], "--service-cluster-ip-range=10.0.0.0/24,fd00::/108", store=first.store)
    cluster = Cluster(second)
    try:
        assert cluster.send("GET", f"{RANGES}/{OWN}").json["spec"]["cidrs"] == ["10.0.0.0/24", "fd00::/108"]
        addresses = cluster.serve("a", ipFamilyPolicy="RequireDualStack").json["spec"]["clusterIPs"]
        assert len(addresses) == 2 and cluster.records() == {"10.0.0.1": OWN, **dict.fromkeys(addresses, "a")}
    finally:
        second.stop()


def test_upgrade_records_what_services_have(tmp_path: Path) -> None:
    """A store of release 1.23 has no records: the server makes them before it serves."""
    old = make_server(tmp_path, "--emulated-version=1.23", FLAGS[1])
    before = Cluster(old)
    given = before.serve("a").json["spec"]["clusterIP"]
    old.stop()
    upgraded = make_server(tmp_path, *FLAGS, store=old.store)
    cluster = Cluster(upgraded)
    try:
        assert cluster.records() == {"10.0.0.1": OWN, given: "a"}
        assert reason(cluster.serve("b", clusterIP=given)) == "provided IP is already allocated"
    finally:
        upgraded.stop()


def events(cluster: Cluster) -> set[tuple[str, str]]:
    cluster.pass_time(1)
    items = cluster.send("GET", "/api/v1/events").json["items"]
    return {(each["reason"], each["message"]) for each in items}


def test_lost_record_is_made_again(cluster: Cluster) -> None:
    """A service whose record was deleted gets it back at the next look, and an event says so."""
    assert cluster.serve("a", clusterIP="10.0.0.7").code == 201
    assert cluster.send("DELETE", f"{ADDRESSES}/10.0.0.7").code == 200
    cluster.pass_time(181)
    assert cluster.records()["10.0.0.7"] == "a"
    assert ("ClusterIPNotAllocated", "Cluster IP [IPv4]: 10.0.0.7 is not allocated; repairing") in events(cluster)


def test_record_of_another_object_is_replaced(cluster: Cluster) -> None:
    """A record that refers to something else than the service with its address is replaced."""
    assert cluster.serve("a", clusterIP="10.0.0.7").code == 201
    cluster.send("DELETE", f"{ADDRESSES}/10.0.0.7")
    parent = {"group": "example.com", "resource": "gateways", "name": "g"}
    cluster.send("POST", ADDRESSES, {"metadata": {"name": "10.0.0.7"}, "spec": {"parentRef": parent}})
    cluster.pass_time(181)
    assert cluster.records()["10.0.0.7"] == "a"


def test_leaked_record_goes_after_a_minute(tmp_path: Path) -> None:
    """A record whose service was never made is removed when no server can still be making it."""
    passed = [0.0]
    server = make_server(tmp_path, *FLAGS, wall=lambda: 1_790_000_000 + passed[0])
    cluster = Cluster(server)
    try:
        labels = {ORCH("ipaddress.{long}.io/managed-by"): ORCH("ipallocator.{abbr}.io")}
        parent = {"resource": "services", "namespace": "default", "name": "gone"}
        body = {"metadata": {"name": "10.0.0.9", "labels": labels}, "spec": {"parentRef": parent}}
        assert cluster.send("POST", ADDRESSES, body).code == 201
        passed[0] = 30
        cluster.pass_time(30)
        assert "10.0.0.9" in cluster.records()
        passed[0] = 62
        cluster.pass_time(32)
        assert "10.0.0.9" not in cluster.records()
    finally:
        server.stop()


def test_release_of_the_specification_records_nothing(tmp_path: Path) -> None:
    """Neither the kinds nor the records exist."""
    server = make_server(tmp_path, "--emulated-version=1.23")
    try:
        assert Cluster(server).serve("a").code == 201
        assert not [key for key in server.contents() if key.startswith(("/ipaddresses/", "/servicecidrs/"))]
    finally:
        server.stop()


@pytest.mark.parametrize(("size", "static"), [(16, 0), (64, 16), (256, 16), (1024, 64), (1 << 20, 256)])
def test_first_part_of_a_range_is_left_to_requests(size: int, static: int) -> None:
    """A sixteenth, from 16 to 256 addresses; nothing of a small range."""
    assert StaticPart(share=16, most=256).of(size) == static


def test_addresses_that_nobody_asked_for_are_of_the_upper_part(cluster: Cluster) -> None:
    """The first 16 addresses of 256 are given only when the others are taken."""
    given = [int(cluster.serve(f"s{number}").json["spec"]["clusterIP"].rpartition(".")[2]) for number in range(40)]
    assert min(given) > 16 and len(set(given)) == 40


def test_address_that_another_server_took_is_a_claim(cluster: Cluster) -> None:
    """Records are made all or none: what another server has recorded in the meantime is reported to the write, which
    repeats."""
    assert cluster.serve("a", clusterIP="10.0.0.7").code == 201
    records = AddressRecords(cluster.server.client(), ORCH)
    service = {"metadata": {"namespace": "default", "name": "b"}}
    with pytest.raises(ClaimedError):
        run(records.take(service, ["10.0.0.5", "10.0.0.7"]))
    assert cluster.records() == {"10.0.0.1": OWN, "10.0.0.7": "a"}


@pytest.mark.parametrize(
    ("metadata", "spec", "message"),
    [
        ({}, {}, 'Invalid value: [""]: failed to allocate IP: {record}.name: Required value'),
        (
            {"name": "a/b"},
            {"clusterIP": "10.0.0.77"},
            'Invalid value: ["10.0.0.77"]: failed to allocate IP 10.0.0.77: {record}.name: Invalid value: "a/b": may not '
            "contain '/'",
        ),
    ],
)
def test_address_of_a_service_without_a_valid_name(cluster: Cluster, metadata: Any, spec: Any, message: str) -> None:
    """A record of an address that cannot be written is what the error is about, but for dry runs and services that need
    no address; the address stays free."""
    body = {"metadata": metadata, "spec": {"ports": [{"port": 80}], **spec}}
    refused = cluster.send("POST", SERVICES, body).json
    record = re.compile(r'IPAddress[.]networking[.]orch[.]io "10[.]0[.]0[.][0-9]+" is invalid: spec.parentRef')
    (cause,) = refused["details"]["causes"]
    assert (cause["field"], record.sub("{record}", cause["message"])) == ("spec.clusterIPs", message)
    assert "metadata.name" in cluster.send("POST", f"{SERVICES}?dryRun=All", body).json["message"]
    headless = {**body, "spec": {**body["spec"], "clusterIP": "None"}}
    assert "metadata.name" in cluster.send("POST", SERVICES, headless).json["message"]
    assert cluster.serve("s", **spec).code == 201
    generated = {**body, "metadata": {"generateName": "s-"}, "spec": {"ports": [{"port": 80}]}}
    assert cluster.send("POST", SERVICES, generated).code == 201
