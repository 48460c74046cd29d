"""``port-forward``: ports by number and name, and connections that are joined with a pod."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest
from twisted.internet.protocol import connectionDone
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure
from zope.interface import alsoProvides

from orchd.client.interfaces import ISocketClient
from orchd.ctl.cluster.api import Api
from orchd.ctl.commands.port_forward import Forwarding, _Pair, _pair, target_port
from orchd.ctl.errors import CommandError
from orchd.errors import ApiError
from orchd.kinds.jsonvalues import Object
from orchd.testing.doubles.server import InProcessServer, run
from tests.ctl.ctl_runner import Ctl
from tests.ctl.local_reactor import Reactor, run_until_interrupted
from tests.ctl.node_double import Node, Socket

POD: Object = {
    "metadata": {"namespace": "default", "name": "p"},
    "spec": {
        "containers": [
            {"name": "a"},
            {"name": "b", "ports": [{"containerPort": 9}, {"name": "web", "containerPort": 8080}]},
        ]
    },
}
SERVICE: Object = {
    "metadata": {"name": "s"},
    "spec": {
        "ports": [
            {"name": "plain", "port": 80},
            {"name": "named", "port": 81, "targetPort": "web"},
            {"name": "other", "port": 82, "targetPort": 9000},
        ]
    },
}


@pytest.mark.parametrize(
    "text, service, local, remote",
    [
        ("80", None, 80, 80),
        ("8000:80", None, 8000, 80),
        (":80", None, 0, 80),
        ("web", None, 8080, 8080),
        ("1:web", None, 1, 8080),
        ("65535", None, 65535, 65535),
        ("65535:1", None, 65535, 1),
        # The port of a service stands for that of its pods.
        ("80", SERVICE, 80, 80),
        ("81", SERVICE, 81, 8080),
        ("82", SERVICE, 82, 9000),
        ("named", SERVICE, 8080, 8080),
        ("5:other", SERVICE, 5, 9000),
    ],
)
def test_ports(text: str, service: Object | None, local: int, remote: int) -> None:
    assert _pair(text, service, POD) == _Pair(local, remote)


@pytest.mark.parametrize(
    "text, service, words",
    [
        ("x:80", None, "'x' is not a port"),
        ("65536:80", None, "65536 is not a port: it is above 65535"),
        ("0", None, "it is between 1 and 65535"),
        ("65536", None, "it is between 1 and 65535"),
        ("absent", None, "pod p has no port named 'absent'"),
        ("83", SERVICE, "service s has no port 83: it has 80, 81, 82"),
        ("80", {"metadata": {"name": "s"}, "spec": {}}, "it has none"),
    ],
)
def test_ports_that_are_none(text: str, service: Object | None, words: str) -> None:
    with pytest.raises(CommandError, match=words):
        _pair(text, service, POD)


def test_target_ports() -> None:
    assert target_port("9", None, POD) == 9


class Machine:
    """A local machine whose ports are forwarded to a node."""

    def __init__(self, server: InProcessServer, *sockets: Socket | ApiError) -> None:
        left = list(sockets)
        self.node = Node(lambda path, query: left.pop(0))
        self.reactor = Reactor()
        client: Any = server.client("admin", "system:masters")
        client.websocket = self.node.websocket
        alsoProvides(client, ISocketClient)
        self.api = Api(client, self.reactor, "default", lambda text: None)
        self.forwarding = Forwarding(self.api, run(self.api.discovery.find("pods")), POD)

    def listen(self, *pairs: _Pair, addresses: tuple[str, ...] = ("127.0.0.1",)) -> None:
        run(self.forwarding.listen(list(pairs), list(addresses)))

    def connect(self) -> tuple[Any, StringTransport]:
        """A connection to the first port."""
        protocol: Any = self.reactor.tcpServers[0][1].buildProtocol(cast(Any, None))
        transport = StringTransport()
        protocol.makeConnection(transport)
        return protocol, transport


PORT = (80).to_bytes(2, "little")
POD_MANIFEST = """
apiVersion: v1
kind: Pod
metadata: {name: p1, labels: {app: a}}
spec: {containers: [{name: c, image: nginx}]}
"""
SERVICE_MANIFEST = """
apiVersion: v1
kind: Service
metadata: {name: s}
spec: {selector: {app: a}, ports: [{port: 81, targetPort: web}]}
"""
MakeMachine = Callable[..., Machine]


@pytest.fixture
def make_machine(server: InProcessServer) -> Iterator[MakeMachine]:
    machines: list[Machine] = []

    def make(*sockets: Socket | ApiError) -> Machine:
        machines.append(Machine(server, *sockets))
        return machines[-1]

    yield make
    for machine in machines:
        run(machine.forwarding.stop())


@pytest.mark.parametrize(
    "addresses, hosts", [(("localhost",), ["127.0.0.1", "::1"]), (("10.0.0.1", "fe80::1"), ["10.0.0.1", "fe80::1"])]
)
def test_addresses(
    make_machine: MakeMachine, capsys: pytest.CaptureFixture[str], addresses: Any, hosts: list[str]
) -> None:
    """Each port is listened on at each address; the name of the machine has two."""
    machine = make_machine()
    machine.listen(_Pair(1, 80), _Pair(2, 81), addresses=addresses)
    assert [(port, host) for port, _, _, host in machine.reactor.tcpServers] == [(n, h) for n in (1, 2) for h in hosts]
    shown = [f"[{host}]" if ":" in host else host for host in hosts]
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        f"Forwarding from {host}:{port} -> {remote}" for port, remote in ((1, 80), (2, 81)) for host in shown
    ]


def test_data_in_both_directions(make_machine: MakeMachine, capsys: pytest.CaptureFixture[str]) -> None:
    """The first message of a channel is the port; then data goes both ways until the pod ends."""
    socket = Socket(b"\0" + PORT, b"\1" + PORT, b"\0" + b"hello", b"\7" + b"?", ended=False)
    machine = make_machine(socket)
    machine.listen(_Pair(1, 80))
    local, transport = machine.connect()
    [(path, query, [protocol])] = machine.node.asked
    assert (path, query) == ("/api/v1/namespaces/default/pods/p/portforward", [("ports", "80")])
    assert protocol.startswith("v4.channel.")
    assert transport.value() == b"hello"
    local.dataReceived(b"a question")
    assert socket.sent == [b"\0a question"]
    # The first message may have data after the port.
    socket.deliver(b"\0" + b"more", ended=True)
    assert transport.value() == b"hellomore"
    assert transport.disconnecting and socket.closed
    assert "Handling connection for 80" in capsys.readouterr().out


def test_data_with_the_port(make_machine: MakeMachine) -> None:
    socket = Socket(b"\0" + PORT + b"now", ended=False)
    machine = make_machine(socket)
    machine.listen(_Pair(1, 80))
    assert machine.connect()[1].value() == b"now"


def test_backpressure(make_machine: MakeMachine) -> None:
    """A client that does not read stops the pod's data, and resumes it."""
    socket = Socket(b"\0" + PORT, ended=False)
    machine = make_machine(socket)
    machine.listen(_Pair(1, 80))
    local, transport = machine.connect()
    local.pauseProducing()
    socket.deliver(b"\0one", b"\0two")
    assert transport.value() == b"one"
    local.resumeProducing()
    assert transport.value() == b"onetwo"
    socket.deliver(b"\0three", b"\0four")
    assert transport.value() == b"onetwothreefour"


def test_errors_of_nodes(make_machine: MakeMachine, capsys: pytest.CaptureFixture[str]) -> None:
    """What the node says, and what the server says, is printed; the connection ends."""
    refused = ApiError(404, "NotFound", "no such pod")
    machine = make_machine(Socket(b"\1" + PORT, b"\1" + b"connection refused", ended=False), refused)
    machine.listen(_Pair(1, 80))
    for words in ("connection refused", "no such pod"):
        _, transport = machine.connect()
        assert transport.disconnecting
        assert f"error forwarding port 80: {words}" in capsys.readouterr().err


@pytest.mark.parametrize("half", [True, False])
def test_clients_that_leave(make_machine: MakeMachine, half: bool) -> None:
    """A client that only ends its side still gets data; after one that is gone the pod's side is closed."""
    socket = Socket(b"\0" + PORT, ended=False)
    machine = make_machine(socket)
    machine.listen(_Pair(1, 80))
    local, transport = machine.connect()
    local.dataReceived(b"last")
    if half:
        local.readConnectionLost()
    else:
        local.connectionLost(Failure(connectionDone.value))
    assert socket.sent == [b"\0last"]
    assert socket.closed is not half
    socket.deliver(b"\0data")
    assert transport.value() == (b"data" if half else b"")
    assert not transport.disconnecting


def test_stopping(make_machine: MakeMachine) -> None:
    """Ports are closed, and connections end, when the command does."""
    socket = Socket(b"\0" + PORT, ended=False)
    machine = make_machine(socket)
    machine.listen(_Pair(1, 80))
    _, transport = machine.connect()
    run(machine.forwarding.stop())
    assert socket.closed and transport.disconnecting
    assert not any(port.open for port in machine.reactor.ports)


def test_ports_that_are_taken(make_machine: MakeMachine) -> None:
    """The machine's name needs one of its two addresses; any other address that cannot be had is an error."""
    machine = make_machine()
    machine.reactor.taken = ("::1",)
    machine.listen(_Pair(1, 80), addresses=("localhost",))
    assert len(machine.reactor.ports) == 1
    for addresses, host in ((("::1",), "::1"), (("localhost",), "127.0.0.1")):
        machine.reactor.taken = (host,)
        with pytest.raises(CommandError, match=f"cannot listen on {host} port 1: Address already in use: choose"):
            machine.listen(_Pair(1, 80), addresses=addresses)


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("p1 8000:80", ["127.0.0.1:8000 -> 80", "[::1]:8000 -> 80"]),
        ("pod/p1 :80 web --address=10.0.0.1,,10.0.0.2", ["10.0.0.1:0 -> 80", "10.0.0.2:0 -> 80", "10.0.0.1:8080 -> 8080", "10.0.0.2:8080 -> 8080"]),
        # The port of the service, and the pod that its selector chooses.
        ("service/s 81", ["127.0.0.1:81 -> 8080", "[::1]:81 -> 8080"]),
    ],
)  # fmt: skip
def test_a_command_forwards_until_it_is_interrupted(
    cluster: Ctl, capsys: pytest.CaptureFixture[str], words: str, shown: list[str]
) -> None:
    """The ports are those of the pod or service that is named, and are closed afterwards."""
    cluster("delete", "pod", "p1", "--force", "--grace-period=0")
    ports = "ports: [{name: web, containerPort: 8080}]"
    cluster("create", "-f", "-", send=POD_MANIFEST.replace("image: nginx", f"image: nginx, {ports}"))
    cluster("create", "-f", "-", send=SERVICE_MANIFEST)
    reactor, opened = Reactor(), list[bool]()
    client = cluster.server.client("admin")
    main_words = ["port-forward", *words.split()]
    status = run_until_interrupted(main_words, client, reactor, lambda: opened.extend(p.open for p in reactor.ports))
    assert (status, opened) == (0, [True] * len(shown))
    assert capsys.readouterr().out.splitlines() == [f"Forwarding from {each}" for each in shown]
    assert not any(port.open for port in reactor.ports)
