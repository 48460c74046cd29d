"""Endpoints of the API service with --apiserver-count."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from twisted.internet.task import Clock

from orchd.client.interfaces import ResourceRef
from orchd.server.bootstrap.objects import ServerEndpoint
from orchd.server.reconcilers.api_endpoints import CountedEndpointReconciler
from orchd.store.memory import MemoryStore
from orchd.testing.doubles.server import InProcessServer, make_server, run

ENDPOINTS = ResourceRef("", "v1", "endpoints")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[InProcessServer]:
    server = make_server(
        tmp_path, "--endpoint-reconciler-type=none", "--advertise-address=192.0.2.9", "--dialect=kubernetes"
    )
    yield server
    server.stop()


def addresses(server: InProcessServer) -> list[str]:
    found = run(server.client().list(ENDPOINTS, "default"))["items"]
    return [each["ip"] for obj in found for subset in obj.get("subsets") or () for each in subset["addresses"]]


def reconciler(server: InProcessServer, ip: str, count: int) -> CountedEndpointReconciler:
    clock = Clock()
    parts = MemoryStore(clock), server.client(), server.dialect, clock, lambda: 0.0
    return CountedEndpointReconciler(*parts, ServerEndpoint(ip=ip, port=6443), count)


def test_reconciler_none_writes_no_endpoints(server: InProcessServer) -> None:
    """With the reconciler type none, this server does not write its address."""
    assert addresses(server) == []


def test_master_count_limits_the_endpoints(server: InProcessServer) -> None:
    """Servers add their own address; beyond the count it replaces the one that follows it in order."""
    for ip in ("192.0.2.1", "192.0.2.3"):
        run(reconciler(server, ip, 2)._reconcile_once())
    assert addresses(server) == ["192.0.2.1", "192.0.2.3"]
    run(reconciler(server, "192.0.2.2", 2)._reconcile_once())
    assert addresses(server) == ["192.0.2.1", "192.0.2.2"]


def test_stopping_server_removes_its_address(server: InProcessServer) -> None:
    """The server's own address is removed, those of others stay."""
    one, other = (reconciler(server, ip, 2) for ip in ("192.0.2.1", "192.0.2.3"))
    run(other._reconcile_once())
    run(one.start())
    assert addresses(server) == ["192.0.2.1", "192.0.2.3"]
    run(one.stop())
    assert addresses(server) == ["192.0.2.3"]
