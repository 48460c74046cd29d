"""A node that has nothing but a bootstrap token and an address joins a real server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from orchd.dialect import DIALECTS
from orchd.testing.processes.daemon import DaemonProcess
from tests.wire.node_support import ID, SECRET, NodeSide, join, prepare_cluster, trusted_authority


@pytest.fixture(params=DIALECTS)
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[DaemonProcess]:
    """A server that accepts nodes with tokens."""
    flags = (
        "--enable-bootstrap-token-auth",
        "--authorization-mode=Node,RBAC",
        "--controllers=*,bootstrapsigner",
        "--scheduler=false",
    )
    with DaemonProcess(tmp_path, *flags, dialect=DIALECTS[request.param]) as process:
        yield process


def test_bootstrap_token_joins_a_node(server: DaemonProcess, tmp_path: Path) -> None:
    """The node verifies cluster-info, gets a certificate without manual approval, and registers with it."""
    dialect = server.dialect
    prepare_cluster(server)
    authority = trusted_authority(server, dialect)
    guest = NodeSide(server, authority, f"{ID}.{SECRET}")
    node = join(server, authority, "n", tmp_path)
    assert guest.ask("POST", "/api/v1/nodes", {"metadata": {"name": "n"}})[0] == 403
    assert node.ask("POST", "/api/v1/nodes", {"metadata": {"name": "n"}})[0] == 201
    lease = f"/apis/{dialect('coordination.{abbr}.io')}/v1/namespaces/{dialect('{short}-node-lease')}/leases"
    assert node.ask("POST", lease, {"metadata": {"name": "n"}, "spec": {"holderIdentity": "n"}})[0] == 201
    assert (node.ask("GET", f"{lease}/n")[0], node.ask("GET", f"{lease}/m")[0]) == (200, 403)
    assert node.ask("GET", f"/api/v1/namespaces/{dialect.system_namespace}/secrets")[0] == 403
