"""``logs``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from orchd import errors
from orchd.ctl.commands.logs import _print
from orchd.ctl.printing import output
from orchd.errors import ApiError
from orchd.server.pipeline.verbs.subresources.upstream import Reply
from orchd.testing.doubles.server import make_server, run
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
        #: Instead of a response.
        self.error: ApiError | None = None

    async def fetch(
        self, method: str, location: Any, target: str, headers: Any, client: Any = None, *, body: Any = None
    ) -> Reply:
        self.asked.append(target.partition("/containerLogs/")[2])
        if self.error is not None:
            raise self.error
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


def test_logs_that_cannot_be_read(ctl: Ctl, node: Node) -> None:
    """With --ignore-errors the error is a line among the logs; a selector without pods is told."""
    node.error = errors.internal("the node is away")
    assert "orchctl: Internal error occurred: the node is away" in ctl("logs", "p1", "-c", "c", status=1).error
    assert ctl("logs", "p1", "-c", "c", "--ignore-errors").error == "error: Internal error occurred: the node is away\n"
    assert ctl("logs", "-l", "app=none").error == "No resources found in default namespace.\n"


@pytest.mark.parametrize(
    ("pieces", "mark", "whole", "printed"),
    [
        ([b"a\nb", b"c\n\nd"], b"", False, [b"a\nb", b"c\n\nd"]),
        ([b"a\nb", b"c\n\nd"], b"> ", False, [b"> a\n> b", b"c\n> \n> d"]),
        ([b"a\nb", b"c\n\nd"], b"> ", True, [b"> a\n", b"> bc\n> \n", b"> d\n"]),
        ([b"a\n", b"b\n"], b"", True, [b"a\n", b"b\n"]),
        ([b"a" * 2**20, b"a", b"b\n"], b"", True, [b"a" * (2**20 + 1), b"b\n"]),
    ],
)  # fmt: skip
def test_lines_of_logs(
    monkeypatch: pytest.MonkeyPatch, pieces: list[bytes], mark: bytes, whole: bool, printed: list[bytes]
) -> None:
    """A mark is in front of each line, not of each piece; whole lines are printed at once unless they are very long."""

    class Stream:
        async def next(self) -> bytes | None:
            return pieces.pop(0) if pieces else None

    out: list[bytes] = []
    monkeypatch.setattr(output, "raw", out.append)
    run(_print(cast(Any, Stream()), mark, whole_lines=whole))
    assert out == printed
