"""Cluster IPs and node ports of services, allocated by several servers on one etcd."""

from __future__ import annotations

import os
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import pytest_twisted
from twisted.internet.defer import Deferred, DeferredList

from orchd.assembly.server import ApiServer
from orchd.client.interfaces import ResourceRef
from orchd.errors import ApiError
from orchd.testing.etcd_cluster import EtcdCluster
from orchd.testing.processes.etcd import Etcd
from tests.store.etcd.test_two_servers import serving

SERVICES = ResourceRef("", "v1", "services")
ROUNDS = int(os.environ.get("ORCHD_LINEAR_ROUNDS", "1"))
#: 14 addresses, one of which the API service has, and 10 node ports.
RANGES = ("--service-cluster-ip-range=10.1.0.0/28", "--service-node-port-range=30000-30009")


def service(name: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
        "spec": {"type": "NodePort", "ports": [{"port": 80}], **spec},
    }  # fmt: skip


def allocations(services: list[Any]) -> tuple[list[str], list[int]]:
    """Every address and node port of a list."""
    specs = [each["spec"] for each in services]
    return (
        sorted(address for spec in specs for address in spec.get("clusterIPs", ())),
        sorted(port["nodePort"] for spec in specs for port in spec["ports"] if "nodePort" in port),
    )


async def run_concurrently(*work: Any) -> list[tuple[bool, Any]]:
    return list(await DeferredList([Deferred.fromCoroutine(each) for each in work], consumeErrors=True))


def error_text(failure: Any) -> str:
    assert failure.check(ApiError), failure
    return str(failure.value)


@pytest_twisted.ensureDeferred
async def test_concurrent_servers_allocate_uniquely(etcd: Etcd, tmp_path: Path, prefix: str) -> None:
    """Two servers that start together allocate the whole range concurrently: each address and port goes to one
    service."""
    flags = (f"--etcd-servers={etcd.url}", f"--etcd-prefix={prefix}", *RANGES)
    async with serving(tmp_path / "one", *flags) as one, serving(tmp_path / "two", *flags) as two:
        servers = (one, two)
        for turn in range(3):
            created = await run_concurrently(
                *(servers[n % 2].client.create(SERVICES, "default", service(f"s{n}")) for n in range(16))
            )
            assert sum(ok for ok, _ in created) == 10
            assert {error_text(failure) for ok, failure in created if not ok} == {
                "Internal error occurred: failed to allocate a nodePort: range is full"
            }
            plain = await run_concurrently(
                *(
                    servers[n % 2].client.create(SERVICES, "default", service(f"p{n}", type="ClusterIP"))
                    for n in range(8)
                )
            )
            assert sum(ok for ok, _ in plain) == 3
            listed = [(await server.client.list(SERVICES))["items"] for server in servers]
            assert listed[0] == listed[1]
            addresses, ports = allocations(listed[0])
            assert addresses == sorted(f"10.1.0.{n}" for n in range(1, 15)), "all, and each once"
            assert ports == list(range(30000, 30010))
            # What one server frees the other can allocate.
            gone = await run_concurrently(
                *(
                    servers[(n + turn) % 2].client.delete(SERVICES, "default", each["metadata"]["name"])
                    for n, each in enumerate(each for each in listed[0] if each["metadata"]["name"] != one_of_ours(one))
                )
            )
            assert all(ok for ok, _ in gone)


def one_of_ours(server: ApiServer) -> str:
    """The API's service."""
    return server.settings.dialect("{long}")


@pytest_twisted.ensureDeferred
async def test_one_of_concurrent_requests_for_a_value_wins(etcd: Etcd, tmp_path: Path, prefix: str) -> None:
    """Of concurrent requests for one address or port one succeeds; the others get the usual error."""
    flags = (f"--etcd-servers={etcd.url}", f"--etcd-prefix={prefix}", *RANGES)
    async with serving(tmp_path / "one", *flags) as one, serving(tmp_path / "two", *flags) as two:
        servers = (one, two)
        for wish, message in (
            ({"type": "ClusterIP", "clusterIP": "10.1.0.7"}, "provided IP is already allocated"),
            ({"ports": [{"port": 80, "nodePort": 30005}]}, "provided port is already allocated"),
        ):
            outcomes = await run_concurrently(
                *(servers[n % 2].client.create(SERVICES, "default", service(f"s{n}", **wish)) for n in range(6))
            )
            assert Counter(ok for ok, _ in outcomes) == {True: 1, False: 5}
            assert all(message in error_text(failure) for ok, failure in outcomes if not ok)
            (winner,) = (result for ok, result in outcomes if ok)
            # A changed type frees the port, a changed port takes another.
            name = winner["metadata"]["name"]
            if "ports" in wish:
                changed = {**winner, "spec": {**winner["spec"], "ports": [{"port": 80, "nodePort": 30006}]}}
                await two.client.update(SERVICES, "default", name, changed)
                await one.client.create(SERVICES, "default", service("again", **wish))
                with pytest.raises(ApiError):
                    await one.client.create(SERVICES, "default", service("x", ports=[{"port": 80, "nodePort": 30006}]))
            await one.client.delete(SERVICES, "default", name)


@pytest_twisted.ensureDeferred
async def test_leaked_allocations_are_released(etcd: Etcd, tmp_path: Path, prefix: str) -> None:
    """Allocations of a service that was deleted directly in etcd are released."""
    flags = (f"--etcd-servers={etcd.url}", f"--etcd-prefix={prefix}", *RANGES)
    async with serving(tmp_path / "one", *flags) as one:
        wish = {"ports": [{"port": 80, "nodePort": 30001}], "clusterIP": "10.1.0.5"}
        stored_service = await one.client.create(SERVICES, "default", service("a", **wish))
        kind = one.catalog.resource("", "v1", "services")
        assert kind is not None
        key = f"/{kind.key}/default/a"
        # As etcdctl would: through the store, without the registry.
        await one.storage.store.delete(key, expected=int(stored_service["metadata"]["resourceVersion"]))
        again = await one.client.create(SERVICES, "default", service("b", **wish))
        assert again["spec"]["clusterIP"] == "10.1.0.5"


def test_killed_servers_leak_and_duplicate_nothing(program: str, tmp_path: Path) -> None:
    """Servers are killed during creates and deletes: no value is allocated twice, and none is lost."""
    url = "/api/v1/namespaces/default/services"
    stop = threading.Event()
    with EtcdCluster(tmp_path, *RANGES) as cluster:
        one, two, three = cluster.servers

        def churn(number: int) -> int:
            server, count = (one, two)[number % 2], 0
            while not stop.is_set():
                try:
                    count += server.request("POST", url, service(f"s{number}"))[0] == 201
                    server.request("DELETE", f"{url}/s{number}")
                except OSError:
                    # Killed; may come back soon.
                    stop.wait(0.1)
            return count

        with ThreadPoolExecutor(8) as pool:
            running = [pool.submit(churn, number) for number in range(8)]
            try:
                for _ in range(ROUNDS):
                    for victim in (one, two):
                        stop.wait(0.3)
                        victim.kill()
                        addresses, ports = allocations(three.request("GET", "/api/v1/services")[1]["items"])
                        assert len(set(addresses)) == len(addresses)
                        assert len(set(ports)) == len(ports)
                        victim.start()
            finally:
                stop.set()
            assert sum(each.result() for each in running) > 8
        # The whole range can be allocated.
        for number in range(8):
            three.request("DELETE", f"{url}/s{number}")
        codes = [three.request("POST", url, service(f"t{n}"))[0] for n in range(11)]
        assert codes == [201] * 10 + [500]
        addresses, ports = allocations(three.request("GET", "/api/v1/services")[1]["items"])
        assert (len(set(addresses)), ports) == (11, list(range(30000, 30010)))
