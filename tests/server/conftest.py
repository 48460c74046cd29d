"""A whole server on a memory store per module, and a namespace per test."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from orchd.testing.server import Answer, InProcessServer, make_server, run

_numbers = count()


class Space:
    """Requests in one namespace. `url` makes paths below it: ``url("configmaps/a")``."""

    def __init__(self, server: InProcessServer, name: str) -> None:
        self.server = server
        self.name = name

    def url(self, rest: str, group: str = "") -> str:
        root = f"/apis/{group}" if group else "/api/v1"
        return f"{root}/namespaces/{self.name}/{rest}"

    def __call__(self, method: str, rest: str, body: Any = None, *, group: str = "", **headers: str) -> Answer:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return run(self.server.request(method, self.url(rest, group), body=body, headers=named))

    def make(self, plural: str, obj: Any, *, group: str = "") -> Any:
        answer = self("POST", plural, obj, group=group)
        assert answer.code == 201, answer.body
        return answer.json

    def config(self, name: str, **metadata: Any) -> Any:
        return self.make("configmaps", {"metadata": {"name": name, **metadata}, "data": {"k": "v"}})

    def names(self, rest: str, group: str = "") -> list[str]:
        return [o["metadata"]["name"] for o in self("GET", rest, group=group).json["items"]]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcessServer]:
    made = make_server(tmp_path_factory.mktemp("server"))
    yield made
    made.stop()


@pytest.fixture
def space(server: InProcessServer) -> Space:
    name = f"space-{next(_numbers)}"
    answer = run(server.request("POST", "/api/v1/namespaces", body={"metadata": {"name": name}}))
    assert answer.code == 201
    run(server.request("POST", f"/api/v1/namespaces/{name}/serviceaccounts", body={"metadata": {"name": "default"}}))
    return Space(server, name)
