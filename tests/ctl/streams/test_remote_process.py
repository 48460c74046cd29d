"""Processes in containers: channels, statuses, and the commands that run them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from twisted.internet.defer import Deferred

from orchd.ctl.errors import CommandError
from orchd.ctl.streams.remote_process import RemoteProcess, exit_status
from orchd.ctl.streams.standard_streams import container_state
from orchd.errors import ApiError
from orchd.testing.doubles.server import run
from tests.ctl.ctl_runner import Ctl
from tests.ctl.node_double import Socket, connect_node

OUT, ERROR, STATUS = b"\1", b"\2", b"\3"
DONE = STATUS + b'{"status": "Success"}'


def failed(code: object) -> bytes:
    causes = [{"reason": "Other", "message": "7"}, {"reason": "ExitCode", "message": code}]
    return json.dumps({"status": "Failure", "reason": "NonZeroExitCode", "details": {"causes": causes}}).encode()


@pytest.mark.parametrize(
    "data, status", [(b'{"status": "Success"}', 0), (failed("3"), 3), (failed("0"), 0), (failed(4), 4)]
)
def test_statuses(data: bytes, status: int) -> None:
    assert exit_status(data) == status


@pytest.mark.parametrize(
    "data, words",
    [
        (b"no command", "the node says: no command"),
        (b"[]", "the node says: []"),
        (b"[" * 100_000, "the node says: " + "[" * 500),
        (b"x" * 600, "the node says: " + "x" * 500),
        (b'{"status": "Failure", "message": "cannot run"}', "cannot run"),
        (b'{"status": "Failure", "reason": "InternalError", "message": "7", "details": {"causes": []}}', "7"),
        (b'{"status": "Failure", "reason": "NonZeroExitCode"}', "the process failed, and the node does not say why"),
        (failed("many"), "the process failed, and the node does not say why"),
        (failed("1" * 5000), "the process failed, and the node does not say why"),
        (b'{"reason": "NonZeroExitCode", "details": [3], "message": 7}', "7"),
        (b'{"reason": "NonZeroExitCode", "details": {"causes": 3}, "message": "no"}', "no"),
        (b'{"reason": "NonZeroExitCode", "details": {"causes": [3]}, "message": "no"}', "no"),
        (failed("3").replace(b"NonZeroExitCode", b"Other"), "the process failed, and the node does not say why"),
    ],
)
def test_other_ends(data: bytes, words: str) -> None:
    with pytest.raises(CommandError) as raised:
        exit_status(data)
    assert str(raised.value) == words


def test_output_by_channels() -> None:
    """Output is handed on by its channel; what has no channel that is known, or no data, is not."""
    socket = Socket(OUT + b"a", ERROR + b"b", OUT, b"", b"\7x", STATUS, OUT + b"c", DONE, OUT + b"late")
    out: list[bytes] = []
    error: list[bytes] = []
    process = RemoteProcess(socket)
    assert run(process.run(out.append, error.append)) == 0
    assert (out, error) == ([b"a", b"c"], [b"b"])
    process.close()
    assert socket.closed


def test_connections_that_end() -> None:
    """Without a status it is unknown how the process ended."""
    with pytest.raises(CommandError, match="closed the connection before the process ended"):
        run(RemoteProcess(Socket(OUT + b"a")).run(lambda data: None, lambda data: None))


def test_input() -> None:
    """Input goes in pieces; its end can be told in the fifth version of the protocol only."""
    socket = Socket()
    process = RemoteProcess(socket)
    data = bytes(range(256)) * 300
    run(process.write(data))
    run(process.resize(80, 24))
    assert run(process.end_input())
    *pieces, size, end = socket.sent
    assert len(pieces) == 3
    assert all(piece[:1] == b"\0" for piece in pieces) and b"".join(piece[1:] for piece in pieces) == data
    assert (size[:1], json.loads(size[1:])) == (b"\4", {"Width": 80, "Height": 24})
    assert end == b"\xff\0"
    socket = Socket(protocol="v4.channel.k8s.io")
    assert not run(RemoteProcess(socket).end_input())
    assert socket.sent == []


def query(command: tuple[str, ...] = (), **more: str) -> list[tuple[str, str]]:
    words = [("container", more.pop("container", "c")), *(("command", word) for word in command), ("stdout", "true")]
    return [*words, *more.items()]


@pytest.mark.parametrize(
    "arguments, subresource, expected",
    [
        (("exec", "p1", "--", "ls", "-l"), "exec", query(("ls", "-l"), stderr="true")),
        (("exec", "-c", "c", "pod/p1", "--", "ls"), "exec", query(("ls",), stderr="true")),
        (("exec", "-i", "p1", "--", "cat"), "exec", query(("cat",), stdin="true", stderr="true")),
        (("attach", "p1"), "attach", query(stderr="true")),
    ],
)
def test_requests(
    cluster: Ctl, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], subresource: str, expected: object
) -> None:
    """The command and the streams are parameters; without a command it is the container's own process."""
    monkeypatch.setattr("orchd.ctl.streams.terminal.read_input", lambda reactor: _nothing())
    node = connect_node(cluster, monkeypatch, lambda path, query: Socket(OUT + b"hello\n", ERROR + b"hm\n", DONE))
    ran = cluster(*arguments)
    assert (ran.out, ran.error) == ("hello\n", "hm\n")
    [(path, pairs, protocols)] = node.asked
    assert path == f"/api/v1/namespaces/default/pods/p1/{subresource}"
    assert pairs == expected
    assert [name.partition(".")[0] for name in protocols] == ["v5", "v4"]
    assert node.sockets[0].closed


async def _nothing() -> bytes:
    return b""


@pytest.mark.parametrize("protocol, told", [("v5.channel.k8s.io", True), ("v4.channel.k8s.io", False)])
def test_standard_input(cluster: Ctl, monkeypatch: pytest.MonkeyPatch, protocol: str, told: bool) -> None:
    """Input is passed on; where its end cannot be told, the user is."""
    pieces = [b"one", b"two", b""]

    async def read(reactor: object) -> bytes:
        return pieces.pop(0)

    monkeypatch.setattr("orchd.ctl.streams.terminal.read_input", read)
    node = connect_node(cluster, monkeypatch, lambda path, query: Socket(DONE, protocol=protocol))
    ran = cluster("exec", "-i", "p1", "--", "cat")
    assert node.sockets[0].sent == [b"\0one", b"\0two", *([b"\xff\0"] if told else [])]
    assert ("cannot be told that the input has ended" in ran.error) is not told


@pytest.mark.parametrize("quiet, note", [((), "command terminated with exit code 3\n"), (("-q",), "")])
def test_exit_status_of_commands(
    cluster: Ctl, monkeypatch: pytest.MonkeyPatch, quiet: tuple[str, ...], note: str
) -> None:
    connect_node(cluster, monkeypatch, lambda path, query: Socket(STATUS + failed("3")))
    assert cluster("exec", *quiet, "p1", "--", "false", status=3).error == note


def test_refusals(cluster: Ctl, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the server says, and what a command needs."""
    refusal = ApiError(400, "BadRequest", "the node is away")
    connect_node(cluster, monkeypatch, lambda path, query: refusal)
    assert "the node is away" in cluster("exec", "p1", "--", "ls", status=1).error
    assert "it has c" in cluster("exec", "-c", "d", "p1", "--", "ls", status=1).error
    assert "which command?" in cluster("exec", "p1", status=1).error


def test_terminals_need_input(cluster: Ctl, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a terminal of the user there is none for the process."""
    monkeypatch.setattr("orchd.ctl.streams.terminal.read_input", lambda reactor: _nothing())
    node = connect_node(cluster, monkeypatch, lambda path, query: Socket(DONE))
    for flags in (("-t",), ("-i", "-t")):
        ran = cluster("exec", *flags, "p1", "--", "sh")
        assert ran.error.startswith("Unable to use a terminal")
    assert all("tty" not in dict(pairs) for _, pairs, _ in node.asked)


def test_exec_in_the_pod_of_a_file(cluster: Ctl, monkeypatch: pytest.MonkeyPatch) -> None:
    node = connect_node(cluster, monkeypatch, lambda path, query: Socket(DONE))
    one = "apiVersion: v1\nkind: Pod\nmetadata: {name: p1}\n"
    cluster("exec", "-f", "-", "--", "ls", "-l", send=one)
    [(path, pairs, _)] = node.asked
    assert path.endswith("/pods/p1/exec") and [word for name, word in pairs if name == "command"] == ["ls", "-l"]
    assert (
        "name a file with one object" in cluster("exec", "-f", "-", "--", "ls", send=f"{one}---\n{one}", status=1).error
    )


@pytest.mark.parametrize(
    "name, state",
    [("a", {"running": {}}), ("i", {"terminated": {}}), ("e", {"waiting": {}}), ("b", {}), ("absent", {})],
)
def test_states_of_containers(name: str, state: Any) -> None:
    status = {
        "containerStatuses": [
            {"name": "x", "state": {"x": {}}},
            {"name": "a", "state": {"running": {}}},
            {"name": "b"},
        ],
        "initContainerStatuses": [{"name": "i", "state": {"terminated": {}}}],
        "ephemeralContainerStatuses": [{"name": "e", "state": {"waiting": {}}}],
    }
    assert container_state({"status": status}, name) == state
    assert container_state({}, name) == {}


def test_terminals(cluster: Ctl, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process has a terminal of the size of the user's, which passes keys on meanwhile."""
    modes: list[str] = []

    @contextmanager
    def raw_mode() -> Iterator[None]:
        modes.append("raw")
        yield
        modes.append("cooked")

    @contextmanager
    def watched_size(reactor: object, changed: Callable[[int, int], object]) -> Iterator[None]:
        changed(80, 24)
        yield

    for name, value in (
        ("is_terminal", lambda: True), ("raw_mode", raw_mode), ("watched_size", watched_size), ("read_input", lambda reactor: _nothing()),
    ):  # fmt: skip
        monkeypatch.setattr(f"orchd.ctl.streams.terminal.{name}", value)
    node = connect_node(cluster, monkeypatch, lambda path, query: Socket(DONE))
    assert cluster("exec", "-i", "-t", "p1", "--", "sh").error == ""
    [(_, pairs, _)] = node.asked
    assert pairs == query(("sh",), stdin="true", tty="true")
    assert node.sockets[0].sent[0] == b'\4{"Width": 80, "Height": 24}' and modes == ["raw", "cooked"]
    cluster("attach", "-t", "p1")
    assert "tty" not in dict(node.asked[-1][1])


def test_input_after_the_end(cluster: Ctl, monkeypatch: pytest.MonkeyPatch) -> None:
    """Input that has not come by the end of the process is no longer waited for."""
    ended: list[object] = []
    monkeypatch.setattr("orchd.ctl.streams.terminal.read_input", lambda reactor: Deferred(ended.append))
    connect_node(cluster, monkeypatch, lambda path, query: Socket(DONE))
    assert cluster("exec", "-i", "p1", "--", "cat").error == ""
    assert len(ended) == 1
