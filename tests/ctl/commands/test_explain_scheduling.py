"""``explain-scheduling``."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.client.interfaces import RawResponse
from orchd.client.requests import Call
from orchd.ctl.commands.explain_scheduling import explanation_lines
from tests.ctl.ctl_runner import Ctl


def test_explanation_lists_feasible_and_refused_nodes() -> None:
    """Feasible nodes are listed by descending score; refused ones with the plugin, its reasons and a remedy."""
    response = {
        "node": "b", "feasible": {"a": {"total": 1, "plugins": {}}, "b": {"total": 9, "plugins": {"P": 9}}},
        "filtered": {"c": {"plugin": "Q", "reasons": ["full"], "remedy": "free 1 CPU"}},
    }  # fmt: skip
    assert explanation_lines(response) == [
        "Node:      b", "Feasible nodes, best first:", "  b  total=9  P=9", "  a  total=1", "Refused nodes:",
        "  c  Q: full  remedy: free 1 CPU",
    ]  # fmt: skip


def test_what_would_help() -> None:
    """A message, and the changes after which more nodes would fit."""
    response = {
        "message": "0/3 nodes",
        "wouldHelp": [
            {"nodes": 2, "plugin": "P", "reasons": ["a", "b"], "preemptionMayHelp": True},
            {"nodes": 1, "plugin": "Q", "reasons": ["c"]},
        ],
        "filtered": {"n": {"plugin": "P", "reasons": ["a", "b"]}},
    }
    assert explanation_lines(response) == [
        "Node:      <none>",
        "Message:   0/3 nodes",
        "Refused nodes:",
        "  n  P: a; b",
        "What would help:",
        "  2 nodes: P: a; b (preemption may help)",
        "  1 nodes: Q: c",
    ]


POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: new}\nspec: {containers: [{name: c, image: i}]}\n"
OTHER = "---\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\n"


@pytest.fixture
def explained(cluster: Ctl, monkeypatch: pytest.MonkeyPatch) -> list[Call]:
    """The requests for explanations, to which a server with a scheduler responds."""
    asked: list[Call] = []
    make = cluster.server.client

    def client(*user: str, **more: Any) -> Any:
        inner: Any = make(*user, **more)
        exchange = inner.exchange

        async def respond(call: Call) -> RawResponse:
            if not call.path.startswith("/debug/"):
                response: RawResponse = await exchange(call)
                return response
            asked.append(call)
            return RawResponse(code=200, content_type="application/json", body=b'{"node": "n1"}', warnings=())

        inner.exchange = respond
        return inner

    monkeypatch.setattr(cluster.server, "client", client)
    return asked


def test_pods_that_are_there(cluster: Ctl, explained: list[Call]) -> None:
    assert cluster("explain-scheduling", "pod/p1").lines == ["Node:      n1"]
    assert cluster("explain-scheduling", "p1", "-o", "json").out.split() == ["{", '"node":', '"n1"', "}"]
    assert cluster("explain-scheduling", "p1", "-o", "yaml").lines == ["node: n1"]
    assert all(call.method == "GET" and call.query == {"namespace": "default", "pod": "p1"} for call in explained)


def test_pods_of_files(cluster: Ctl, explained: list[Call]) -> None:
    """A new pod is sent with the defaults of the server, and is not created."""
    cluster("explain-scheduling", "-f", "-", send=POD + OTHER)
    [call] = explained
    body: Any = call.body
    assert (call.method, body["metadata"]["namespace"], body["spec"]["restartPolicy"]) == ("POST", "default", "Always")
    assert 'pods "new" not found' in cluster("get", "pod/new", status=1).error
    assert "takes a file with one pod" in cluster("explain-scheduling", "-f", "-", send=OTHER, status=1).error
    again = POD + "---\n" + POD
    assert "takes a file with one pod" in cluster("explain-scheduling", "-f", "-", send=again, status=1).error


def test_servers_without_a_scheduler(cluster: Ctl) -> None:
    """The path is missing; an absent pod is another error."""
    assert "the server runs no scheduler" in cluster("explain-scheduling", "p1", status=1).error
    for words in ((), ("p1", "-f", "-")):
        assert "name a pod, or give a file" in cluster("explain-scheduling", *words, status=1).error
