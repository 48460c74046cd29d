"""A whole server on a memory store per module, and a namespace per test."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

import pytest

from orchd.store.interfaces import KeyValue
from orchd.testing.doubles.server import InProcessServer, JsonResponse, make_server, run

_numbers = count()


class Space:
    """Requests in one namespace. `url` makes paths below it: ``url("configmaps/a")``."""

    def __init__(self, server: InProcessServer, name: str) -> None:
        self.server = server
        self.name = name

    def url(self, rest: str, group: str = "") -> str:
        root = f"/apis/{group}" if group else "/api/v1"
        return f"{root}/namespaces/{self.name}/{rest}"

    def __call__(self, method: str, rest: str, body: Any = None, *, group: str = "", **headers: str) -> JsonResponse:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return run(self.server.request(method, self.url(rest, group), body=body, headers=named))

    def make(self, plural: str, obj: Any, *, group: str = "") -> Any:
        response = self("POST", plural, obj, group=group)
        assert response.code == 201, response.body
        return response.json

    def config(self, name: str, **metadata: Any) -> Any:
        return self.make("configmaps", {"metadata": {"name": name, **metadata}, "data": {"k": "v"}})

    def names(self, rest: str, group: str = "") -> list[str]:
        return [o["metadata"]["name"] for o in self("GET", rest, group=group).json["items"]]


@pytest.fixture(scope="module")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcessServer]:
    server = make_server(tmp_path_factory.mktemp("server"))
    yield server
    server.stop()


@pytest.fixture
def server(shared_server: InProcessServer) -> InProcessServer:
    return shared_server


@pytest.fixture(scope="module")
def fresh_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[InProcessServer, Mapping[str, KeyValue]]]:
    server = make_server(tmp_path_factory.mktemp("fresh"))
    yield server, server.contents()
    server.stop()


@pytest.fixture
def restored_server(fresh_server: tuple[InProcessServer, Mapping[str, KeyValue]]) -> Iterator[InProcessServer]:
    """A server of the module whose store a test finds as at the first start. Its clock and its metrics go on."""
    server, contents = fresh_server
    yield server
    server.restore(contents)


@pytest.fixture
def space(shared_server: InProcessServer) -> Space:
    server = shared_server
    name = f"space-{next(_numbers)}"
    response = run(server.request("POST", "/api/v1/namespaces", body={"metadata": {"name": name}}))
    assert response.code == 201
    run(server.request("POST", f"/api/v1/namespaces/{name}/serviceaccounts", body={"metadata": {"name": "default"}}))
    return Space(server, name)
