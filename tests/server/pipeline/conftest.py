"""An in-process server for tests that need a whole one."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.client.interfaces import ResourceRef
from orchd.testing.doubles.server import InProcessServer, run

NAMESPACES = ResourceRef("", "v1", "namespaces")
ACCOUNTS = ResourceRef("", "v1", "serviceaccounts")


@pytest.fixture
def server(restored_server: InProcessServer) -> InProcessServer:
    """With the namespace ``a`` and its default account."""
    admin = restored_server.client()
    run(admin.create(NAMESPACES, "", {"metadata": {"name": "a"}}))
    run(admin.create(ACCOUNTS, "a", {"metadata": {"name": "default"}}))
    return restored_server


@pytest.fixture
def call(server: InProcessServer) -> Any:
    """``call("GET", path, body)`` returns the response."""

    def send(method: str, path: str, body: Any = None, **more: Any) -> Any:
        return run(server.request(method, path, body=body, **more))

    return send
