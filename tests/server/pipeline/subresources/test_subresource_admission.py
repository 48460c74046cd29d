"""Admission is called with the body of the subresource: here NodeRestriction."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchd.kinds.users import MASTERS_GROUP, NODES_GROUP
from orchd.testing.doubles.server import InProcessServer, make_server, run, user

PODS = "/api/v1/namespaces/a/pods"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[InProcessServer]:
    server = make_server(tmp_path, "--enable-admission-plugins=NodeRestriction")
    assert run(server.request("POST", "/api/v1/namespaces", body={"metadata": {"name": "a"}})).code == 201
    assert (
        run(server.request("POST", "/api/v1/namespaces/a/serviceaccounts", body={"metadata": {"name": "default"}})).code
        == 201
    )
    spec = {"containers": [{"name": "c", "image": "i"}], "nodeName": "n1"}
    assert run(server.request("POST", PODS, body={"metadata": {"name": "p"}, "spec": spec})).code == 201
    yield server
    server.stop()


def node(name: str) -> Any:
    """A node that the authorizer does not restrict."""
    return user(f"system:node:{name}", NODES_GROUP, MASTERS_GROUP)


def test_nodes_evict_only_their_own_pods(call: Any) -> None:
    """A node may evict its own pod without a further check of the deletion, and not another node's pod."""
    body = {"metadata": {"name": "p"}}
    refused = call("POST", f"{PODS}/p/eviction", body, user=node("n2"))
    assert (refused.code, refused.json["reason"]) == (403, "Forbidden")
    assert call("POST", f"{PODS}/p/eviction", body, user=node("n1")).code == 201


def test_nodes_get_tokens_only_for_pods(call: Any) -> None:
    """A token that is not bound to a pod is rejected."""
    response = call("POST", "/api/v1/namespaces/a/serviceaccounts/default/token", {"spec": {}}, user=node("n1"))
    assert (response.code, response.json["reason"]) == (403, "Forbidden")


def test_nodes_may_not_bind_pods(call: Any) -> None:
    """Only the scheduler may bind."""
    spec = {"containers": [{"name": "c", "image": "i"}]}
    assert call("POST", PODS, {"metadata": {"name": "q"}, "spec": spec}).code == 201
    body = {"metadata": {"name": "q"}, "target": {"kind": "Node", "name": "n1"}}
    assert call("POST", f"{PODS}/q/binding", body, user=node("n1")).code == 403
