"""exec, attach, cp and port-forward of the command line, through a real server to a kubelet double."""

from __future__ import annotations

import os
import pty
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchd.dialect import DIALECTS
from orchd.testing import Cluster
from orchd.testing.processes.daemon import PATIENCE
from tests.wire.node_agent import NodeAgent, node_agent
from tests.wire.test_orchctl import orchctl

V4, V5 = "v4.channel.{abbr}.io", "v5.channel.{abbr}.io"


@pytest.fixture(scope="module", params=[("kubernetes", V4), ("orch", V5)], ids=["kubernetes-v4", "orch-v5"])
def cluster(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Cluster, NodeAgent]]:
    """A server with a node whose kubelet is a double, pods on it, and a pod on a simulated node."""
    name, protocol = request.param
    dialect = DIALECTS[name]
    forwards = dialect(V4)
    folder = tmp_path_factory.mktemp("agent")
    with node_agent(folder, dialect(protocol), forwards) as agent, Cluster(dialect=name, nodes=1) as running:
        ports = {dialect("{short}letEndpoint"): {"Port": agent.port}}
        status = {"addresses": [{"type": "InternalIP", "address": "127.0.0.1"}], "daemonEndpoints": ports}
        assert running.request("POST", "/api/v1/nodes", {"metadata": {"name": "real"}, "status": status})[0] == 201
        containers = [
            {"name": "main", "image": "a", "ports": [{"name": "web", "containerPort": 1}]},
            {"name": "other", "image": "a"},
        ]
        for pod, more in (("p", {"nodeName": "real"}), ("simulated", {})):
            body = {"metadata": {"name": pod, "labels": {"app": pod}}, "spec": {"containers": containers, **more}}
            assert running.request("POST", "/api/v1/namespaces/default/pods", body)[0] == 201
        running.wait_for_object(
            "/api/v1/namespaces/default/pods/simulated", lambda found: found["spec"].get("nodeName"), timeout=PATIENCE
        )
        yield running, agent


@pytest.fixture
def run(cluster: tuple[Cluster, NodeAgent]) -> Any:
    def call(*words: str, **more: Any) -> subprocess.CompletedProcess[str]:
        return orchctl(*words, config=Path(cluster[0].config_file), **more)

    return call


def test_exec_streams_and_exit_status(run: Any, cluster: tuple[Cluster, NodeAgent]) -> None:
    """Output keeps its streams, the exit status is the command's, and options after the command belong to it."""
    done = run("exec", "p", "-c", "other", "--", "sh", "-c", "echo -n out; echo err >&2; exit 3", status=3)
    assert (done.stdout, done.stderr) == ("out", "err\ncommand terminated with exit code 3\n")
    assert "/exec/default/p/other?" in cluster[1].asked[-1]
    done = run("exec", "pod/p", "--", "echo", "-n", "a")
    assert (done.stdout, done.stderr) == ("a", "Defaulted container main of: main, other\n")


def test_exec_error_is_one_line(run: Any) -> None:
    """The kubelet's error is printed in one line."""
    assert run("exec", "p", "-c", "main", "--", "/nonexistent", status=1).stderr.startswith("orchctl: cannot run: ")
    assert "exec POD -- COMMAND" in run("exec", "p", status=1).stderr
    assert 'pods "absent" not found' in run("exec", "absent", "--", "ls", status=1).stderr


def test_simulated_pods_refuse_exec_and_logs(run: Any) -> None:
    """Each command prints the server's rejection in one line."""
    for words in (
        ("exec", "simulated", "-c", "main", "--", "ls"),
        ("attach", "simulated", "-c", "main"),
        ("cp", "-c", "main", "simulated:/a", "a"),
    ):
        done = run(*words, status=1)
        assert "is simulated: nothing runs in pod simulated" in done.stderr and done.stderr.count("\n") == 1


def test_exec_input_and_its_end(run: Any, cluster: tuple[Cluster, NodeAgent]) -> None:
    """Input is sent to the command; its end only with protocol version 5, while version 4 prints a warning."""
    if cluster[0].dialect.name == "orch":
        text = "line\n" * 100_000
        assert run("exec", "-i", "p", "-c", "main", "--", "cat", send=text).stdout == text
    else:
        done = run("exec", "-i", "p", "-c", "main", "--", "head", "-n", "1", send="first\nsecond\n")
        assert done.stdout == "first\n"
    done = run("attach", "-i", "p", "-c", "main", send="hello\n")
    assert done.stdout == "attached\ngot hello\n"


def test_exec_with_a_terminal(cluster: tuple[Cluster, NodeAgent]) -> None:
    """With -it the window size and single keys are sent, and the terminal is restored."""
    import fcntl
    import struct
    import termios

    near, far = pty.openpty()
    fcntl.ioctl(far, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 77, 0, 0))
    before = termios.tcgetattr(far)
    running = subprocess.Popen(
        [sys.executable, "-m", "orchd.ctl.main", f"--config={cluster[0].config_file}", "exec", "-it", "p", "-c", "main", "--", "head", "-c", "3"],
        stdin=far, stdout=far, stderr=far,
    )  # fmt: skip
    # Keys that are pressed before the terminal is in raw mode are lost, as in any such program.
    cluster[0].wait_for(lambda: {"Width": 77, "Height": 33} in cluster[1].sizes, timeout=PATIENCE)
    os.write(near, b"ab\x03")
    assert running.wait(PATIENCE) == 0
    assert termios.tcgetattr(far) == before
    assert b"ab\x03" in os.read(near, 1000)
    os.close(near)
    os.close(far)


def test_copy_to_and_from_containers(run: Any, tmp_path: Path) -> None:
    """Files and folders are copied to a container and back, under the given names."""
    there, here = tmp_path / "there", tmp_path / "here"
    there.mkdir()
    here.mkdir()
    data = os.urandom(1_500_000)
    (here / "file").write_bytes(data)
    (here / "tree/deep").mkdir(parents=True)
    (here / "tree/deep/a").write_text("a")
    run("cp", "-c", "main", str(here / "file"), f"p:{there}/named")
    assert (there / "named").read_bytes() == data
    run("cp", "-c", "main", str(here / "file"), f"default/p:{there}")
    assert (there / "file").read_bytes() == data
    run("cp", "-c", "main", str(here / "tree"), f"p:{there}/copy")
    assert (there / "copy/deep/a").read_text() == "a"
    run("cp", "-c", "main", f"p:{there}/named", str(here / "back"))
    assert (here / "back").read_bytes() == data
    run("cp", "-c", "main", f"p:{there}/copy", str(here / "new"))
    assert (here / "new/deep/a").read_text() == "a"
    run("cp", "-c", "main", f"p:{there}/named", str(here))
    assert (here / "named").read_bytes() == data
    assert "No such file" in run("cp", "-c", "main", f"p:{there}/absent", "x", status=1, folder=tmp_path).stderr
    assert "check the path" in run("cp", str(here / "absent"), "p:/tmp/a", status=1).stderr
    assert "one of FROM and TO" in run("cp", "a", "b", status=1).stderr


def _echo() -> tuple[socket.socket, int]:
    """A server that echoes what each connection sends, and then more."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                wire, _ = listening.accept()
            except OSError:
                return
            with wire:
                data = wire.recv(100)
                wire.sendall(data + b"!" * 3_000_000)

    threading.Thread(target=serve, daemon=True).start()
    return listening, int(listening.getsockname()[1])


def test_port_forward(cluster: tuple[Cluster, NodeAgent]) -> None:
    """Several connections share a local port; a target that the node cannot reach is reported, and others continue."""
    listening, port = _echo()
    own_cluster = cluster[0]
    service = {
        "metadata": {"name": "s"},
        "spec": {"selector": {"app": "p"}, "ports": [{"name": "web", "port": 80, "targetPort": port}]},
    }
    own_cluster.request("POST", "/api/v1/namespaces/default/services", service)
    running = subprocess.Popen(
        [sys.executable, "-m", "orchd.ctl.main", f"--config={own_cluster.config_file}", "port-forward", "--address=127.0.0.1", "svc/s", ":web"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    try:
        assert running.stdout is not None and running.stderr is not None
        words = running.stdout.readline().split()
        assert words[:2] == ["Forwarding", "from"] and words[-1] == str(port)
        local = int(words[2].rpartition(":")[2])
        wires = [socket.create_connection(("127.0.0.1", local)) for _ in range(3)]
        for number, wire in enumerate(wires):
            wire.sendall(b"%d" % number)
        for number, wire in enumerate(wires):
            with wire, wire.makefile("rb") as reading:
                assert reading.read() == b"%d" % number + b"!" * 3_000_000
        # Closing alone leaves the thread in accept, which keeps the port.
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        with socket.create_connection(("127.0.0.1", local)) as wire:
            wire.sendall(b"x")
            assert wire.recv(10) == b""
        assert f"error forwarding port {port}: " in running.stderr.readline()
        running.send_signal(signal.SIGINT)
        assert running.wait(PATIENCE) == 130
    finally:
        running.kill()
        running.wait()


def test_unknown_ports_are_refused(run: Any, cluster: tuple[Cluster, NodeAgent]) -> None:
    """The error for an unknown port lists the existing ones."""
    assert "write [LOCAL:]PORT" in run("port-forward", "p", "a:80", status=1).stderr
    assert "has no port named 'x'" in run("port-forward", "p", "x", status=1).stderr
    assert "between 1 and 65535" in run("port-forward", "p", "70000", status=1).stderr
