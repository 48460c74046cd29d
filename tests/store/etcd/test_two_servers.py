"""Two API servers in one process, on one etcd."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_twisted
from twisted.internet import reactor
from twisted.internet.defer import Deferred, DeferredList, gatherResults
from twisted.internet.task import deferLater

from orchd.assembly.capabilities import capabilities
from orchd.assembly.files import api_service_address
from orchd.assembly.server import ApiServer
from orchd.client.interfaces import ResourceRef
from orchd.config.options import Options, from_options
from orchd.errors import ApiError
from orchd.server.reconcilers import api_endpoints
from orchd.store.etcd.store import EtcdStore
from orchd.testing.processes.daemon import PATIENCE
from orchd.testing.processes.etcd import Etcd
from orchd.testing.processes.ports import free_port
from tests.store.etcd.etcd_support import impatient, until

MAPS = ResourceRef("", "v1", "configmaps")


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def make(folder: Path, *flags: str) -> ApiServer:
    options = Options(capabilities=capabilities())
    options.parseOptions(
        [f"--data-dir={folder}", "--bind-address=127.0.0.1", "--secure-port=0", "--controllers=-*", *flags]
    )
    return ApiServer(from_options(options), reactor)


@asynccontextmanager
async def serving(folder: Path, *flags: str) -> AsyncIterator[ApiServer]:
    server = make(folder, *flags)
    server.service.startService()
    await server.service.wait_ready()
    try:
        yield server
    finally:
        await server.service.stopService()


@pytest_twisted.ensureDeferred
async def test_write_is_visible_on_the_other_server(etcd: Etcd, tmp_path: Path, prefix: str) -> None:
    """A write on one server is in the other's watches, and in its consistent reads once it is acknowledged."""
    flags = (f"--etcd-servers={etcd.url}", f"--etcd-prefix={prefix}", "--storage-backend=etcd3")
    async with serving(tmp_path / "one", *flags) as one, serving(tmp_path / "two", *flags) as two:
        assert isinstance(one.storage.store, EtcdStore)
        created = await one.client.create(MAPS, "default", config_map("a", x="1"))
        version = created["metadata"]["resourceVersion"]
        stored_config_map = await two.client.get(MAPS, "default", "a")
        assert stored_config_map == created
        stream = await two.client.watch(MAPS, "default", resource_version=version, bookmarks=False)
        for i in range(20):
            changed = await one.client.update(MAPS, "default", "a", config_map("a", x=f"new {i}"))
            # Acknowledged by one, so visible in consistent reads of the other.
            assert (await two.client.get(MAPS, "default", "a")) == changed
            items = (await two.client.list(MAPS, "default"))["items"]
            assert [item["data"] for item in items if item["metadata"]["name"] == "a"] == [changed["data"]]
            event = await stream.next()
            assert event is not None
            assert (event.type, event.object["metadata"]["resourceVersion"]) == (
                "MODIFIED", changed["metadata"]["resourceVersion"],
            )  # fmt: skip
        stream.close()
        old = {**changed, "metadata": {**changed["metadata"], "resourceVersion": version}}
        with pytest.raises(ApiError) as refused:
            await two.client.update(MAPS, "default", "a", old)
        assert refused.value.code == 409
        await two.client.delete(MAPS, "default", "a")
        with pytest.raises(ApiError) as gone:
            await one.client.get(MAPS, "default", "a")
        assert gone.value.code == 404


@pytest_twisted.ensureDeferred
async def test_concurrent_first_starts(etcd: Etcd, tmp_path: Path, prefix: str) -> None:
    """Servers that create a new cluster together all start, and each default object exists once."""
    flags = (f"--etcd-servers={etcd.url}", f"--etcd-prefix={prefix}", "--authorization-mode=RBAC")
    servers = [make(tmp_path / str(number), *flags) for number in range(3)]
    try:
        for server in servers:
            server.service.startService()
        await gatherResults([Deferred.fromCoroutine(server.service.wait_ready()) for server in servers])
        refs = [
            ResourceRef(r.group, r.version, r.plural)
            for r in servers[0].catalog.resources
            if "list" in r.verbs and r.plural != "events"
        ]
        for ref in refs:
            first, *others = [(await server.client.list(ref))["items"] for server in servers]
            assert others == [first] * 2
            keys = [(item["metadata"].get("namespace"), item["metadata"]["name"]) for item in first]
            assert len(set(keys)) == len(keys)
        (service,) = (await servers[0].client.list(ResourceRef("", "v1", "services")))["items"]
        assert service["spec"]["clusterIP"] == api_service_address(servers[0].settings)
    finally:
        await DeferredList([server.service.stopService() for server in servers])


@pytest_twisted.ensureDeferred
async def test_readiness_needs_etcd(own_etcd: Etcd, tmp_path: Path) -> None:
    """Without etcd the server is not ready, and consistent reads and writes are errors."""
    async with serving(tmp_path, f"--etcd-servers={own_etcd.url}", "--etcd-healthcheck-timeout=1s") as server:
        store = server.storage.store
        assert isinstance(store, EtcdStore)
        assert store.healthy() == ""
        async with impatient(store):
            own_etcd.kill()
            await until(lambda: bool(store.healthy()))
            with pytest.raises(ApiError) as refused:
                await server.client.get(MAPS, "default", "a")
            assert refused.value.code == 503
        own_etcd.start()
        await until(lambda: not store.healthy())
        await server.client.create(MAPS, "default", config_map("a"))


@pytest_twisted.ensureDeferred
async def test_service_endpoints_are_the_live_servers(
    etcd: Etcd, tmp_path: Path, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The API service's endpoints are the running servers: one that stops is removed at once, one that was killed when
    its lease expires, and the last one stays."""
    monkeypatch.setattr(api_endpoints, "_INTERVAL", 0.5)
    monkeypatch.setattr(api_endpoints, "_TTL", 2)
    flags = (f"--etcd-servers={etcd.url}", f"--etcd-prefix={prefix}", f"--secure-port={free_port()}")
    endpoints, slices = ResourceRef("", "v1", "endpoints"), ResourceRef("discovery.orch.io", "v1", "endpointslices")

    def at(number: int) -> tuple[str, str]:
        return f"--bind-address=127.0.0.{number}", f"--advertise-address=192.0.2.{number}"

    async def led(server: ApiServer) -> tuple[list[str], list[str]]:
        name = server.settings.dialect("{long}")
        try:
            found = await server.client.get(endpoints, "default", name)
            piece = await server.client.get(slices, "default", name)
        except ApiError:
            return [], []
        addresses = [address["ip"] for subset in found["subsets"] for address in subset["addresses"]]
        return addresses, [address for each in piece["endpoints"] for address in each["addresses"]]

    async def leads_to(server: ApiServer, *ips: str) -> None:
        end = time.monotonic() + PATIENCE
        while (found := await led(server)) != (list(ips), list(ips)):
            assert time.monotonic() < end, found
            await deferLater(reactor, 0.05)

    async with serving(tmp_path / "one", *flags, *at(1)) as one:
        await leads_to(one, "192.0.2.1")
        async with serving(tmp_path / "two", *flags, *at(2)) as two:
            await leads_to(one, "192.0.2.1", "192.0.2.2")
            # As after a kill: no renewals, and no deregistration.
            two.bootstrap.endpoints._loop.stop()
            await leads_to(one, "192.0.2.1")
        # What remains of a server that stops.
        async with serving(tmp_path / "three", *flags, *at(3)):
            await leads_to(one, "192.0.2.1", "192.0.2.3")
        assert await led(one) == (["192.0.2.1"], ["192.0.2.1"])
    async with serving(tmp_path / "four", *flags, "--advertise-address=127.0.0.1") as four:
        # Endpoints may not hold a loopback address.
        assert await led(four) == (["192.0.2.1"], ["192.0.2.1"])
