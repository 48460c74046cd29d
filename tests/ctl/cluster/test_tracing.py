"""``-v``."""

from __future__ import annotations

from orchd.client.requests import Call
from orchd.ctl.cluster.tracing import TracingClient
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
