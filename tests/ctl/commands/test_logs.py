"""``logs``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchd.server.pipeline.verbs.subresources.upstream import Reply
from orchd.testing.doubles.server import make_server
from tests.ctl.ctl_runner import Ctl

POD = """
apiVersion: v1
kind: Pod
metadata: {name: NAME, labels: {app: web}}
spec: {nodeName: n1, containers: [{name: c, image: i}, {name: d, image: i}]}
"""


class _Body:
    """A log in two pieces that are not split at lines."""

    def start(self, sink: Any) -> None:
        sink.write(b"one\n\ntw")
        sink.write(b"o\xff\n")
        sink.finish()

    def stop(self) -> None:
        """Nothing to release."""


class Node:
    """Answers every request with the same log and records the addresses."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def fetch(
        self, method: str, location: Any, target: str, headers: Any, client: Any = None, *, body: Any = None
    ) -> Reply:
        self.asked.append(target.partition("/containerLogs/")[2])
        return Reply(code=200, headers=[("Content-Type", "text/plain")], stream=_Body())

    async def hand_through(self, request: Any, location: Any, target: str, headers: Any = None) -> Any:
        raise AssertionError("logs are no upgrade")


@pytest.fixture
def node() -> Node:
    return Node()


@pytest.fixture
def ctl(tmp_path: Path, node: Node) -> Iterator[Ctl]:
    server = make_server(tmp_path, upstream=node)
    ctl = Ctl(server)
    ctl("create", "-f", "-", send="apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n")
    endpoints = {server.dialect("{short}letEndpoint"): {"Port": 10999}}
    status = {"status": {"addresses": [{"type": "InternalIP", "address": "192.0.2.7"}], "daemonEndpoints": endpoints}}
    ctl("patch", "node", "n1", "--subresource=status", "-p", json.dumps(status))
    ctl("create", "serviceaccount", "default")
    for name in ("p1", "p2"):
        ctl("create", "-f", "-", send=POD.replace("NAME", name))
    yield ctl
    server.stop()


def test_log_bytes_are_printed_unchanged(ctl: Ctl, node: Node) -> None:
    """Empty lines and invalid UTF-8 are printed unchanged; flags become query parameters; the first container is the
    default."""
    ran = ctl("logs", "p1", "-f", "--tail=5", "--since=2m", "--timestamps")
    assert ran.out == "one\n\ntwo\ufffd\n"
    assert "Defaulted container c of: c, d" in ran.error
    assert node.asked == ["default/p1/c?follow=true&timestamps=true&sinceSeconds=120&tailLines=5"]


def test_logs_of_selectors_workloads_and_containers(ctl: Ctl, node: Node) -> None:
    """A selector reads all of its pods, a workload one of its pods, --all-containers every container."""
    ctl("logs", "-l", "app=web", "-c", "d")
    assert node.asked == ["default/p1/d?tailLines=10", "default/p2/d?tailLines=10"]
    ctl("create", "deployment", "web", "--image=i")
    node.asked.clear()
    ctl("logs", "deploy/web", "--all-containers")
    assert node.asked == ["default/p1/c", "default/p1/d"]
    assert (
        "--max-log-requests=4"
        in ctl("logs", "-f", "-l", "app=web", "--all-containers", "--max-log-requests=3", status=1).error
    )
    assert "not both" in ctl("logs", "p1", "-l", "app=web", status=1).error
    assert "has no pods" in ctl("logs", "ns/default", status=1).error


def test_prefixed_and_interleaved_logs(ctl: Ctl, node: Node) -> None:
    """--prefix prints the source of each line; lines of logs that are followed together are not split; POD CONTAINER
    selects both."""
    ran = ctl("logs", "-f", "-l", "app=web", "--all-containers", "--prefix", "--tail=-1")
    lines = [
        f"[pod/{pod}/{name}] {line}" for pod in ("p1", "p2") for name in ("c", "d") for line in ("one", "", "two\ufffd")
    ]
    assert sorted(ran.lines) == sorted(lines)
    assert sorted(node.asked) == [f"default/{pod}/{name}?follow=true" for pod in ("p1", "p2") for name in ("c", "d")]
    assert ctl("logs", "p1", "d", "--prefix").lines == [line for line in lines if line.startswith("[pod/p1/d]")]
    assert node.asked[-1] == "default/p1/d"
