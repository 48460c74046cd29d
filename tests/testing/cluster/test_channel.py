"""The test's end of a cluster's channel."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from orchd.testing import Cluster
from orchd.testing.cluster import cluster as cluster_module
from orchd.testing.cluster.channel import ClusterChannel, ClusterError


@pytest.fixture
def pair() -> Iterator[tuple[ClusterChannel, socket.socket]]:
    ours, theirs = socket.socketpair()
    with theirs:
        channel = ClusterChannel(ours)
        yield channel, theirs
        theirs.close()
        channel.close()


def test_late_answers_are_skipped(pair: tuple[ClusterChannel, socket.socket]) -> None:
    """The answer to an abandoned command is not taken for that of a later one."""
    channel, server = pair
    server.sendall(
        b"".join(json.dumps({"id": number, "result": f"of {number}"}).encode() + b"\n" for number in (0, 1, 2))
    )
    assert channel.command("now") == "of 1"
    assert channel.command("now") == "of 2"


class Recorder:
    """A channel that records the advances of time."""

    def __init__(self) -> None:
        self.steps: list[float] = []

    def command(self, name: str, **arguments: Any) -> float:
        self.steps.append(arguments["seconds"])
        return sum(self.steps)


def test_long_times_pass_in_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each step has the time limit of one command, so that a week of virtual time can pass."""
    cluster, recorder = Cluster(), Recorder()
    monkeypatch.setattr(cluster, "_channel", recorder)
    monkeypatch.setattr(cluster_module, "_MAX_STEP", 100.0)
    assert cluster.advance(250) == 250
    assert recorder.steps == [100, 100, 50]
    for wrong in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="advance"):
            cluster.advance(wrong)


def test_late_servers_are_told_from_ended_ones() -> None:
    """A server that is not ready in time is reported with the limit and what to do; one that has ended, as ended."""
    near, far = socket.socketpair()
    with near, far:
        channel = ClusterChannel(near)
        with pytest.raises(
            ClusterError, match=r"not ready after 0.01 s, although .* start\(timeout=...\) waits longer"
        ):
            channel.wait_ready(0.01)
        far.close()
        with pytest.raises(ClusterError, match="the server has ended"):
            channel.wait_ready(0.01)
