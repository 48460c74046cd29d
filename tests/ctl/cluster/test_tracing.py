"""``-v``."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.client.interfaces import RawResponse
from orchd.client.requests import Call
from orchd.ctl.cluster.tracing import TracingClient
from orchd.errors import ApiError
from orchd.testing.doubles.server import run
from tests.ctl.ctl_runner import Ctl


class _Clock:
    def seconds(self) -> float:
        return 1.0


def test_requests_are_traced(ctl: Ctl) -> None:
    """Each request is one line; bodies come from level 8 on, long ones cut."""
    for level, count in ((6, 1), (8, 3)):
        said: list[str] = []
        client = TracingClient(ctl.server.client("admin", agent="ctl"), _Clock(), level, said.append)
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"m{level}"}, "data": {"a": "x" * 2000}}
        path = "/api/v1/namespaces/default/configmaps"
        run(client.exchange(Call(method="POST", path=path, query={"fieldManager": "a"}, body=body)))
        assert len(said) == count and f"POST {path}?fieldManager=a 201 in 0 ms" in said
        assert all(len(line) < 1200 for line in said)


class _Inner:
    """Responds with a body, or an error; each request takes a quarter of a second."""

    def __init__(self, response: RawResponse | ApiError) -> None:
        self.response = response
        self.now = 1.0

    def seconds(self) -> float:
        return self.now

    async def exchange(self, call: Call) -> RawResponse:
        self.now += 0.25
        if isinstance(self.response, ApiError):
            raise self.response
        return self.response

    async def stream(self, call: Call, seconds: float) -> Any:
        return await self.exchange(call)

    async def websocket(self, path: str, query: Any, protocols: Any) -> Any:
        return (path, query, protocols)


PATH = "/api/v1/pods"
OK = RawResponse(code=200, content_type="text/plain", body=b"x" * 1025 + b"\n", warnings=())


@pytest.mark.parametrize(
    ("level", "call", "response", "lines"),
    [
        (6, Call(method="GET", path=PATH), OK, ["GET /api/v1/pods 200 in 250 ms"]),
        (7, Call(method="PUT", path=PATH, body={"a": 1}, query={"b": "c d"}), OK, ["PUT /api/v1/pods?b=c+d 200 in 250 ms"]),
        (6, Call(method="GET", path=PATH), ApiError(404, "NotFound", "gone"), ["GET /api/v1/pods 404 in 250 ms"]),
        (8, Call(method="PUT", path=PATH, body=b"raw\xff"), ApiError(404, "NotFound", "gone"),
         ["Request body: raw\ufffd", "PUT /api/v1/pods 404 in 250 ms"]),
        (8, Call(method="PUT", path=PATH, body={"a": 1}), OK,
         ['Request body: {"a":1}', "PUT /api/v1/pods 200 in 250 ms", "Response body: " + "x" * 1024 + " [2 characters more: -v9 prints all]"]),
        (9, Call(method="GET", path=PATH), OK, ["GET /api/v1/pods 200 in 250 ms", "Response body: " + "x" * 1025]),
    ],
)  # fmt: skip
def test_lines_about_a_request(level: int, call: Call, response: Any, lines: list[str]) -> None:
    """Method, path, status and time; bodies from level 8 on, whole ones from level 9 on."""
    said: list[str] = []
    inner = _Inner(response)
    client = TracingClient(inner, inner, level, said.append)
    for request in (client.exchange(call), client.stream(call, 1.0)):
        if isinstance(response, ApiError):
            with pytest.raises(ApiError):
                run(request)
        else:
            assert run(request) is response
    bodies = [line for line in lines if line.startswith("Response")]
    assert said == [*lines, *(line for line in lines if line not in bodies)]


def test_lines_about_sockets() -> None:
    said: list[str] = []
    inner = _Inner(OK)
    client: Any = TracingClient(inner, inner, 6, said.append)
    assert run(client.websocket(PATH, (pair for pair in [("a", "b")]), ["p"])) == (PATH, [("a", "b")], ["p"])
    run(client.websocket(PATH, [], []))
    assert said == ["GET /api/v1/pods?a=b (WebSocket)", "GET /api/v1/pods (WebSocket)"]
    assert client.now == 1.0
