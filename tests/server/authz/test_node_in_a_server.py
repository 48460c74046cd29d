"""The Node authorizer in a whole server: a node's access follows its pods."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from orchd.testing.doubles.server import InProcessServer, JsonResponse, make_server, run, user
from orchd.txkit.coroutines import start

HERE = "/api/v1/namespaces/default"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[InProcessServer]:
    server = make_server(tmp_path, "--authorization-mode=Node,RBAC", "--disable-admission-plugins=ServiceAccount")
    yield server
    server.stop()


def ask(server: InProcessServer, path: str, node: str = "n1") -> tuple[int, str]:
    """Code and message of the response to a node, which may come in a later turn."""
    answers: list[JsonResponse] = []
    start(server.request("GET", path, user=user(f"system:node:{node}", "system:nodes"))).addCallback(answers.append)
    for _ in range(5):
        server.clock.advance(0)
    return answers[0].code, answers[0].json.get("message", "")


def post(server: InProcessServer, path: str, obj: Any) -> None:
    assert run(server.request("POST", path, body=obj)).code == 201


def pod(name: str, node: str, secret: str) -> dict[str, Any]:
    volume = {"name": "v", "secret": {"secretName": secret}}
    spec = {"nodeName": node, "containers": [{"name": "c", "image": "i"}], "volumes": [volume]}
    return {"metadata": {"name": name}, "spec": spec}


@pytest.mark.parametrize(
    "asked_before",
    [lambda server: None, lambda server: ask(server, f"{HERE}/secrets/used")],
    ids=["first question", "later question"],
)
def test_a_node_reads_what_its_pods_need(
    server: InProcessServer, asked_before: Callable[[InProcessServer], Any]
) -> None:
    """It does not matter whether pods come before or after the first request; objects of other nodes' pods, and of
    deleted pods, are forbidden."""
    asked_before(server)
    for name in ("used", "other", "unused"):
        post(server, f"{HERE}/secrets", {"metadata": {"name": name}})
    for name, node, secret in (("a", "n1", "used"), ("b", "n2", "other")):
        post(server, f"{HERE}/pods", pod(name, node, secret))
    assert ask(server, f"{HERE}/secrets/used")[0] == 200
    for name in ("other", "unused"):
        code, why = ask(server, f"{HERE}/secrets/{name}")
        assert code == 403 and "no relationship found between node 'n1' and this object" in why
    assert ask(server, f"{HERE}/secrets/other", node="n2")[0] == 200
    gone = run(server.request("DELETE", f"{HERE}/pods/a?gracePeriodSeconds=0"))
    assert gone.code == 200 and ask(server, f"{HERE}/secrets/used")[0] == 403
