"""Discovery of the resources of aggregated servers."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from orchd.controllers.aggregated import discover
from orchd.errors import ApiError, unavailable
from orchd.testing.doubles.server import run

#: Discovery documents that cannot be read.
UNREADABLE: tuple[Any, ...] = (b"{", {}, {"resources": [{}]}, {"resources": None}, [], {"resources": ["x"]})
SILENT = "the server is currently unable to handle the request"


class Server:
    """Serves documents by path; an ApiError is raised."""

    def __init__(self, **documents: Any) -> None:
        self._documents = {f"/apis/g.example/{version}": document for version, document in documents.items()}
        self.paths: list[str] = []

    async def exchange(self, call: Any) -> Any:
        assert call.method == "GET"
        self.paths.append(call.path)
        document = self._documents[call.path]
        if isinstance(document, ApiError):
            raise document
        return SimpleNamespace(body=document if isinstance(document, bytes) else json.dumps(document).encode())


def api_service(version: str, *, priority: int = 0, available: str = "True", local: bool = False) -> dict[str, Any]:
    service = {} if local else {"service": {"name": "s"}}
    conditions = [{"type": "Available", "status": available}] if available else []
    spec = {"group": "g.example", "version": version, "versionPriority": priority, **service}
    return {"spec": spec, "status": {"conditions": conditions}}


def line(name: str, verbs: str = "list delete", namespaced: bool = True) -> dict[str, Any]:
    return {"name": name, "namespaced": namespaced, "verbs": verbs.split()}


def test_deletable_resources_in_the_version_of_the_highest_priority() -> None:
    lines = [
        line("things"),
        line("things/status"),
        line("nodes", namespaced=False),
        line("views", "list"),
        line("sinks", "delete"),
    ]
    server: Any = Server(v1={"resources": [line("things"), line("old")]}, v2={"resources": lines})
    services = [api_service("v1", priority=10), api_service("v2", priority=20), api_service("v3", local=True)]
    result = run(discover(server, services))
    assert [(each.group, each.version, each.plural) for each in result.resources] == [
        ("g.example", "v2", "things"),
        ("g.example", "v1", "old"),
    ]
    assert result.resources[0].verbs == {"list", "delete"} and not result.failures
    assert server.paths == ["/apis/g.example/v2", "/apis/g.example/v1"]


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (unavailable("x"), SILENT),
        (ApiError(403, "Forbidden", "refused"), "refused"),
        *((document, "the discovery document of g.example/v1 cannot be read") for document in UNREADABLE),
    ],
)
def test_versions_that_cannot_be_read_are_failures(document: Any, message: str) -> None:
    """Others are read all the same."""
    server: Any = Server(v1=document, v2={"resources": [line("things")]})
    result = run(discover(server, [api_service("v1"), api_service("v2")]))
    assert result.failures == {"g.example/v1": message}
    assert [each.plural for each in result.resources] == ["things"]


@pytest.mark.parametrize("available", ["False", "Unknown", ""])
def test_servers_that_are_not_available_are_not_asked(available: str) -> None:
    server: Any = Server()
    result = run(discover(server, [api_service("v1", available=available)]))
    assert result.failures == {"g.example/v1": SILENT} and not server.paths
