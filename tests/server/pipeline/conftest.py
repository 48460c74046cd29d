"""An in-process server for tests that need a whole one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchd.client.interfaces import ResourceRef
from orchd.testing.server import InProcessServer, make_server, run

NAMESPACES = ResourceRef("", "v1", "namespaces")
ACCOUNTS = ResourceRef("", "v1", "serviceaccounts")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[InProcessServer]:
    """A server with the namespace ``a`` and its default service account."""
    made = make_server(tmp_path)
    admin = made.client()
    run(admin.create(NAMESPACES, "", {"metadata": {"name": "a"}}))
    run(admin.create(ACCOUNTS, "a", {"metadata": {"name": "default"}}))
    yield made
    made.stop()


@pytest.fixture
def call(server: InProcessServer) -> Any:
    """``call("GET", path, body)`` returns the response."""

    def send(method: str, path: str, body: Any = None, **more: Any) -> Any:
        return run(server.request(method, path, body=body, **more))

    return send
